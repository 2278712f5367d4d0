// Rows by line (or raw) from whoever connects to a TCP or Unix socket. Nobody is told what was stored: what
// is on its way when the daemon dies is lost. Use MQTT where that matters.
#pragma once

#include <chrono>
#include <memory>

#include "../config/config.hpp"
#include "cutter.hpp"
#include "mixstream/core/outcome.hpp"
#include "source.hpp"

namespace mixstream {

struct LineSocketSettings {
  SocketAddress address;  ///< port 0: a free one, said in state().words
  CutterSettings cutting;
  std::size_t most_connections = 64;
  std::chrono::seconds idle{3600};  ///< a connection that sends nothing for so long is closed
};

/// Listens in a thread of its own. A sender that is faster than the disk waits (TCP's back pressure). Refuses
/// an address that cannot be listened on.
Outcome<std::unique_ptr<Source>> listen_for_lines(const LineSocketSettings& settings, Take take);

}  // namespace mixstream
