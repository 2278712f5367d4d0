#include "stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "../log.hpp"

namespace mixstream {
namespace {

using namespace std::chrono_literals;

constexpr auto disk_patience = 1s;      // between two attempts
constexpr auto longest_message = 5min;  // inside take(), before it counts as stuck

double seconds_of(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

Outcome<std::unique_ptr<Stream>> Stream::open(StreamConfig config, const std::string& folder) {
  Outcome<std::unique_ptr<Store>> store =
      Store::open({.folder = folder, .configuration = fingerprint_of(config)});
  if (!store) return store.refusal();
  const Recovered& recovered = store.value()->recovered();
  for (const std::string& note : recovered.notes) log(LogLevel::warning, note, config.name);
  Outcome<Fold> fold =
      recovered.snapshot ? Fold::restore(recovered.snapshot->sections, config) : Fold::create(config);
  if (!fold) return fold.refusal();
  const std::vector<Section> memory =
      recovered.snapshot ? std::move(recovered.snapshot->sections) : std::vector<Section>{};
  store.value()->release_recovered();
  std::unique_ptr<Stream> stream(
      new Stream(std::move(config), std::move(store).value(), std::move(fold).value()));
  if (const Verdict verdict = stream->restore_memory(memory); !verdict) return verdict.refusal();
  if (const Verdict verdict = stream->replay(); !verdict) return verdict.refusal();
  return stream;
}

Stream::Stream(StreamConfig config, std::unique_ptr<Store> store, Fold fold)
    : config_(std::move(config)), store_(std::move(store)), fold_(std::move(fold)) {}

/// What no snapshot holds yet, in the order it came.
Verdict Stream::replay() {
  std::uint64_t records = 0;
  const Verdict verdict = store_->replay([&](const Record& record) {
    ++records;
    return fold_.take(record);
  });
  if (!verdict) return verdict;
  record_count_ = records;
  note_rows(std::nullopt);
  refit_wanted_ = figures_.row > 0;
  const auto now = Clock::now().time_since_epoch().count();
  last_refit_ = now;
  last_snapshot_ = now;
  log(LogLevel::info, fmt::format("{} rows, {} records read back from the journal", figures_.row, records),
      config_.name);
  return verdict;
}

bool Stream::take(const Arrival& arrival) {
  const WallTime now = std::chrono::system_clock::now();
  std::unique_lock rows(rows_mutex_);
  {
    const std::lock_guard lock(view_mutex_);
    figures_.inside_since = Clock::now();
  }
  if (!store_) return false;
  const bool stored = arrival.too_long ? append(Rejection{arrival.origin, "line_too_long"}, rows)
                                       : append_message(arrival, seconds_of(now), rows);
  if (stored) {
    ++record_count_;
    note_rows(now);
  }
  rows.unlock();
  if (rows_say_due_ && wake_solver_) wake_solver_();
  return stored;
}

bool Stream::append_message(const Arrival& arrival, double now, std::unique_lock<std::mutex>& rows) {
  std::string place;
  if (!config_.replay.empty()) place = replay_source(arrival.origin, arrival.offset);
  return append(Message{place.empty() ? arrival.origin : place, bytes_of(arrival.payload), now}, rows);
}

/// While the disk refuses, it waits and tries again.
template <class Content>
bool Stream::append(const Content& content, std::unique_lock<std::mutex>& rows) {
  for (;;) {
    const Outcome<std::uint64_t> number = keep(content);
    if (number) return true;
    if (number.refusal().reason == Reason::too_large) return append(Rejection{"", "message_too_large"}, rows);
    if (!wait_for_disk(number.refusal().text, rows)) return false;
  }
}

/// Journal first, then fold; both under one hold of the lock, so that they have the same order. What a fit
/// fed back goes into the message's own record: one sync for both, and when it fails neither counts.
Outcome<std::uint64_t> Stream::keep(const Message& message) {
  if (feedback_.empty()) {
    Outcome<std::uint64_t> number = store_->append(message);
    if (number) fold_.take(message);
    return number;
  }
  const FedMessage fed{{fold_.estimator().state().row_count(), feedback_}, message};
  Outcome<std::uint64_t> number = store_->append(fed);
  if (!number) return number;
  if (const Verdict verdict = fold_.take(fed); !verdict)
    log(LogLevel::error, verdict.refusal().text, config_.name);
  set_feedback({});
  return number;
}

Outcome<std::uint64_t> Stream::keep(const Rejection& rejection) {
  Outcome<std::uint64_t> number = store_->append(rejection);
  if (number) fold_.take(rejection);
  return number;
}

void Stream::note_trouble(const std::string& trouble, const std::string& consequence) {
  const std::lock_guard lock(view_mutex_);
  if (figures_.disk_trouble.empty()) log(LogLevel::error, trouble + consequence, config_.name);
  figures_.disk_trouble = trouble;
}

/// Lets others at the rows for a moment. False: the daemon ends.
bool Stream::wait_for_disk(const std::string& trouble, std::unique_lock<std::mutex>& rows) {
  note_trouble(trouble, "; rows wait until the disk takes them");
  given_up_.wait_for(rows, disk_patience, [this] { return giving_up_; });
  return !giving_up_;
}

void Stream::give_up() {
  const std::lock_guard lock(rows_mutex_);
  giving_up_ = true;
  given_up_.notify_all();
}

std::uint64_t Stream::taken_of(const std::string& file) const {
  const std::lock_guard lock(rows_mutex_);
  return fold_.taken_of(file);
}

/// Copies what the view shows. `now`: when a message came; nothing: at the start.
void Stream::note_rows(std::optional<WallTime> now) {
  const FoldCounts& folded = fold_.state().counts();
  const Estimator& estimator = fold_.estimator();
  const std::lock_guard lock(view_mutex_);
  RowCounts& counts = figures_.counts;
  counts.in = folded.rows;
  counts.folded = folded.folded;
  counts.duplicate = folded.duplicate;
  counts.gaps = fold_.state().sensors().gaps();
  if (counts.refused_total() != folded.refused)
    counts.refused = estimator.refused();  // it allocates, so only when there are new ones
  figures_.row = counts.folded;
  figures_.inside_since.reset();
  figures_.disk_trouble.clear();
  if (now) figures_.last_row = now;
  if (!estimator.drift().empty() &&
      (!figures_.drift || figures_.drift->row != estimator.drift().back().row)) {
    figures_.drift = estimator.drift().back();
    if (now && config_.refit.on_drift) refit_wanted_ = true;
  }
  row_count_ = counts.folded;
  if (store_) journal_bytes_ = store_->figures().journal_bytes;
  rows_say_due_ = estimator.fit_is_due() || (refit_wanted_ && now);
}

bool Stream::snapshot_is_due() const {
  const std::uint64_t records = record_count_;
  if (records == records_kept_) return false;
  const Clock::duration since = Clock::now().time_since_epoch() - Clock::duration(last_snapshot_.load());
  if (since >= std::chrono::duration<double>(config_.snapshot_interval)) return true;
  return since >= disk_patience && journal_bytes_ > config_.journal_limit / 2;
}

void Stream::close() {
  give_up();
  const std::lock_guard keeping(keeping_mutex_);
  const std::lock_guard rows(rows_mutex_);
  store_.reset();
}

Verdict Stream::snapshot() {
  const std::lock_guard keeping(keeping_mutex_);
  std::unique_lock rows(rows_mutex_);
  if (!store_) return std::monostate{};
  std::vector<Section> sections = fold_.sections();
  std::ranges::move(memory(), std::back_inserter(sections));
  const PendingSnapshot pending = store_->begin_snapshot(std::move(sections));
  const std::uint64_t records = record_count_;
  rows.unlock();
  last_snapshot_ = Clock::now().time_since_epoch().count();
  const Verdict verdict = store_->write_snapshot(pending);
  journal_bytes_ = store_->figures().journal_bytes;
  const std::lock_guard lock(view_mutex_);
  snapshot_trouble_ = verdict ? "" : verdict.refusal().text;
  if (!verdict) return verdict;
  records_kept_ = records;
  snapshot_time_ = std::chrono::system_clock::now();
  return verdict;
}

bool Stream::is_stuck() const {
  const std::lock_guard lock(view_mutex_);
  return figures_.inside_since && figures_.disk_trouble.empty() &&
         Clock::now() - *figures_.inside_since > longest_message;
}

}  // namespace mixstream
