// Choices that more than one stage shares. Each stage's own knobs stand in that stage's settings struct.
#pragma once

namespace mixstream {

/// What is assumed of the noise variances s2_h.
enum class NoiseModel {
  shared,         ///< one s2 for all components, estimated
  per_component,  ///< s2_h for each component, estimated
  known,          ///< given and not touched
};

}  // namespace mixstream
