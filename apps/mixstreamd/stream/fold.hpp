// The records of a journal folded into a stream's state, with what only the daemon knows: that lines are
// messages of their own, and how far replayed files were taken in.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../columns/joiner.hpp"
#include "../config/config.hpp"
#include "../devices/device_states.hpp"
#include "../models/group_models.hpp"
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
  void take(const Reset& reset);
  Done take(const Feedback& feedback) { return state_.apply(feedback); }
  Done take(const FedMessage& fed);
  /// Any of these.
  Done take(const Content& content);
  /// The same, read back from a journal.
  Done take(const Record& record);

  const StreamState& state() const noexcept { return state_; }
  /// What rows came to. Of a stream of states: how it solves and what its last fit was, without a row.
  const Estimator& estimator() const noexcept { return state_.estimator(); }
  /// Of a stream of states: what its devices sent; null: its messages are rows.
  const DeviceStates* devices() const noexcept { return devices_ ? &*devices_ : nullptr; }
  /// Of a stream with groups: their models, beside the one of all rows; null: it has none.
  const GroupModels* groups() const noexcept { return groups_ ? &*groups_ : nullptr; }
  /// Groups that rows came to since the last call.
  std::vector<GroupFigures> take_touched() {
    return groups_ ? groups_->take_touched() : std::vector<GroupFigures>{};
  }
  /// Rows of devices are folded, too; a state that came again is a duplicate.
  FoldCounts counts() const;
  std::size_t sensor_count() const noexcept;
  /// What was wrong with the last state that was refused, once; empty: nothing.
  std::string take_refusal() { return std::exchange(refusal_, {}); }
  /// Bytes of a replayed file.
  std::uint64_t taken_of(const std::string& file) const;
  std::vector<Section> sections() const;  ///< for a snapshot

 private:
  Fold(const StreamConfig& config, StreamState state);
  bool read_taken(const Bytes& bytes);
  std::string_view note_taken(std::string_view source);
  void take_state(const Message& message);
  void take_value(const Message& message);
  Done restore_parts(const std::vector<Section>& sections);

  StreamState state_;
  std::optional<DeviceStates> devices_;
  std::optional<Joiner> joiner_;  // each column has a topic
  std::unique_ptr<GroupModels> groups_;
  std::size_t device_level_;  // of the topic, from 1; 0: the message names its device
  std::string refusal_;
  std::map<std::string, std::uint64_t, std::less<>> taken_;
  bool by_line_;   // each line is a message of its own
  bool replayed_;  // the source of a message ends with its offset
};

/// The fold's estimator with the rows of `parts`, in any thread; `left_out`: devices whose sums do not add to
/// the others', in words.
Outcome<Estimator> with_devices(Estimator estimator, const std::vector<DeviceStates::Part>& parts,
                                std::vector<std::string>& left_out);

/// What a message of a replay is journalled as: its file and the offset behind it.
std::string replay_source(std::string_view file, std::uint64_t offset);

/// The fingerprint of what turns messages into rows.
std::uint64_t fingerprint_of(const StreamConfig& config);

}  // namespace mixstream
