#include "store/store.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "mixstream/moments/state_file.hpp"
#include "store/recovery.hpp"

namespace mixstream {
namespace {

constexpr std::size_t smallest_reserve = 1 << 18;  // bytes

std::uint64_t random_identity() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32) | device();
}

/// What a crash left of files that were never finished.
void remove_temporary_files(const std::string& folder) {
  const Outcome<std::vector<std::string>> names = names_in(folder);
  if (!names) return;
  for (const std::string& name : names.value()) {
    if (name.ends_with(".tmp")) static_cast<void>(remove_file(folder + "/" + name));
  }
}

}  // namespace

Outcome<std::unique_ptr<Store>> Store::open(StoreSettings settings) {
  if (const Done done = make_folder(settings.folder); !done) return done.refusal();
  const std::string lock_path = settings.folder + "/lock";
  Outcome<Descriptor> lock = lock_file(lock_path);
  if (!lock) return lock.refusal();
  const Outcome<std::string> note = read_note(lock.value(), lock_path);
  if (!note) return note.refusal();
  Outcome<Recovery> recovery = recover(settings, note.value());
  if (!recovery) return recovery.refusal();
  remove_temporary_files(settings.folder);
  auto& [recovered, segments, generations, is_new] = recovery.value();
  const std::uint64_t identity = is_new ? random_identity() : segments.back().header.identity;
  std::unique_ptr<Store> store(new Store(std::move(settings), std::move(lock).value(), std::move(recovered),
                                         identity, std::move(segments), std::move(generations)));
  if (const Done done = store->journal_.prepare(); done) {
    store->note_segment();
  } else {
    store->append_trouble_ = done.refusal().text;
  }
  if (store->settings_.reserves) store->reserve();
  return store;
}

Store::Store(StoreSettings settings, Descriptor lock, Recovered recovered, std::uint64_t identity,
             std::vector<Segment> segments, std::vector<std::uint64_t> generations)
    : settings_(std::move(settings)),
      lock_(std::move(lock)),
      recovered_(std::move(recovered)),
      journal_({settings_.folder, settings_.configuration, settings_.segment_bytes, settings_.record_bytes},
               identity, std::move(segments)),
      generations_(std::move(generations)) {}

/// From now on a folder without this segment is a loss, not a beginning. Only once the segment is on the
/// disk; where the note cannot be written the stream is no worse off, and the next segment tries again.
void Store::note_segment() {
  const std::optional<std::uint64_t> segment = journal_.open_segment();
  if (!segment || segment == noted_segment_) return;
  noted_segment_ = segment;
  static_cast<void>(write_note(lock_, numbered_name("journal", *segment) + "\n", settings_.folder + "/lock"));
}

Done Store::replay(const std::function<Done(const Record&)>& take) const {
  return journal_.replay(recovered_.replay_from, take);
}

Outcome<std::uint64_t> Store::append(std::span<const Content> contents) {
  Outcome<std::uint64_t> number = journal_.append(contents);
  if (number) note_segment();
  const std::lock_guard lock(mutex_);
  if (number) {
    figures_.appended += contents.size();
    append_trouble_.clear();
  } else if (number.refusal().reason != Reason::too_large) {
    ++figures_.refused;
    append_trouble_ = number.refusal().text;
  }
  return number;
}

PendingSnapshot Store::begin_snapshot(std::vector<Section> sections) {
  journal_.rotate();
  return {journal_.next_record(), std::move(sections)};
}

Done Store::write_snapshot(const PendingSnapshot& pending) {
  const std::string path = settings_.folder + "/" + numbered_name(snapshot_kind, pending.covers);
  const Bytes content = encode({journal_.identity(), pending.covers, pending.sections});
  const Done done = write_file(path, content);
  snapshot_bytes_ = content.size();
  {
    const std::lock_guard lock(mutex_);
    ++(done ? figures_.snapshots : figures_.snapshots_failed);
    snapshot_trouble_ = done ? "" : done.refusal().text;
  }
  if (!done) return done;
  if (generations_.empty() || generations_.front() != pending.covers)
    generations_.insert(generations_.begin(), pending.covers);
  if (generations_.size() > 2) generations_.pop_back();
  remove_what_is_not_needed();
  if (settings_.reserves) reserve();
  return done;
}

/// Zeros, written: a promise of the file system would do as well, but not every one gives it.
void Store::reserve() {
  const std::size_t needed = std::max(2 * snapshot_bytes_, smallest_reserve);
  if (reserved_ >= needed) return;
  const std::size_t bytes = needed + needed / 2;  // snapshots grow slowly: not again at each of them
  if (write_file(reserve_path(), Bytes(bytes))) reserved_ = bytes;
}

void Store::use_reserve() {
  {
    const std::lock_guard lock(mutex_);
    is_on_reserve_ = true;
  }
  static_cast<void>(remove_file(reserve_path()));
  reserved_ = 0;
}

void Store::restore_reserve() {
  if (settings_.reserves) reserve();
  const std::lock_guard lock(mutex_);
  is_on_reserve_ = false;
}

Done Store::keep_only(const PendingSnapshot& pending) {
  const std::string path = settings_.folder + "/" + numbered_name(snapshot_kind, pending.covers);
  const Outcome<Bytes> bytes = read_file(path);
  if (!bytes) return bytes.refusal();
  const Outcome<StreamSnapshot> snapshot = decode_stream_snapshot(bytes.value());
  if (!snapshot) return snapshot.refusal();
  if (Done begun = journal_.prepare(); !begun) return begun;
  note_segment();
  generations_.assign(1, pending.covers);
  remove_others();
  return std::monostate{};
}

bool Store::is_on_reserve() const {
  const std::lock_guard lock(mutex_);
  return is_on_reserve_;
}

/// What cannot be removed now is removed after the next snapshot.
void Store::remove_what_is_not_needed() {
  if (generations_.size() < 2) return;  // until then record 0 is the older generation
  remove_others();
}

void Store::remove_others() {
  const Outcome<std::vector<std::string>> names = names_in(settings_.folder);
  if (!names) return;
  for (const std::string& name : names.value()) {
    const std::optional<std::uint64_t> number = number_in(name, snapshot_kind);
    if (number && std::ranges::find(generations_, *number) == generations_.end())
      static_cast<void>(remove_file(settings_.folder + "/" + name));
  }
  static_cast<void>(journal_.remove_before(generations_.back()));
}

StoreHealth Store::health() const {
  const std::lock_guard lock(mutex_);
  if (!append_trouble_.empty()) return {false, append_trouble_};
  return {snapshot_trouble_.empty(), snapshot_trouble_};
}

StoreFigures Store::figures() const {
  const std::lock_guard lock(mutex_);
  StoreFigures figures = figures_;
  figures.journal_bytes = journal_.bytes();
  figures.segments = journal_.segment_count();
  return figures;
}

}  // namespace mixstream
