// Files that are old or new, never half: temporary file, fsync, rename, fsync of the folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// A file written piece by piece, which takes its name when all of it is written: until finish() the old
/// content stands whole, and without finish() the new one leaves no trace. The temporary file `path`.tmp lies
/// in the same folder; one left by a crash is replaced, so one process writes a path.
class FileWriter {
 public:
  static Outcome<FileWriter> create(const std::string& path);
  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&&) = delete;
  ~FileWriter();

  Done write(std::span<const std::byte> content);
  /// Blocks for two fsyncs. When this refuses, the old content stands; only when the very last step, the sync
  /// of the folder, failed, the new content may stand instead.
  Done finish();

 private:
  FileWriter(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string temporary() const { return path_ + ".tmp"; }

  std::string path_;
  int descriptor_;  // -1: finished, given up or moved away
};

/// Replaces the file's content by a FileWriter.
Done write_file(const std::string& path, std::span<const std::byte> content);

/// A file of which stretches are read.
class FileReader {
 public:
  /// Refuses what is no regular file.
  static Outcome<FileReader> open(const std::string& path);
  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&&) = delete;
  ~FileReader();

  std::uint64_t size() const noexcept { return size_; }
  /// Refuses a stretch that the file did not have when it was opened; less is read where it shrank since.
  Outcome<Bytes> read(std::uint64_t begin, std::uint64_t size);

 private:
  FileReader(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;
  int descriptor_;
  std::uint64_t size_ = 0;
  std::uint64_t at_ = 0;  // where the descriptor stands
};

/// Refuses a path that write_file would refuse now: asked before hours of work, not after. Creates and
/// removes `path`.tmp; the file itself is not touched.
Done check_writable(const std::string& path);

/// The whole file; refuses files larger than `largest` before allocating.
Outcome<Bytes> read_file(const std::string& path, std::uint64_t largest = 1ULL << 33);

}  // namespace mixstream
