#include "daemon/disk.hpp"

#include <fcntl.h>
#include <mutex>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace disk_shim {

static std::recursive_mutex calls_mutex;  // they come from several threads

Disk disk;

namespace {
constexpr const char* root = "/disk";
constexpr std::size_t sector = 512;
}  // namespace

void Disk::format() {
  *this = Disk{};
  folders_[root].is_durable = true;
}

void Disk::clear_faults() {
  fault = {};
  crashed_ = false;
  fired_ = false;
}

void Disk::kill_program() {
  open_.clear();
  locked_.clear();
}

void Disk::apply(std::string& content, const Write& write) {
  if (content.size() < write.offset + write.bytes.size())
    content.resize(write.offset + write.bytes.size(), '\0');
  content.replace(write.offset, write.bytes.size(), write.bytes);
}

void Disk::apply(std::map<std::string, FilePointer>& entries, const Change& change) {
  if (!change.removed.empty()) entries.erase(change.removed);
  if (!change.set.empty()) entries[change.set] = change.file;
}

void Disk::change(Folder& folder, const Change& change) {
  apply(folder.seen, change);
  folder.unsynced.push_back(change);
}

/// Which unsynced bytes of a file are on the plate.
void Disk::settle(File& file, Survival survival, std::mt19937& random) const {
  const bool keeps = survival == Survival::everything || survival == Survival::bytes_only;
  for (const Write& write : file.unsynced) {
    if (keeps) apply(file.durable, write);
    if (survival != Survival::random) continue;
    for (std::size_t at = 0; at < write.bytes.size();) {  // sectors of the file, not of the write
      const std::size_t end = std::min(write.bytes.size(), at + sector - (write.offset + at) % sector);
      if (random() % 2 == 0) apply(file.durable, {write.offset + at, write.bytes.substr(at, end - at)});
      at = end;
    }
  }
  file.unsynced.clear();
  file.seen = file.durable;
}

void Disk::settle(Folder& folder, Survival survival, std::mt19937& random) const {
  for (const Change& change : folder.unsynced) {
    const bool keeps = survival == Survival::everything || survival == Survival::names_only ||
                       (survival == Survival::random && random() % 2 == 0);
    if (keeps) apply(folder.durable, change);
  }
  folder.unsynced.clear();
  folder.seen = folder.durable;
}

void Disk::lose_power(Survival survival, unsigned seed) {
  kill_program();
  clear_faults();
  std::mt19937 random(seed);
  std::set<File*> settled;
  for (auto& [path, folder] : folders_) {
    settle(folder, survival, random);
    for (auto& [name, file] : folder.seen) {
      if (settled.insert(file.get()).second) settle(*file, survival, random);
    }
  }
  const bool keeps_folders = survival == Survival::everything || survival == Survival::names_only ||
                             (survival == Survival::random && random() % 2 == 0);
  for (auto& [path, folder] : folders_) folder.is_durable = folder.is_durable || keeps_folders;
  std::erase_if(folders_, [](const auto& entry) { return !entry.second.is_durable; });
}

bool Disk::is_at_fault() const {
  if (fault.kind == Fault::none || fault.at < 0) return false;
  return fault.sticky ? calls > fault.at : calls == fault.at + 1;
}

/// Counts a call; true when it must fail, with errno set.
bool Disk::fails(bool takes_space) {
  ++calls;
  if (!crashed_ && !is_at_fault()) return false;
  if (fault.kind == Fault::crash) crashed_ = true;
  if (fault.kind == Fault::short_write || (fault.kind == Fault::no_space && !takes_space)) return false;
  fired_ = true;
  errno = fault.kind == Fault::no_space ? ENOSPC : fault.kind == Fault::interrupted ? EINTR : EIO;
  return true;
}

bool Disk::owns(const char* path) {
  const std::string text = path;
  return text == root || text.starts_with(std::string(root) + "/");
}

Disk::Folder* Disk::folder_of(const std::string& path, std::string& name) {
  const std::size_t slash = path.rfind('/');
  name = path.substr(slash + 1);
  const auto found = folders_.find(path.substr(0, slash));
  return found == folders_.end() ? nullptr : &found->second;
}

int Disk::open(const std::string& path, int flags) {
  const std::lock_guard guard(calls_mutex);
  if (fails((flags & O_CREAT) != 0)) return -1;
  Open opened;
  if ((flags & O_DIRECTORY) != 0) {
    if (!folders_.contains(path)) return errno = ENOENT, -1;
    opened.folder = path;
    open_[next_descriptor_] = opened;
    return next_descriptor_++;
  }
  std::string name;
  Folder* const folder = folder_of(path, name);
  if (folder == nullptr) return errno = ENOENT, -1;
  const auto found = folder->seen.find(name);
  if (found == folder->seen.end()) {
    if ((flags & O_CREAT) == 0) return errno = ENOENT, -1;
    opened.file = std::make_shared<File>();
    change(*folder, {"", name, opened.file});
  } else {
    if ((flags & O_EXCL) != 0) return errno = EEXIST, -1;
    opened.file = found->second;
  }
  opened.appends = (flags & O_APPEND) != 0;
  open_[next_descriptor_] = opened;
  return next_descriptor_++;
}

