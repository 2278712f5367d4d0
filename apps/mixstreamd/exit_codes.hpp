// How the daemon ends. docs/guide/daemon.md lists them.
#pragma once

namespace mixstream {

inline constexpr int exit_stopped = 0;   ///< by SIGTERM or SIGINT, everything saved
inline constexpr int exit_failed = 1;    ///< the system refused: disk, network, another daemon
inline constexpr int exit_usage = 2;     ///< wrong words
inline constexpr int exit_refused = 78;  ///< the configuration or a state is refused: a restart does not help

}  // namespace mixstream
