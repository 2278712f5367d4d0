// The model behind rows that come in order: k laws, who chooses among them, and noise as sensors have it.
//
//   law      y_t = beta_h . x_t + e_t,  h = h_t
//   modes    independent: P(h) = pi_h;  persistent: P(h_t | h_{t-1}) = A;  gated: softmax_h(gamma_h . w_t)
//   noise    e_t = rho e_{t-1} + s_h z_t,  z_t Gaussian, or Student t with nu degrees of freedom
//
// As one unconstrained vector: theta = (beta_1 .. beta_k; who; log s2 or log s2_h; log nu; atanh rho), parts
// that the model lacks left out. `who` is log pi_h / pi_k (h < k), or log A_ij / A_ii (row by row, j != i:
// the diagonal is the reference, so relabelling only permutes theta), or gamma_h (h < k; gamma_k = 0).
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"

namespace mixstream {

/// Which parts a model has, and where they stand in theta.
struct ModeShape {
  std::size_t component_count = 0;  ///< k
  std::size_t feature_count = 0;    ///< d
  Modes modes = Modes::independent;
  std::vector<std::size_t> gate;  ///< gated: the features w
  NoiseModel noise = NoiseModel::shared;
  NoiseShape noise_shape;

  std::size_t who_at() const noexcept { return component_count * feature_count; }
  std::size_t who_count() const noexcept;
  std::size_t variances_at() const noexcept { return who_at() + who_count(); }
  std::size_t variance_count() const noexcept;
  std::size_t tails_at() const noexcept { return variances_at() + variance_count(); }
  std::size_t memory_at() const noexcept { return tails_at() + (noise_shape.tails ? 1 : 0); }
  std::size_t parameters() const noexcept { return memory_at() + (noise_shape.memory ? 1 : 0); }  ///< P
  /// Where log A_ij / A_ii stands, j != i.
  std::size_t cell(std::size_t i, std::size_t j) const noexcept {
    return who_at() + i * (component_count - 1) + (j < i ? j : j - 1);
  }
  /// Whether a row's probabilities depend on the row before it.
  bool remembers() const noexcept { return modes == Modes::persistent || noise_shape.memory; }
  /// Whether today's independent rows with Gaussian noise are all there is: then the polish of scores by
  /// blocks serves, and nothing of this folder.
  bool is_plain() const noexcept {
    return modes == Modes::independent && !noise_shape.tails && !noise_shape.memory;
  }

  friend bool operator==(const ModeShape&, const ModeShape&) = default;
};

struct ModeModel {
  Mixture laws;             ///< weights: pi, or the chain's stationary ones, or those at w = (1, 0 ..)
  DenseMatrix transitions;  ///< A, k x k: persistent
  DenseMatrix gate;         ///< gamma, k x w, the last row zero: gated
  double memory = 0.0;      ///< rho
  double degrees_of_freedom = std::numeric_limits<double>::infinity();  ///< nu
};

/// A model with room for everything the shape has. Allocates.
ModeModel empty_model(const ModeShape& shape);

/// A model that says what the mixture says: nothing persists, no gate opens, noise is nearly Gaussian
/// (nu = 10 where there are tails) and forgets. `stay`: persistent modes stay with this probability more than
/// their weight. Allocates.
ModeModel model_from(const Mixture& mixture, const ModeShape& shape, double stay = 0.0);

/// theta of a model. Allocates.
std::vector<double> to_parameters(const ModeModel& model, const ModeShape& shape);

/// The model of theta; brings theta itself back into bounds where probabilities would be 0 or 1, the noise
/// without end or its memory without loss. No throw, no allocation; k^3 products for the stationary weights.
void from_parameters(std::span<double> theta, const ModeShape& shape, ModeModel& model) noexcept;

/// pi = pi A. `pi`: k numbers. No throw, no allocation beyond k = 32; k^3 / 3 products.
void stationary_weights(const DenseMatrix& transitions, std::span<double> pi) noexcept;

/// dpi / d(who), k x who_count row-major, for a persistent chain: dpi (I - A + 1 pi') = pi dA. No throw, no
/// allocation; k^3 products a cell.
void stationary_tangent(const DenseMatrix& transitions, std::span<const double> pi,
                        std::span<double> tangent) noexcept;

/// softmax(gamma_h . w) of a row with these features into k numbers, none of them 0. No throw, no allocation.
void open_gate(const ModeModel& model, const ModeShape& shape, std::span<const double> features,
               std::span<double> weights) noexcept;

/// The same model with its laws in another order: law h of the result is order[h]. Allocates.
ModeModel relabelled(const ModeModel& model, std::span<const std::size_t> order);

}  // namespace mixstream
