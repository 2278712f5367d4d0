// The snapshot of a state as bytes: one versioned encoder, length-prefixed typed sections, a checksum over
// all. docs/reference/state-format.md describes every byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {

inline constexpr std::uint32_t state_version = 1;

/// A section that a later stage adds to a snapshot; types from first_guest_type on are carried, not
/// understood, here.
struct Section {
  std::uint32_t type;
  Bytes bytes;
  friend bool operator==(const Section&, const Section&) = default;
};
inline constexpr std::uint32_t first_guest_type = 256;

struct Snapshot {
  MomentState state;
  std::vector<Section> guests;
};

struct DecodeSettings {
  std::uint64_t memory_budget =
      1ULL << 30;              ///< becomes the state's; what goes beyond is refused before allocation
  bool trust_checksum = true;  ///< false: skip it, so that fuzzers reach what lies behind
};

/// The state and the guests' sections as bytes. decode(encode(s)) == s; a resumed state goes on bit for bit.
Bytes encode(const MomentState& state, std::span<const Section> guests = {});

/// The bytes of a whole snapshot with one guest more; and a guest's bytes, nothing where there is none.
Bytes with_guest(std::span<const std::byte> snapshot, const Section& guest);
std::optional<std::span<const std::byte>> guest_of(std::span<const std::byte> snapshot, std::uint32_t type);

/// The snapshot in these bytes, or a refusal that names what is wrong. Sizes are checked before anything is
/// allocated.
Outcome<Snapshot> decode(std::span<const std::byte> bytes, const DecodeSettings& settings = {});

}  // namespace mixstream
