#include "request.hpp"

#include <algorithm>
#include <charconv>

namespace mixstream::web {
namespace {

constexpr std::string_view line_end = "\r\n";
constexpr std::size_t rest_of_request_line = 32;  // method, version and two spaces

bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_visible(char c) {
  return c > 0x20 && c < 0x7f;
}
/// What header names are made of (RFC 9110, token).
bool is_token(char c) {
  return is_visible(c) && std::string_view("\"(),/:;<=>?@[\\]{}").find(c) == std::string_view::npos;
}
char lowered(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string lowered(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return lowered(c); });
  return out;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Whether a comma-separated list holds the word, in whatever letters.
bool lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (lowered(trimmed(list.substr(0, comma))) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

const std::string* Request::header(std::string_view name) const noexcept {
  for (const auto& [key, value] : headers) {
    if (key == name) return &value;
  }
  return nullptr;
}

RequestReader::State RequestReader::take(std::string_view bytes) {
  if (state_ != State::reading || bytes.empty()) return state_;
  buffer_ += bytes;
  return advance();
}

RequestReader::State RequestReader::next() {
  if (state_ != State::complete) return state_;
  buffer_.erase(0, head_size_ + body_size_);
  scanned_ = line_begin_ = head_size_ = body_size_ = 0;
  continue_ = false;
  request_ = {};
  state_ = State::reading;
  return buffer_.empty() ? state_ : advance();
}

RequestReader::State RequestReader::advance() {
  if (head_size_ == 0) {
    if (!find_head_end()) return state_;
    if (!parse_head(std::string_view(buffer_).substr(0, head_size_ - line_end.size()))) return state_;
  }
  if (buffer_.size() - head_size_ >= body_size_) {
    request_.body = buffer_.substr(head_size_, body_size_);
    continue_ = false;
    state_ = State::complete;
  }
  return state_;
}

bool RequestReader::refuse(int status, std::string text) {
  refusal_ = {status, std::move(text)};
  state_ = State::refused;
  buffer_.clear();
  return false;
}

/// Looks at each byte of the head once, however it comes in pieces; false while the end is not here.
bool RequestReader::find_head_end() {
  if (!is_upper(buffer_[0])) return refuse(400, "a request begins with its method, such as GET");
  for (; scanned_ < buffer_.size(); ++scanned_) {
    const char c = buffer_[scanned_];
    const bool after_return = scanned_ > 0 && buffer_[scanned_ - 1] == '\r';
    if (after_return != (c == '\n')) return refuse(400, "lines of a request end in CR LF");
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\r' && c != '\n')
      return refuse(400, "a request's head holds no control characters");
    if (scanned_ >= limits_.header_bytes)
      return refuse(431,
                    "the headers are too long: at most " + std::to_string(limits_.header_bytes) + " bytes");
    if (line_begin_ == 0 && scanned_ >= limits_.target_bytes + rest_of_request_line)
      return refuse(414,
                    "the address is too long: at most " + std::to_string(limits_.target_bytes) + " bytes");
    if (c != '\n') continue;
    if (scanned_ - line_begin_ == 1) {  // an empty line
      head_size_ = ++scanned_;
      return true;
    }
    line_begin_ = scanned_ + 1;
  }
  return false;
}

bool RequestReader::parse_head(std::string_view head) {
  for (bool first = true; !head.empty(); first = false) {
    const std::size_t end = head.find(line_end);
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + line_end.size());
    if (first ? !parse_request_line(line) : !parse_header(line)) return false;
  }
  return judge_headers() && judge_body();
}

bool RequestReader::parse_request_line(std::string_view line) {
  const std::size_t one = line.find(' ');
  const std::size_t two = line.rfind(' ');
  if (one == std::string_view::npos || one == two)
    return refuse(400, "a request line is: METHOD /path HTTP/1.1");
  const std::string_view method = line.substr(0, one);
  const std::string_view target = line.substr(one + 1, two - one - 1);
  const std::string_view version = line.substr(two + 1);
  if (!version.starts_with("HTTP/")) return refuse(400, "a request line ends in HTTP/1.1");
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return refuse(505, "speak HTTP/1.1");
  if (!std::ranges::all_of(method, is_upper))
    return refuse(400, "a method is a word in capitals, such as GET");
  if (target.size() > limits_.target_bytes)
    return refuse(414, "the address is too long: at most " + std::to_string(limits_.target_bytes) + " bytes");
  if (!target.starts_with('/') || !std::ranges::all_of(target, is_visible))
    return refuse(400, "the address begins with / and holds neither spaces nor letters beyond ASCII");
  request_.method = method;
  const std::size_t path_end = std::min(target.find('?'), target.size());
  request_.path = target.substr(0, path_end);
  request_.query = target.substr(std::min(path_end + 1, target.size()));
  request_.keep_alive = version == "HTTP/1.1";
  return true;
}

bool RequestReader::parse_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == 0 || colon == std::string_view::npos || !std::ranges::all_of(line.substr(0, colon), is_token))
    return refuse(400, "a header is: Name: value, on one line");
  if (request_.headers.size() == limits_.headers)
    return refuse(431, "too many headers: at most " + std::to_string(limits_.headers));
  request_.headers.emplace_back(lowered(line.substr(0, colon)), trimmed(line.substr(colon + 1)));
  return true;
}

bool RequestReader::judge_headers() {
  const auto count = [this](std::string_view name) {
    return std::ranges::count(request_.headers, name, &std::pair<std::string, std::string>::first);
  };
  for (const std::string_view once : {"host", "content-length", "content-type", "authorization", "origin"}) {
    if (count(once) > 1) return refuse(400, "the header " + std::string(once) + " stands there twice");
  }
  if (request_.keep_alive && count("host") == 0) return refuse(400, "HTTP/1.1 needs a Host header");
  for (const auto& [name, value] : request_.headers) {
    if (name == "connection" && lists(value, "close")) request_.keep_alive = false;
  }
  if (count("transfer-encoding") == 0) return true;
  if (count("content-length") > 0)
    return refuse(400, "Content-Length and Transfer-Encoding exclude each other");
  return refuse(411, "send the body whole, with Content-Length");
}

bool RequestReader::judge_body() {
  if (const std::string* length = request_.header("content-length")) {
    if (length->empty() || !std::ranges::all_of(*length, is_digit))
      return refuse(400, "Content-Length is a number of bytes");
    const auto read = std::from_chars(length->data(), length->data() + length->size(), body_size_);
    if (read.ec != std::errc() || body_size_ > limits_.body_bytes)
      return refuse(413, "the body is too long: at most " + std::to_string(limits_.body_bytes) +
                             " bytes; send it in parts");
  }
  if (const std::string* expected = request_.header("expect")) {
    if (lowered(*expected) != "100-continue") return refuse(417, "only Expect: 100-continue is known");
    continue_ = body_size_ > 0;
  }
  return true;
}

}  // namespace mixstream::web
