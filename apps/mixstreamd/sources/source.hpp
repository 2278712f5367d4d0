// What every source of messages has in common: it hands messages over, one at a time, in its own thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mixstream {

/// Bytes that came together, and where from.
struct Arrival {
  std::string_view payload;
  std::string_view origin{};  ///< topic, or the file of a replay
  std::uint64_t offset = 0;   ///< of a replay: of the first byte behind the message
  bool too_long = false;      ///< a line beyond the limit; the payload is its beginning
};

/// Returns when it is safe on disk; waits while the disk refuses. False: it is not, and the daemon ends;
/// then a source must not tell anyone that it has the message.
using Take = std::function<bool(const Arrival&)>;

/// How a source is, in words.
struct SourceState {
  bool connected = true;
  bool done = false;  ///< it has ended and will give nothing more
  std::string words;
};

/// Gives messages from start to destruction.
class Source {
 public:
  virtual ~Source() = default;

  virtual SourceState state() const = 0;  ///< any thread
  /// Takes in what has arrived already, then ends its thread. False: it is stuck in a Take that returned
  /// false, and only the end of the process ends it.
  virtual bool stop() = 0;
};

}  // namespace mixstream
