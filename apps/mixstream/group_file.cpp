#include "group_file.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "mixstream/moments/sections.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {
namespace {

constexpr std::string_view magic = "mixgroup";
constexpr std::uint32_t version = 2;
constexpr std::uint64_t head_size = 8 + 4 + 8;      // magic, version, size of what follows
constexpr std::uint64_t tail_size = 8 + 8;          // of the index: its place, its checksum
constexpr std::uint64_t largest_head = 1ULL << 30;  // column and empty estimator

Refusal damaged() {
  return {Reason::bad_snapshot, "the file of groups is damaged or cut short"};
}

bool begins_with_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() &&
         std::ranges::equal(bytes.first(magic.size()), std::as_bytes(std::span(magic)));
}

void put_entry(ByteWriter& out, const GroupEntry& entry) {
  out.put_text(entry.group);
  out.put(static_cast<std::uint32_t>(entry.as_rows ? 1 : 0));
  for (const std::uint64_t number : {entry.rows, entry.begin, entry.size, entry.checksum}) out.put(number);
}

GroupEntry take_entry(ByteReader& in) {
  GroupEntry entry;
  entry.group = in.take_text();
  entry.as_rows = in.take<std::uint32_t>() == 1;
  for (std::uint64_t* number : {&entry.rows, &entry.begin, &entry.size, &entry.checksum})
    *number = in.take<std::uint64_t>();
  return entry;
}

}  // namespace

Outcome<GroupWriter> GroupWriter::create(const std::string& path, const std::string& column,
                                         const Estimator& empty) {
  Outcome<FileWriter> file = FileWriter::create(path);
  if (!file) return file.refusal();
  GroupWriter writer(std::move(file).value());
  ByteWriter head;
  head.put_text(column);
  head.put(std::span<const std::byte>(empty.encode()));
  ByteWriter out;
  out.put(std::as_bytes(std::span(magic)));
  out.put(version);
  out.put(static_cast<std::uint64_t>(head.size()));
  out.put(head.written());
  if (const Done written = writer.write(out.written()); !written) return written.refusal();
  return writer;
}

Done GroupWriter::write(std::span<const std::byte> bytes) {
  at_ += bytes.size();
  return file_.write(bytes);
}

Done GroupWriter::add(GroupEntry entry, const Bytes& bytes) {
  entry.begin = at_;
  entry.size = bytes.size();
  entry.checksum = checksum(bytes);
  entries_.push_back(std::move(entry));
  return write(bytes);
}

Done GroupWriter::add(const std::string& group, const FewRows& rows) {
  ByteWriter out;
  rows.encode(out);
  return add(GroupEntry{group, true, rows.rows()}, std::move(out).take());
}

Done GroupWriter::add(const std::string& group, const Estimator& estimator) {
  return add(GroupEntry{group, false, estimator.state().row_count()}, estimator.encode());
}

Done GroupWriter::finish() {
  ByteWriter index;
  index.put(static_cast<std::uint64_t>(entries_.size()));
  for (const GroupEntry& entry : entries_) put_entry(index, entry);
  const std::uint64_t sum = checksum(index.written());
  index.put(at_);
  index.put(sum);
  if (const Done written = write(index.written()); !written) return written.refusal();
  return file_.finish();
}

Outcome<GroupReader> GroupReader::open(const std::string& path) {
  Outcome<FileReader> file = FileReader::open(path);
  if (!file) return file.refusal();
  GroupReader reader(std::move(file).value());
  const std::uint64_t size = reader.file_.size();
  if (size < head_size + tail_size) return damaged();
  const Outcome<Bytes> head = reader.file_.read(0, head_size);
  if (!head) return head.refusal();
  if (!begins_with_magic(head.value())) return damaged();
  ByteReader in(std::span(head.value()).subspan(magic.size()));
  if (in.take<std::uint32_t>() != version)
    return Refusal{Reason::unknown_version, "the file of groups was made by another version of mixstream"};
  const auto head_length = in.take<std::uint64_t>();
  const Outcome<Bytes> tail = reader.file_.read(size - tail_size, tail_size);
  if (!tail) return tail.refusal();
  ByteReader end(tail.value());
  const auto index_begin = end.take<std::uint64_t>();
  const auto sum = end.take<std::uint64_t>();
  if (head_length > largest_head || index_begin > size - tail_size) return damaged();
  const Outcome<Bytes> words = reader.file_.read(head_size, head_length);
  const Outcome<Bytes> index = reader.file_.read(index_begin, size - tail_size - index_begin);
  if (!words || !index || checksum(index.value()) != sum) return damaged();
  ByteReader words_in(words.value());
  reader.column_ = words_in.take_text();
  const auto empty = words_in.take_bytes(words_in.left());
  reader.empty_.assign(empty.begin(), empty.end());
  ByteReader index_in(index.value());
  const auto count = index_in.take<std::uint64_t>();
  for (std::uint64_t i = 0; index_in.ok() && i < count; ++i) reader.entries_.push_back(take_entry(index_in));
  if (!words_in.ok() || !index_in.ok() || !index_in.at_end()) return damaged();
  return reader;
}

Outcome<GroupModel> GroupReader::read(const GroupEntry& entry, const EstimatorSettings& settings) {
  const Outcome<Bytes> bytes = file_.read(entry.begin, entry.size);
  if (!bytes) return bytes.refusal();
  if (checksum(bytes.value()) != entry.checksum) return damaged();
  if (!entry.as_rows) {
    Outcome<Estimator> estimator = Estimator::decode(bytes.value(), settings);
    if (!estimator) return estimator.refusal();
    return GroupModel(std::move(estimator).value());
  }
  ByteReader in(bytes.value());
  std::optional<FewRows> rows = FewRows::decode(in);
  if (!rows || !in.at_end() || !rows->has_features_of(settings.state.layout)) return damaged();
  return GroupModel(*std::move(rows));
}

bool holds_groups(const std::string& path) {
  Outcome<FileReader> file = FileReader::open(path);
  if (!file || file.value().size() < magic.size()) return false;
  const Outcome<Bytes> bytes = file.value().read(0, magic.size());
  return bytes && begins_with_magic(bytes.value());
}

}  // namespace mixstream
