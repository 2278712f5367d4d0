#include "line_socket.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "../descriptor.hpp"
#include "../log.hpp"
#include "../urgency.hpp"
#include "wake.hpp"

namespace mixstream {
namespace {

constexpr std::chrono::seconds longest_drain{3};

constexpr std::chrono::seconds least_idle{30};  // of a connection that makes room for a new one

struct Connection {
  Descriptor socket;
  Cutter cutter;
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();  // when it sent something
};

/// A peer that is gone without a word is found out within two minutes.
void watch_peer(int socket) {
  const int on = 1;
  const int first = 60;
  const int between = 15;
  const int count = 4;
  ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &first, sizeof first);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

class LineSocket final : public Source {
 public:
  LineSocket(Descriptor listener, std::string path, std::string words, const LineSocketSettings& settings,
             Take take)
      : listener_(std::move(listener)),
        path_(std::move(path)),
        words_(std::move(words)),
        settings_(settings),
        take_(std::move(take)),
        thread_([this] { run(); }) {}

  ~LineSocket() override {
    LineSocket::stop();
    if (!path_.empty()) ::unlink(path_.c_str());
  }

  SourceState state() const override { return {true, false, words_}; }

  void ask_to_stop() override { wake_.raise(); }
  bool stop() override {
    wake_.raise();
    if (thread_.joinable()) thread_.join();
    return true;
  }

 private:
  void run() {
    be_prompt();
    while (!wake_.raised() && (serve(1000) || !refused_)) close_idle();

    const auto until = std::chrono::steady_clock::now() + longest_drain;
    while (!refused_ && std::chrono::steady_clock::now() < until && serve(0)) {
    }
    connections_.clear();
  }

  /// Waits so long, then takes what came. False when nothing did, or the daemon could not keep it.
  bool serve(int milliseconds) {
    std::vector<::pollfd> entries{wake_.poll_entry(), {listener_.number(), POLLIN, 0}};
    for (const Connection& connection : connections_)
      entries.push_back({connection.socket.number(), POLLIN, 0});
    if (milliseconds == 0) entries[0].fd = entries[1].fd = -1;  // draining: nobody new
    const int ready = ::poll(entries.data(), entries.size(), milliseconds);
    if (ready <= 0) return ready < 0 && errno == EINTR;
    for (std::size_t i = entries.size(); i-- > 2;) {
      if (entries[i].revents == 0 || read_from(connections_[i - 2])) continue;
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i - 2));
    }
    if (entries[1].revents != 0) accept_one();
    return !refused_;
  }

  void accept_one() {
    Descriptor socket(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) {
      if (errno == EMFILE || errno == ENFILE) rest_without_descriptors();
      return;
    }
    if (connections_.size() >= settings_.most_connections) close_idlest();
    if (connections_.size() < settings_.most_connections) {
      if (path_.empty()) watch_peer(socket.number());
      connections_.push_back({std::move(socket), Cutter(settings_.cutting)});
      return;
    }
    log(LogLevel::warning,
        fmt::format("{}: a connection beyond the {} allowed was closed", words_, settings_.most_connections));
  }

  /// The rest of a row that never came is no row.
  void close_idle() {
    const auto since = std::chrono::steady_clock::now() - settings_.idle;
    const auto closed = std::erase_if(connections_, [&](const Connection& c) { return c.last < since; });
    if (closed > 0)
      log(LogLevel::info, fmt::format("{}: {} connections that sent nothing for {} s were closed", words_,
                                      closed, settings_.idle.count()));
  }

  void close_idlest() {
    const auto idlest = std::ranges::min_element(connections_, {}, &Connection::last);
    if (idlest == connections_.end() || std::chrono::steady_clock::now() - idlest->last < least_idle) return;
    connections_.erase(idlest);
  }

  /// The listener stays readable as long as somebody waits there, so poll would return at once.
  void rest_without_descriptors() {
    if (!std::exchange(told_of_descriptors_, true))
      log(LogLevel::error, words_ + ": no descriptors are left for connections; raise LimitNOFILE");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }

