// One HTTP/1.1 request, read strictly from bytes as they come. Knows no sockets.
//
// Strict means: what two programs could read in two ways is refused, not guessed. Lines end in CR LF, a
// header has no space before its colon and is never folded, the length of a body is said once and in digits.
// The path is compared as it was sent: no route needs decoding, so nothing can hide in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mixstream::web {

struct RequestLimits {
  std::size_t target_bytes = 2048;
  std::size_t header_bytes = 8192;  ///< of the request line and all headers
  std::size_t headers = 64;
  std::size_t body_bytes = 65536;
};

struct Request {
  std::string method;  ///< "GET"
  std::string path;    ///< "/api/v1/streams"; without what stands behind `?`
  std::string query;   ///< what stands there, as it was sent
  std::vector<std::pair<std::string, std::string>> headers;  ///< names in small letters
  std::string body;
  bool keep_alive = true;  ///< the connection may carry another request

  /// The first header of that name (small letters), or nothing. No throw.
  const std::string* header(std::string_view name) const noexcept;
};

/// Why a request was refused, as HTTP says it.
struct RequestRefusal {
  int status = 400;
  std::string text;  ///< what to do
};

/// Holds at most the limits' bytes and what one `take` brings. One thread at a time.
class RequestReader {
 public:
  enum class State {
    reading,   ///< more bytes are needed
    complete,  ///< request() is there; take nothing before next()
    refused,   ///< refusal() is there; the connection is to be closed, for its bytes have lost their meaning
  };

  explicit RequestReader(const RequestLimits& limits = {}) : limits_(limits) {}

  State take(std::string_view bytes);
  State next();  ///< forgets the request and goes on with bytes that came behind it

  State state() const noexcept { return state_; }
  bool has_begun() const noexcept { return !buffer_.empty(); }  ///< bytes of a request are here
  /// Once for each request that waits for `100 Continue` before it sends its body.
  bool take_continue() noexcept { return std::exchange(continue_, false); }

  const Request& request() const noexcept { return request_; }
  const RequestRefusal& refusal() const noexcept { return refusal_; }

 private:
  State advance();
  bool find_head_end();
  bool parse_head(std::string_view head);
  bool parse_request_line(std::string_view line);
  bool parse_header(std::string_view line);
  bool judge_headers();
  bool judge_body();
  bool refuse(int status, std::string text);  // false, to be handed on

  RequestLimits limits_;
  State state_ = State::reading;
  std::string buffer_;
  std::size_t scanned_ = 0;     // of the head
  std::size_t line_begin_ = 0;  // of the line being scanned
  std::size_t head_size_ = 0;   // 0: not yet known
  std::size_t body_size_ = 0;
  bool continue_ = false;
  Request request_;
  RequestRefusal refusal_;
};

}  // namespace mixstream::web
