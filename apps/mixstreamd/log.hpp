// The daemon's log: one line a message on stderr, as text or JSON.
#pragma once

#include <string_view>

#include "config/config.hpp"

namespace mixstream {

/// Applies to every thread from now on.
void set_log(const LogConfig& config) noexcept;

/// One line, written at once. Under journald the text begins with its priority; unprintable bytes are
/// escaped. `stream`: which one it is about, or empty. Secrets never come here. Any thread.
void log(LogLevel level, std::string_view text, std::string_view stream = {});

}  // namespace mixstream
