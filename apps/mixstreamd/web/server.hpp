// The daemon's HTTP server: one thread, no file access, fixed routes (docs/reference/http.md).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../view.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// The [http] table of the configuration.
struct WebSettings {
  std::string address = "127.0.0.1";    ///< IPv4 or IPv6; beyond loopback a token or a certificate is needed
  std::uint16_t port = 8471;            ///< 0: any free one, see WebServer::port
  std::string token_file;               ///< holds the token that requests must bring; mode 0600 or stricter
  std::string certificate_file;         ///< PEM chain: HTTPS instead of HTTP
  std::string key_file;                 ///< PEM, mode 0600 or stricter; belongs to the certificate
  std::vector<std::string> host_names;  ///< names besides the address that browsers may call the daemon by
  std::size_t most_connections = 256;   ///< at once; the idlest is closed for a new one
  std::chrono::milliseconds request_time{
      10'000};                                  ///< for a whole request to come in, and an answer to go out
  std::chrono::milliseconds idle_time{30'000};  ///< between two requests of a connection
  std::size_t most_header_bytes = 8192;
  std::size_t most_body_bytes = 65536;
};

/// Listens and answers from construction to destruction, in a thread of its own.
class WebServer {
 public:
  /// Refuses, in words, an address that cannot be listened on, an open address without token and
  /// certificate, and token or key files that are missing, empty or readable by others. `daemon` must outlive
  /// the server.
  static Outcome<std::unique_ptr<WebServer>> start(const WebSettings& settings, DaemonView& daemon);

  ~WebServer();  ///< stops within a fraction of a second; answers under way are cut off
  WebServer(const WebServer&) = delete;
  WebServer& operator=(const WebServer&) = delete;

  std::uint16_t port() const noexcept;      ///< that it listens on
  const std::string& url() const noexcept;  ///< "http://127.0.0.1:8471/", for the log
  /// Reads certificate and key again; connections that are open keep the old ones. Refuses files that cannot
  /// be used: then the old ones stay. Any thread.
  Done renew();

 private:
  class Running;
  explicit WebServer(std::unique_ptr<Running> running);
  std::unique_ptr<Running> running_;
};

}  // namespace mixstream
