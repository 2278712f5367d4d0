#include "input/bytes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "input/text.hpp"

namespace mixstream {
namespace {

constexpr int pipe_bytes = 1 << 20;  // the most that Linux allows by default

/// A path opened for reading; "-" is standard input, which stays open.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : name_(path == "-" ? "standard input" : path),
        owned_(path != "-"),
        number_(owned_ ? ::open(path.c_str(), O_RDONLY | O_CLOEXEC) : STDIN_FILENO) {
#if defined(F_SETPIPE_SZ)
    // Who writes into a pipe and who reads it take turns less often; what is no pipe refuses, without harm.
    if (number_ >= 0) ::fcntl(number_, F_SETPIPE_SZ, pipe_bytes);
#endif
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (owned_ && number_ >= 0) ::close(number_);
  }

  int number() const noexcept {
    return number_;
  }
  const std::string& name() const noexcept {
    return name_;
  }

 private:
  std::string name_;
  bool owned_;
  int number_;
};

/// A refusal with the system's own words.
Refusal cannot(const char* what, const std::string& name) {
  return {Reason::input_output, joined({"cannot ", what, " ", name, ": ", std::strerror(errno)})};
}

class DescriptorSource final : public ByteSource {
 public:
  DescriptorSource(const std::string& path, DescriptorSettings settings)
      : file_(path), settings_(settings), next_(settings.begin) {}

  const Descriptor& file() const noexcept { return file_; }

  Outcome<Arrival> read(std::span<char> space) override {
    bool must_wait = settings_.wake_descriptor >= 0;
    for (;;) {
      if (must_wait && !wait()) return Arrival{};
      const ::ssize_t got =
          settings_.seek ? ::pread(file_.number(), space.data(), space.size(), static_cast<::off_t>(next_))
                         : ::read(file_.number(), space.data(), space.size());
      if (got >= 0) {
        next_ += static_cast<std::uint64_t>(got);
        return Arrival{static_cast<std::size_t>(got), got == 0};
      }
      if (errno == EINTR) return Arrival{};
      if (errno != EAGAIN && errno != EWOULDBLOCK) return cannot("read", file_.name());
      must_wait = true;  // somebody made the descriptor non-blocking
    }
  }

  std::uint64_t bytes_taken() const noexcept override { return next_ - settings_.begin; }

 private:
  /// False if a signal or the wake descriptor ended the wait before bytes came.
  bool wait() const {
    std::array<::pollfd, 2> watched{{{file_.number(), POLLIN, 0}, {settings_.wake_descriptor, POLLIN, 0}}};
    return ::poll(watched.data(), watched.size(), -1) > 0 && watched[0].revents != 0;
  }

  Descriptor file_;
  DescriptorSettings settings_;
  std::uint64_t next_;
};

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string bytes, std::vector<std::size_t> pieces)
      : bytes_(std::move(bytes)), pieces_(std::move(pieces)) {}

  Outcome<Arrival> read(std::span<char> space) override {
    std::size_t size = std::min(space.size(), bytes_.size() - taken_);
    if (!pieces_.empty()) size = std::min(size, pieces_[std::min(piece_++, pieces_.size() - 1)]);
    std::memcpy(space.data(), bytes_.data() + taken_, size);
    taken_ += size;
    return Arrival{size, taken_ == bytes_.size() && size == 0};
  }

  std::uint64_t bytes_taken() const noexcept override { return taken_; }

 private:
  std::string bytes_;
  std::vector<std::size_t> pieces_;
  std::size_t piece_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace

Outcome<std::optional<ByteRange>> splittable_extent(const std::string& path) {
  const Descriptor file(path);
  if (file.number() < 0) return cannot("open", file.name());
  struct ::stat status {};
  const ::off_t position = ::lseek(file.number(), 0, SEEK_CUR);
  if (::fstat(file.number(), &status) != 0 || !S_ISREG(status.st_mode) || position < 0) {
    return std::optional<ByteRange>{};
  }
  std::array<char, 4> first{};
  const ::ssize_t got = ::pread(file.number(), first.data(), first.size(), position);
  if (got < 0) return cannot("read", file.name());
  if (compression_of({first.data(), static_cast<std::size_t>(got)}, true) != Compression::none) {
    return std::optional<ByteRange>{};
  }
  const auto begin = static_cast<std::uint64_t>(position);
  return std::optional(ByteRange{begin, std::max(begin, static_cast<std::uint64_t>(status.st_size))});
}

Outcome<std::uint64_t> line_number_at(const std::string& path, std::uint64_t offset) {
  auto source = open_bytes(path, {0, true, -1});
  if (!source) return source.refusal();
  std::vector<char> bytes(1 << 16);
  std::uint64_t line = 1;
  for (std::uint64_t at = 0; at < offset;) {
    const auto arrival =
        source.value()->read({bytes.data(), std::min<std::uint64_t>(bytes.size(), offset - at)});
    if (!arrival) return arrival.refusal();
    if (arrival.value().end) break;
    line += static_cast<std::uint64_t>(
        std::count(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(arrival.value().bytes), '\n'));
    at += arrival.value().bytes;
  }
  return line;
}

Outcome<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, DescriptorSettings settings) {
  auto source = std::make_unique<DescriptorSource>(path, settings);
  if (source->file().number() < 0) return cannot("open", source->file().name());
  return std::unique_ptr<ByteSource>(std::move(source));
}

std::unique_ptr<ByteSource> memory_bytes(std::string bytes, std::vector<std::size_t> pieces) {
  return std::make_unique<MemorySource>(std::move(bytes), std::move(pieces));
}

}  // namespace mixstream