int Disk::close(int descriptor) {
  const std::lock_guard guard(calls_mutex);
  const bool complains = fails(false);
  const auto found = open_.find(descriptor);
  if (found == open_.end()) return errno = EBADF, -1;
  if (found->second.locks) locked_.erase(found->second.file.get());
  open_.erase(found);  // Linux closes even when it complains
  return complains ? -1 : 0;
}

long Disk::read(int descriptor, void* bytes, std::size_t size, long offset) {
  const std::lock_guard guard(calls_mutex);
  if (fails(false)) return -1;
  Open& open = open_.at(descriptor);
  const std::size_t at = offset < 0 ? open.offset : static_cast<std::size_t>(offset);
  const std::string& seen = open.file->seen;
  const std::size_t got = at >= seen.size() ? 0 : std::min(size, seen.size() - at);
  std::memcpy(bytes, seen.data() + std::min(at, seen.size()), got);
  if (offset < 0) open.offset += got;
  return static_cast<long>(got);
}

long Disk::write(int descriptor, const void* bytes, std::size_t size, long offset) {
  const std::lock_guard guard(calls_mutex);
  if (fails(true)) return -1;
  if (fault.kind == Fault::short_write && is_at_fault() && size > 1) {
    fired_ = true;
    size /= 2;
  }
  Open& open = open_.at(descriptor);
  const std::size_t at = offset >= 0    ? static_cast<std::size_t>(offset)
                         : open.appends ? open.file->seen.size()
                                        : open.offset;
  const Write write{at, std::string(static_cast<const char*>(bytes), size)};
  apply(open.file->seen, write);
  open.file->unsynced.push_back(write);
  if (offset < 0) open.offset = at + size;
  return static_cast<long>(size);
}

int Disk::sync(int descriptor) {
  const std::lock_guard guard(calls_mutex);
  Open& open = open_.at(descriptor);
  if (fails(true)) {
    if (!crashed_ && open.file) open.file->unsynced.clear();  // seen, but never to be written
    return -1;
  }
  if (open.file) {
    if (neglect.file_sync) return 0;
    for (const Write& write : open.file->unsynced) apply(open.file->durable, write);
    open.file->unsynced.clear();
    return 0;
  }
  if (neglect.folder_sync) return 0;
  Folder& folder = folders_.at(open.folder);
  folder.durable = folder.seen;
  folder.unsynced.clear();
  for (auto& [path, inner] : folders_) {
    if (path.substr(0, path.rfind('/')) == open.folder) inner.is_durable = true;
  }
  return 0;
}

int Disk::rename(const std::string& from, const std::string& to) {
  if (before_rename) before_rename(to);
  const std::lock_guard guard(calls_mutex);
  if (fails(true)) return -1;
  std::string old_name;
  std::string new_name;
  Folder* const folder = folder_of(from, old_name);
  if (folder == nullptr || folder != folder_of(to, new_name) || !folder->seen.contains(old_name))
    return errno = ENOENT, -1;
  change(*folder, {old_name, new_name, folder->seen.at(old_name)});
  return 0;
}

int Disk::unlink(const std::string& path) {
  const std::lock_guard guard(calls_mutex);
  if (fails(false)) return -1;
  std::string name;
  Folder* const folder = folder_of(path, name);
  if (folder == nullptr || !folder->seen.contains(name)) return errno = ENOENT, -1;
  change(*folder, {name, "", nullptr});
  return 0;
}

int Disk::make_folder(const std::string& path) {
  const std::lock_guard guard(calls_mutex);
  if (fails(true)) return -1;
  if (folders_.contains(path)) return errno = EEXIST, -1;
  if (!folders_.contains(path.substr(0, path.rfind('/')))) return errno = ENOENT, -1;
  folders_[path] = {};
  return 0;
}

int Disk::size(int descriptor, std::size_t& size) {
  const std::lock_guard guard(calls_mutex);
  if (fails(false)) return -1;
  size = open_.at(descriptor).file->seen.size();
  return 0;
}

int Disk::lock(int descriptor) {
  const std::lock_guard guard(calls_mutex);
  if (fails(false)) return -1;
  Open& open = open_.at(descriptor);
  if (!locked_.insert(open.file.get()).second) return errno = EWOULDBLOCK, -1;
  open.locks = true;
  return 0;
}

int Disk::list(const std::string& path, std::vector<std::string>& found) {
  const std::lock_guard guard(calls_mutex);
  if (fails(false)) return -1;
  if (!folders_.contains(path)) return errno = ENOENT, -1;
  found = names(path);
  return 0;
}

std::vector<std::string> Disk::names(const std::string& folder) const {
  std::vector<std::string> result;
  const auto found = folders_.find(folder);
  if (found == folders_.end()) return result;
  for (const auto& [name, file] : found->second.seen) result.push_back(name);
  return result;
}

std::string Disk::content(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  return folders_.at(path.substr(0, slash)).seen.at(path.substr(slash + 1))->seen;
}

void Disk::put(const std::string& path, const std::string& content) {
  const std::size_t slash = path.rfind('/');
  Folder& folder = folders_.at(path.substr(0, slash));
  const auto file = std::make_shared<File>(File{content, content, {}});
  folder.seen[path.substr(slash + 1)] = file;
  folder.durable[path.substr(slash + 1)] = file;
}

}  // namespace disk_shim
