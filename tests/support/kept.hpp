// What one pass over a drawn stream keeps, without the estimator: for tests of what comes after the moments.
#pragma once

#include <algorithm>

#include "experiments/streams.hpp"
#include "support/moments_of.hpp"

namespace experiments {

/// What one pass keeps: pilot from the first rows, tensor, sample.
struct Kept {
  Pilot pilot;
  MomentTensor tensor;
  RowTable sample;
};

inline Kept keep(const Drawn& drawn, std::size_t sample_rows = 5000) {
  RowTable first{drawn.rows.feature_count, {}, {}, {}};
  for (std::size_t i = 0; i < std::min<std::size_t>(4096, drawn.rows.size()); ++i)
    first.add(drawn.rows.row(i));
  const Pilot pilot = pilot_from(first, drawn.layout);
  return {pilot, moments_of(drawn.rows, drawn.layout, pilot),
          to_pilot(thinned(drawn.rows, sample_rows), drawn.layout, pilot)};
}

}  // namespace experiments
