// What the store reads, behind its checksums: segments, snapshots and tables of sequence numbers. The first
// byte chooses which.
#include <optional>
#include <string>

#include "fuzz/target.hpp"
#include "store/deduplication.hpp"
#include "store/record.hpp"
#include "store/snapshot.hpp"

using namespace mixstream;

namespace {

bool is_inside(std::span<const std::byte> part, std::span<const std::byte> whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void judge_content(const Record& record) {
  const auto message = message_in(record);
  const auto feedback = feedback_in(record);
  const auto rejection = rejection_in(record);
  const auto fed = fed_message_in(record);
  require(message.has_value() + feedback.has_value() + rejection.has_value() + fed.has_value() <= 1);
  std::optional<Content> content;
  if (message) content = *message;
  if (feedback) content = *feedback;
  if (rejection) content = *rejection;
  if (fed) content = *fed;
  if (!content) return;
  Bytes again;  // what was read writes the same record
  encode_record(again, 0, record.number, {&*content, 1});
  const std::span<const std::byte> payload = std::span(again).subspan(record_header_size);
  require(std::equal(payload.begin(), payload.end(), record.payload.begin(), record.payload.end()));
}

void judge_segment(std::span<const std::byte> bytes) {
  const Outcome<SegmentHeader> header = decode_segment_header(bytes, false);
  if (!header) return require(!header.refusal().text.empty());
  RecordReader reader(bytes, header.value(), false);
  std::uint64_t number = header.value().first_record;
  while (const std::optional<Record> record = reader.next()) {
    require(record->number == number++ && is_inside(record->payload, bytes));
    judge_content(*record);
  }
  require(reader.sound_length() <= bytes.size() && reader.next_number() == number);
  if (reader.at_end()) require(!reader.record_behind());
  RecordReader strict(bytes, header.value());
  while (strict.next()) {
  }
  require(strict.sound_length() <= reader.sound_length());
}

void judge_snapshot(std::span<const std::byte> bytes) {
  const Outcome<StreamSnapshot> decoded = decode_stream_snapshot(bytes, false);
  if (!decoded) return require(!decoded.refusal().text.empty());
  const Outcome<StreamSnapshot> again = decode_stream_snapshot(encode(decoded.value()));
  require(again && again.value() == decoded.value());
}

void judge_table(std::span<const std::byte> bytes) {
  Outcome<Deduplication> decoded = Deduplication::decode(bytes, {});
  if (!decoded) return require(!decoded.refusal().text.empty());
  Deduplication& table = decoded.value();
  const Bytes again = table.encode();
  require(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  for (const std::uint64_t sequence : {std::uint64_t{0}, std::uint64_t{5}, largest_sequence}) {
    const SequenceFate first = table.take("s", 1, sequence);
    const SequenceFate second = table.take("s", 1, sequence);
    require(first == SequenceFate::fresh ? second == SequenceFate::duplicate : second == first);
  }
  require(static_cast<bool>(Deduplication::decode(table.encode(), {})));
}

}  // namespace

void fuzz(std::string_view bytes) {
  if (bytes.empty()) return;
  const auto rest = std::as_bytes(std::span(bytes.substr(1)));
  switch (static_cast<unsigned char>(bytes[0]) % 3) {
    case 0:
      return judge_segment(rest);
    case 1:
      return judge_snapshot(rest);
    default:
      return judge_table(rest);
  }
}
