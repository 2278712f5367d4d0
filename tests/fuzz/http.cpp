// The HTTP request reader: pieces of any size say the same as the whole, and what is handed out keeps its
// promises. The first byte chooses the size of the pieces, the second the limits.
#include <algorithm>
#include <string>
#include <vector>

#include "fuzz/target.hpp"
#include "mixstreamd/web/request.hpp"

using namespace mixstream::web;

namespace {

struct Seen {
  std::vector<Request> requests;
  int refused = 0;
};

void check(const Request& request, const RequestLimits& limits) {
  require(!request.method.empty() && request.path.starts_with('/'));
  require(request.path.size() <= limits.target_bytes && request.body.size() <= limits.body_bytes);
  require(request.headers.size() <= limits.headers);
  require(std::ranges::none_of(request.path, [](char c) { return c <= 0x20 || c >= 0x7f || c == '?'; }));
  for (const auto& [name, value] : request.headers) {
    require(!name.empty() && name.find_first_of(" \t\r\n:") == std::string::npos);
    require(value.find_first_of("\r\n") == std::string::npos && value.find('\0') == std::string::npos);
  }
  require(request.header("transfer-encoding") == nullptr);
}

Seen read(std::string_view bytes, std::size_t piece, const RequestLimits& limits) {
  Seen seen;
  RequestReader reader(limits);
  while (!bytes.empty() && reader.state() == RequestReader::State::reading) {
    auto state = reader.take(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (; state == RequestReader::State::complete; state = reader.next()) {
      check(reader.request(), limits);
      seen.requests.push_back(reader.request());
    }
  }
  if (reader.state() == RequestReader::State::refused) {
    seen.refused = reader.refusal().status;
    require(seen.refused >= 400 && seen.refused < 600 && !reader.refusal().text.empty());
  }
  return seen;
}

bool equal(const Request& one, const Request& two) {
  return one.method == two.method && one.path == two.path && one.headers == two.headers &&
         one.body == two.body && one.keep_alive == two.keep_alive;
}

}  // namespace

void fuzz(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const std::size_t piece = 1 + static_cast<unsigned char>(bytes[0]) % 32;
  RequestLimits limits;
  if ((bytes[1] & 1) != 0) limits = {.target_bytes = 16, .header_bytes = 96, .headers = 3, .body_bytes = 8};
  bytes.remove_prefix(2);
  const Seen whole = read(bytes, bytes.size() + 1, limits);
  const Seen pieces = read(bytes, piece, limits);
  require(whole.refused == pieces.refused);
  require(std::ranges::equal(whole.requests, pieces.requests, equal));
}
