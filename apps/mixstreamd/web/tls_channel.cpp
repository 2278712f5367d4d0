#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>

#include "../tls_files.hpp"
#include "channel.hpp"

namespace mixstream::web {
namespace {

using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;

class TlsChannel final : public Channel {
 public:
  TlsChannel(int descriptor, Session session) : Channel(descriptor), session_(std::move(session)) {}

  Moved read(std::span<char> room) override {
    std::size_t count = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(session_.get(), room.data(), room.size(), &count);
    return result == 1 ? Moved{.bytes = count} : blocked(result);
  }
  Moved write(std::span<const char> bytes) override {
    std::size_t count = 0;
    ERR_clear_error();
    const int result = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &count);
    return result == 1 ? Moved{.bytes = count} : blocked(result);
  }
  void end_writing() override {
    if (SSL_is_init_finished(session_.get()) == 1) SSL_shutdown(session_.get());
    shutdown(descriptor(), SHUT_WR);
  }

 private:
  Moved blocked(int result) {
    switch (SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return {.wait_for = POLLIN};
      case SSL_ERROR_WANT_WRITE:
        return {.wait_for = POLLOUT};
      default:
        SSL_set_quiet_shutdown(session_.get(), 1);  // after an error nothing more may be sent
        return {.closed = true};
    }
  }

  Session session_;
};

class TlsChannels final : public ChannelMaker {
 public:
  explicit TlsChannels(TlsContext context) : context_(std::move(context)) {}

  std::unique_ptr<Channel> make(int descriptor) override {
    Session session(SSL_new(context_.get()), &SSL_free);
    if (session == nullptr || SSL_set_fd(session.get(), descriptor) != 1) {
      plain_channels()->make(descriptor);  // closes it
      return nullptr;
    }
    SSL_set_accept_state(session.get());
    return std::make_unique<TlsChannel>(descriptor, std::move(session));
  }

 private:
  TlsContext context_;
};

}  // namespace

Outcome<std::unique_ptr<ChannelMaker>> tls_channels(const std::string& certificate_file,
                                                    const std::string& key_file) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(TLS_server_method()), &SSL_CTX_free);
  if (context == nullptr) return tls_refusal("TLS cannot be set up");
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                      SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  if (const Done done = use_certificate(*context, certificate_file, key_file); !done) return done.refusal();
  return std::unique_ptr<ChannelMaker>(std::make_unique<TlsChannels>(std::move(context)));
}

}  // namespace mixstream::web
