// What others see of a stream: the view, and alarms made of what its counts say.
#include <fmt/format.h>

#include <utility>

#include "../alarm_words.hpp"
#include "../log.hpp"
#include "stream.hpp"

namespace mixstream {
namespace {

using namespace std::chrono_literals;

std::string words_of(const StreamConfig& config) {
  if (!config.topic.empty()) return fmt::format("MQTT {}", fmt::join(topics_of(config), ", "));
  if (!config.socket.empty()) return "socket " + config.socket;
  return config.standard_input ? "stdin" : fmt::format("replay of {} files", config.replay.size());
}

}  // namespace

void Stream::watch(const SourceState& source, const SourceCounts& counts,
                   const std::vector<SourceEvent>& events) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(view_mutex_);
  alarms_.expire(now);
  watch_rate(now);
  watch_rows();
  watch_disk();
  watch_fleet();
  watch_source(source, events, now);
  source_ = source;
  source_counts_ = counts;
}

/// What is so ends with the connection that comes back; what happened stays for a while.
void Stream::watch_source(const SourceState& source, const std::vector<SourceEvent>& events,
                          Clock::time_point now) {
  for (const char* const kind : {"source", "subscription", "session_taken"}) {
    if (source.connected || source.kind != kind)
      alarms_.over(kind);
    else if (source.kind != "source" || started_ + 5s < now)
      alarms_.holds(kind, figures_.row, source.words);
  }
  for (const SourceEvent& event : events) {
    if (event.kind == "session_lost" && figures_.row == 0) continue;  // there was nothing to lose
    if (alarms_.goes_on(event.kind, figures_.row, event.words))
      log(LogLevel::warning, event.words, config_.name);
  }
}

void Stream::watch_rate(Clock::time_point now) {
  const double seconds = std::chrono::duration<double>(now - rate_since_).count();
  if (seconds < 2.0) return;
  rows_per_second_ = static_cast<double>(figures_.counts.in - rate_rows_) / seconds;
  rate_rows_ = figures_.counts.in;
  rate_since_ = now;
}

void Stream::watch_rows() {
  const RowTally& counts = figures_.counts;
  if (counts.gaps > watched_.gaps) {
    const std::string words = alarm_words::gap(counts.gaps - watched_.gaps, counts.gaps, counts.missing);
    if (alarms_.goes_on("gap", figures_.row, words)) log(LogLevel::warning, words, config_.name);
  }
  watched_.gaps = counts.gaps;
  watch_refused();
  watch_sensors();
  if (!figures_.drift || figures_.drift->row == watched_.drift) return;
  watched_.drift = figures_.drift->row;
  const std::string words = alarm_words::drift(*figures_.drift);
  alarms_.happened("drift", figures_.drift->row, words);
  log(LogLevel::warning, words, config_.name);
}

void Stream::watch_refused() {
  const RowTally& counts = figures_.counts;
  const std::uint64_t refused = counts.refused_total();
  if (refused > watched_.refused) {
    const std::string words = alarm_words::refused(counts.refused);
    refused_since_ = Clock::now();
    if (alarms_.holds("refused", figures_.row, words)) log(LogLevel::warning, words, config_.name);
  } else if (Clock::now() - refused_since_ > 10min) {
    alarms_.over("refused");
  }
  watched_.refused = refused;
}

void Stream::watch_sensors() {
  const std::size_t most = config_.identity.most_sensors;
  if (figures_.sensors < most) {
    alarms_.over("sensors");
    return;
  }
  alarms_.holds("sensors", figures_.row, alarm_words::sensors(figures_.sensors));
}

void Stream::watch_disk() {
  const std::string& trouble = figures_.disk_trouble.empty() ? snapshot_trouble_ : figures_.disk_trouble;
  if (trouble.empty())
    alarms_.over("disk");
  else
    alarms_.holds("disk", figures_.row, alarm_words::disk(trouble));
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
  view->journal_bytes = journal_bytes_;
  const std::lock_guard lock(view_mutex_);
  view->fit = fits_.view;
  view->stale = fits_.stale;
  view->stale_words = fits_.stale_words;
  view->refit_running = fits_.running;
  if (figures_.follows_modes) view->modes = figures_.modes;
  view->rows = figures_.counts;
  view->sensors = figures_.sensors;
  view->fleet = fleet_summary_;
  view->rows_per_second = rows_per_second_;
  view->last_row = figures_.last_row;
  view->refits = fits_.refits;
  view->refits_failed = fits_.failed;
  view->solve_seconds = fits_.seconds;
  view->solve_recent_mean = fits_.times.recent_mean();
  view->solve_median = fits_.times.median();
  view->solve_p99 = fits_.times.p99();
  view->snapshot = snapshot_time_;
  view->append_time = figures_.append_time;
  view->message_time = figures_.message_time;
  view->solve_time = fits_.time_histogram;
  view->source_connected = source_.connected;
  view->source_words = source_.words;
  view->unmatched_messages = source_counts_.unmatched;
  view->retained_messages = source_counts_.retained;
  const std::string& trouble = figures_.disk_trouble.empty() ? snapshot_trouble_ : figures_.disk_trouble;
  view->health = {trouble.empty(), trouble};
  view->alarms = alarms_.list();
  return view;
}

}  // namespace mixstream
