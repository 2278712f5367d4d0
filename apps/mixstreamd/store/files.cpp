#include "store/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace mixstream {
namespace {

Refusal refused(const char* what, const std::string& path) {
  return {Reason::input_output, std::string("cannot ") + what + " '" + path + "': " + std::strerror(errno)};
}

Done sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::fsync(folder.number()) != 0) return refused("sync the folder", path);
  return std::monostate{};
}

std::string folder_around(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

/// Who can write here decides what the daemon believes.
Done check_owner(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct ::stat status {};
  if (!folder.is_open() || ::fstat(folder.number(), &status) != 0) return refused("open the folder", path);
  if (status.st_uid != ::geteuid())
    return Refusal{Reason::bad_settings, "'" + path + "' belongs to user " + std::to_string(status.st_uid) +
                                             ", and the daemon runs as " + std::to_string(::geteuid()) +
                                             ": chown it, or choose another state_folder"};
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Refusal{Reason::bad_settings, "'" + path + "' can be written by others: run chmod go-w on it"};
  return std::monostate{};
}

Done make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return refused("make the folder", path);
  return sync_folder(folder_around(path));
}

Outcome<std::vector<std::string>> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (!open) return refused("read the folder", folder);
  std::vector<std::string> names;
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return refused("read the folder", folder);
  std::ranges::sort(names);
  return names;
}

Done remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return refused("remove", path);
  return std::monostate{};
}

Outcome<Descriptor> lock_file(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.is_open()) return refused("open", path);
  if (::flock(file.number(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return refused("lock", path);
  return Refusal{Reason::input_output, "'" + path +
                                           "' is locked: another daemon keeps this stream; stop it, or give "
                                           "this one another state folder"};
}

Outcome<std::string> read_note(const Descriptor& file, const std::string& path) {
  std::array<char, 64> bytes{};
  const ssize_t got = ::pread(file.number(), bytes.data(), bytes.size(), 0);
  if (got < 0) return refused("read", path);
  return std::string(bytes.data(), static_cast<std::size_t>(got));
}

Done write_note(const Descriptor& file, std::string_view text, const std::string& path) {
  if (::pwrite(file.number(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    return refused("write", path);
  if (::fdatasync(file.number()) != 0) return refused("sync", path);
  return std::monostate{};
}

Outcome<Descriptor> open_for_append(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file.is_open()) return refused("open", path);
  return file;
}

Done append_durably(const Descriptor& file, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.number(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written == 0) errno = EIO;  // else this would never end
    if (written <= 0) return refused("write", path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (::fdatasync(file.number()) != 0) return refused("sync", path);
  return std::monostate{};
}

}  // namespace mixstream
