// What is known of a stream's groups beside their models: what looks at them found, who is silent, and whose
// turn it is. Made again after a restart, by looking.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "group_look.hpp"
#include "group_settings.hpp"

namespace mixstream {

/// One thread at a time. Waits for nothing, solves nothing.
class Fleet {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr double shortest_renewal = 60.0;  ///< seconds, of what is told when new names join
  static constexpr double limit = 6.0;  ///< standard deviations that are told; over below half of it

  explicit Fleet(const GroupSettings& settings) : settings_(settings) {}

  void note(const GroupFigures& figures);

  /// Groups with rows since their last look, which began before `since` or never: the one that waits longest.
  std::optional<std::string> next(Clock::time_point since) const;
  std::optional<KnownLaws> laws_of(const std::string& name) const;
  /// `began`: when the model was copied. Rows that came since ask for another look.
  void keep(const std::string& name, GroupLook look, Clock::time_point began);

  /// `now`: seconds since 1970.
  FleetSummary summary(double now) const;
  std::vector<GroupView> page(std::size_t from, std::size_t count, double now) const;
  std::size_t size() const noexcept { return entries_.size(); }

  /// Something that a person should know of some groups; empty words: of none.
  struct Tidings {
    const char* kind;
    std::string words;
    bool has_new_names = false;  ///< beside those told before, and these a while ago
  };
  /// What should be known now. Before every group was looked at, only of groups that there is something of.
  std::array<Tidings, 3> tidings(double now);
  bool is_looked_at() const noexcept { return looked_ == entries_.size(); }

 private:
  struct Entry {
    GroupView view;
    double last_arrival = 0.0;
    Clock::time_point looked = Clock::time_point::min();
    bool waits = false;
    double laws_rows = 0.0;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  bool is_silent(const Entry& entry, double now) const noexcept;
  static void judge(const std::optional<LawReading>& reading, double least_size, bool& flag) noexcept;
  using Words = std::vector<std::pair<std::string, std::string>>;  // by group
  Tidings tell(std::size_t which, const char* kind, const Words& of, std::string (*words)(const std::string&),
               double now);

  GroupSettings settings_;
  Entries entries_;
  std::set<std::pair<Clock::time_point, const std::string*>> waiting_;  // by last look
  std::uint64_t looked_ = 0;
  struct Told {
    std::set<std::string> names;
    double since = 0.0;
    bool active = false;
  };
  std::array<Told, 3> told_;
};

}  // namespace mixstream
