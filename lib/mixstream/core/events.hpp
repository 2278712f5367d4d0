// What happened while rows passed: drift, and larger models that the rows chose. Plain data.
#pragma once

#include <cstdint>
#include <string>

#include "mixstream/core/settings.hpp"

namespace mixstream {

enum class DriftSign : std::uint8_t {
  likelihood,  ///< recent rows are less likely than older ones
  scores,      ///< recent rows pull the parameters away
  moments,     ///< the moments of recent rows contradict the fit of older ones (moment_drift.hpp)
};
const char* name_of(DriftSign sign) noexcept;  ///< "likelihood", "scores" or "moments"

struct DriftEvent {
  std::uint64_t row = 0;  ///< rows given to the detector when it spoke
  DriftSign sign = DriftSign::likelihood;
  double deviations = 0.0;    ///< how far out, in standard deviations
  double nats_per_row = 0.0;  ///< log-likelihood a row: lost against the past, or that a new fit would
                              ///< gain; 0 where the moments speak

  friend bool operator==(const DriftEvent&, const DriftEvent&) = default;
};

/// A larger model that the rows chose, when and by how much.
struct ChosenModel {
  std::uint64_t row = 0;  ///< when
  Modes modes = Modes::independent;
  NoiseModel noise = NoiseModel::shared;
  NoiseShape noise_shape;
  double gain = 0.0;    ///< nats by which it predicted the rows of its trial better
  std::string because;  ///< name of the doubt that called for the trial; empty: none did

  friend bool operator==(const ChosenModel&, const ChosenModel&) = default;
};

}  // namespace mixstream
