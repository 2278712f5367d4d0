// Files that are old or new, never half: temporary file, fsync, rename, fsync of the folder.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "mixstream/moments/bytes.hpp"
#include "mixstream/outcome.hpp"

namespace mixstream {

/// Replaces the file's content. When this refuses, the old content stands whole; only when the very last
/// step, the sync of the folder, failed, the new content may stand instead. The temporary file `path`.tmp
/// lies in the same folder; one left by a crash is replaced, so one process writes a path. Blocks for two
/// fsyncs.
Verdict write_file(const std::string& path, std::span<const std::byte> content);

/// Refuses a path that write_file would refuse now: asked before hours of work, not after. Creates and
/// removes `path`.tmp; the file itself is not touched.
Verdict check_writable(const std::string& path);

/// The whole file; refuses files larger than `largest` before allocating.
Outcome<Bytes> read_file(const std::string& path, std::uint64_t largest = 1ULL << 33);

}  // namespace mixstream