  /// False: this connection is over.
  bool read_from(Connection& connection) {
    const Cutter::Give give = [&](std::string_view piece, std::uint64_t, bool too_long) {
      const Arrival arrival{piece, "", 0, too_long};
      refused_ = !take_({&arrival, 1});
      return !refused_;
    };
    const ::ssize_t count = ::read(connection.socket.number(), bytes_.data(), bytes_.size());
    if (count < 0) return errno == EAGAIN || errno == EINTR;
    connection.last = std::chrono::steady_clock::now();
    if (count == 0) {
      connection.cutter.finish(give);
      return false;
    }
    return connection.cutter.add({bytes_.data(), static_cast<std::size_t>(count)}, give);
  }

  Descriptor listener_;
  std::string path_;
  std::string words_;
  LineSocketSettings settings_;
  Take take_;
  Wake wake_;
  std::vector<Connection> connections_;
  std::array<char, 1 << 16> bytes_{};
  bool refused_ = false;
  bool told_of_descriptors_ = false;
  std::thread thread_;  // last: it uses all of the above
};

Refusal refuse(const std::string& where) {
  return {Reason::input_output, fmt::format("cannot listen on {}: {}", where, std::strerror(errno))};
}

/// A socket file that nobody listens on any more is in the way; anything else is not ours to remove.
void remove_stale(const ::sockaddr_un& address) {
  struct ::stat status {};
  if (::lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return;
  const Descriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* const name = reinterpret_cast<const ::sockaddr*>(&address);
  const bool dead = ::connect(probe.number(), name, sizeof address) != 0 && errno == ECONNREFUSED;
  if (dead) ::unlink(address.sun_path);
}

Outcome<Descriptor> listen_on_path(const std::string& path) {
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  remove_stale(address);
  Descriptor listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto* const name = reinterpret_cast<const ::sockaddr*>(&address);
  const bool bound = listener.is_open() && ::bind(listener.number(), name, sizeof address) == 0 &&
                     ::chmod(path.c_str(), 0660) == 0 && ::listen(listener.number(), 64) == 0;
  if (!bound) return refuse(path);
  return listener;
}

Outcome<Descriptor> listen_on_port(const SocketAddress& address, const std::string& where) {
  ::addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  ::addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (const int error = ::getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found); error != 0)
    return Refusal{Reason::input_output,
                   fmt::format("cannot listen on {}: {}", where, ::gai_strerror(error))};
  Descriptor listener(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  const bool bound = listener.is_open() &&
                     ::setsockopt(listener.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
                     ::bind(listener.number(), found->ai_addr, found->ai_addrlen) == 0 &&
                     ::listen(listener.number(), 64) == 0;
  const int error = errno;
  ::freeaddrinfo(found);
  errno = error;
  if (!bound) return refuse(where);
  return listener;
}

std::uint16_t port_of(int listener) {
  ::sockaddr_storage address{};
  ::socklen_t size = sizeof address;
  if (::getsockname(listener, reinterpret_cast<::sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const ::sockaddr_in6&>(address).sin6_port);
  return ntohs(reinterpret_cast<const ::sockaddr_in&>(address).sin_port);
}

}  // namespace

Outcome<std::unique_ptr<Source>> listen_for_lines(const LineSocketSettings& settings, Take take) {
  const SocketAddress& address = settings.address;
  std::string words = address.path.empty() ? fmt::format("socket {}:{}", address.host, address.port)
                                           : fmt::format("socket {}", address.path);
  Outcome<Descriptor> listener =
      address.path.empty() ? listen_on_port(address, words) : listen_on_path(address.path);
  if (!listener) return listener.refusal();
  if (address.path.empty())
    words = fmt::format("socket {}:{}", address.host, port_of(listener.value().number()));
  return std::unique_ptr<Source>(std::make_unique<LineSocket>(std::move(listener).value(), address.path,
                                                              words, settings, std::move(take)));
}

}  // namespace mixstream
