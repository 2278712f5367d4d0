// What others see of a stream: the view, and alarms made of what its counts say.
#include <fmt/format.h>

#include <utility>

#include "../log.hpp"
#include "stream.hpp"

namespace mixstream {
namespace {

using namespace std::chrono_literals;

std::string words_of(const DriftEvent& event) {
  if (event.sign == DriftSign::moments) {
    return fmt::format(
        "the stream changed: the moments of recent rows contradict the laws of older ones ({:.1f} standard "
        "deviations)",
        event.deviations);
  }
  const bool scores = event.sign == DriftSign::scores;
  return fmt::format(
      "the stream changed: recent rows {} ({:.1f} standard deviations, {:.3g} nats a row)",
      scores ? "pull the laws away from where they were" : "fit the laws worse than older ones",
      event.deviations, event.nats_per_row);
}

std::string words_of(const StreamConfig& config) {
  if (!config.topic.empty()) return "MQTT " + config.topic;
  if (!config.socket.empty()) return "socket " + config.socket;
  return config.standard_input ? "stdin" : fmt::format("replay of {} files", config.replay.size());
}

}  // namespace

void Stream::watch(const SourceState& source) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(view_mutex_);
  alarms_.expire(now);
  watch_rate(now);
  watch_rows();
  watch_disk();
  if (source.connected)
    alarms_.over("source");
  else if (started_ + 5s < now)
    alarms_.holds("source", figures_.row, source.words);
  source_ = source;
}

void Stream::watch_rate(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - rate_since_).count();
  if (seconds < 2.0) return;
  rows_per_second_ = static_cast<double>(figures_.counts.in - rate_rows_) / seconds;
  rate_rows_ = figures_.counts.in;
  rate_since_ = now;
}

void Stream::watch_rows() {
  const RowCounts& counts = figures_.counts;
  if (counts.gaps > watched_.gaps) {
    const std::string words = fmt::format(
        "{} rows are missing between those that came ({} in all): a sensor or the "
        "broker lost them, or they come late",
        counts.gaps - watched_.gaps, counts.gaps);
    alarms_.happened("gap", figures_.row, words);
    log(LogLevel::warning, words, config_.name);
  }
  const std::uint64_t refused = counts.refused_total();
  if (refused > watched_.refused) {
    std::string words = fmt::format("{} rows refused", refused);
    for (const auto& [reason, count] : counts.refused) words += fmt::format(", {} {}", count, reason);
    refused_since_ = Clock::now();
    if (alarms_.holds("refused", figures_.row, words)) log(LogLevel::warning, words, config_.name);
  } else if (Clock::now() - refused_since_ > 10min) {
    alarms_.over("refused");
  }
  watched_.gaps = counts.gaps;
  watched_.refused = refused;
  if (!figures_.drift || figures_.drift->row == watched_.drift) return;
  watched_.drift = figures_.drift->row;
  alarms_.happened("drift", figures_.drift->row, words_of(*figures_.drift));
  log(LogLevel::warning, words_of(*figures_.drift), config_.name);
}

void Stream::watch_disk() {
  const std::string& trouble = figures_.disk_trouble.empty() ? snapshot_trouble_ : figures_.disk_trouble;
  if (trouble.empty())
    alarms_.over("disk");
  else
    alarms_.holds("disk", figures_.row, trouble);
}

void Stream::session_was_lost() {
  const std::lock_guard lock(view_mutex_);
  if (figures_.row == 0) return;  // there was nothing to lose
  alarms_.happened(
      "session_lost", figures_.row,
      "the broker had forgotten our session: rows published while we were away may be lost; gaps in "
      "sequence numbers tell");
}

std::vector<Alarm> Stream::take_events() {
  const std::lock_guard lock(view_mutex_);
  return alarms_.take_waiting();
}

void Stream::put_back(std::vector<Alarm> events) {
  const std::lock_guard lock(view_mutex_);
  alarms_.put_back(std::move(events));
}

std::shared_ptr<const StreamView> Stream::view() const {
  auto view = std::make_shared<StreamView>();
  view->name = config_.name;
  view->source = words_of(config_);
  view->feature_map = config_.payload.map.text();
  view->response = config_.payload.response;
  view->component_count = config_.estimator.solve.component_count;
  view->journal_bytes = store_->figures().journal_bytes;
  const std::lock_guard lock(view_mutex_);
  view->fit = fits_.view;
  view->stale = fits_.stale;
  view->stale_words = fits_.stale_words;
  view->refit_running = fits_.running;
  view->rows = figures_.counts;
  view->rows_per_second = rows_per_second_;
  view->last_row = figures_.last_row;
  view->refits = fits_.refits;
  view->refits_failed = fits_.failed;
  view->solve_seconds = fits_.seconds;
  view->solve_recent_mean = fits_.times.recent_mean();
  view->solve_median = fits_.times.median();
  view->solve_p99 = fits_.times.p99();
  view->snapshot = snapshot_time_;
  view->source_connected = source_.connected;
  const std::string& trouble = figures_.disk_trouble.empty() ? snapshot_trouble_ : figures_.disk_trouble;
  view->health = {trouble.empty(), trouble};
  view->alarms = alarms_.list();
  return view;
}

}  // namespace mixstream
