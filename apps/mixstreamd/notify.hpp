// The notify protocol of systemd, spoken directly: a datagram to the socket that the environment names.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace mixstream {

/// Sends lines such as "READY=1\nSTATUS=..."; nothing where there is no NOTIFY_SOCKET. Never waits, no throw.
void notify_manager(const std::string& lines) noexcept;

/// "RELOADING=1" with the clock that systemd compares it by.
void notify_reloading() noexcept;

/// Half of the time within which the manager wants to hear WATCHDOG=1, if it does.
std::optional<std::chrono::microseconds> watchdog_period() noexcept;

}  // namespace mixstream
