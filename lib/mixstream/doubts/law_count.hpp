// Doubts about the number of laws: two that coincide or one without rows, and one too few.
#pragma once

#include <span>

#include "mixstream/doubts/doubt.hpp"
#include "mixstream/doubts/held.hpp"
#include "mixstream/modes/model.hpp"

namespace mixstream {

/// The two laws that are nearest, or the law whose weight is least sure, by Wald's statistic over all rows;
/// it is raised below (d + 1) log n, where BIC would do without the law. `covariance`: of theta, of all rows.
/// Allocates; k^2 d^3 products.
Doubt too_many_laws(const ModeModel& model, const ModeShape& shape, const DenseMatrix& covariance,
                    const DenseMatrix& features, double rows);

/// A law more, found by EM on one half of the rows and judged by its likelihood on the other, both ways. The
/// mean of the two likelihood ratios has mean one when the model is right, so its inverse is a p-value, on
/// the safe side. `log_densities`: of each row at the model, which would
/// itself gain `own_gain` on them. Allocates; EM from some eight starts on half of
/// the rows.
Doubt too_few_laws(const ModeModel& model, const ModeShape& shape, const std::vector<PlacedRow>& rows,
                   std::span<const double> log_densities, double own_gain, const DenseMatrix& features);

/// Laws of unequal noise may be laws of equal noise, the widest of them two: the shift of a law, in its noise
/// sd, if that is so, and BIC over the held rows does not exclude it beyond doubt; 0 otherwise. Allocates; EM
/// from d + 1 starts.
double shift_if_split(const ModeModel& model, const ModeShape& shape, const std::vector<PlacedRow>& rows,
                      std::span<const double> log_densities, const DenseMatrix& features);

}  // namespace mixstream
