// merge, inspect and refit on files of groups: one group in memory at a time.
#pragma once

#include <string>
#include <vector>

#include "fit_options.hpp"
#include "mixstream/moments/state.hpp"

namespace mixstream {

/// Adds the groups of all files, each to its own, and writes them to `output`. The exit code.
int merge_group_files(const std::vector<std::string>& files, const std::string& output, MergeAs as);

/// Lists the groups of a file. The exit code.
int inspect_group_file(const std::string& file, const OutputOptions& output);

/// Solves every group again, so many at once. The exit code.
int refit_group_file(const std::string& file, const SolveOptions& solve, const OutputOptions& output,
                     std::size_t threads);

}  // namespace mixstream
