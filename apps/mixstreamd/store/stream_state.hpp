// What became of a stream's records: the estimator, the table of sequence numbers and the counts. The same
// records in the same order make the same state, live or replayed: this is why the journal is enough.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mixstream/estimator.hpp"
#include "mixstream/moments/codec.hpp"
#include "payload/payload.hpp"
#include "store/clock_guard.hpp"
#include "store/deduplication.hpp"
#include "store/record.hpp"
#include "store/row_taker.hpp"

namespace mixstream {

struct StreamStateSettings {
  EstimatorSettings estimator;
  PayloadSettings payload;
  IdentitySettings identity{};
};

/// Since the stream began. rows = folded + duplicate + refused.
struct FoldCounts {
  std::uint64_t messages = 0;
  std::uint64_t rows = 0;
  std::uint64_t folded = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t refused = 0;     ///< by reason: StreamState::refused()
  std::uint64_t unnumbered = 0;  ///< of the folded, those without sequence number: at least once, not exactly
  std::uint64_t feedbacks = 0;   ///< taken
  std::uint64_t feedbacks_refused = 0;  ///< of another model than the estimator's
  friend bool operator==(const FoldCounts&, const FoldCounts&) = default;
};

/// What one message did.
struct MessageEffect {
  std::size_t folded = 0;
  std::size_t duplicate = 0;
  std::size_t refused = 0;
  std::string first_refusal;  ///< in words, for the log; empty: none
};

/// One thread at a time.
class StreamState {
 public:
  static Outcome<StreamState> create(const StreamStateSettings& settings);
  /// The state that sections() made; `settings` as for Estimator::decode.
  static Outcome<StreamState> restore(std::span<const Section> sections, const StreamStateSettings& settings);

  /// A record of the journal, by its kind. Refuses one that cannot have been written for this state.
  Done apply(const Record& record);

  /// `taker`: takes each row that the estimator took; a row that it has no place for is refused.
  MessageEffect apply(const Message& message, RowTaker* taker = nullptr);
  void apply(const Rejection& rejection);
  /// Call with feedback.row == estimator().state().row_count(). Feedback that the estimator refuses is
  /// counted and leaves no trace, now as in every replay.
  Done apply(const Feedback& feedback);
  Done apply(const FedMessage& fed);
  void apply(const Reset& reset) { sensors_.forget(reset.sensor); }

  const Estimator& estimator() const noexcept { return estimator_; }
  const FoldCounts& counts() const noexcept { return counts_; }
  const Deduplication& sensors() const noexcept { return sensors_; }
  /// By reason; only reasons that occurred.
  std::vector<std::pair<std::string, std::uint64_t>> refused() const { return estimator_.refused(); }

  /// Everything as sections of a snapshot; equal states have equal bytes.
  std::vector<Section> sections() const;

 private:
  StreamState(Estimator estimator, PayloadParser parser, const StreamStateSettings& settings);
  enum class Fate : std::uint8_t { folded, duplicate, refused };
  Fate fold(const PayloadRow& row, const Message& message, RowTaker* taker);
  Fate refuse(const char* reason, std::string_view sensor = {});
  Done read_counts(std::span<const std::byte> bytes);

  Estimator estimator_;
  PayloadParser parser_;
  IdentitySettings identity_;
  Deduplication sensors_;
  ClockGuard clocks_;
  FoldCounts counts_;
};

/// Sections of a snapshot; types from first_guest_type on are the daemon's own.
enum StreamSection : std::uint32_t {
  estimator_part = 1,
  sensors_part = 2,
  counts_part = 3,
  sensor_notes_part = 4,
  clocks_part = 5
};

/// A fingerprint of what turns messages into rows, for StoreSettings::configuration.
std::uint64_t fingerprint(const StreamStateSettings& settings);

}  // namespace mixstream
