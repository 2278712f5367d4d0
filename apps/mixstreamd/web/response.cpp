#include "response.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mixstream::web {

Response response_of(std::string body, std::string content_type, int status) {
  return {status, std::move(content_type), std::make_shared<const std::string>(std::move(body)), {}};
}

std::string_view phrase_of(int status) noexcept {
  static constexpr std::pair<int, std::string_view> phrases[] = {
      {200, "OK"},
      {202, "Accepted"},
      {400, "Bad Request"},
      {401, "Unauthorized"},
      {403, "Forbidden"},
      {404, "Not Found"},
      {405, "Method Not Allowed"},
      {408, "Request Timeout"},
      {409, "Conflict"},
      {411, "Length Required"},
      {413, "Content Too Large"},
      {414, "URI Too Long"},
      {415, "Unsupported Media Type"},
      {417, "Expectation Failed"},
      {421, "Misdirected Request"},
      {429, "Too Many Requests"},
      {431, "Request Header Fields Too Large"},
      {500, "Internal Server Error"},
      {503, "Service Unavailable"},
      {505, "HTTP Version Not Supported"},
  };
  const auto* found = std::ranges::find(phrases, status, &std::pair<int, std::string_view>::first);
  return found == std::end(phrases) ? "Unknown" : found->second;
}

Response error_response(int status, std::string_view text) {
  std::string name(phrase_of(status));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == ' ' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const nlohmann::ordered_json json{{"error", name}, {"text", text}};
  return response_of(json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n",
                     "application/json", status);
}

std::string head_of(const Response& response, bool keep_alive) {
  std::string head = fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {}\r\nCache-Control: "
      "no-store\r\n"
      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n",
      response.status, phrase_of(response.status), response.content_type,
      response.body ? response.body->size() : 0, keep_alive ? "keep-alive" : "close");
  bool policy = false;
  for (const auto& [name, value] : response.headers) {
    head += fmt::format("{}: {}\r\n", name, value);
    policy = policy || name == "Content-Security-Policy";
  }
  if (!policy) head += "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";
  return head + "\r\n";
}

}  // namespace mixstream::web
