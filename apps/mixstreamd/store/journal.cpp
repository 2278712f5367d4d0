#include "store/journal.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "mixstream/moments/state_file.hpp"

namespace mixstream {
namespace {

constexpr const char* segment_kind = "journal";
constexpr std::size_t number_digits = 20;
constexpr std::size_t most_kept = 1 << 20;             // bytes: room for a longer record is given back
constexpr std::uint64_t largest_segment = 1ULL << 31;  // bytes; a longer file was not written by us

Refusal damaged(const std::string& path, const std::string& what) {
  return {Reason::bad_snapshot, "the journal is damaged: '" + path + "' " + what};
}

/// A segment's bytes and header; the name must agree with the header.
struct ReadSegment {
  Bytes bytes;
  SegmentHeader header;
};

Outcome<ReadSegment> read_segment(const std::string& path, std::uint64_t number) {
  Outcome<Bytes> bytes = read_file(path, largest_segment);
  if (!bytes) return bytes.refusal();
  const Outcome<SegmentHeader> header = decode_segment_header(bytes.value());
  if (!header) return Refusal{header.refusal().reason, "'" + path + "': " + header.refusal().text};
  if (header.value().first_record != number)
    return damaged(path, "begins with another record than its name says");
  return ReadSegment{std::move(bytes).value(), header.value()};
}

/// The last segment may end inside a record: the one that was being written when the power went.
Outcome<Segment> judge_last(const std::string& path, std::uint64_t number, std::size_t& torn_bytes) {
  const Outcome<ReadSegment> read = read_segment(path, number);
  if (!read) return read.refusal();
  RecordReader reader(read.value().bytes, read.value().header);
  while (reader.next()) {
  }
  if (!reader.at_end() && reader.record_behind())
    return damaged(
        path, "has a damaged record before sound ones, at byte " + std::to_string(reader.sound_length()));
  torn_bytes = read.value().bytes.size() - reader.sound_length();
  return Segment{read.value().header, reader.next_number(), reader.sound_length()};
}

/// Every other segment must hold what the one behind it says.
Outcome<Segment> judge_inner(const std::string& path, std::uint64_t number, const SegmentHeader& next) {
  const Outcome<ReadSegment> read = read_segment(path, number);
  if (!read) return read.refusal();
  const auto& [bytes, header] = read.value();
  if (header.identity != next.identity) return damaged(path, "belongs to another journal than the next file");
  if (bytes.size() < next.previous_length || next.previous_length < segment_header_size)
    return damaged(path, "is cut short, or the segment behind it is missing");
  const std::span<const std::byte> counted = std::span(bytes).first(next.previous_length);
  RecordReader reader(counted, header);
  while (reader.next()) {
  }
  if (!reader.at_end())
    return damaged(path, "has a damaged record at byte " + std::to_string(reader.sound_length()));
  if (reader.next_number() != next.first_record)
    return damaged(path, "ends before record " + std::to_string(next.first_record) +
                             ": the segment behind it is missing");
  return Segment{header, reader.next_number(), reader.sound_length()};
}

}  // namespace

std::string numbered_name(const std::string& kind, std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return kind + "-" + std::string(number_digits - digits.size(), '0') + digits;
}

std::optional<std::uint64_t> number_in(const std::string& name, const std::string& kind) {
  if (name.size() != kind.size() + 1 + number_digits || !name.starts_with(kind + "-")) return std::nullopt;
  std::uint64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(end - number_digits, end, number);
  if (error != std::errc{} || at != end) return std::nullopt;
  return number;
}

Outcome<FoundJournal> Journal::inspect(const std::string& folder, const std::vector<std::string>& names) {
  FoundJournal found;
  for (auto name = names.rbegin(); name != names.rend(); ++name) {  // sorted: the newest first
    const std::optional<std::uint64_t> number = number_in(*name, segment_kind);
    if (!number) continue;
    const std::string path = folder + "/" + *name;
    const bool last = found.segments.empty();
    Outcome<Segment> segment = last ? judge_last(path, *number, found.torn_bytes)
                                    : judge_inner(path, *number, found.segments.back().header);
    if (!segment && last) return segment.refusal();
    if (!segment) {
      found.broken_before = segment.refusal();
      break;
    }
    found.segments.push_back(std::move(segment).value());
  }
  std::ranges::reverse(found.segments);
  return found;
}

Journal::Journal(JournalSettings settings, std::uint64_t identity, std::vector<Segment> segments)
    : settings_(std::move(settings)),
      identity_(identity),
      closed_(std::move(segments)),
      tail_is_doubtful_(!closed_.empty()) {
  if (closed_.empty()) return;
  last_ = closed_.back();
  closed_.pop_back();
  next_record_ = last_->next_record;
}

std::string Journal::path_of(const SegmentHeader& header) const {
  return settings_.folder + "/" + numbered_name(segment_kind, header.first_record);
}

Done Journal::prepare() {
  file_ = {};  // nothing goes behind a segment that the next one may have closed already
  if (tail_is_doubtful_) {
    if (Done done = rewrite_tail(); !done) return done;
    tail_is_doubtful_ = false;
  }
  return begin_segment();
}

Done Journal::rewrite_tail() const {
  const Segment& last = *last_;
  if (last.next_record == last.header.first_record) return std::monostate{};  // begin_segment replaces it
  const std::string path = path_of(last.header);
  const Outcome<ReadSegment> read = read_segment(path, last.header.first_record);
  if (!read) return read.refusal();
  if (read.value().bytes.size() < last.sound_length) return damaged(path, "became shorter");
  const std::span<const std::byte> sound = std::span(read.value().bytes).first(last.sound_length);
  RecordReader reader(sound, read.value().header);
  while (reader.next()) {
  }
  if (!reader.at_end()) return damaged(path, "changed while it was read");
  return write_file(path, sound);
}

Done Journal::begin_segment() {
  SegmentHeader header{identity_, next_record_, 0, settings_.configuration};
  const bool replaces = last_ && last_->header.first_record == next_record_;
  if (last_) header.previous_length = replaces ? last_->header.previous_length : last_->sound_length;
  const std::string path = path_of(header);
  if (Done done = write_file(path, encode(header)); !done) return done;
  Outcome<Descriptor> file = open_for_append(path);
  if (!file) return file.refusal();
  const std::lock_guard lock(mutex_);
  if (last_ && !replaces) closed_.push_back(*last_);
  last_ = Segment{header, next_record_, segment_header_size};
  file_ = std::move(file).value();
  file_path_ = path;
  rotate_ = false;
  return std::monostate{};
}

Outcome<std::uint64_t> Journal::append(std::span<const Content> contents) {
  std::size_t bytes = 0;
  for (const Content& content : contents) bytes += foreign_bytes(content);
  if (bytes > settings_.record_bytes)
    return Refusal{Reason::too_large, "a record of " + std::to_string(bytes) +
                                          " bytes; the journal takes at most " +
                                          std::to_string(settings_.record_bytes)};
  encode_record(record_, identity_, next_record_, contents);
  const bool full = file_.is_open() && last_->sound_length >= settings_.segment_bytes;
  if (!file_.is_open() || full || rotate_) {
    if (const Done done = prepare(); !done) return done.refusal();
  }
  if (const Done done = append_durably(file_, record_, file_path_); !done) {
    file_ = {};
    return done.refusal();
  }
  const std::lock_guard lock(mutex_);
  last_->sound_length += record_.size();
  last_->next_record = next_record_ + contents.size();
  if (record_.capacity() > most_kept) Bytes().swap(record_);
  return std::exchange(next_record_, last_->next_record);
}

Done Journal::replay(std::uint64_t from, const std::function<Done(const Record&)>& take) const {
  for (const Segment& segment : closed_) {
    if (Done done = replay_segment(segment, from, take); !done) return done;
  }
  return last_ ? replay_segment(*last_, from, take) : Done(std::monostate{});
}

Done Journal::replay_segment(const Segment& segment, std::uint64_t from,
                             const std::function<Done(const Record&)>& take) const {
  if (segment.next_record <= from) return std::monostate{};
  const std::string path = path_of(segment.header);
  const Outcome<ReadSegment> read = read_segment(path, segment.header.first_record);
  if (!read) return read.refusal();
  if (read.value().bytes.size() < segment.sound_length) return damaged(path, "became shorter");
  const std::span<const std::byte> sound = std::span(read.value().bytes).first(segment.sound_length);
  RecordReader reader(sound, segment.header);
  while (const std::optional<Record> record = reader.next()) {
    if (record->number < from) continue;
    if (Done done = take(*record); !done) return done;
  }
  if (!reader.at_end()) return damaged(path, "changed while it was read");
  return std::monostate{};
}

Done Journal::remove_before(std::uint64_t record) {
  std::uint64_t keep_from = 0;  // the first record of the oldest segment that stays
  {
    const std::lock_guard lock(mutex_);
    if (!last_) return std::monostate{};
    std::erase_if(closed_, [&](const Segment& segment) { return segment.next_record <= record; });
    keep_from = closed_.empty() ? last_->header.first_record : closed_.front().header.first_record;
  }
  const Outcome<std::vector<std::string>> names = names_in(settings_.folder);
  if (!names) return names.refusal();
  for (const std::string& name : names.value()) {  // sorted: oldest first
    const std::optional<std::uint64_t> number = number_in(name, segment_kind);
    if (!number || *number >= keep_from) continue;
    if (Done done = remove_file(settings_.folder + "/" + name); !done) return done;
  }
  return std::monostate{};
}

std::uint64_t Journal::bytes() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t sum = last_ ? last_->sound_length : 0;
  for (const Segment& segment : closed_) sum += segment.sound_length;
  return sum;
}

std::size_t Journal::segment_count() const {
  const std::lock_guard lock(mutex_);
  return closed_.size() + (last_ ? 1 : 0);
}

}  // namespace mixstream
