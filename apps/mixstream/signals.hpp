// Signals as things to ask for between batches, with a descriptor that wakes a waiting read.
#pragma once

namespace mixstream {

/// Call once: SIGINT and SIGTERM ask for an end, SIGUSR1 for a fit now; SIGPIPE is left to write errors.
void watch_signals();

/// Makes the wake descriptor readable every so many seconds, so that a clock is looked at in silence too.
void wake_every(double seconds);

int wake_descriptor() noexcept;  ///< readable after a signal
void wake() noexcept;            ///< makes it readable
void clear_wake() noexcept;      ///< before asking what it was: what comes later wakes again

int end_requested() noexcept;           ///< the signal's number, or 0
void request_end(int number) noexcept;  ///< as if this signal had come
bool take_fit_request() noexcept;       ///< true once after SIGUSR1
int exit_code_of_signal() noexcept;     ///< 130 or 143 after a request to end, else 0

}  // namespace mixstream
