#include "stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "../alarm_words.hpp"
#include "../log.hpp"
#include "mixstream/moments/sections.hpp"
#include "mixstream/moments/state_file.hpp"
#include "store/files.hpp"

namespace mixstream {
namespace {

using namespace std::chrono_literals;

constexpr auto disk_patience = 1s;            // between two attempts
constexpr auto patience_with_snapshots = 3s;  // before waiting for one is an alarm
constexpr auto longest_message = 5min;        // inside take(), before it counts as stuck

double seconds_of(WallTime time) {
  return std::chrono::duration<double>(time.time_since_epoch()).count();
}

std::string_view source_of(const Content& content) {
  const auto* const message = std::get_if<Message>(&content);
  return message == nullptr ? std::string_view{} : message->source;
}

double seconds_since(Stream::Clock::time_point began) {
  return std::chrono::duration<double>(Stream::Clock::now() - began).count();
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

Outcome<std::unique_ptr<Stream>> Stream::open(StreamConfig config, const std::string& folder) {
  Outcome<std::unique_ptr<Store>> store =
      Store::open({.folder = folder, .configuration = fingerprint_of(config), .reserves = true});
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
      new Stream(std::move(config), std::move(store).value(), std::move(fold).value(), folder));
  if (const Done done = stream->restore_memory(memory); !done) return done.refusal();
  if (const Done done = stream->replay(); !done) return done.refusal();
  return stream;
}

Stream::Stream(StreamConfig config, std::unique_ptr<Store> store, Fold fold, const std::string& folder)
    : config_(std::move(config)),
      folder_(folder),
      store_(std::move(store)),
      fold_(std::move(fold)),
      marker_(folder) {
  if (config_.group.enabled) fleet_.emplace(config_.group);
}

/// What no snapshot holds yet, in the order it came.
Done Stream::replay() {
  std::uint64_t records = 0;
  const Done done = store_->replay([&](const Record& record) {
    ++records;
    return replay_one(record);
  });
  if (!done) return done;
  record_count_ = records;
  read_quarantine();
  note_rows(std::nullopt);
  refit_wanted_ = figures_.row > 0;
  const auto now = Clock::now().time_since_epoch().count();
  last_refit_ = now;
  last_snapshot_ = now;
  log(LogLevel::info, fmt::format("{} rows, {} records read back from the journal", figures_.row, records),
      config_.name);
  return done;
}

/// A record that has ended the process several times is put aside.
Done Stream::replay_one(const Record& record) {
  if (marker_.is_quarantined(record.number)) return quarantine(record);
  marker_.begin(record.number);
  Done done = fold_.take(record);
  marker_.end();
  return done;
}

/// A message that ended the daemon was never acknowledged: it comes again.
void Stream::read_quarantine() {
  const Outcome<std::vector<std::string>> names = names_in(folder_);
  if (!names) return;
  for (const std::string& name : names.value()) {
    if (!name.starts_with("quarantine-")) continue;
    if (const Outcome<Bytes> bytes = read_file(folder_ + "/" + name))
      quarantined_.insert(checksum(bytes.value()));
  }
}

/// Its bytes stay for whoever wants to know why; it counts as one refused row.
Done Stream::quarantine(const Record& record) {
  const std::string path = fmt::format("{}/quarantine-{:020}", folder_, record.number);
  const std::optional<FedMessage> fed = fed_message_in(record);
  const std::optional<Message> message = fed ? fed->message : message_in(record);
  const std::span<const std::byte> bytes = message ? message->payload : record.payload;
  if (Done written = write_file(path, bytes); !written) return written;
  const std::string words = alarm_words::quarantine(record.number, FoldMarker::most_attempts, path);
  log(LogLevel::error, words, config_.name);
  alarms_.happened("quarantine", fold_.estimator().state().row_count(), words, std::chrono::hours(24));
  fold_.take(Rejection{"", "quarantined"});
  return std::monostate{};
}

bool Stream::take(std::span<const Arrival> arrivals) {
  const WallTime now = std::chrono::system_clock::now();
  std::unique_lock rows(rows_mutex_);
  {
    const std::lock_guard lock(view_mutex_);
    figures_.inside_since = Clock::now();
  }
  if (!store_) return false;
  const bool stored = append_arrivals(arrivals, seconds_of(now), rows);
  if (stored) {
    record_count_ += arrivals.size();
    note_rows(now);
    const std::lock_guard lock(view_mutex_);
    for (const Arrival& arrival : arrivals) figures_.message_time.add(seconds_since(arrival.came));
  }
  rows.unlock();
  if (rows_say_due_ && wake_solver_) wake_solver_();
  return stored;
}

bool Stream::append_arrivals(std::span<const Arrival> arrivals, double now,
                             std::unique_lock<std::mutex>& rows) {
  std::vector<std::string> places;  // of replays; the contents only look at them
  places.reserve(arrivals.size());
  std::vector<Content> contents;
  contents.reserve(arrivals.size());
  for (const Arrival& arrival : arrivals) {
    const bool replayed = !config_.replay.empty();
    if (replayed) places.push_back(replay_source(arrival.origin, arrival.offset));
    contents.push_back(content_of(arrival, replayed ? places.back() : arrival.origin, now));
  }
  return append(contents, rows);
}

Content Stream::content_of(const Arrival& arrival, std::string_view source, double now) const {
  if (arrival.too_long) return Rejection{source, "line_too_long"};
  if (!quarantined_.empty() && quarantined_.contains(checksum(bytes_of(arrival.payload))))
    return Rejection{source, "quarantined"};
  return Message{source, bytes_of(arrival.payload), now};
}

/// While the disk refuses, it waits and tries again.
bool Stream::append(std::span<Content> contents, std::unique_lock<std::mutex>& rows) {
  for (;;) {
    if (!wait_for_room(rows)) return false;
    const Outcome<std::uint64_t> number = keep(contents);
    if (number) disk_refuses_ = false;
    if (number) return true;
    if (number.refusal().reason == Reason::too_large) return append_each(contents, rows);
    if (!wait_for_disk(number.refusal().text, rows)) return false;
  }
}

/// Together they are too large for a record. One that is so alone is refused.
bool Stream::append_each(std::span<Content> contents, std::unique_lock<std::mutex>& rows) {
  if (contents.size() == 1) contents.front() = Rejection{source_of(contents.front()), "message_too_large"};
  return std::ranges::all_of(contents, [&](Content& content) { return append({&content, 1}, rows); });
}

Outcome<std::uint64_t> Stream::append_timed(std::span<const Content> contents) {
  const Clock::time_point began = Clock::now();
  Outcome<std::uint64_t> number = store_->append(contents);
  const std::lock_guard lock(view_mutex_);
  if (number) figures_.append_time.add(seconds_since(began));
  return number;
}

/// Of a device's state: whose it was and why, at most once a second.
void Stream::tell_refusal() {
  const std::string words = fold_.take_refusal();
  if (words.empty() || Clock::now() - refusal_told_ < 1s) return;
  refusal_told_ = Clock::now();
  log(LogLevel::warning, words, config_.name);
}

/// Journal first, then fold; both under one hold of the lock, so that they have the same order. What a fit
/// fed back goes into the first message's own record: one sync for all, and when it fails nothing counts.
Outcome<std::uint64_t> Stream::keep(std::span<Content> contents) {
  const Content first = contents.front();
  const auto* const message = std::get_if<Message>(&first);
  const bool feeds = message != nullptr && !feedback_.empty();
  if (feeds) contents.front() = FedMessage{{fold_.estimator().state().row_count(), feedback_}, *message};
  Outcome<std::uint64_t> number = append_timed(contents);
  if (number) {
    std::uint64_t record = number.value();
    for (const Content& content : contents) {
      marker_.begin(record++);
      if (const Done done = fold_.take(content); !done)
        log(LogLevel::error, done.refusal().text, config_.name);
      marker_.end();
    }
    tell_refusal();
    if (feeds) set_feedback({});
  }
  contents.front() = first;  // whoever tries again may have other feedback
  return number;
}

void Stream::note_trouble(const std::string& trouble, const std::string& consequence) {
  const std::lock_guard lock(view_mutex_);
  if (figures_.disk_trouble.empty()) log(LogLevel::error, trouble + consequence, config_.name);
  figures_.disk_trouble = trouble;
}

bool Stream::has_room() const {
  return !store_ || (store_->figures().journal_bytes < config_.journal_limit && !store_->is_on_reserve());
}

/// While the journal is as long as it may be: only a snapshot makes room, and the source waits for it. False:
/// the stream ends.
bool Stream::wait_for_room(std::unique_lock<std::mutex>& rows) {
  const Clock::time_point since = Clock::now();
  while (!has_room()) {
    room_wanted_ = true;
    if (Clock::now() - since > patience_with_snapshots)
      note_trouble(
          fmt::format("the journal has reached journal_mib ({} MiB) and no snapshot could shorten it: make "
                      "room on the disk",
                      config_.journal_limit >> 20),
          "; rows wait");
    given_up_.wait_for(rows, disk_patience, [this] { return giving_up_ || has_room(); });
    if (giving_up_) return false;
  }
  room_wanted_ = false;
  return static_cast<bool>(store_);
}

/// Lets others at the rows for a moment. False: the daemon ends.
bool Stream::wait_for_disk(const std::string& trouble, std::unique_lock<std::mutex>& rows) {
  disk_refuses_ = true;
  note_trouble(trouble, "; rows wait until the disk takes them");
  given_up_.wait_for(rows, disk_patience, [this] { return giving_up_; });
  return !giving_up_ && store_;
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
  const FoldCounts folded = fold_.counts();
  const Estimator& estimator = fold_.estimator();
  const std::vector<GroupFigures> touched = fold_.take_touched();
  const std::lock_guard lock(view_mutex_);
  for (const GroupFigures& group : touched) fleet_->note(group);
  RowTally& counts = figures_.counts;
  counts.in = folded.rows;
  counts.folded = folded.folded;
  counts.duplicate = folded.duplicate;
  counts.gaps = fold_.state().sensors().opened_gaps();
  counts.missing = fold_.state().sensors().gaps();
  figures_.sensors = fold_.sensor_count();
  if (counts.refused_total() != folded.refused)
    counts.refused = estimator.refused();  // it allocates, so only when there are new ones
  figures_.follows_modes = estimator.describe_modes(figures_.modes);
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
  if (records == records_kept_ && !disk_refuses_ && !room_wanted_) return false;
  const Clock::duration since = Clock::now().time_since_epoch() - Clock::duration(last_snapshot_.load());
  if (since >= std::chrono::duration<double>(config_.snapshot_interval)) return true;
  if (disk_refuses_ || room_wanted_) return since >= disk_patience;
  return since >= disk_patience && journal_bytes_ > config_.journal_limit / 2;
}

void Stream::close() {
  give_up();
  const std::lock_guard keeping(keeping_mutex_);
  const std::lock_guard rows(rows_mutex_);
  store_.reset();
}

bool Stream::in_need() const {
  const std::lock_guard lock(view_mutex_);
  return disk_refuses_ || room_wanted_ || !snapshot_trouble_.empty();
}

/// The disk may be full of our own journal: the snapshot takes the room that was kept for it, and the journal
/// that it makes superfluous goes at once.
Done Stream::snapshot_in_need(const PendingSnapshot& pending) {
  store_->use_reserve();
  Done done = store_->write_snapshot(pending);
  if (done) {
    const std::lock_guard rows(rows_mutex_);
    done = store_->keep_only(pending);
  }
  store_->restore_reserve();
  return done;
}

Done Stream::snapshot() {
  const std::lock_guard keeping(keeping_mutex_);
  std::unique_lock rows(rows_mutex_);
  if (!store_) return std::monostate{};
  std::vector<Section> sections = fold_.sections();
  std::ranges::move(memory(), std::back_inserter(sections));
  const PendingSnapshot pending = store_->begin_snapshot(std::move(sections));
  const std::uint64_t records = record_count_;
  rows.unlock();
  last_snapshot_ = Clock::now().time_since_epoch().count();
  const Done done = in_need() ? snapshot_in_need(pending) : store_->write_snapshot(pending);
  journal_bytes_ = store_->figures().journal_bytes;
  given_up_.notify_all();
  const std::lock_guard lock(view_mutex_);
  snapshot_trouble_ = done ? "" : done.refusal().text;
  if (!done) return done;
  records_kept_ = records;
  snapshot_time_ = std::chrono::system_clock::now();
  return done;
}

Done Stream::save() {
  {
    const std::lock_guard keeping(keeping_mutex_);
    if (store_) store_->end_reserves();
  }
  keep_feedback(0s);
  return snapshot();
}

bool Stream::is_stuck() const {
  const std::lock_guard lock(view_mutex_);
  return figures_.inside_since && figures_.disk_trouble.empty() &&
         Clock::now() - *figures_.inside_since > longest_message;
}

}  // namespace mixstream
