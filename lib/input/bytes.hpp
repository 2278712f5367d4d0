// Where bytes come from: a descriptor, memory, or a decompressor over another source.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "input/rows.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// What one read gave. No bytes and no end: a signal or the wake descriptor ended the wait.
struct Arrival {
  std::size_t bytes = 0;
  bool end = false;
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// The bytes that are there now, up to space.size(); waits only while there are none.
  virtual Outcome<Arrival> read(std::span<char> space) = 0;

  /// Bytes taken from the file or pipe so far.
  virtual std::uint64_t bytes_taken() const noexcept = 0;

  /// Whether what is read differs from the file's own bytes; known after the first read.
  virtual bool compressed() const noexcept { return false; }
};

/// A file, or standard input for "-". From `begin` if that is given, which needs a seekable file.
struct DescriptorSettings {
  std::uint64_t begin = 0;
  bool seek = false;         ///< read at `begin` and on, without moving the descriptor's own position
  int wake_descriptor = -1;  ///< a waiting read returns when it is readable
};
Outcome<std::unique_ptr<ByteSource>> open_bytes(const std::string& path, DescriptorSettings settings = {});

/// The bytes of a file that can be read in parts, from the descriptor's position on; nothing for a pipe or a
/// compressed file. Takes nothing from the input.
Outcome<std::optional<ByteRange>> splittable_extent(const std::string& path);

/// The 1-based line number of a byte of a file: for messages about a row of a range. Reads the file up to
/// there.
Outcome<std::uint64_t> line_number_at(const std::string& path, std::uint64_t offset);

/// Bytes in memory, handed out in pieces of the given sizes (the last size repeats; none: all at once).
std::unique_ptr<ByteSource> memory_bytes(std::string bytes, std::vector<std::size_t> pieces = {});

enum class Compression : std::uint8_t { none, gzip, zstd };

/// What the first bytes of a file say; nothing while more of them are needed. No throw, no allocation.
std::optional<Compression> compression_of(std::string_view first_bytes, bool no_more) noexcept;

/// The same bytes, decompressed while they come if they begin as gzip or zstd; any number of members or
/// frames. A truncated or damaged one is refused after everything before it was handed out.
/// chunk: bytes asked of the source at once, at least 16.
std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source, std::size_t chunk);

}  // namespace mixstream
