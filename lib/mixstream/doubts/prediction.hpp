// How far predictions move: what a model expects of the response, beside what another one does.
#pragma once

#include <span>
#include <vector>

#include "mixstream/doubts/held.hpp"
#include "mixstream/modes/model.hpp"

namespace mixstream {

/// A model that says what to expect of a row: sum_h P(h | x) beta_h . x. Where modes persist P is how often a
/// law holds in the long run.
struct Predictor {
  const ModeModel& model;
  const ModeShape& shape;
  std::span<const double> more = {};       ///< the feature that laws have beyond the rows', a number a row
  std::span<const double> tilts = {};      ///< of log P(h | x), a law each, by `tilted_by`; empty: none
  std::span<const double> tilted_by = {};  ///< a number a row
};

/// What is expected of a row's response.
struct Expected {
  double response = 0.0;
  double spread = 0.0;  ///< variance of the laws' values about it
};
/// Of each row. Allocates; k d products a row.
std::vector<Expected> expectations(const Predictor& by, const std::vector<PlacedRow>& rows);

/// Rms over rows of the difference, in the sd that the response has about what `one` expects of it: noise, by
/// the mean variance of the laws of `noise`, and the laws' values about each other. No prediction is made for
/// models without laws. `one`: its expectations, or itself. Allocates; k d products a row for each.
double prediction_shift(const std::vector<Expected>& one, const Predictor& other,
                        const std::vector<PlacedRow>& rows, const ModeModel& noise);
double prediction_shift(const Predictor& one, const Predictor& other, const std::vector<PlacedRow>& rows,
                        const ModeModel& noise);

/// The same where weights depend on no feature: by the mean of x x'. `terms`: of each law, a coefficient of a
/// column that is orthogonal to the features and has unit mean square. Allocates; d (d + k) products.
double prediction_shift(const Mixture& one, const Mixture& other, std::span<const double> terms,
                        const DenseMatrix& features);

}  // namespace mixstream
