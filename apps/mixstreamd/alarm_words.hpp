// What alarms say: what is wrong, and what to do about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mixstream/core/events.hpp"

/// Each makes the words of one kind of alarm, or of one case of it. Any thread; throw only for memory.
namespace mixstream::alarm_words {

using Reasons = std::vector<std::pair<std::string, std::uint64_t>>;

// ---- Of rows and fits. ----
std::string drift(const DriftEvent& event);
std::string poor_fit(const std::string& verdict);  ///< the fit's own words
std::string no_fit(const std::string& verdict);
std::string forgotten(double rows_before, double rows_now);
std::string gap(std::uint64_t now_missing, std::uint64_t ever, std::uint64_t still);
std::string refused(const Reasons& reasons);
std::string sensors(std::size_t known);

// ---- Of a fleet; `groups`: names, each with what is so of it. ----
std::string model_drift(const std::string& groups);
std::string model_departs(const std::string& groups);
std::string model_silent(const std::string& groups);

// ---- Of the disk. ----
std::string disk(const std::string& trouble);
std::string quarantine(std::uint64_t record, std::uint64_t attempts, const std::string& path);

// ---- Of the broker; `broker`: its host and port. ----
std::string connecting(const std::string& broker);
std::string waiting_for_answer(const std::string& broker);
std::string unreachable(const std::string& broker, const std::string& why);
std::string connection_refused(const std::string& broker, const std::string& why);
std::string connection_lost(const std::string& why);
std::string not_stored();
std::string subscription(const std::string& filter, const std::string& why);
std::string session_lost();
std::string session_taken(const std::string& client_id);
std::string broker_silent(double seconds);      ///< it is
std::string broker_was_silent(double seconds);  ///< and has answered

/// Of an error of the system or the library, for the two that end with a reason: what to look at.
std::string out_of_reach(std::string_view error);
std::string cut_off(std::string_view error);

// ---- Of a file or stdin. ----
std::string unreadable(const std::string& file, const std::string& why);

}  // namespace mixstream::alarm_words
