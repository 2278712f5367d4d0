// The envelope of a file of ours: magic, version and length, typed sections, a checksum over all. The state,
// and the daemon's snapshot around it, are such files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// One kind of file.
struct FileKind {
  std::uint64_t magic;
  std::uint32_t version;
  const char* name;  ///< in refusals: "state"
};

/// XXH3, 64 bits. No throw, no allocation.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

/// A file is begun, filled by put_section, and ended, which sets length and checksum.
void begin_file(ByteWriter& out, const FileKind& kind);
void end_file(ByteWriter& out);
/// Begins with the header and sections of a whole file, to which more sections can be added.
void begin_again(ByteWriter& out, std::span<const std::byte> file);

/// A section whose length is known only when `write` has put its payload.
template <class Write>
void put_section(ByteWriter& out, std::uint32_t type, Write write) {
  out.put(type);
  out.put(std::uint32_t{0});
  out.put(std::uint64_t{0});
  const std::size_t begin = out.size();
  write();
  out.put_at(begin - 8, out.size() - begin);
}

/// What stands between header and checksum, or why this is no whole file of this kind.
Outcome<std::span<const std::byte>> sections_of(std::span<const std::byte> bytes, const FileKind& kind,
                                                bool trust_checksum = true);

struct FoundSection {
  std::uint32_t type;
  std::span<const std::byte> payload;
};

/// The next section; nothing where it is cut short. No throw, no allocation.
std::optional<FoundSection> next_section(ByteReader& in) noexcept;

/// "the state is damaged: `what`", as Reason::bad_snapshot.
Refusal damaged_file(const FileKind& kind, const std::string& what);

}  // namespace mixstream
