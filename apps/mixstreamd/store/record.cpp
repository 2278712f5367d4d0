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

std::size_t size_of(const Message& message) noexcept {
  return 12 + message.source.size() + message.payload.size();
}
std::size_t size_of(const Feedback& feedback) noexcept {
  return 8 + feedback.bytes.size();
}
std::size_t size_of(const Rejection& rejection) noexcept {
  return 4 + rejection.source.size() + rejection.reason.size();
}
std::size_t size_of(const FedMessage& fed) noexcept {
  return 12 + fed.before.bytes.size() + size_of(fed.message);
}
std::size_t size_of(const Reset& reset) noexcept {
  return reset.sensor.size();
}
std::size_t size_of(const Content& content) noexcept {
  return std::visit([](const auto& held) { return size_of(held); }, content);
}

std::byte* put_text_at(std::byte* at, std::string_view text) noexcept {
  return std::ranges::copy(std::as_bytes(std::span(text)), at).out;
}

void put(std::byte* at, const Message& message) noexcept {
  put_at(at, std::bit_cast<std::uint64_t>(message.arrival));
  put_at(at + 8, static_cast<std::uint32_t>(message.source.size()));
  std::ranges::copy(message.payload, put_text_at(at + 12, message.source));
}
void put(std::byte* at, const Feedback& feedback) noexcept {
  put_at(at, feedback.row);
  std::ranges::copy(feedback.bytes, at + 8);
}
void put(std::byte* at, const Rejection& rejection) noexcept {
  put_at(at, static_cast<std::uint32_t>(rejection.source.size()));
  put_text_at(put_text_at(at + 4, rejection.source), rejection.reason);
}
void put(std::byte* at, const FedMessage& fed) noexcept {
  const Feedback& before = fed.before;
  put_at(at, before.row);
  put_at(at + 8, static_cast<std::uint32_t>(before.bytes.size()));
  put(std::ranges::copy(before.bytes, at + 12).out, fed.message);
}
void put(std::byte* at, const Reset& reset) noexcept {
  put_text_at(at, reset.sensor);
}
void put(std::byte* at, const Content& content) noexcept {
  std::visit([&](const auto& held) { put(at, held); }, content);
}

RecordKind kind_of(const Content& content) noexcept {
  return static_cast<RecordKind>(content.index() + 1);  // the order of both is the same
}

constexpr std::size_t part_header_size = 8;  // u32 length, u32 kind

/// The payload of a record that holds several.
std::size_t size_of(std::span<const Content> contents) noexcept {
  std::size_t size = 0;
  for (const Content& content : contents) size += part_header_size + size_of(content);
  return size;
}

void put(std::byte* at, std::span<const Content> contents) noexcept {
  for (const Content& content : contents) {
    const std::size_t size = size_of(content);
    put_at(at, static_cast<std::uint32_t>(size));
    put_at(at + 4, static_cast<std::uint32_t>(kind_of(content)));
    put(at + part_header_size, content);
    at += part_header_size + size;
  }
}

/// The first of several, taken off their front; nothing where the bytes cannot be records.
std::optional<Record> take_part(std::span<const std::byte>& parts) noexcept {
  ByteReader in(parts);
  const auto length = in.take<std::uint32_t>();
  Record part{0, static_cast<RecordKind>(in.take<std::uint32_t>()), in.take_bytes(length)};
  if (!in.ok() || part.kind == RecordKind::several) return std::nullopt;
  parts = parts.last(in.left());
  return part;
}

bool are_parts(std::span<const std::byte> payload) noexcept {
  while (!payload.empty()) {
    if (!take_part(payload)) return false;
  }
  return true;
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

std::size_t foreign_bytes(const Content& content) noexcept {
  std::size_t ours = 0;
  if (const auto* const feedback = std::get_if<Feedback>(&content)) ours = feedback->bytes.size();
  if (const auto* const fed = std::get_if<FedMessage>(&content)) ours = fed->before.bytes.size();
  return record_header_size + size_of(content) - ours;
}

void encode_record(Bytes& out, std::uint64_t identity, std::uint64_t number,
                   std::span<const Content> contents) {
  const bool alone = contents.size() == 1;
  out.resize(record_header_size + (alone ? size_of(contents.front()) : size_of(contents)));
  const std::span<std::byte> payload = std::span(out).subspan(record_header_size);
  alone ? put(payload.data(), contents.front()) : put(payload.data(), contents);
  const RecordKind kind = alone ? kind_of(contents.front()) : RecordKind::several;
  put_at(out.data(), static_cast<std::uint32_t>(payload.size()));
  put_at(out.data() + 4, static_cast<std::uint32_t>(kind));
  put_at(out.data() + 8, number);
  put_at(out.data() + 16, checksum(payload, identity));
  put_at(out.data() + 24, checksum(std::span(out).first(24), identity));
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
  const bool is_whole =
      record.kind != RecordKind::several || (!record.payload.empty() && are_parts(record.payload));
  return is_whole ? std::optional(record) : std::nullopt;
}

std::optional<Record> RecordReader::next() noexcept {
  std::optional<Record> record;
  if (together_.empty()) {
    record = record_at(at_);
    if (!record || record->number != number_) return std::nullopt;
    at_ += record_header_size + record->payload.size();
    if (record->kind == RecordKind::several) together_ = record->payload;
  }
  if (!together_.empty()) record = take_part(together_);
  record->number = number_++;
  return record;
}

bool RecordReader::record_behind() const noexcept {
  for (std::size_t at = at_; at + record_header_size <= bytes_.size(); ++at) {
    if (record_at(at)) return true;
  }
  return false;
}

}  // namespace mixstream
