// A larger model that the rows chose, when and by how much.
#pragma once

#include <cstdint>

#include "mixstream/core/settings.hpp"

namespace mixstream {

struct ChosenModel {
  std::uint64_t row = 0;  ///< when
  Modes modes = Modes::independent;
  NoiseModel noise = NoiseModel::shared;
  NoiseShape noise_shape;
  double gain = 0.0;  ///< nats by which it predicted the rows of its trial better

  friend bool operator==(const ChosenModel&, const ChosenModel&) = default;
};

}  // namespace mixstream
