// The snapshot of a stream: one file with all that a restart needs. docs/reference/daemon-files.md describes
// every byte.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "mixstream/moments/codec.hpp"

namespace mixstream {

inline constexpr std::uint32_t stream_snapshot_version = 1;

/// What a stream was when it had seen the records before `covers`.
struct StreamSnapshot {
  std::uint64_t identity = 0;     ///< of the journal it belongs to
  std::uint64_t covers = 0;       ///< records folded: the number of the first that is not
  std::vector<Section> sections;  ///< types are the owner's; see StreamState
  friend bool operator==(const StreamSnapshot&, const StreamSnapshot&) = default;
};

Bytes encode(const StreamSnapshot& snapshot);

/// The snapshot in these bytes, or a refusal that names what is wrong.
Outcome<StreamSnapshot> decode_stream_snapshot(std::span<const std::byte> bytes, bool trust_checksum = true);

}  // namespace mixstream
