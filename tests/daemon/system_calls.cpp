// The program's own open, write, ... stand before those of the C library and hand paths under /disk to the
// simulated disk.
#undef _FILE_OFFSET_BITS  // it would make open another name of open64; both are defined here
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <string>
#include <vector>

#include "daemon/disk.hpp"

using disk_shim::Disk;
using disk_shim::disk;

namespace {

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(arguments, int)) : 0;
}

int open_any(const char* name, const char* path, int flags, mode_t mode) {
  if (Disk::owns(path)) return disk.open(path, flags);
  return real<int (*)(const char*, int, ...)>(name)(path, flags, mode);
}

template <class Status>
int status_any(const char* name, int descriptor, Status* status) {
  if (!Disk::owns(descriptor)) return real<int (*)(int, Status*)>(name)(descriptor, status);
  std::size_t size = 0;
  if (disk.size(descriptor, size) != 0) return -1;
  *status = Status{};
  status->st_mode = S_IFREG | 0600;
  status->st_size = static_cast<off_t>(size);
  return 0;
}

/// A listing of ours, behind the pointer that opendir gives.
struct Listing {
  std::vector<std::string> names;
  std::size_t next = 0;
  dirent entry{};
  dirent64 entry64{};
};
std::vector<Listing*> listings;

Listing* ours(DIR* folder) {
  auto* const listing = reinterpret_cast<Listing*>(folder);
  for (const Listing* known : listings) {
    if (known == listing) return listing;
  }
  return nullptr;
}

template <class Entry>
Entry* next_entry(Listing& listing, Entry& entry) {
  if (listing.next == listing.names.size()) return nullptr;
  const std::string& name = listing.names[listing.next++];
  std::memcpy(entry.d_name, name.c_str(), name.size() + 1);
  return &entry;
}

}  // namespace

extern "C" {
int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any("open", path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_any("open64", path, flags, mode);
}
int close(int descriptor) {
  return Disk::owns(descriptor) ? disk.close(descriptor) : real<int (*)(int)>("close")(descriptor);
}
ssize_t read(int descriptor, void* bytes, size_t size) {
  if (Disk::owns(descriptor)) return disk.read(descriptor, bytes, size, -1);
  return real<ssize_t (*)(int, void*, size_t)>("read")(descriptor, bytes, size);
}
ssize_t pread(int descriptor, void* bytes, size_t size, off_t offset) {
  if (Disk::owns(descriptor)) return disk.read(descriptor, bytes, size, offset);
  return real<ssize_t (*)(int, void*, size_t, off_t)>("pread")(descriptor, bytes, size, offset);
}
ssize_t pread64(int descriptor, void* bytes, size_t size, off64_t offset) {
  return pread(descriptor, bytes, size, offset);
}
ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (Disk::owns(descriptor)) return disk.write(descriptor, bytes, size, -1);
  return real<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, bytes, size);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  if (Disk::owns(descriptor)) return disk.write(descriptor, bytes, size, offset);
  return real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(descriptor, bytes, size, offset);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  return pwrite(descriptor, bytes, size, offset);
}
int fsync(int descriptor) {
  return Disk::owns(descriptor) ? disk.sync(descriptor) : real<int (*)(int)>("fsync")(descriptor);
}
int fdatasync(int descriptor) {
  return Disk::owns(descriptor) ? disk.sync(descriptor) : real<int (*)(int)>("fdatasync")(descriptor);
}
int rename(const char* from, const char* to) noexcept {
  if (Disk::owns(from)) return disk.rename(from, to);
  return real<int (*)(const char*, const char*)>("rename")(from, to);
}
int unlink(const char* path) noexcept {
  return Disk::owns(path) ? disk.unlink(path) : real<int (*)(const char*)>("unlink")(path);
}
int mkdir(const char* path, mode_t mode) noexcept {
  if (Disk::owns(path)) return disk.make_folder(path);
  return real<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}
int flock(int descriptor, int operation) noexcept {
  if (Disk::owns(descriptor)) return disk.lock(descriptor);
  return real<int (*)(int, int)>("flock")(descriptor, operation);
}
int fstat(int descriptor, struct stat* status) noexcept {
  return status_any("fstat", descriptor, status);
}
int fstat64(int descriptor, struct stat64* status) noexcept {
  return status_any("fstat64", descriptor, status);
}
DIR* opendir(const char* path) {
  if (!Disk::owns(path)) return real<DIR* (*)(const char*)>("opendir")(path);
  std::vector<std::string> names;
  if (disk.list(path, names) != 0) return nullptr;
  listings.push_back(new Listing{names});
  return reinterpret_cast<DIR*>(listings.back());
}
dirent* readdir(DIR* folder) {
  if (Listing* const listing = ours(folder)) return next_entry(*listing, listing->entry);
  return real<dirent* (*)(DIR*)>("readdir")(folder);
}
dirent64* readdir64(DIR* folder) {
  if (Listing* const listing = ours(folder)) return next_entry(*listing, listing->entry64);
  return real<dirent64* (*)(DIR*)>("readdir64")(folder);
}
int closedir(DIR* folder) {
  Listing* const listing = ours(folder);
  if (listing == nullptr) return real<int (*)(DIR*)>("closedir")(folder);
  std::erase(listings, listing);
  delete listing;
  return 0;
}
}
