// What a stream's folder holds, judged as a whole before anything is believed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/journal.hpp"
#include "store/store.hpp"

namespace mixstream {

struct Recovery {
  Recovered recovered;
  std::vector<Segment> segments;
  std::vector<std::uint64_t> generations;  ///< what the sound snapshots cover, newest first, at most two
  bool is_new = false;                     ///< nothing was ever kept here
};

/// Reads the folder, which this process has locked, and changes nothing. `note`: what the lock file says, the
/// last segment that was begun; empty: none ever was. Refuses as Store::open does.
Outcome<Recovery> recover(const StoreSettings& settings, const std::string& note);

inline constexpr const char* snapshot_kind = "snapshot";

}  // namespace mixstream
