// Bytes to and from a client, never waiting: over a plain socket or over TLS.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "mixstream/core/outcome.hpp"

namespace mixstream::web {

/// What a read or write came to.
struct Moved {
  std::size_t bytes = 0;  ///< moved; 0: look at the other two
  bool closed = false;    ///< the client is gone
  short wait_for = 0;     ///< poll event to wait for before trying again
};

/// Owns its descriptor.
class Channel {
 public:
  explicit Channel(int descriptor) : descriptor_(descriptor) {}
  virtual ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  int descriptor() const noexcept { return descriptor_; }
  virtual Moved read(std::span<char> room) = 0;
  virtual Moved write(std::span<const char> bytes) = 0;
  virtual void end_writing() = 0;  ///< says that nothing more will come

 private:
  int descriptor_;
};

/// Makes a channel of each accepted socket.
class ChannelMaker {
 public:
  virtual ~ChannelMaker() = default;
  virtual std::unique_ptr<Channel> make(int descriptor) = 0;  ///< takes the descriptor; null: out of memory
};

std::unique_ptr<ChannelMaker> plain_channels();

/// TLS 1.2 or later with a PEM certificate chain and its key. Refuses files that cannot be used.
Outcome<std::unique_ptr<ChannelMaker>> tls_channels(const std::string& certificate_file,
                                                    const std::string& key_file);

}  // namespace mixstream::web
