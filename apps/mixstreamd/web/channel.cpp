#include "channel.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace mixstream::web {
namespace {

class PlainChannel final : public Channel {
 public:
  using Channel::Channel;

  Moved read(std::span<char> room) override {
    const ssize_t count = recv(descriptor(), room.data(), room.size(), 0);
    if (count == 0) return {.closed = true};
    return count > 0 ? Moved{.bytes = static_cast<std::size_t>(count)} : blocked(POLLIN);
  }
  Moved write(std::span<const char> bytes) override {
    const ssize_t count = send(descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return count > 0 ? Moved{.bytes = static_cast<std::size_t>(count)} : blocked(POLLOUT);
  }
  void end_writing() override { shutdown(descriptor(), SHUT_WR); }

 private:
  static Moved blocked(short event) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return {.wait_for = event};
    return {.closed = true};
  }
};

class PlainChannels final : public ChannelMaker {
 public:
  std::unique_ptr<Channel> make(int descriptor) override {
    return std::make_unique<PlainChannel>(descriptor);
  }
};

}  // namespace

Channel::~Channel() {
  close(descriptor_);
}

std::unique_ptr<ChannelMaker> plain_channels() {
  return std::make_unique<PlainChannels>();
}

}  // namespace mixstream::web
