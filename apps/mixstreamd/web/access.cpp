#include "access.hpp"

#include <arpa/inet.h>

#include <algorithm>

namespace mixstream::web {
namespace {

/// "localhost:8471" -> "localhost", "[::1]:8471" -> "::1".
std::string host_name(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, std::min(host.find(']'), host.size()) - 1));
  std::string name(host.substr(0, host.find(':')));
  std::ranges::transform(name, name.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return name;
}

bool is_address(const std::string& name) {
  in6_addr place{};
  return inet_pton(AF_INET, name.c_str(), &place) == 1 || inet_pton(AF_INET6, name.c_str(), &place) == 1;
}

/// Browsers say where a POST comes from; other programs do not, and need not.
bool is_foreign(const Request& request) {
  const std::string* origin = request.header("origin");
  const std::string* host = request.header("host");
  if (origin == nullptr) return false;
  return host == nullptr || (*origin != "http://" + *host && *origin != "https://" + *host);
}

}  // namespace

bool equal_in_constant_time(std::string_view one, std::string_view two) noexcept {
  volatile unsigned difference = one.size() == two.size() ? 0U : 1U;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const char other = two.empty() ? '\0' : two[i % two.size()];
    difference = difference | static_cast<unsigned>(static_cast<unsigned char>(one[i] ^ other));
  }
  return difference == 0;
}

Access::Access(std::string token, std::vector<std::string> host_names)
    : token_(std::move(token)), host_names_(std::move(host_names)) {
  for (std::string& name : host_names_) name = host_name(name);  // as a request's is read: in small letters
}

bool Access::brings_token(const Request& request) const {
  constexpr std::string_view scheme = "Bearer ";
  const std::string* header = request.header("authorization");
  if (header == nullptr || !header->starts_with(scheme)) return false;
  return equal_in_constant_time(std::string_view(*header).substr(scheme.size()), token_);
}

bool Access::knows_host(std::string_view host) const {
  const std::string name = host_name(host);
  return name == "localhost" || is_address(name) || std::ranges::find(host_names_, name) != host_names_.end();
}

std::optional<Response> Access::refusal(const Request& request, bool open) const {
  if (!token_.empty()) {
    if (open || brings_token(request)) return std::nullopt;
    Response answer =
        error_response(401, "send the token of the daemon's token file: Authorization: Bearer TOKEN");
    answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"mixstreamd\"");
    return answer;
  }
  const std::string* host = request.header("host");
  if (host != nullptr && !knows_host(*host)) {
    return error_response(
        421,
        "the daemon is not known by this host name: use its address or localhost, or add the name "
        "to host_names in the [http] table of its configuration");
  }
  if (request.method == "POST" && is_foreign(request))
    return error_response(403, "a page of another origin may not change anything here");
  return std::nullopt;
}

}  // namespace mixstream::web
