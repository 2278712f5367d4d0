// What a fit says of rows, one after the other: of rows in order it follows the modes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>

#include "mixstream/likelihood/prediction.hpp"
#include "mixstream/modes/tracker.hpp"
#include "mixstream/report/fitted_laws.hpp"

namespace mixstream {

/// One thread at a time. Allocates for new sensors only.
class Predictor {
 public:
  explicit Predictor(FittedLaws laws) : laws_(std::move(laws)) {}

  const FittedLaws& laws() const noexcept { return laws_; }
  std::size_t component_count() const noexcept { return laws_.mixture.component_count(); }
  std::size_t feature_count() const noexcept { return laws_.mixture.feature_count; }

  /// Of a row whose y is known, or is not. `probabilities`: those of the laws, component_count of them; where
  /// modes persist, given the rows of this sensor so far. `level`: of the interval.
  RowPrediction predict(std::uint64_t sensor, std::span<const double> features,
                        std::optional<double> response, double level, std::span<double> probabilities);
  /// A row of the sensor that could not be used: its chain goes on without it.
  void skip(std::uint64_t sensor);
  /// Rows that follow begin new chains.
  void begin_chains() { chains_.clear(); }

 private:
  struct Chain {
    ModeTracker tracker;
    unsigned missing = 0;  ///< rows that could not be used since the last one
  };
  void follow_modes(std::uint64_t sensor, std::span<const double> features, std::optional<double> response,
                    std::span<double> probabilities, RowPrediction& row);

  FittedLaws laws_;
  std::unordered_map<std::uint64_t, Chain> chains_;
};

}  // namespace mixstream
