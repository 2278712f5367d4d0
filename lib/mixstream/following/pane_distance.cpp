#include "mixstream/following/pane_distance.hpp"

#include <cmath>
#include <stdexcept>

#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/linalg/blaze.hpp"
#include "mixstream/linalg/whitener.hpp"
#include "mixstream/refinement/conditions.hpp"
#include "mixstream/refinement/standard_errors.hpp"

namespace mixstream {
namespace {

/// Covariance of one row's conditions, and n times what the errors of theta do to their mean.
DenseMatrix total_covariance(const Conditions& conditions, const RefinedFit& fit,
                             const DenseMatrix& jacobian) {
  DenseMatrix result = conditions.covariance(fit.mixture);
  const linalg::Matrix slopes = linalg::to_blaze(jacobian);
  const linalg::Matrix errors = linalg::to_blaze(covariance_from(fit.information));
  const linalg::Matrix spread =
      conditions.effective_rows() * (slopes * linalg::Matrix(errors * blaze::trans(slopes)));
  for (std::size_t i = 0; i < result.rows; ++i) {
    for (std::size_t j = 0; j < result.columns; ++j) result(i, j) += 0.5 * (spread(i, j) + spread(j, i));
  }
  return result;
}

}  // namespace

Outcome<PaneDistance> pane_distance(const MomentTensor& pane, const RowTable& sample, const RefinedFit& fit,
                                    std::size_t largest_condition_count) {
  if (!(pane.effective_rows > 0.0) || sample.size() == 0)
    return Refusal{Reason::too_few_rows, "a pane without rows says nothing about drift; wait for more"};
  try {
    const Conditions conditions(pane, sample, choose_conditions(pane.layout(), largest_condition_count));
    std::vector<double> residual;
    DenseMatrix jacobian;
    conditions.implied(fit.mixture, fit.noise, residual, jacobian);
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] -= conditions.observed()[i];
    const linalg::Whitener whitener(total_covariance(conditions, fit, jacobian), conditions.size());
    std::vector<double> whitened;
    whitener.apply(residual, 1, whitened);
    PaneDistance result{0.0, whitener.rank(), 0.0};
    for (const double value : whitened) result.distance += value * value;
    result.distance *= conditions.effective_rows();
    if (result.dof == 0 || !std::isfinite(result.distance))
      return Refusal{Reason::numerical, "the moments of this pane cannot be weighted; use a longer pane"};
    result.deviations =
        deviations_of_chi_square(result.distance / fit.usual_ratio(), static_cast<double>(result.dof));
    return result;
  } catch (const std::runtime_error& error) {
    return Refusal{Reason::numerical, error.what()};
  }
}

}  // namespace mixstream
