// Simulated streams with a known truth: for demos, tests and experiments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mixstream/mixture.hpp"
#include "mixstream/random.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

struct SimulationSettings {
  FeatureMap map;
  std::size_t component_count = 2;                  ///< k
  std::vector<double> weights;                      ///< pi; empty: all equal
  std::vector<double> noise_variances = {0.1};      ///< s2: one for all, or one per component
  std::optional<std::vector<double>> coefficients;  ///< B, k x d; nothing: standard normal draws
  bool normal_columns = false;                      ///< columns standard normal instead of uniform on [-1, 1]
  bool cut = false;  ///< the paper's misspecified data: [-.5,-.25] and [.25,.5] left out
  std::uint64_t seed = 1;
};

/// An endless stream of rows from a fixed true mixture.
class Simulation {
 public:
  explicit Simulation(SimulationSettings settings);

  const Mixture& truth() const noexcept { return truth_; }
  void set_truth(Mixture truth) { truth_ = std::move(truth); }  ///< a change of regime

  /// Draws the next row; the view lives until the next call. No allocation.
  Row next() noexcept;
  std::span<const double> columns() const noexcept {
    return columns_;
  }                                                              ///< of the last row, before the feature map
  std::size_t component() const noexcept { return component_; }  ///< that made the last row

  RowTable table(std::size_t rows);  ///< the next rows, stored

 private:
  double draw_column() noexcept;

  SimulationSettings settings_;
  Random random_;
  Mixture truth_;
  std::vector<double> columns_;
  std::vector<double> features_;
  std::size_t component_ = 0;
};

}  // namespace mixstream
