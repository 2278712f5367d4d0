#include "alarm_words.hpp"

#include <fmt/format.h>

#include "devices/device_state.hpp"

namespace mixstream::alarm_words {
namespace {

std::string what_changed(const DriftEvent& event) {
  if (event.sign == DriftSign::moments)
    return fmt::format(
        "the moments of recent rows contradict the laws of older ones ({:.1f} standard deviations)",
        event.deviations);
  const bool scores = event.sign == DriftSign::scores;
  return fmt::format(
      "recent rows {} ({:.1f} standard deviations, {:.3g} nats a row)",
      scores ? "pull the laws away from where they were" : "fit the laws worse than older ones",
      event.deviations, event.nats_per_row);
}

/// About rows refused for a reason; empty where comparing them with the configuration is all there is to do.
std::string_view advice_on(std::string_view reason) {
  if (reason == "clock_ahead")
    return "the time of these rows is ahead of ours: set the sensor's clock, and send seconds";
  if (reason == "clock_jump")
    return "these rows' time is many half-lives from the other sensors': set the sensor's clock";
  if (reason == "sequence_jump")
    return "numbers far ahead of the sensor's last: look at the sensor, or raise largest_jump";
  if (reason == "too_old" || reason == "old_epoch")
    return "numbers far below the sensor's newest: let it raise its epoch when it begins anew, or POST its "
           "name to the stream's address /reset";
  if (reason == "too_many_sensors") return "raise most_sensors";
  if (reason == "too_many_models") return "raise most_models";
  if (reason == "no_value_yet")
    return "a sensor's row needs a value of every column first: look at topics that are silent";
  if (reason == "stale_value")
    return "a column's value was older than join_tolerance: look at its topic, or raise it";
  if (reason == "message_too_large") return "send at most 4 MiB in a message";
  if (reason == "quarantined") return "such a message ended the daemon before: look at the alarm quarantine";
  return advice_on_state(reason);
}

/// Without the library's full stop: words of ours follow.
std::string_view without_stop(std::string_view error) {
  return error.substr(0, error.find_last_not_of('.') + 1);
}

}  // namespace

std::string drift(const DriftEvent& event) {
  return fmt::format(
      "the stream changed: {}; look at what changed at the machine or the sensor; where the change stays, a "
      "half_life or window lets the laws follow it",
      what_changed(event));
}

std::string poor_fit(const std::string& verdict) {
  return verdict + " Look at the stream's page: it draws what contradicts the laws, and names what mends it.";
}

std::string no_fit(const std::string& verdict) {
  return verdict +
         " Laws of before stay in use; look at the newest rows, and whether k and features suit them.";
}

std::string forgotten(double rows_before, double rows_now) {
  return fmt::format(
      "the weight of the stream collapsed from {:.0f} to {:.0f} rows: a clock far ahead made older rows "
      "count "
      "for nothing, or no rows came for many half-lives; look at the time of the newest rows",
      rows_before, rows_now);
}

std::string gap(std::uint64_t now_missing, std::uint64_t ever, std::uint64_t still) {
  return fmt::format(
      "{} rows are missing between those that came ({} in all, {} still): a sensor or the broker lost them, "
      "or "
      "they come late; look at the sensor, and at the broker's max_queued_messages",
      now_missing, ever, still);
}

std::string refused(const Reasons& reasons) {
  std::uint64_t total = 0;
  std::string counts;
  std::string advice;
  bool all_advised = true;
  for (const auto& [reason, count] : reasons) {
    total += count;
    counts += fmt::format(", {} {}", count, reason);
    const std::string_view about = advice_on(reason);
    if (!about.empty()) advice += fmt::format("; {}: {}", reason, about);
    all_advised = all_advised && !about.empty();
  }
  if (!all_advised)
    advice += fmt::format("{}compare what the sensors send with the stream's format, columns and features",
                          advice.empty() ? "; " : "; for the others ");
  return fmt::format("{} rows refused{}{}", total, counts, advice);
}

std::string sensors(std::size_t known) {
  return fmt::format(
      "{} sensors are known, as many as most_sensors allows: rows of further ones are refused until one has "
      "not sent for sensor_expiry; raise most_sensors if they are real",
      known);
}

std::string model_drift(const std::string& groups) {
  return fmt::format("the newest rows no longer obey their group's own laws: {}; look at what changed there",
                     groups);
}

std::string model_departs(const std::string& groups) {
  return fmt::format(
      "the newest rows obey other laws than the fleet's: {}; look at what is different there, or raise "
      "departs_by",
      groups);
}

std::string model_silent(const std::string& groups) {
  return fmt::format(
      "nothing comes from some groups: {}; look at the device and its way to us, or raise silent_after",
      groups);
}

std::string disk(const std::string& trouble) {
  return trouble +
         "; rows that cannot be stored wait at their source: make room on the disk, or look at its mount and "
         "its health";
}

std::string quarantine(std::uint64_t record, std::uint64_t attempts, const std::string& path) {
  return fmt::format(
      "record {} ended the daemon {} times while it was read and is put aside: its bytes are in {}; send "
      "them "
      "to the developers, and look at who publishes such messages",
      record, attempts, path);
}

std::string connecting(const std::string& broker) {
  return fmt::format("connecting to {}; if that takes long, look whether the broker can be reached from here",
                     broker);
}

std::string waiting_for_answer(const std::string& broker) {
  return fmt::format(
      "connected to {}, waiting for its answer to our subscriptions; if that takes long, look at its load "
      "and "
      "its log",
      broker);
}

std::string unreachable(const std::string& broker, const std::string& why) {
  return fmt::format("cannot reach {}: {}", broker, why);
}

std::string connection_refused(const std::string& broker, const std::string& why) {
  return fmt::format(
      "{} refused the connection: {}; look at username and password_file of [mqtt], and at the broker's log",
      broker, without_stop(why));
}

std::string connection_lost(const std::string& why) {
  return "connection lost: " + why;
}

std::string not_stored() {
  return "a message could not be stored, so it waits at the broker; look at the alarm disk";
}

std::string subscription(const std::string& filter, const std::string& why) {
  return fmt::format("the broker refused the subscription to {}: {}", filter, why);
}

std::string session_lost() {
  return "the broker had no session of ours: rows published while we were away may be lost, and gaps in "
         "sequence numbers tell how many; look whether it keeps sessions on disk and for long enough "
         "(mosquitto: persistence true; session_expiry)";
}

std::string session_taken(const std::string& client_id) {
  return fmt::format(
      "another client connects as '{}' and takes our rows: stop it, or give one of the two another client_id",
      client_id);
}

std::string broker_silent(double seconds) {
  return fmt::format(
      "the broker has not answered for {:.1f} s: rows wait there and nothing is lost; if it goes on, look at "
      "its load and the network",
      seconds);
}

std::string broker_was_silent(double seconds) {
  return fmt::format(
      "the broker did not answer for {:.1f} s: rows wait there and nothing is lost; if it comes again, look "
      "at its load and the network",
      seconds);
}

std::string out_of_reach(std::string_view error) {
  return fmt::format("{}; look whether the broker runs, and at host and port of [mqtt]", without_stop(error));
}

std::string cut_off(std::string_view error) {
  return fmt::format("{}; if it stays away, look at the broker, its log and the network",
                     without_stop(error));
}

std::string unreadable(const std::string& file, const std::string& why) {
  return fmt::format("cannot read {}: {}; look at it, then restart the daemon", file, why);
}

}  // namespace mixstream::alarm_words
