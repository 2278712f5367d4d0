// The size of a doubt by a refit: the model with the extension in it, settled on the held rows, beside the
// model without it, settled on the same rows. One step from the fit understates what is far away (unequal
// noise, fourfold).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstream/doubts/doubt.hpp"
#include "mixstream/doubts/held.hpp"
#include "mixstream/modes/model.hpp"
#include "mixstream/modes/start.hpp"

namespace mixstream {

/// The rows of a design as the solver of modes takes them, perhaps with one feature more.
struct RefitRows {
  Runs runs;
  RowTable sample;  ///< single rows; empty where the design has rows in order
  std::size_t slots = 1;

  /// Allocates.
  RefitRows(const HeldDesign& design, std::size_t feature_count, const Regressor* more);
  HeldRows held() const noexcept { return {&runs, sample.size() > 0 ? &sample : nullptr, slots}; }
  std::vector<PlacedRow> placed() const {
    return sample.size() > 0 ? placed_sample(sample) : placed_runs(runs);
  }
};

/// A model with an extension in it, settled.
struct Refitted {
  ModeModel model;
  ModeShape shape;
  std::unique_ptr<RefitRows> rows;
  std::string more;  ///< the name of the feature that it has more; empty: none
};

/// Refits for size, shift and explained; nothing where the kind has no such extension or the refit gains
/// nothing. Allocates; some ten passes of the filter over the rows.
std::optional<Refitted> refit(const ModeModel& model, const ModeShape& shape, const HeldDesign& design,
                              const RawUnits& units, Doubt& doubt);

/// The same for noise that follows a column: for plain models, by EM; false where it gains nothing.
bool refit_spread(const ModeModel& model, const ModeShape& shape, const HeldDesign& design, Doubt& doubt);

/// The same for noise that leans to one side.
bool refit_skew(const ModeModel& model, const ModeShape& shape, const HeldDesign& design,
                const RawUnits& units, Doubt& doubt);

/// Shift by a fit of a plain model to intervals of this step (pilot units) instead of values. The same.
bool refit_rounding(const ModeModel& model, const ModeShape& shape, const HeldDesign& design, double step,
                    Doubt& doubt);

/// The same laws with one coefficient more, a number a law. Allocates.
ModeModel with_feature(const ModeModel& model, std::span<const double> coefficients);

/// Rows from one change of law to the next. No throw.
double rows_between_changes(const ModeModel& model) noexcept;

/// Largest over laws of the rms over rows of a change in beta_h . x + terms_h t, in that law's noise; t is
/// orthogonal to the features and has unit mean square. Allocates.
double law_shift(std::span<const double> moves, std::span<const double> terms, const ModeModel& model,
                 const DenseMatrix& features);

}  // namespace mixstream
