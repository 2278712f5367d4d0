// A disk that fails on request. It stands before the C library's open, write, fsync, ... for every path under
// /disk and lives in memory: what a program sees, and apart from it what would survive a loss of power.
//
//   disk.format();
//   disk.fault = {Fault::no_space, 17, true};     // from the 17th call on
//   ... run ...
//   disk.lose_power(Survival::random, 3);         // what was not synced survives in part
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace disk_shim {

enum class Fault {
  none,
  no_space,     // the call fails with ENOSPC, where it can
  io_error,     // it fails with EIO; a sync that fails forgets what it should have written, as Linux does
  interrupted,  // it fails with EINTR
  short_write,  // a write takes half of its bytes
  crash         // this call and all behind it do nothing and fail: the program's last was the one before
};

/// What of the unsynced survives a loss of power.
enum class Survival {
  everything,  // a crash of the program alone, or a lucky one
  nothing,     // the honest minimum
  names_only,  // entries of folders, but no bytes: the file that is there and empty
  bytes_only,  // bytes of files, but no entries of folders
  random       // any entries, and any 512-byte sectors of any write
};

struct FaultPlan {
  Fault kind = Fault::none;
  int at = -1;          // number of the call that meets it
  bool sticky = false;  // and all behind it
};

/// What the shim leaves out, so that tests can see that somebody would notice.
struct Neglect {
  bool file_sync = false;    // fsync and fdatasync of files do nothing and say yes
  bool folder_sync = false;  // those of folders
};

class Disk {
 public:
  FaultPlan fault;
  Neglect neglect;
  int calls = 0;                                             // since format() or the last reset
  std::function<void(const std::string& to)> before_rename;  // in the caller's thread; others go on meanwhile

  /// Empty, with the folder /disk.
  void format();
  /// All descriptors close and locks go; everything written is still seen.
  void kill_program();
  /// kill_program(), and only what was synced and what `survival` adds to it is left.
  void lose_power(Survival survival, unsigned seed);
  bool crashed() const { return crashed_; }
  bool fault_fired() const { return fired_; }
  void clear_faults();

  std::vector<std::string> names(const std::string& folder) const;
  std::string content(const std::string& path) const;             // as it is seen
  void put(const std::string& path, const std::string& content);  // synced, entry included

  // What the calls of the C library come down to; results and errno as there.
  static bool owns(const char* path);
  static bool owns(int descriptor) { return descriptor >= first_descriptor; }
  int open(const std::string& path, int flags);
  int close(int descriptor);
  long read(int descriptor, void* bytes, std::size_t size, long offset);  // offset -1: the descriptor's own
  long write(int descriptor, const void* bytes, std::size_t size, long offset);
  int sync(int descriptor);
  int rename(const std::string& from, const std::string& to);
  int unlink(const std::string& path);
  int make_folder(const std::string& path);
  int size(int descriptor, std::size_t& size);
  int lock(int descriptor);
  int list(const std::string& path, std::vector<std::string>& names);

 private:
  static constexpr int first_descriptor = 1 << 20;
  struct Write {
    std::size_t offset;
    std::string bytes;
  };
  struct File {
    std::string seen;
    std::string durable;
    std::vector<Write> unsynced;
  };
  using FilePointer = std::shared_ptr<File>;
  struct Change {  // of a folder: names that go, and one that is set
    std::string removed;
    std::string set;
    FilePointer file;
  };
  struct Folder {
    std::map<std::string, FilePointer> seen;
    std::map<std::string, FilePointer> durable;
    std::vector<Change> unsynced;
    bool is_durable = false;  // its own entry in the folder around it
  };
  struct Open {
    FilePointer file;    // or
    std::string folder;  // its path
    bool appends = false;
    std::size_t offset = 0;
    bool locks = false;
  };

  bool fails(bool takes_space);
  bool is_at_fault() const;
  Folder* folder_of(const std::string& path, std::string& name);
  static void apply(std::string& content, const Write& write);
  static void apply(std::map<std::string, FilePointer>& entries, const Change& change);
  void change(Folder& folder, const Change& change);
  void settle(File& file, Survival survival, std::mt19937& random) const;
  void settle(Folder& folder, Survival survival, std::mt19937& random) const;

  std::map<std::string, Folder> folders_;
  std::map<int, Open> open_;
  std::set<File*> locked_;
  int next_descriptor_ = first_descriptor;
  bool crashed_ = false;
  bool fired_ = false;
};

extern Disk disk;

}  // namespace disk_shim
