#include "mixstream/moments/state_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

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

Outcome<FileWriter> FileWriter::create(const std::string& path) {
  FileWriter writer(path, -1);
  ::unlink(writer.temporary().c_str());
  writer.descriptor_ = ::open(writer.temporary().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (writer.descriptor_ < 0) return refused("create", writer.temporary());
  return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FileWriter::~FileWriter() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary().c_str());
}

Done FileWriter::write(std::span<const std::byte> content) {
  if (write_all(descriptor_, content)) return std::monostate{};
  return refused("write", temporary());
}

Done FileWriter::finish() {
  const auto give_up = [&](const char* what) {
    const Refusal refusal = refused(what, temporary());
    ::unlink(temporary().c_str());
    return refusal;
  };
  if (::fsync(descriptor_) != 0) return refused("sync", temporary());
  if (::close(std::exchange(descriptor_, -1)) != 0)
    return give_up("close");  // a full disk may speak only now
  if (::rename(temporary().c_str(), path_.c_str()) != 0) return give_up("rename");
  const Descriptor folder(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open() || ::fsync(folder.number()) != 0) return refused("sync the folder of", path_);
  return std::monostate{};
}

Done write_file(const std::string& path, std::span<const std::byte> content) {
  Outcome<FileWriter> writer = FileWriter::create(path);
  if (!writer) return writer.refusal();
  if (const Done written = writer.value().write(content); !written) return written.refusal();
  return writer.value().finish();
}

Done check_writable(const std::string& path) {
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

Outcome<FileReader> FileReader::open(const std::string& path) {
  FileReader reader(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // do not wait for a pipe
  struct stat status {};
  if (reader.descriptor_ < 0 || ::fstat(reader.descriptor_, &status) != 0) return refused("open", path);
  if (!S_ISREG(status.st_mode)) return Refusal{Reason::input_output, "'" + path + "' is not a file"};
  reader.size_ = static_cast<std::uint64_t>(status.st_size);
  return reader;
}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      at_(other.at_) {}

FileReader::~FileReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Outcome<Bytes> FileReader::read(std::uint64_t begin, std::uint64_t size) {
  if (begin > size_ || size > size_ - begin)
    return Refusal{Reason::bad_snapshot, "'" + path_ + "' is damaged or cut short"};
  if (begin != at_ && ::lseek(descriptor_, static_cast<::off_t>(begin), SEEK_SET) < 0)
    return refused("read", path_);
  Bytes content(static_cast<std::size_t>(size));
  std::size_t got = 0;
  while (got < content.size()) {
    const ssize_t more = ::read(descriptor_, content.data() + got, content.size() - got);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return refused("read", path_);
    if (more == 0) break;
    got += static_cast<std::size_t>(more);
  }
  content.resize(got);
  at_ = begin + got;
  return content;
}

Outcome<Bytes> read_file(const std::string& path, std::uint64_t largest) {
  Outcome<FileReader> reader = FileReader::open(path);
  if (!reader) return reader.refusal();
  const std::uint64_t size = reader.value().size();
  if (size > largest) {
    return Refusal{Reason::too_large, "'" + path + "' has " + std::to_string(size) + " bytes; at most " +
                                          std::to_string(largest) + " are read"};
  }
  return reader.value().read(0, size);
}

}  // namespace mixstream
