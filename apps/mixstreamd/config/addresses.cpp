// Addresses, and secrets from files that nobody else may read.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "config.hpp"

namespace mixstream {

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

Outcome<SocketAddress> parse_address(const std::string& text) {
  SocketAddress address;
  if (text.starts_with("unix:")) {
    address.path = text.substr(5);
    address.loopback = true;
    if (address.path.empty() || address.path.size() > 100)
      return Refusal{Reason::bad_settings, "takes a path of 1 to 100 bytes behind unix:"};
    return address;
  }
  const std::size_t colon = text.rfind(':');
  const char* end = text.data() + text.size();
  bool sound = colon != std::string::npos && colon > 0;
  if (sound) {
    const auto [at, error] = std::from_chars(text.data() + colon + 1, end, address.port);
    sound = error == std::errc() && at == end;
  }
  if (!sound)
    return Refusal{Reason::bad_settings,
                   fmt::format("takes host:port, [host]:port or unix:/path, not '{}'", text)};
  address.host = text.substr(0, colon);
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  address.loopback = is_loopback(address.host);
  return address;
}

Outcome<std::string> read_secret(const std::string& path) {
  constexpr std::size_t largest = 4096;
  const auto refuse = [&](const std::string& what) {
    return Refusal{Reason::bad_settings, fmt::format("secret file {}: {}", path, what)};
  };
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return refuse(std::strerror(errno));
  struct ::stat status {};
  std::string text(largest + 1, '\0');
  const bool known = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const ::ssize_t size = known ? ::read(file, text.data(), text.size()) : -1;
  ::close(file);
  if (size < 0) return refuse("is no readable file");
  if ((status.st_mode & 077) != 0)
    return refuse(fmt::format("mode {:04o} lets others read it: chmod 600", status.st_mode & 07777));
  if (static_cast<std::size_t>(size) > largest) return refuse("is larger than 4096 bytes");
  text.resize(static_cast<std::size_t>(size));
  text.resize(std::min(text.size(), text.find_first_of("\r\n")));
  if (text.empty()) return refuse("its first line is empty");
  return text;
}

}  // namespace mixstream
