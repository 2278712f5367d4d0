// The rows that doubts are looked for on, side by side with what extensions are made of: terms, columns that
// a gate or the noise may follow. Made once a look, for the sample and for the runs.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/doubts/look.hpp"
#include "mixstream/doubts/terms.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

/// A row with its place in a chain.
struct PlacedRow {
  Row row;  ///< pilot coordinates; a weight of 2 is two rows
  std::size_t slot = 0;
  unsigned steps = 0;  ///< since the row before in its chain; 0: none
};

/// Single rows: each the beginning of a chain of its own. Runs: as they stand. Allocate.
std::vector<PlacedRow> placed_sample(const RowTable& sample);
std::vector<PlacedRow> placed_runs(const Runs& runs);
/// How many rows they are: their weights, summed. No throw.
double total_weight(const std::vector<PlacedRow>& rows) noexcept;
/// As many as rows of equal weight that say as much, (sum w)^2 / sum w^2: what rows drawn from a stream count
/// for, whose weights undo how they were drawn. No throw.
double equal_rows(const std::vector<PlacedRow>& rows) noexcept;
/// Makes them count for so many rows. No throw.
void count_for(std::vector<PlacedRow>& rows, double count) noexcept;
/// Both as single rows, none twice; the sample alone where rows cannot be told apart (columns and response of
/// few values) or where the runs are the stream. `all`: rows of the stream. Allocates; two sorts.
std::vector<PlacedRow> single_rows(const std::vector<PlacedRow>& sample, const std::vector<PlacedRow>& runs,
                                   double all);
std::size_t slots_of(const std::vector<PlacedRow>& rows) noexcept;

/// A number a row, made orthogonal to what the model already has and brought to unit mean square.
struct Regressor {
  std::string name;
  std::vector<double> values;  ///< one a row
  double unit = 1.0;           ///< one unit of the raw column is this many of these
};

/// Raw features from pilot ones. No throw, no allocation.
class RawUnits {
 public:
  RawUnits(const DoubtRows& rows, std::size_t feature_count);
  double feature(std::size_t j, double pilot) const noexcept { return shift_[j] + scale_[j] * pilot; }
  double feature_scale(std::size_t j) const noexcept { return scale_[j]; }
  double response(double pilot) const noexcept { return response_shift_ + response_scale_ * pilot; }
  double response_scale() const noexcept { return response_scale_; }
  bool is_constant(std::size_t j) const noexcept { return static_cast<int>(j) == constant_; }
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// One feature more, which has no units of its own. Allocates.
  RawUnits with(const std::string& name) const;

 private:
  std::vector<double> shift_, scale_;
  double response_shift_ = 0.0, response_scale_ = 1.0;
  int constant_ = -1;
  std::vector<std::string> names_;
};

struct HeldDesign {
  std::vector<PlacedRow> rows;
  std::vector<Regressor> terms;    ///< of missing terms, orthogonal to the features
  std::vector<Regressor> gates;    ///< features, centred
  std::vector<Regressor> spreads;  ///< columns and their squares, centred
  DenseMatrix features;            ///< mean of x x'
  double weight = 0.0;             ///< of all rows together: how many they count for
};

/// Allocates; (d + T) products a row, twice.
HeldDesign design_of(std::vector<PlacedRow> rows, const RawUnits& units, const std::vector<Term>& terms,
                     const ModeShape& shape);

}  // namespace mixstream
