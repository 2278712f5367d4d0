// Records and segment headers as bytes.
#include "store/record.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mixstream;

namespace {

constexpr std::uint64_t identity = 0x1122334455667788;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A segment with a message, a feedback, a rejection and a message with feedback, from record 40 on.
Bytes four_records(const SegmentHeader& header) {
  Bytes segment = encode(header);
  Bytes record;
  const auto add = [&](const Content& content, std::uint64_t number) {
    encode_record(record, identity, number, {&content, 1});
    segment.insert(segment.end(), record.begin(), record.end());
  };
  add(Message{"plant/pump", bytes_of("{\"y\":1}"), 17.5}, 40);
  add(Feedback{123, bytes_of("fed back")}, 41);
  add(Rejection{"peer", "line_too_long"}, 42);
  add(FedMessage{{456, bytes_of("fed")}, {"plant/fan", bytes_of("y"), 18.5}}, 43);
  return segment;
}

std::size_t sound_records(std::span<const std::byte> segment, const SegmentHeader& header) {
  RecordReader reader(segment, header);
  std::size_t count = 0;
  while (reader.next()) ++count;
  return count;
}

}  // namespace

TEST_CASE("records come back as they were") {
  const SegmentHeader header{identity, 40, 77, 99};
  const Bytes segment = four_records(header);
  const Outcome<SegmentHeader> read = decode_segment_header(segment);
  REQUIRE(read);
  CHECK(read.value() == header);
  RecordReader reader(segment, header);
  const auto first = reader.next();
  REQUIRE(first);
  const auto message = message_in(*first);
  REQUIRE(message);
  CHECK(message->source == "plant/pump");
  CHECK(text_of(message->payload) == "{\"y\":1}");
  CHECK(message->arrival == 17.5);
  CHECK_FALSE(feedback_in(*first));
  CHECK_FALSE(rejection_in(*first));
  const auto second = reader.next();
  REQUIRE(second);
  REQUIRE(feedback_in(*second));
  CHECK(feedback_in(*second)->row == 123);
  CHECK(text_of(feedback_in(*second)->bytes) == "fed back");
  const auto third = reader.next();
  REQUIRE(third);
  REQUIRE(rejection_in(*third));
  CHECK(rejection_in(*third)->reason == "line_too_long");
  CHECK(third->number == 42);
  CHECK_FALSE(fed_message_in(*third));
  const auto fourth = reader.next();
  REQUIRE(fourth);
  const auto fed = fed_message_in(*fourth);
  REQUIRE(fed);
  CHECK(fed->before.row == 456);
  CHECK(text_of(fed->before.bytes) == "fed");
  CHECK(fed->message.source == "plant/fan");
  CHECK(text_of(fed->message.payload) == "y");
  CHECK(fed->message.arrival == 18.5);
  CHECK_FALSE(message_in(*fourth));
  CHECK_FALSE(feedback_in(*fourth));
  CHECK_FALSE(reader.next());
  CHECK(reader.at_end());
  CHECK(reader.next_number() == 44);
}

TEST_CASE("every flipped bit and every cut of a segment is seen") {
  const SegmentHeader header{identity, 40, 77, 99};
  const Bytes segment = four_records(header);
  for (std::size_t bit = 0; bit < segment.size() * 8; ++bit) {
    Bytes flipped = segment;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
    if (bit / 8 < segment_header_size) {
      CHECK_FALSE(decode_segment_header(flipped));
    } else {
      CHECK(sound_records(flipped, header) < 4);
    }
  }
  for (std::size_t size = 0; size < segment.size(); ++size) {
    const std::span<const std::byte> cut = std::span(segment).first(size);
    if (size < segment_header_size) {
      CHECK_FALSE(decode_segment_header(cut));
    } else {
      CHECK(sound_records(cut, header) < 4);
    }
  }
}

TEST_CASE("records that were written together are all there, in order, or none is") {
  const SegmentHeader header{identity, 40, 77, 99};
  const Content contents[] = {FedMessage{{456, bytes_of("fed")}, {"plant/fan", bytes_of("y"), 18.5}},
                              Rejection{"peer", "line_too_long"}, Message{"plant/pump", bytes_of(""), 17.5},
                              Reset{"pump"}};
  Bytes record;
  encode_record(record, identity, 40, contents);
  Bytes segment = encode(header);
  segment.insert(segment.end(), record.begin(), record.end());
  RecordReader reader(segment, header);
  std::vector<RecordKind> kinds;
  for (std::uint64_t number = 40; const auto found = reader.next(); ++number) {
    kinds.push_back(found->kind);
    CHECK(found->number == number);
  }
  CHECK(kinds ==
        std::vector{RecordKind::fed_message, RecordKind::rejection, RecordKind::message, RecordKind::reset});
  CHECK(reader.at_end());
  CHECK(reader.next_number() == 44);
  for (std::size_t size = segment_header_size; size < segment.size(); ++size)
    CHECK(sound_records(std::span(segment).first(size), header) == 0);
  for (std::size_t at = segment_header_size; at < segment.size(); ++at) {
    Bytes turned = segment;
    turned[at] ^= std::byte{1};
    CHECK(sound_records(turned, header) == 0);
    RecordReader torn(turned, header);
    CHECK_FALSE(torn.record_behind());
  }
}

TEST_CASE("damage before a sound record is told from a torn tail") {
  const SegmentHeader header{identity, 40, 77, 99};
  const Bytes segment = four_records(header);
  Bytes torn = segment;
  torn.back() ^= std::byte{1};
  RecordReader tail(torn, header);
  while (tail.next()) {
  }
  CHECK(tail.next_number() == 43);
  CHECK_FALSE(tail.record_behind());
  Bytes damaged = segment;
  damaged[segment_header_size + record_header_size] ^= std::byte{1};
  RecordReader inner(damaged, header);
  CHECK_FALSE(inner.next());
  CHECK(inner.record_behind());
}

TEST_CASE("records of another journal or out of order do not count") {
  const SegmentHeader header{identity, 40, 77, 99};
  const Bytes segment = four_records(header);
  CHECK(sound_records(segment, {identity + 1, 40, 77, 99}) == 0);
  CHECK(sound_records(segment, {identity, 41, 77, 99}) == 0);
}

TEST_CASE("a later version is named") {
  Bytes bytes = encode(SegmentHeader{identity, 0, 0, 0});
  bytes[8] = std::byte{2};
  const Outcome<SegmentHeader> read = decode_segment_header(bytes, false);
  REQUIRE_FALSE(read);
  CHECK(read.refusal().reason == Reason::unknown_version);
}
