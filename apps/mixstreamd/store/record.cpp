#include "store/record.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include "mixstream/moments/sections.hpp"

namespace mixstream {
namespace {

constexpr std::uint64_t segment_magic = 0x4C4E524A5358494DULL;  // "MIXSJRNL" in little-endian

template <std::unsigned_integral Number>
void put_at(std::byte* place, Number value) noexcept {
  for (std::size_t i = 0; i < sizeof(Number); ++i)
    place[i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
}

std::string_view text_of(std::span<const std::byte> bytes) noexcept {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Makes room for a record; its payload begins at the pointer returned.
std::byte* start_record(Bytes& out, std::size_t payload_size) {
  out.resize(record_header_size + payload_size);
  return out.data() + record_header_size;
}

/// Sets the header in front of a payload that is in place.
void finish_record(Bytes& out, std::uint64_t identity, std::uint64_t number, RecordKind kind) noexcept {
  const std::span<const std::byte> payload = std::span(out).subspan(record_header_size);
  put_at(out.data(), static_cast<std::uint32_t>(payload.size()));
  put_at(out.data() + 4, static_cast<std::uint32_t>(kind));
  put_at(out.data() + 8, number);
  put_at(out.data() + 16, checksum(payload, identity));
  put_at(out.data() + 24, checksum(std::span(out).first(24), identity));
}

std::size_t size_of(const Message& message) noexcept {
  return 12 + message.source.size() + message.payload.size();
}

void put_message(std::byte* at, const Message& message) noexcept {
  put_at(at, std::bit_cast<std::uint64_t>(message.arrival));
  put_at(at + 8, static_cast<std::uint32_t>(message.source.size()));
  at = std::ranges::copy(std::as_bytes(std::span(message.source)), at + 12).out;
  std::ranges::copy(message.payload, at);
}

/// A message to the end of the bytes.
std::optional<Message> take_message(ByteReader& in) noexcept {
  Message message;
  message.arrival = in.take_double();
  message.source = text_of(in.take_bytes(in.take<std::uint32_t>()));
  if (!in.ok() || !std::isfinite(message.arrival)) return std::nullopt;
  message.payload = in.take_bytes(in.left());
  return message;
}

}  // namespace

std::size_t foreign_bytes(const Message& message) noexcept {
  return record_header_size + size_of(message);
}
std::size_t foreign_bytes(const Feedback& /*ours*/) noexcept {
  return record_header_size + 8;
}
std::size_t foreign_bytes(const Rejection& rejection) noexcept {
  return record_header_size + 4 + rejection.source.size() + rejection.reason.size();
}
std::size_t foreign_bytes(const Reset& reset) noexcept {
  return record_header_size + reset.sensor.size();
}
std::size_t foreign_bytes(const FedMessage& fed) noexcept {
  return record_header_size + 12 + size_of(fed.message);
}

void encode_record(Bytes& out, std::uint64_t identity, std::uint64_t number, const Message& message) {
  put_message(start_record(out, size_of(message)), message);
  finish_record(out, identity, number, RecordKind::message);
}

void encode_record(Bytes& out, std::uint64_t identity, std::uint64_t number, const Feedback& feedback) {
  std::byte* const at = start_record(out, 8 + feedback.bytes.size());
  put_at(at, feedback.row);
  std::ranges::copy(feedback.bytes, at + 8);
  finish_record(out, identity, number, RecordKind::feedback);
}

void encode_record(Bytes& out, std::uint64_t identity, std::uint64_t number, const Rejection& rejection) {
  std::byte* at = start_record(out, 4 + rejection.source.size() + rejection.reason.size());
  put_at(at, static_cast<std::uint32_t>(rejection.source.size()));
  at = std::ranges::copy(std::as_bytes(std::span(rejection.source)), at + 4).out;
  std::ranges::copy(std::as_bytes(std::span(rejection.reason)), at);
  finish_record(out, identity, number, RecordKind::rejection);
}

void encode_record(Bytes& out, std::uint64_t identity, std::uint64_t number, const Reset& reset) {
  std::ranges::copy(std::as_bytes(std::span(reset.sensor)), start_record(out, reset.sensor.size()));
  finish_record(out, identity, number, RecordKind::reset);
}

void encode_record(Bytes& out, std::uint64_t identity, std::uint64_t number, const FedMessage& fed) {
  const Feedback& before = fed.before;
  std::byte* at = start_record(out, 12 + before.bytes.size() + size_of(fed.message));
  put_at(at, before.row);
  put_at(at + 8, static_cast<std::uint32_t>(before.bytes.size()));
  at = std::ranges::copy(before.bytes, at + 12).out;
  put_message(at, fed.message);
  finish_record(out, identity, number, RecordKind::fed_message);
}

std::optional<Message> message_in(const Record& record) noexcept {
  if (record.kind != RecordKind::message) return std::nullopt;
  ByteReader in(record.payload);
  return take_message(in);
}

std::optional<Reset> reset_in(const Record& record) noexcept {
  if (record.kind != RecordKind::reset) return std::nullopt;
  return Reset{text_of(record.payload)};
}

std::optional<Feedback> feedback_in(const Record& record) noexcept {
  if (record.kind != RecordKind::feedback) return std::nullopt;
  ByteReader in(record.payload);
  Feedback feedback;
  feedback.row = in.take<std::uint64_t>();
  if (!in.ok()) return std::nullopt;
  feedback.bytes = in.take_bytes(in.left());
  return feedback;
}

std::optional<Rejection> rejection_in(const Record& record) noexcept {
  if (record.kind != RecordKind::rejection) return std::nullopt;
  ByteReader in(record.payload);
  Rejection rejection;
  rejection.source = text_of(in.take_bytes(in.take<std::uint32_t>()));
  if (!in.ok()) return std::nullopt;
  rejection.reason = text_of(in.take_bytes(in.left()));
  return rejection;
}

std::optional<FedMessage> fed_message_in(const Record& record) noexcept {
  if (record.kind != RecordKind::fed_message) return std::nullopt;
  ByteReader in(record.payload);
  Feedback before;
  before.row = in.take<std::uint64_t>();
  before.bytes = in.take_bytes(in.take<std::uint32_t>());
  const std::optional<Message> message = take_message(in);
  if (!message) return std::nullopt;
  return FedMessage{before, *message};
}

Bytes encode(const SegmentHeader& header) {
  ByteWriter out;
  out.put(segment_magic);
  out.put(journal_version);
  out.put(std::uint32_t{0});
  for (const std::uint64_t number :
       {header.identity, header.first_record, header.previous_length, header.configuration}) {
    out.put(number);
  }
  out.put(checksum(out.written()));
  return std::move(out).take();
}

Outcome<SegmentHeader> decode_segment_header(std::span<const std::byte> bytes, bool trust_checksum) {
  ByteReader in(bytes);
  if (in.take<std::uint64_t>() != segment_magic)
    return Refusal{Reason::bad_snapshot, "this is not a segment of a mixstream journal"};
  const auto version = in.take<std::uint32_t>();
  const auto zero = in.take<std::uint32_t>();
  SegmentHeader header;
  for (std::uint64_t* number :
       {&header.identity, &header.first_record, &header.previous_length, &header.configuration}) {
    *number = in.take<std::uint64_t>();
  }
  const auto sum = in.take<std::uint64_t>();
  if (!in.ok()) return Refusal{Reason::bad_snapshot, "the journal is damaged: a header is cut short"};
  if (trust_checksum && sum != checksum(bytes.first(segment_header_size - 8)))
    return Refusal{Reason::bad_snapshot, "the journal is damaged: the checksum of a header does not fit"};
  if (version != journal_version)
    return Refusal{Reason::unknown_version, "the journal has format version " + std::to_string(version) +
                                                ", this program reads version " +
                                                std::to_string(journal_version)};
  if (zero != 0) return Refusal{Reason::bad_snapshot, "the journal is damaged: a header is not sound"};
  return header;
}

std::optional<Record> RecordReader::record_at(std::size_t at) const noexcept {
  if (bytes_.size() < at || bytes_.size() - at < record_header_size) return std::nullopt;
  ByteReader in(bytes_.subspan(at));
  const auto length = in.take<std::uint32_t>();
  const auto kind = in.take<std::uint32_t>();
  Record record{in.take<std::uint64_t>(), static_cast<RecordKind>(kind), {}};
  const auto payload_sum = in.take<std::uint64_t>();
  const auto header_sum = in.take<std::uint64_t>();
  if (trust_checksum_ && header_sum != checksum(bytes_.subspan(at, 24), identity_)) return std::nullopt;
  record.payload = in.take_bytes(length);
  if (!in.ok()) return std::nullopt;
  if (trust_checksum_ && payload_sum != checksum(record.payload, identity_)) return std::nullopt;
  return record;
}

std::optional<Record> RecordReader::next() noexcept {
  const std::optional<Record> record = record_at(at_);
  if (!record || record->number != number_) return std::nullopt;
  at_ += record_header_size + record->payload.size();
  ++number_;
  return record;
}

bool RecordReader::record_behind() const noexcept {
  for (std::size_t at = at_; at + record_header_size <= bytes_.size(); ++at) {
    if (record_at(at)) return true;
  }
  return false;
}

}  // namespace mixstream
