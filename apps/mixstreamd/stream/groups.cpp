// The groups of a stream: looks at their models, and what is told of them.
#include <algorithm>
#include <chrono>
#include <exception>

#include "../log.hpp"
#include "../urgency.hpp"
#include "stream.hpp"

namespace mixstream {
namespace {

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

/// Looks that began before are due: as often as the stream's own solves, and whenever those are asked for.
/// Called with the view's lock.
Stream::Clock::time_point Stream::looks_due_since() const {
  if (config_.refit.interval <= 0.0) return looks_asked_;
  const auto pause =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(config_.refit.interval));
  return std::max(looks_asked_, Clock::now() - pause);
}

/// Also laws that fit the rows poorly: few groups that depart are enough for that, and these are to be named.
/// Called with the view's lock.
std::optional<KnownLaws> Stream::laws_of_fleet() const {
  if (!fits_.view || fits_.stale) return std::nullopt;
  const Report& report = fits_.view->model.report;
  const bool are_laws = is_usable(report.status) || report.status == FitStatus::poor_fit;
  if (!are_laws || report.components.empty()) return std::nullopt;
  return KnownLaws{report.mixture(), report.effective_rows};
}

void Stream::look_at_groups(Clock::duration longest) {
  const Clock::time_point end = Clock::now() + longest;
  while (fleet_ && Clock::now() < end) {
    std::optional<std::string> name;
    std::optional<KnownLaws> fleet;
    std::optional<KnownLaws> before;
    {
      const std::lock_guard lock(view_mutex_);
      name = fleet_->next(looks_due_since());
      if (!name) return;
      fleet = laws_of_fleet();
      before = fleet_->laws_of(*name);
    }
    const Clock::time_point began = Clock::now();
    GroupCopy copy;
    {
      const std::lock_guard rows(rows_mutex_);
      if (!store_) return;
      copy = fold_.groups()->copy_of(*name);
    }
    GroupLook look{.rows = copy.rows, .status = FitStatus::poor_fit};
    try {
      look =
          in_background([&] { return look_at(std::move(copy), fold_.groups()->settings(), fleet, before); });
    } catch (const std::exception& error) {
      log(LogLevel::error, *name + ": the solve broke down: " + error.what(), config_.name);
    }
    const std::lock_guard lock(view_mutex_);
    fleet_->keep(*name, std::move(look), began);
  }
}

/// One alarm of a kind names all of whom it is so; another group that joins makes it a new one. An alarm of
/// before a restart ends only once every group was looked at. Called with the view's lock.
void Stream::watch_fleet() {
  if (!fleet_) return;
  const double now = seconds_now();
  fleet_summary_ = std::make_shared<const FleetSummary>(fleet_->summary(now));
  for (const Fleet::Tidings& tidings : fleet_->tidings(now)) {
    if (tidings.words.empty()) {
      if (fleet_->is_looked_at()) alarms_.over(tidings.kind);
      continue;
    }
    if (tidings.has_new_names) alarms_.over(tidings.kind);
    if (alarms_.holds(tidings.kind, figures_.row, tidings.words))
      log(LogLevel::warning, tidings.words, config_.name);
  }
}

std::optional<FleetPage> Stream::models(std::size_t from, std::size_t count) const {
  if (!config_.group.enabled) return std::nullopt;
  const double now = seconds_now();
  const std::lock_guard lock(view_mutex_);
  FleetPage page{fleet_summary_ ? *fleet_summary_ : fleet_->summary(now), std::min(from, fleet_->size()), {}};
  page.models = fleet_->page(page.from, count, now);
  if (!figures_.follows_modes) return page;
  for (GroupView& group : page.models) {
    const std::optional<std::size_t> place = figures_.modes.place_of(sensor_number(group.name));
    if (!place) continue;
    const std::span<const double> now_in = figures_.modes.of(*place);
    const auto likeliest = std::ranges::max_element(now_in);
    group.mode = static_cast<std::size_t>(likeliest - now_in.begin());
    group.mode_probability = *likeliest;
  }
  return page;
}

}  // namespace mixstream
