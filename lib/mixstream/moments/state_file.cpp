#include "mixstream/moments/state_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mixstream {
namespace {

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  bool open() const noexcept { return number_ >= 0; }
  int number() const noexcept { return number_; }
  bool close() noexcept {  // a full disk may speak only now
    const int number = number_;
    number_ = -1;
    return ::close(number) == 0;
  }

 private:
  int number_;
};

Refusal refused(const char* what, const std::string& path) {
  return {Reason::input_output, std::string("cannot ") + what + " '" + path + "': " + std::strerror(errno)};
}

bool write_all(int descriptor, std::span<const std::byte> content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;  // else this would never end
    if (written <= 0) return false;
    content = content.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Verdict write_file(const std::string& path, std::span<const std::byte> content) {
  const std::string temporary = path + ".tmp";
  ::unlink(temporary.c_str());
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.open()) return refused("create", temporary);
  const auto give_up = [&](const char* what) {
    const Refusal refusal = refused(what, temporary);
    ::unlink(temporary.c_str());
    return refusal;
  };
  if (!write_all(file.number(), content)) return give_up("write");
  if (::fsync(file.number()) != 0) return give_up("sync");
  if (!file.close()) return give_up("close");
  if (::rename(temporary.c_str(), path.c_str()) != 0) return give_up("rename");
  const Descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open() || ::fsync(folder.number()) != 0) return refused("sync the folder of", path);
  return std::monostate{};
}

Verdict check_writable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    errno = EISDIR;
    return refused("write", path);
  }
  const std::string temporary = path + ".tmp";
  ::unlink(temporary.c_str());
  const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.open()) return refused("create", temporary);
  ::unlink(temporary.c_str());
  return std::monostate{};
}

Outcome<Bytes> read_file(const std::string& path, std::uint64_t largest) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // do not wait for a pipe
  struct stat status {};
  if (!file.open() || ::fstat(file.number(), &status) != 0) return refused("open", path);
  if (!S_ISREG(status.st_mode)) return Refusal{Reason::input_output, "'" + path + "' is not a file"};
  if (static_cast<std::uint64_t>(status.st_size) > largest) {
    return Refusal{Reason::too_large, "'" + path + "' has " + std::to_string(status.st_size) +
                                          " bytes; at most " + std::to_string(largest) + " are read"};
  }
  Bytes content(static_cast<std::size_t>(status.st_size));
  std::size_t at = 0;
  while (at < content.size()) {
    const ssize_t got = ::read(file.number(), content.data() + at, content.size() - at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refused("read", path);
    if (got == 0) break;
    at += static_cast<std::size_t>(got);
  }
  content.resize(at);
  return content;
}

}  // namespace mixstream
