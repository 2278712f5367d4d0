// write_file under faults: every call that it makes to the system can fail, fall short or be the last one
// before a crash. The program's own open, write, ... stand before those of the C library.
#undef _FILE_OFFSET_BITS  // it would make open another name of open64; both are defined here
#include "mixstream/moments/state_file.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

using namespace mixstream;

namespace {

enum class Fault { none, no_space, io_error, interrupted, short_write, crash };

/// What happens to the calls made while it is armed.
struct Shim {
  bool armed = false;
  int until_fault = -1;  // the call with this number meets the fault
  Fault fault = Fault::none;
  bool sticky = false;
  std::vector<std::string> calls;
  std::vector<int> folders;  // descriptors of folders

  /// Records a call; true when it must fail, with errno set.
  bool fails(const std::string& call) {
    if (!armed) return false;
    calls.push_back(call);
    const int number = static_cast<int>(calls.size()) - 1;
    if (until_fault < 0 || (sticky ? number < until_fault : number != until_fault)) return false;
    if (fault == Fault::crash) ::_exit(42);
    if (fault == Fault::none || fault == Fault::short_write) return false;
    errno = fault == Fault::no_space ? ENOSPC : fault == Fault::io_error ? EIO : EINTR;
    return true;
  }
  bool shortens() const {
    const int number = static_cast<int>(calls.size()) - 1;
    return armed && fault == Fault::short_write && (sticky ? number >= until_fault : number == until_fault);
  }
};
Shim shim;

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

int open_through_shim(const char* name, const char* path, int flags, mode_t mode) {
  const bool folder = (flags & O_DIRECTORY) != 0;
  if (shim.fails(folder ? "open folder" : "open")) return -1;
  const int descriptor = real<int (*)(const char*, int, ...)>(name)(path, flags, mode);
  if (shim.armed && folder) shim.folders.push_back(descriptor);
  return descriptor;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

}  // namespace

extern "C" {
int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_through_shim("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_through_shim("open64", path, flags, mode);
}
ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (shim.fails("write")) return -1;
  if (shim.shortens() && size > 1) size /= 2;
  return real<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, bytes, size);
}
int fsync(int descriptor) {
  bool folder = false;
  for (const int known : shim.folders) folder = folder || known == descriptor;
  if (shim.fails(folder ? "sync folder" : "sync")) return -1;
  return real<int (*)(int)>("fsync")(descriptor);
}
int rename(const char* from, const char* to) noexcept {
  if (shim.fails("rename")) return -1;
  return real<int (*)(const char*, const char*)>("rename")(from, to);
}
int close(int descriptor) {
  if (!shim.armed) return real<int (*)(int)>("close")(descriptor);
  std::erase(shim.folders, descriptor);
  const bool fails = shim.fails("close");
  const int error = errno;
  const int result = real<int (*)(int)>("close")(descriptor);  // Linux closes even when it complains
  errno = fails ? error : errno;
  return fails ? -1 : result;
}
}

namespace {

/// A folder of its own that goes away with the test.
struct Folder {
  std::string path;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "mixstream-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
};

Bytes content(char letter, std::size_t size) {
  return Bytes(size, static_cast<std::byte>(letter));
}

/// Calls write_file with the shim armed.
Done write_armed(const std::string& path, const Bytes& bytes, int at, Fault fault, bool sticky) {
  shim = {true, at, fault, sticky, {}, {}};
  Done done = write_file(path, bytes);
  shim.armed = false;
  return done;
}

int calls_of_a_write(const std::string& path, const Bytes& bytes) {
  REQUIRE(write_armed(path, bytes, -1, Fault::none, false));
  return static_cast<int>(shim.calls.size());
}

}  // namespace

TEST_CASE("what was written is read back, of any size") {
  const Folder folder;
  const std::string path = folder.path + "/state";
  for (const std::size_t size : {0U, 1U, 4096U, 3000000U}) {
    REQUIRE(write_file(path, content('x', size)));
    const Outcome<Bytes> back = read_file(path);
    REQUIRE(back);
    CHECK(back.value() == content('x', size));
  }
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);  // no temporary file left
}

TEST_CASE("data is synced before the rename, and the folder after it") {
  const Folder folder;
  REQUIRE(write_armed(folder.path + "/state", content('x', 5000), -1, Fault::none, false));
  const std::vector<std::string> order{"open",   "write",       "sync",        "close",
                                       "rename", "open folder", "sync folder", "close"};
  CHECK(shim.calls == order);
}

TEST_CASE("an error at any call leaves the old or the new content, never a mixture, and says so") {
  const Folder folder;
  const std::string path = folder.path + "/state";
  const Bytes old = content('o', 7000);
  const Bytes next = content('n', 9000);
  const int calls = calls_of_a_write(path, old);
  for (const Fault fault : {Fault::no_space, Fault::io_error, Fault::interrupted, Fault::short_write}) {
    for (const bool sticky : {false, true}) {
      if (sticky && fault == Fault::interrupted) continue;  // for ever interrupted: not a state of affairs
      for (int at = 0; at < calls; ++at) {
        REQUIRE(write_file(path, old));
        const Done done = write_armed(path, next, at, fault, sticky);
        const Outcome<Bytes> found = read_file(path);
        REQUIRE(found);
        CAPTURE(at);
        CAPTURE(static_cast<int>(fault));
        if (done) CHECK(found.value() == next);
        if (!done) {
          CHECK(done.refusal().reason == Reason::input_output);
          const bool after_rename = at > 4;
          CHECK(found.value() == (after_rename ? next : old));
          CHECK_FALSE(std::filesystem::exists(path + ".tmp"));
        }
        const bool harmless =
            fault == Fault::short_write || (fault == Fault::interrupted && at == 1) || at == 7;
        CHECK(static_cast<bool>(done) == harmless);
        CHECK(write_file(path, next));  // and the next write works
      }
    }
  }
}

TEST_CASE("a crash at any call leaves the old or the new content, and the next write works") {
  const Folder folder;
  const std::string path = folder.path + "/state";
  const Bytes old = content('o', 7000);
  const Bytes next = content('n', 9000);
  const int calls = calls_of_a_write(path, old);
  for (int at = 0; at < calls; ++at) {
    REQUIRE(write_file(path, old));
    const pid_t child = ::fork();
    if (child == 0) {
      static_cast<void>(write_armed(path, next, at, Fault::crash, false));
      ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WEXITSTATUS(status) == 42);
    const Outcome<Bytes> found = read_file(path);
    REQUIRE(found);
    CHECK(found.value() == (at > 4 ? next : old));
    CHECK(write_file(path, next));
    CHECK(read_file(path).value() == next);
  }
}

TEST_CASE("what cannot be read is refused with a reason") {
  const Folder folder;
  const auto reason = [](const std::string& path, std::uint64_t largest = 100) {
    const Outcome<Bytes> read = read_file(path, largest);
    return read ? "none" : name_of(read.refusal().reason);
  };
  CHECK(reason(folder.path + "/nothing") == std::string("input_output"));
  CHECK(reason(folder.path) == std::string("input_output"));
  REQUIRE(::mkfifo((folder.path + "/pipe").c_str(), 0600) == 0);
  CHECK(reason(folder.path + "/pipe") == std::string("input_output"));
  REQUIRE(write_file(folder.path + "/large", content('x', 101)));
  CHECK(reason(folder.path + "/large") == std::string("too_large"));
  CHECK_FALSE(write_file(folder.path + "/missing/state", content('x', 1)));
}
