// Choices that more than one stage shares. Each stage's own knobs stand in that stage's settings struct.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mixstream {

/// What is assumed of the noise variances s2_h.
enum class NoiseModel {
  shared,         ///< one s2 for all components, estimated
  per_component,  ///< s2_h for each component, estimated
  known,          ///< given and not touched
};

/// Who chooses the law that makes a row.
enum class Modes : std::uint8_t {
  independent,  ///< chance, anew for every row, with the same weights
  persistent,   ///< a Markov chain: a law holds for a while, then another takes over
  gated,        ///< the row's own features: weights are softmax(gamma_h . w)
};
const char* name_of(Modes modes) noexcept;  ///< "independent", "persistent" or "gated"

/// What else is assumed of the noise, beside its variances.
struct NoiseShape {
  bool tails = false;   ///< Student t instead of Gaussian, degrees of freedom estimated
  bool memory = false;  ///< AR(1): a share rho of the noise of the row before stays

  friend bool operator==(const NoiseShape&, const NoiseShape&) = default;
};

/// Which parts of the model the rows may choose: it begins without them.
struct ModelChoice {
  bool modes = false;  ///< who chooses the law
  bool noise = false;  ///< variances of each law's own, tails, memory

  bool any() const noexcept { return modes || noise; }
  friend bool operator==(const ModelChoice&, const ModelChoice&) = default;
};

}  // namespace mixstream
