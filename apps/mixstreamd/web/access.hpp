// Who may ask: a token where there is one, else only requests that no foreign web page can have made.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "request.hpp"
#include "response.hpp"

namespace mixstream::web {

/// Equal or not, in a time that depends on the lengths alone. No throw.
bool equal_in_constant_time(std::string_view one, std::string_view two) noexcept;

class Access {
 public:
  /// `token`: empty for none. `host_names`: what the daemon may be called beside addresses and localhost.
  explicit Access(std::string token = {}, std::vector<std::string> host_names = {});

  /// Nothing: go on. Else the answer that turns the request away.
  ///
  /// With a token every request must bring it, `open` ones excepted (the page that asks for it). Without one
  /// the Host must be an address, localhost or a name that was configured, for a foreign page that points its
  /// own name at this machine (DNS rebinding) sends its own; and a POST from another origin is refused.
  std::optional<Response> refusal(const Request& request, bool open) const;

 private:
  bool brings_token(const Request& request) const;
  bool knows_host(std::string_view host) const;

  std::string token_;
  std::vector<std::string> host_names_;
};

}  // namespace mixstream::web
