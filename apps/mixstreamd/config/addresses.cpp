#include <fmt/format.h>

#include <charconv>

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

}  // namespace mixstream
