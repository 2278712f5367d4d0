// The records of a journal folded into a stream's state, with what only the daemon knows: that lines are
// messages of their own, and how far replayed files were taken in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../config/config.hpp"
#include "store/stream_state.hpp"

namespace mixstream {

/// One thread at a time. The same records in the same order make the same fold, bit for bit.
class Fold {
 public:
  static Outcome<Fold> create(const StreamConfig& config);
  /// Refuses damage, and the state of another model than the configuration's, saying what differs.
  static Outcome<Fold> restore(const std::vector<Section>& sections, const StreamConfig& config);

  void take(const Message& message);
  void take(const Rejection& rejection);
  void take(const Reset& reset) { state_.apply(reset); }
  Done take(const Feedback& feedback) { return state_.apply(feedback); }
  Done take(const FedMessage& fed);
  /// Any of these, read back from a journal.
  Done take(const Record& record);

  const StreamState& state() const noexcept { return state_; }
  const Estimator& estimator() const noexcept { return state_.estimator(); }
  /// Bytes of a replayed file.
  std::uint64_t taken_of(const std::string& file) const;
  std::vector<Section> sections() const;  ///< for a snapshot

 private:
  Fold(const StreamConfig& config, StreamState state);
  bool read_taken(const Bytes& bytes);
  std::string_view note_taken(std::string_view source);

  StreamState state_;
  std::map<std::string, std::uint64_t, std::less<>> taken_;
  bool by_line_;   // each line is a message of its own
  bool replayed_;  // the source of a message ends with its offset
};

/// What a message of a replay is journalled as: its file and the offset behind it.
std::string replay_source(std::string_view file, std::uint64_t offset);

/// The fingerprint of what turns messages into rows.
std::uint64_t fingerprint_of(const StreamConfig& config);

}  // namespace mixstream
