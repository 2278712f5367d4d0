// The server's one thread: waits for all connections at once, so that none can hold up another.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "connection.hpp"

namespace mixstream::web {

struct LoopSettings {
  RequestLimits limits;
  ConnectionTimes times;
  std::size_t most_connections = 256;
};

/// What the loop counts; the metrics show it. Read and written by the loop's thread alone.
struct LoopCounts {
  std::uint64_t accepted = 0;
  std::uint64_t expired = 0;  ///< too slow
  std::uint64_t evicted = 0;  ///< made room for a newer one
  std::size_t open = 0;
};

class Loop {
 public:
  /// Takes the listening socket.
  Loop(int listener, std::unique_ptr<ChannelMaker> channels, const LoopSettings& settings, Handler handler,
       LoopCounts& counts);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void run();            ///< until stop()
  void stop() noexcept;  ///< from any thread
  /// For the connections that come from now on. From any thread.
  void set_channels(std::unique_ptr<ChannelMaker> channels);

 private:
  int time_to_wait(Clock::time_point now) const;
  void accept_all(Clock::time_point now);
  void evict_one();
  void serve(Clock::time_point now);
  void drop_finished();

  int listener_;
  int wake_;  // eventfd: written by stop()
  std::mutex channels_mutex_;
  std::unique_ptr<ChannelMaker> channels_;
  LoopSettings settings_;
  Handler handler_;
  LoopCounts& counts_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<short> ready_;  // events of each connection, of the last poll
  std::atomic<bool> stopped_ = false;
};

}  // namespace mixstream::web
