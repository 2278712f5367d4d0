// The checkpoint of a job: everything read so far, and what is left to read, in one file that is old or new.
//
// It is a state file like any other (mixstream inspect and refit read it) with one section more.
#pragma once

#include <optional>
#include <string>

#include "mixstream/moments/state_file.hpp"
#include "work.hpp"

namespace mixstream {

inline constexpr std::uint32_t work_section = 512;  ///< of the state file

/// The file in this folder, which is made where it is missing.
Outcome<std::string> checkpoint_path(const std::string& folder);

/// state: of the estimator, encoded. job: words that must be the same when the job goes on.
Done write_checkpoint(const std::string& path, const Bytes& state, const Work& work, const std::string& job);

struct Checkpoint {
  Bytes state;
  Work work;
};

/// The checkpoint, nothing where there is no file; refused when it is damaged or belongs to another job.
Outcome<std::optional<Checkpoint>> read_checkpoint(const std::string& path, const std::string& job);

}  // namespace mixstream
