// A stream as it lies on the disk, read by somebody else than the daemon that keeps it: nothing is locked,
// nothing is changed.
#pragma once

#include <string>
#include <vector>

#include "../config/config.hpp"
#include "../stream/fold.hpp"
#include "store/recovery.hpp"

namespace mixstream {

struct StoredStream {
  Recovery recovery;       ///< which files, without the snapshot's content
  Fold fold;               ///< what they come to
  std::uint64_t replayed;  ///< records of the journal behind the newest snapshot
};

/// Reads and checks everything, and folds the journal. Tries again when the daemon deletes files meanwhile.
/// Refuses what the daemon would refuse, and a folder that is not there.
Outcome<StoredStream> read_stored(const StreamConfig& config, const std::string& folder);

/// The stream's words in one line of JSON.
std::string to_json(const StoredStream& stored, const std::string& name);

/// A copy of the folder that a daemon can start from, read again before this returns. Refuses a target that
/// exists.
Done back_up(const StreamConfig& config, const std::string& folder, const std::string& target);

}  // namespace mixstream
