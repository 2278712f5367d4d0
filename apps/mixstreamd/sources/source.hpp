// What every source of messages has in common: it hands messages over, one at a time, in its own thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixstream {

/// Bytes that came together, and where from.
struct Arrival {
  std::string_view payload;
  std::string_view origin{};  ///< topic, or the file of a replay
  std::uint64_t offset = 0;   ///< of a replay: of the first byte behind the message
  bool too_long = false;      ///< a line beyond the limit; the payload is its beginning
  std::chrono::steady_clock::time_point came = std::chrono::steady_clock::now();
};

/// Takes messages in their order, under one sync. Returns when all are safe on disk; waits while the disk
/// refuses. False: not all are, and the stream ends; then a source must not tell anyone that it has them.
using Take = std::function<bool(std::span<const Arrival>)>;

/// How a source is, in words.
struct SourceState {
  bool connected = true;
  bool done = false;  ///< it has ended and will give nothing more
  std::string words;
  std::string kind = "source";  ///< of the alarm while it is not connected
};

/// Something that happened to a source, for an alarm.
struct SourceEvent {
  std::string kind;
  std::string words;
};

/// What came and became no message of any stream. Counted since the source began.
struct SourceCounts {
  std::uint64_t unmatched = 0;  ///< messages whose topic fits no filter
  std::uint64_t retained = 0;   ///< copies that the broker keeps of a topic's last message
  std::uint64_t connects = 0;
};

/// Gives messages from start to destruction.
class Source {
 public:
  virtual ~Source() = default;

  virtual SourceState state() const = 0;  ///< any thread
  virtual SourceCounts counts() const { return {}; }
  virtual std::vector<SourceEvent> take_events() { return {}; }  ///< those since the last call
  /// Asks it to end and returns at once: many can be asked before the first is waited for.
  virtual void ask_to_stop() {}
  /// Takes in what has arrived already, then ends its thread. False: it hangs, and only the end of the
  /// process ends it.
  virtual bool stop() = 0;
};

}  // namespace mixstream
