// One record of the journal, and a segment's header, as bytes. docs/reference/daemon-files.md describes every
// byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

inline constexpr std::uint32_t journal_version = 1;

/// What a source handed over, before anybody looked into it. Views only.
struct Message {
  std::string_view source;             ///< MQTT topic, peer or file; the sensor of rows that name none
  std::span<const std::byte> payload;  ///< as it came
  double arrival = 0.0;                ///< seconds since 1970: the time of rows that carry none
};

/// What a fit fed back to the estimator, and at which of its rows. Views only.
struct Feedback {
  std::uint64_t row = 0;             ///< row_count() of the state when it was taken
  std::span<const std::byte> bytes;  ///< FitFeedback::encode()
};

/// A message, and before it what a fit had fed back since the message before: one record, so that ingest
/// waits for the disk once, and both are there or neither. Views only.
struct FedMessage {
  Feedback before;
  Message message;
};

/// What a source refused by itself, such as a line that is too long: counted as one row. Views only.
struct Rejection {
  std::string_view source;
  std::string_view reason;  ///< a stable name, such as "line_too_long"
};

/// A person's word that a sensor begins to count anew: its numbers so far are forgotten. Views only.
struct Reset {
  std::string_view sensor;
};

/// What a record may hold.
using Content = std::variant<Message, Feedback, Rejection, FedMessage, Reset>;

enum class RecordKind : std::uint32_t {
  message = 1,
  feedback = 2,
  rejection = 3,
  fed_message = 4,
  reset = 5,
  several = 6  ///< of the other kinds, with a number each, under one checksum: all are there or none
};

/// A record as it stands in the journal; the payload is what message_in and its sisters read.
struct Record {
  std::uint64_t number = 0;  ///< from 0, one after the other over all segments
  RecordKind kind{};
  std::span<const std::byte> payload;
};

/// Bytes that others decide about, with room for the header: looked at before anything is copied. No throw.
std::size_t foreign_bytes(const Content& content) noexcept;

/// Makes `out` a whole record, of the contents from `number` on: one as it is, several together. Allocates
/// only where `out` must grow.
void encode_record(Bytes& out, std::uint64_t identity, std::uint64_t number,
                   std::span<const Content> contents);

/// The content of a record whose checksums fit; nothing where the bytes cannot be one.
std::optional<Message> message_in(const Record& record) noexcept;
std::optional<Feedback> feedback_in(const Record& record) noexcept;
std::optional<Rejection> rejection_in(const Record& record) noexcept;
std::optional<Reset> reset_in(const Record& record) noexcept;
std::optional<FedMessage> fed_message_in(const Record& record) noexcept;

/// What opens a segment file.
struct SegmentHeader {
  std::uint64_t identity = 0;         ///< of the journal: a random number that every file of it carries
  std::uint64_t first_record = 0;     ///< the number of its first record
  std::uint64_t previous_length = 0;  ///< sound bytes of the segment before; what follows them never counted
  std::uint64_t configuration = 0;    ///< fingerprint of what turns messages into rows
  friend bool operator==(const SegmentHeader&, const SegmentHeader&) = default;
};
inline constexpr std::size_t segment_header_size = 56;
inline constexpr std::size_t record_header_size = 32;

Bytes encode(const SegmentHeader& header);
Outcome<SegmentHeader> decode_segment_header(std::span<const std::byte> bytes, bool trust_checksum = true);

/// Walks over the records of a segment whose header has been checked, up to the first that is not sound;
/// those that were written together come one by one. Views into the bytes; no throw, no allocation.
class RecordReader {
 public:
  /// bytes: the segment from its header on, without what does not count.
  /// trust_checksum: false skips checksums, so that fuzzers reach what lies behind.
  RecordReader(std::span<const std::byte> bytes, const SegmentHeader& header,
               bool trust_checksum = true) noexcept
      : bytes_(bytes),
        identity_(header.identity),
        number_(header.first_record),
        trust_checksum_(trust_checksum) {}

  std::optional<Record> next() noexcept;

  /// Bytes up to here are sound, all records that were written together counted in with their first.
  std::size_t sound_length() const noexcept { return at_; }
  std::uint64_t next_number() const noexcept { return number_; }  ///< of the record that would come next
  bool at_end() const noexcept { return at_ == bytes_.size(); }

  /// Whether a sound record of this journal stands anywhere behind: then what is here is damage, for nothing
  /// is ever written behind a record that was not finished. Costs a look at every byte.
  bool record_behind() const noexcept;

 private:
  std::optional<Record> record_at(std::size_t at) const noexcept;

  std::span<const std::byte> bytes_;
  std::size_t at_ = segment_header_size;
  std::span<const std::byte> together_;  // what is left of records that were written together
  std::uint64_t identity_;
  std::uint64_t number_;
  bool trust_checksum_;
};

}  // namespace mixstream
