// What the records of a journal make of a stream: nothing else does. Folding the same records in the same order gives
// the same state, bit for bit; a restart relies on it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../config/config.hpp"
#include "mixstream/estimator.hpp"
#include "payload/payload.hpp"
#include "store/deduplication.hpp"
#include "store/record.hpp"

namespace mixstream {

/// All that is kept: copy it at a row boundary to solve or save it elsewhere.
struct FoldState {
  Estimator estimator;
  Deduplication seen{};
  std::uint64_t rows_in = 0;
  std::uint64_t duplicate = 0;
  std::uint64_t set_aside = 0;  ///< too old for anyone to know whether they are duplicates
  std::map<std::string, std::uint64_t, std::less<>> taken{};  ///< of replayed files: bytes

  /// For a snapshot.
  std::vector<Section> sections() const;
  /// Refuses damage, and the state of another model than the configuration's, saying what differs.
  static Outcome<FoldState> restore(const std::vector<Section>& sections, const StreamConfig& config);
};

/// One thread at a time.
class Fold {
 public:
  static Outcome<Fold> create(const StreamConfig& config);
  static Outcome<Fold> restore(const std::vector<Section>& sections, const StreamConfig& config);

  void take(const Message& message);
  void take(const Rejection& rejection);
  /// Refuses feedback of another model; then nothing changes.
  Verdict take(const Feedback& feedback);
  /// Any of these, read back from a journal.
  Verdict take(const Record& record);

  const FoldState& state() const noexcept { return state_; }
  const Estimator& estimator() const noexcept { return state_.estimator; }

 private:
  Fold(const StreamConfig& config, PayloadParser parser, FoldState state);
  void take_rows(std::string_view payload, double arrival, std::string_view source);
  void take_row(const PayloadRow& row, std::string_view source);
  bool is_fresh(const PayloadRow& row, std::string_view source);

  PayloadParser parser_;
  FoldState state_;
  bool by_line_;    // each line is a message of its own
  bool replayed_;   // the source of a message ends with its offset
};

/// What a message of a replay is journalled as: its file and the offset behind it.
std::string replay_source(std::string_view file, std::uint64_t offset);

/// The fingerprint of what turns messages into rows.
std::uint64_t fingerprint_of(const StreamConfig& config);

}  // namespace mixstream
