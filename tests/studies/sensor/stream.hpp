// A drawn stream of a kind: its rows, which law made each, and the truth.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kinds.hpp"
#include "mixstream/core/mixture.hpp"
#include "yardstick.hpp"

namespace sensor {

struct Stream {
  yardstick::Rows rows;
  std::vector<std::size_t> made_by;  ///< the law of each row
  mixstream::Mixture truth;          ///< of the first half, where it changes
  std::vector<double> transitions;   ///< likewise
};

Stream drawn(const Kind& kind, std::uint64_t seed);

/// The seed of stream `index` of a kind under a commit: FNV-1a of the three, so that nobody chose it.
std::uint64_t seed_of(std::string_view commit, const Kind& kind, std::size_t index);

/// The truth as the yardstick's parameters.
yardstick::Laws true_laws(const Kind& kind, const Stream& stream, bool chain);

}  // namespace sensor
