#include "fleet.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "../alarm_words.hpp"
#include "input/text.hpp"

namespace mixstream {
namespace {

constexpr std::size_t most_told = 6;

std::chrono::system_clock::time_point wall_time(double seconds) {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::duration<double>(seconds)));
}

std::string words_of(const LawReading& reading) {
  return fmt::format("law {} by {:.2g} noise sd, {:.0f} standard deviations", reading.component + 1,
                     reading.size, reading.deviations);
}

void name(FleetSummary::Named& named, const std::string& group) {
  ++named.count;
  if (named.names.size() < FleetSummary::most_names) named.names.push_back(group);
}

}  // namespace

void Fleet::note(const GroupFigures& figures) {
  const auto [found, is_new] = entries_.try_emplace(figures.name);
  Entry& entry = found->second;
  if (is_new) entry.view.name = figures.name;
  entry.view.rows = figures.rows;
  entry.view.grown = figures.grown;
  entry.last_arrival = figures.last_arrival;
  if (!std::exchange(entry.waits, true)) waiting_.emplace(entry.looked, &found->first);
}

std::optional<std::string> Fleet::next(Clock::time_point since) const {
  if (waiting_.empty() || waiting_.begin()->first >= since) return std::nullopt;
  return *waiting_.begin()->second;
}

std::optional<KnownLaws> Fleet::laws_of(const std::string& name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end() || found->second.view.laws.component_count() == 0) return std::nullopt;
  return KnownLaws{found->second.view.laws, found->second.laws_rows};
}

/// Between the limit and half of it, it stays as it was.
void Fleet::judge(const std::optional<LawReading>& reading, double least_size, bool& flag) noexcept {
  if (!reading) return;
  if (reading->deviations > limit && reading->size > least_size) flag = true;
  if (reading->deviations < 0.5 * limit || reading->size < 0.5 * least_size) flag = false;
}

void Fleet::keep(const std::string& name, GroupLook look, Clock::time_point began) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  GroupView& view = entry.view;
  if (entry.waits) waiting_.erase({entry.looked, &found->first});
  looked_ += view.status ? 0 : 1;
  entry.looked = began;
  entry.waits = view.rows != look.rows;
  if (entry.waits) waiting_.emplace(entry.looked, &found->first);
  view.status = look.status;
  if (look.laws) {
    view.laws = std::move(look.laws->laws);
    view.fit_rows = look.rows;
    entry.laws_rows = look.laws->rows;
  }
  view.mode = look.mode;
  view.mode_probability = look.mode_probability;
  view.drift = look.drift;
  view.departure = look.departure;
  judge(view.drift, settings_.departs_by, view.drifts);
  judge(view.departure, settings_.departs_by, view.departs);
}

bool Fleet::is_silent(const Entry& entry, double now) const noexcept {
  return settings_.silent_after > 0.0 && now - entry.last_arrival > settings_.silent_after;
}

FleetSummary Fleet::summary(double now) const {
  FleetSummary summary;
  summary.models = entries_.size();
  summary.looked = looked_;
  for (const auto& [group, entry] : entries_) {
    const GroupView& view = entry.view;
    summary.grown += view.grown ? 1 : 0;
    if (view.drifts) name(summary.drifting, group);
    if (view.departs) name(summary.departing, group);
    if (is_silent(entry, now)) name(summary.silent, group);
    if (!view.mode) continue;
    if (summary.in_mode.size() <= *view.mode) summary.in_mode.resize(*view.mode + 1);
    ++summary.in_mode[*view.mode];
  }
  return summary;
}

std::vector<GroupView> Fleet::page(std::size_t from, std::size_t count, double now) const {
  std::vector<GroupView> page;
  std::size_t place = 0;
  for (const auto& [group, entry] : entries_) {
    if (place++ < from) continue;
    if (page.size() == count) break;
    GroupView& view = page.emplace_back(entry.view);
    view.last_row = wall_time(entry.last_arrival);
    view.silent = is_silent(entry, now);
  }
  return page;
}

Fleet::Tidings Fleet::tell(std::size_t which, const char* kind, const Words& of,
                           std::string (*words)(const std::string&), double now) {
  Tidings tidings{kind, "", false};
  Told& told = told_[which];
  if (of.empty()) {
    told = {};
    return tidings;
  }
  std::set<std::string> names;
  std::string list;
  for (std::size_t i = 0; i < of.size(); ++i) {
    names.insert(of[i].first);
    if (i < most_told)
      list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", printable(of[i].first), of[i].second);
  }
  if (of.size() > most_told) list += fmt::format(" and {} more", of.size() - most_told);
  tidings.words = words(list);
  const bool joined = !std::ranges::includes(told.names, names);
  tidings.has_new_names = told.active && joined && now - told.since >= shortest_renewal;
  if (!told.active || tidings.has_new_names)
    told = {std::move(names), now, true};
  else
    std::erase_if(told.names, [&](const std::string& name) { return !names.contains(name); });
  return tidings;
}

std::array<Fleet::Tidings, 3> Fleet::tidings(double now) {
  Words drifting;
  Words departing;
  Words silent;
  for (const auto& [group, entry] : entries_) {
    if (entry.view.drifts) drifting.emplace_back(group, words_of(*entry.view.drift));
    if (entry.view.departs) departing.emplace_back(group, words_of(*entry.view.departure));
    if (is_silent(entry, now))
      silent.emplace_back(group, fmt::format("no row for {:.0f} s", now - entry.last_arrival));
  }
  return {tell(0, "model_drift", drifting, alarm_words::model_drift, now),
          tell(1, "model_departs", departing, alarm_words::model_departs, now),
          tell(2, "model_silent", silent, alarm_words::model_silent, now)};
}

}  // namespace mixstream
