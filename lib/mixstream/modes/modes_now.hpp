// Where the chains of all sensors stand, and what the model says of the rows that come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/core/settings.hpp"

namespace mixstream {

/// A copy, laws as reported.
struct ModesNow {
  Modes kind = Modes::independent;
  DenseMatrix transitions;             ///< A, k x k: persistent
  std::vector<std::uint64_t> sensors;  ///< those that are followed
  std::vector<double> probabilities;   ///< of the mode after the last row of each, sensors x k
  std::size_t newest = 0;              ///< whose row came last; meaningless without sensors

  std::size_t component_count() const noexcept {
    return sensors.empty() ? 0 : probabilities.size() / sensors.size();
  }
  std::span<const double> of(std::size_t sensor) const noexcept {
    return std::span(probabilities).subspan(sensor * component_count(), component_count());
  }
  /// Its place among `sensors`; nothing: it is not followed.
  std::optional<std::size_t> place_of(std::uint64_t sensor) const noexcept;
  /// P(h) so many rows after a sensor's last one: f A^rows; without persistent modes f stays. Allocates;
  /// k^3 products for each binary digit of `rows`.
  std::vector<double> after(std::size_t sensor, std::uint64_t rows) const;
};

/// Rows that the mode is expected to last from now on: the dwell of each mode, 1 / (1 - A_hh), in the mean
/// over the probabilities of the mode now. No throw, no allocation.
double rows_left(const DenseMatrix& transitions, std::span<const double> probabilities) noexcept;

}  // namespace mixstream
