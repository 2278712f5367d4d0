#include "loop.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <thread>

namespace mixstream::web {
namespace {

constexpr int most_accepted = 64;  // before those that are open get their turn

}  // namespace

Loop::Loop(int listener, std::unique_ptr<ChannelMaker> channels, const LoopSettings& settings,
           Handler handler, LoopCounts& counts)
    : listener_(listener),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      channels_(std::move(channels)),
      settings_(settings),
      handler_(std::move(handler)),
      counts_(counts) {
  if (wake_ < 0) throw std::runtime_error("the system has no descriptor left for the HTTP server");
}

Loop::~Loop() {
  close(wake_);
  close(listener_);
}

void Loop::stop() noexcept {
  stopped_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

void Loop::set_channels(std::unique_ptr<ChannelMaker> channels) {
  const std::lock_guard lock(channels_mutex_);
  channels_ = std::move(channels);
}

void Loop::run() {
  std::vector<pollfd> waiting;
  while (!stopped_) {
    waiting.assign({{wake_, POLLIN, 0}, {listener_, POLLIN, 0}});
    for (const auto& connection : connections_)
      waiting.push_back({connection->descriptor(), connection->events(), 0});
    const int count = poll(waiting.data(), waiting.size(), time_to_wait(Clock::now()));
    if (count < 0 && errno != EINTR) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ready_.clear();
    for (std::size_t i = 2; i < waiting.size(); ++i)
      ready_.push_back(count > 0 ? waiting[i].revents : short{0});
    const Clock::time_point now = Clock::now();
    serve(now);
    drop_finished();
    if (count > 0 && waiting[1].revents != 0) accept_all(now);
    counts_.open = connections_.size();
  }
  connections_.clear();
}

int Loop::time_to_wait(Clock::time_point now) const {
  Clock::time_point first = now + std::chrono::minutes(1);
  for (const auto& connection : connections_) {
    if (connection->has_more()) return 0;
    first = std::min(first, connection->deadline());
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - now).count();
  return static_cast<int>(std::max<std::int64_t>(0, left));
}

void Loop::serve(Clock::time_point now) {
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& connection = *connections_[i];
    if (ready_[i] != 0 || connection.has_more()) connection.advance(now);
    if (connection.finished() || connection.deadline() > now) continue;
    ++counts_.expired;
    connection.expire(now);
  }
}

void Loop::drop_finished() {
  std::erase_if(connections_, [](const auto& connection) { return connection->finished(); });
}

void Loop::accept_all(Clock::time_point now) {
  for (int i = 0; i < most_accepted; ++i) {
    const int descriptor = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) {
      if (errno == EMFILE || errno == ENFILE) evict_one();
      return;
    }
    ++counts_.accepted;
    if (connections_.size() >= settings_.most_connections) evict_one();
    const std::lock_guard lock(channels_mutex_);
    std::unique_ptr<Channel> channel = channels_->make(descriptor);
    if (channel == nullptr) return;
    connections_.push_back(
        std::make_unique<Connection>(std::move(channel), settings_.limits, settings_.times, handler_, now));
  }
}

/// An idle one goes first, then the one that has been at its request or answer longest: whoever is quick is
/// through before it is the oldest, however many slow ones come.
void Loop::evict_one() {
  const auto victim = std::ranges::min_element(connections_, {}, [](const auto& connection) {
    return std::pair(!connection->idle(), connection->begun());
  });
  if (victim == connections_.end()) return;
  ++counts_.evicted;
  connections_.erase(victim);
}

}  // namespace mixstream::web
