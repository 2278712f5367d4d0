// Doubts about the response as a measurement: rounded too coarsely, or stuck at a value.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/doubts/doubt.hpp"
#include "mixstream/doubts/held.hpp"
#include "mixstream/doubts/sight.hpp"

namespace mixstream {

/// The step that all responses, sorted, are multiples of, up to a shift, in their own units; 0: there is
/// none. Allocates; a sort.
double rounding_step(std::span<const double> sorted);

/// The chance that a row's response falls into the step around `value`, any law that the row before may have
/// been made by counted in full: an upper bound under modes that persist. No throw, no allocation; k d
/// products.
double chance_of_value(const ModeModel& model, const Row& row, const Sight& sight, const RowBefore& before,
                       double value, double step) noexcept;

/// Counts values that repeat among consecutive rows, against what rounding lets expect.
class Repeats {
 public:
  Repeats(const ModeModel& model, double step) : model_(model), step_(step) {}

  /// A row in order. No throw, no allocation.
  void watch(const Sight& sight, const RowBefore& before, const PlacedRow& placed);
  double log_p() const;  ///< of as many values three times in a row
  double share() const;  ///< of rows that repeat the value before, beyond what is expected
  const std::vector<double>& pull() const noexcept { return pull_; }  ///< sum of w s of those rows

 private:
  struct Chain {
    bool repeats = false;
    double chance = 0.0;
  };
  const ModeModel& model_;
  double step_;
  std::vector<Chain> chains_;
  std::vector<double> pull_;
  double rows_ = 0.0;
  double repeats_ = 0.0, expected_ = 0.0;
  double thrice_ = 0.0, expected_thrice_ = 0.0;
};

/// The same among single rows: pairs of equal responses, sorted, in their own units, against pairs a few
/// steps apart.
/// Numbers of so many digits, or floats, have another step in each power of ten and of two: each such range
/// is taken by itself. 1 where steps are too coarse to tell. Allocates; a sort.
struct EqualPairs {
  double log_p = 0.0;
  double share = 0.0;  ///< of rows that share their value with another
};
EqualPairs equal_pairs(std::span<const double> sorted);

}  // namespace mixstream
