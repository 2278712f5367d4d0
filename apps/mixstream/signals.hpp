// Signals as things to ask for between batches, with a descriptor that wakes a waiting read.
#pragma once

namespace mixstream {

/// Call once: SIGINT and SIGTERM ask for an end, SIGUSR1 for a fit now; SIGPIPE is left to write errors.
void watch_signals();

int wake_descriptor() noexcept;    ///< readable after a signal
int end_requested() noexcept;      ///< the signal's number, or 0
bool take_fit_request() noexcept;  ///< true once per SIGUSR1
void clear_wake() noexcept;        ///< after the wake-up was noticed

}  // namespace mixstream
