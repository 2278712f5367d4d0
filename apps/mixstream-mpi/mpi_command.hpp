// mixstream-mpi fit: the stream tool's fit, over many processes.
#pragma once

#include "fit_command.hpp"
#include "part.hpp"
#include "ranks.hpp"

namespace mixstream {

struct MpiCommand {
  FitCommand fit;
  std::string checkpoint;              ///< folder, or empty
  std::uint64_t piece = 256ULL << 20;  ///< bytes that a rank reads between two checkpoints
  bool times = false;

  void add_to(CLI::App& command);
  int run(Ranks& ranks) const;  ///< on every rank; rank 0's exit code counts

  /// Patterns replaced by the files they match, in order; refused when one matches none.
  Outcome<std::vector<std::string>> files() const;
  /// Refuses what only one process can do.
  Done check_words() const;
  /// What must be the same when a job goes on from its checkpoint: all words that the answer depends on, and
  /// the files as they are.
  std::string job(const std::vector<std::string>& files) const;
  Outcome<PartSettings> part_settings() const;
};

}  // namespace mixstream
