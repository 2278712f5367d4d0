#include "notify.hpp"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace mixstream {

void notify_manager(const std::string& lines) noexcept {
  const char* name = std::getenv("NOTIFY_SOCKET");
  if (name == nullptr || (name[0] != '/' && name[0] != '@')) return;
  const std::size_t length = std::strlen(name);
  ::sockaddr_un address{};
  if (length >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name, length);
  if (name[0] == '@') address.sun_path[0] = '\0';  // an abstract socket
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return;
  const auto size = static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + length);
  [[maybe_unused]] const auto sent = ::sendto(socket, lines.data(), lines.size(), MSG_NOSIGNAL,
                                              reinterpret_cast<const ::sockaddr*>(&address), size);
  ::close(socket);
}

void notify_reloading() noexcept {
  ::timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const auto micros =
      static_cast<std::uint64_t>(now.tv_sec) * 1'000'000U + static_cast<std::uint64_t>(now.tv_nsec) / 1000U;
  notify_manager(fmt::format("RELOADING=1\nMONOTONIC_USEC={}", micros));
}

std::optional<std::chrono::microseconds> watchdog_period() noexcept {
  const char* period = std::getenv("WATCHDOG_USEC");
  const char* process = std::getenv("WATCHDOG_PID");
  if (period == nullptr) return std::nullopt;
  if (process != nullptr && std::strtol(process, nullptr, 10) != ::getpid()) return std::nullopt;
  const long long micros = std::strtoll(period, nullptr, 10);
  if (micros <= 0) return std::nullopt;
  return std::chrono::microseconds(micros / 2);
}

}  // namespace mixstream
