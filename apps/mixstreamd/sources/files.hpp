// Standard input, and files that are replayed once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cutter.hpp"
#include "mixstream/core/outcome.hpp"
#include "source.hpp"

namespace mixstream {

/// Reads standard input to its end. The half of a row that the cutter holds when the source is stopped
/// belongs to the next source: give that one the same cutter.
std::unique_ptr<Source> read_standard_input(std::shared_ptr<Cutter> cutter, Take take);

struct ReplaySettings {
  std::vector<std::string> files;
  CutterSettings cutting;
  std::string header;  ///< a first line equal to this is no row
  /// How far a file was taken in before: rows from there on are given.
  std::function<std::uint64_t(const std::string& file)> taken;
};

/// Reads the files one after the other. Refuses files that cannot be opened, or are shorter than what was
/// taken from them before.
Outcome<std::unique_ptr<Source>> replay_files(const ReplaySettings& settings, Take take);

}  // namespace mixstream
