// Rows of two laws for the tests of the sensor loop.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/sensor_loop.hpp"

namespace loop_rows {

/// y = 1 + 2 u + noise or -2 + u/2 + noise, x = (1, u).
struct Source {
  mixstream::Random random{7};
  double features[2] = {1.0, 0.0};
  std::size_t law = 0;

  mixstream::Row next() {
    features[1] = random.normal();
    law = random.uniform() < 0.4 ? 0 : 1;
    const double mean = law == 0 ? 1.0 + 2.0 * features[1] : -2.0 + 0.5 * features[1];
    return {features, mean + 0.3 * random.normal()};
  }
};

inline mixstream::LoopSettings settings() {
  mixstream::LoopSettings settings;
  settings.estimator.state.layout = {2, 0};
  settings.estimator.state.reservoir_rows = 1000;
  settings.estimator.polish.first_check = 3000;
  return settings;
}

}  // namespace loop_rows
