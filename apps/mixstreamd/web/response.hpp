// What goes back: status, headers that keep browsers safe, and a body that many connections may share.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mixstream::web {

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::shared_ptr<const std::string> body;  ///< shared, so that clients which never read cost no copies
  std::vector<std::pair<std::string, std::string>> headers;  ///< beside those that every answer has
};

Response response_of(std::string body, std::string content_type = "application/json", int status = 200);

/// {"error":"not_found","text":"..."}: the name follows from the status, the text says what to do.
Response error_response(int status, std::string_view text);

/// "Not Found". Known for every status that this server sends.
std::string_view phrase_of(int status) noexcept;

/// Status line and headers, up to the empty line. Unless the answer has a Content-Security-Policy of its own
/// it gets one that allows nothing.
std::string head_of(const Response& response, bool keep_alive);

}  // namespace mixstream::web
