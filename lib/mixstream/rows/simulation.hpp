// Simulated streams with a known truth: for demos, tests and experiments.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/random.hpp"
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

  // Rows in order. As these stand, every row is drawn by itself and its noise is Gaussian.
  std::optional<double>
      stay;             ///< the law is a Markov chain: share of rows that keep the law of the row before
  double wander = 0.0;  ///< of every column: AR(1) with this coefficient, values distributed as without
  double noise_memory = 0.0;       ///< rho: AR(1) noise of the same variance
  double tails = 0.0;              ///< nu > 2: Student t innovations of the same variance; 0: Gaussian ones
  std::optional<FeatureMap> gate;  ///< w, of the map's columns: weights are softmax(gamma_h . w)
  std::vector<double> gate_coefficients;  ///< gamma, (k - 1) x w, the last law's are zero; empty: N(0, 3^2)
  double round_to = 0.0;                  ///< y is rounded to multiples of this; 0: not at all
  std::size_t sensors = 1;                ///< chains, in turn a row each; Row::sensor is 1 .. N where N > 1
};

/// The share of rows that keep the law of the row before where each row draws its own: sum of pi_h^2. No
/// throw.
double stay_by_chance(const std::vector<double>& weights) noexcept;

/// An endless stream of rows from a fixed true mixture.
class Simulation {
 public:
  /// Throws std::invalid_argument for settings out of bounds or of sizes that do not match.
  explicit Simulation(SimulationSettings settings);

  /// With a gate the weights are the mean ones, by 10,000 rows drawn aside.
  const Mixture& truth() const noexcept { return truth_; }
  void set_truth(Mixture truth) { truth_ = std::move(truth); }    ///< a change of regime
  void set_stay(double stay) noexcept { settings_.stay = stay; }  ///< a change of how long a law lasts

  /// A, k x k by rows: s on the diagonal and (1 - s) pi in every row, so that the weights are the chain's
  /// stationary ones and `stay` is the mean of A_hh over rows; with equal weights every A_hh is `stay`.
  std::vector<double> transitions() const;
  std::vector<double> gate_coefficients() const {
    return settings_.gate_coefficients;
  }  ///< gamma, drawn or given

  /// Draws the next row; the view lives until the next call. No allocation.
  Row next() noexcept;
  std::span<const double> columns() const noexcept {
    return columns_;
  }                                                              ///< of the last row, before the feature map
  std::size_t component() const noexcept { return component_; }  ///< that made the last row

  RowTable table(std::size_t rows);  ///< the next rows, stored without their sensors

 private:
  struct Chain {
    bool begun = false;
    std::size_t component = 0;      // of its last row
    double noise = 0.0;             // e of its last row
    std::vector<double> wandering;  // a standard normal for each column, where columns wander
  };

  void check_order() const;
  void begin_gate();
  double column_at(double quantile) const noexcept;
  double draw_column() noexcept;
  void draw_columns(Chain& chain) noexcept;
  std::size_t draw_by(std::span<const double> weights, double left) const noexcept;
  std::size_t draw_component(const Chain& chain) noexcept;
  double draw_innovation() noexcept;
  double draw_noise(const Chain& chain) noexcept;
  void open_gate() noexcept;
  double memory_of_modes() const noexcept;

  SimulationSettings settings_;
  Random random_;
  Mixture truth_;
  std::vector<double> columns_;
  std::vector<double> features_;
  std::vector<double> gate_features_;  // w of the last row
  std::vector<double> gate_weights_;   // softmax(gamma_h . w) of the last row
  std::vector<Chain> chains_;
  std::size_t turn_ = 0;  // the chain of the next row
  std::size_t component_ = 0;
};

}  // namespace mixstream
