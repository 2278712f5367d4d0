// Rows of two laws in d features, for the benchmarks of the sensor loop.
#pragma once

#include <cstddef>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/sensor_loop.hpp"

struct LoopRows {
  std::size_t d;
  std::vector<double> features;
  std::vector<double> responses;
  std::size_t count;

  /// `distinct`: rows after which they begin anew.
  LoopRows(std::size_t d_, std::size_t count_, std::size_t distinct)
      : d(d_), features(d_ * distinct), responses(distinct), count(count_) {
    mixstream::Random random(3);
    for (std::size_t i = 0; i < distinct; ++i) {
      double y = 0.3 * random.normal();
      const double side = random.uniform() < 0.4 ? 1.0 : -0.5;
      for (std::size_t j = 0; j < d; ++j) {
        features[i * d + j] = j == 0 ? 1.0 : random.normal();
        y += side * features[i * d + j] / static_cast<double>(j + 1);
      }
      responses[i] = y;
    }
  }
  LoopRows(std::size_t d_, std::size_t count_) : LoopRows(d_, count_, count_) {}

  std::size_t size() const { return count; }
  mixstream::Row row(std::size_t i) const {
    const std::size_t at = i < responses.size() ? i : i % responses.size();
    return {{features.data() + at * d, d}, responses[at]};
  }
};

inline mixstream::LoopSettings loop_settings(std::size_t d, bool polish) {
  mixstream::LoopSettings settings;
  settings.estimator.state.layout = {static_cast<int>(d), 0};
  settings.estimator.solve.polish = polish ? mixstream::PolishKind::scoring : mixstream::PolishKind::off;
  return settings;
}

/// How a benchmark speaks: JSON objects, one a line, or rows of tables for docs/evaluation/tables/loop.md.
enum class LoopOutput { json, table };

void bench_modes(LoopOutput output);   ///< rows in order, allocations, slices with rows between them
void bench_slices(LoopOutput output);  ///< slices of refit_step against their budget
void bench_stretches();                ///< the longest stretches between yield points, and where they lie
