#include "server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <thread>

#include "../secret_file.hpp"
#include "loop.hpp"
#include "site.hpp"

namespace mixstream {
namespace {

constexpr std::size_t shortest_token = 16;
constexpr int waiting_connections = 1024;  // that the system keeps until they are taken

struct Address {
  sockaddr_storage place{};
  socklen_t size = 0;
};

Outcome<Address> address_of(const WebSettings& settings) {
  addrinfo wanted{};
  wanted.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(settings.address.c_str(), std::to_string(settings.port).c_str(), &wanted, &found) != 0) {
    return Refusal{
        Reason::bad_settings,
        fmt::format("address \"{}\" is not an IP address: give one, such as 127.0.0.1", settings.address)};
  }
  Address address{.size = found->ai_addrlen};
  std::memcpy(&address.place, found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

bool is_loopback(const Address& address) {
  if (address.place.ss_family == AF_INET) {
    const auto& place = reinterpret_cast<const sockaddr_in&>(address.place);
    return ntohl(place.sin_addr.s_addr) >> 24 == 127;
  }
  return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address.place).sin6_addr);
}

Outcome<std::string> token_of(const WebSettings& settings) {
  if (settings.token_file.empty()) return std::string();
  Outcome<std::string> token = read_secret_file(settings.token_file);
  if (!token) return token;
  const bool visible = std::ranges::all_of(token.value(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (token.value().size() < shortest_token || !visible) {
    return Refusal{
        Reason::bad_settings,
        fmt::format(
            "the token in {} must be at least {} visible letters without spaces: openssl rand -hex 32 "
            "makes a good one",
            settings.token_file, shortest_token)};
  }
  return token;
}

Done check(const WebSettings& settings, const Address& address) {
  if (settings.certificate_file.empty() != settings.key_file.empty())
    return Refusal{Reason::bad_settings,
                   "certificate_file and key_file belong together: give both or neither"};
  if (!is_loopback(address) && (settings.token_file.empty() || settings.certificate_file.empty())) {
    return Refusal{
        Reason::bad_settings,
        fmt::format("{} can be reached from other machines: give token_file, and certificate_file with "
                    "key_file, or listen on 127.0.0.1",
                    settings.address)};
  }
  return std::monostate{};
}

Outcome<int> listener_on(const Address& address, const WebSettings& settings) {
  const int listener = socket(address.place.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const int yes = 1;
  if (listener >= 0) setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (listener >= 0 && bind(listener, reinterpret_cast<const sockaddr*>(&address.place), address.size) == 0 &&
      listen(listener, waiting_connections) == 0) {
    return listener;
  }
  const int problem = errno;
  if (listener >= 0) close(listener);
  return Refusal{Reason::input_output,
                 fmt::format("cannot listen on {} port {}: {}; choose another port or stop what uses it",
                             settings.address, settings.port, std::strerror(problem))};
}

std::uint16_t port_of(int listener) {
  sockaddr_storage place{};
  socklen_t size = sizeof place;
  getsockname(listener, reinterpret_cast<sockaddr*>(&place), &size);
  return ntohs(place.ss_family == AF_INET ? reinterpret_cast<sockaddr_in&>(place).sin_port
                                          : reinterpret_cast<sockaddr_in6&>(place).sin6_port);
}

web::LoopSettings loop_settings(const WebSettings& settings) {
  web::LoopSettings loop;
  loop.limits.header_bytes = settings.most_header_bytes;
  loop.limits.body_bytes = settings.most_body_bytes;
  loop.times.request = settings.request_time;
  loop.times.idle = settings.idle_time;
  loop.most_connections = std::max<std::size_t>(settings.most_connections, 1);
  return loop;
}

/// A thread that takes no signals: they are for the daemon's own threads, and a closed connection must not
/// end the process.
std::thread quiet_thread(std::function<void()> work) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(work));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

class WebServer::Running {
 public:
  Running(int listener, std::unique_ptr<web::ChannelMaker> channels, std::string address,
          const WebSettings& settings, DaemonView& daemon, std::string token)
      : port(port_of(listener)),
        url(std::move(address)),
        certificate_file_(settings.certificate_file),
        key_file_(settings.key_file),
        site_(daemon, web::Access(std::move(token), settings.host_names)),
        loop_(listener, std::move(channels), loop_settings(settings),
              {[this](const web::Request& request) { return site_.answer(request); },
               [this](const web::Response& response) { site_.count(response); }},
              site_.loop_counts()),
        thread_(quiet_thread([this] { loop_.run(); })) {}
  ~Running() {
    loop_.stop();
    thread_.join();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  Done renew() {
    if (certificate_file_.empty()) return std::monostate{};
    Outcome<std::unique_ptr<web::ChannelMaker>> channels = web::tls_channels(certificate_file_, key_file_);
    if (!channels) return channels.refusal();
    loop_.set_channels(std::move(channels).value());
    return std::monostate{};
  }

  const std::uint16_t port;
  const std::string url;

 private:
  const std::string certificate_file_;
  const std::string key_file_;
  web::Site site_;
  web::Loop loop_;
  std::thread thread_;
};

WebServer::WebServer(std::unique_ptr<Running> running) : running_(std::move(running)) {}
WebServer::~WebServer() = default;

std::uint16_t WebServer::port() const noexcept {
  return running_->port;
}
const std::string& WebServer::url() const noexcept {
  return running_->url;
}

Done WebServer::renew() {
  return running_->renew();
}

Outcome<std::unique_ptr<WebServer>> WebServer::start(const WebSettings& settings, DaemonView& daemon) {
  const Outcome<Address> address = address_of(settings);
  if (!address) return address.refusal();
  if (const Done done = check(settings, address.value()); !done) return done.refusal();
  Outcome<std::string> token = token_of(settings);
  if (!token) return token.refusal();
  const bool secure = !settings.certificate_file.empty();
  Outcome<std::unique_ptr<web::ChannelMaker>> channels =
      secure ? web::tls_channels(settings.certificate_file, settings.key_file) : web::plain_channels();
  if (!channels) return channels.refusal();
  const Outcome<int> listener = listener_on(address.value(), settings);
  if (!listener) return listener.refusal();
  const bool six = address.value().place.ss_family == AF_INET6;
  const std::string url = fmt::format("{}://{}{}{}:{}/", secure ? "https" : "http", six ? "[" : "",
                                      settings.address, six ? "]" : "", port_of(listener.value()));
  return std::unique_ptr<WebServer>(new WebServer(std::make_unique<Running>(
      listener.value(), std::move(channels).value(), url, settings, daemon, std::move(token).value())));
}

}  // namespace mixstream
