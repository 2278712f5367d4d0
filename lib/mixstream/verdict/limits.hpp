// Every number that decides whether a fit is trusted, with what sets it: an error rate, a study, a
// convention.
#pragma once

#include <cmath>
#include <cstddef>

namespace mixstream::limits {

/// The one error rate: a right fit fails a test of this level once in so many streams. Three tests share a
/// solve, a stream has some ten solves, so that fewer than one right stream in 3,000 is ever doubted by them.
inline constexpr double rejected_right_fits = 1e-5;
/// The same in standard deviations of a normal reading, on one side.
inline constexpr double rejected_deviations = 4.2649;

/// What y in steps of a noise sd may make of the variance of score sums in a right model.
inline constexpr double largest_rounding = 1.25;

/// Nats a row that the sample may lose against the likeliest candidate, whatever a fit says of its own
/// errors: a noise variance that ran to zero calls any loss expected. Two laws that share one line lose
/// log 2.
inline constexpr double largest_loss = 0.25;

/// Root mean square standard error of a law's line, as a share of y's own size: a law less certain than that
/// says nothing.
inline constexpr double largest_line_error = 0.5;

/// Deviances scatter like chi-square: expectation and so many deviations. One in 100,000 for a few parameters
/// (study-robustness verdict: none in 500 right fits).
inline constexpr double deviance_spreads = 5.0;
inline double largest_deviance(double expected) noexcept {
  return expected + deviance_spreads * std::sqrt(2.0 * expected);
}

/// BIC by which a richer model must win before the model at hand is called wrong: odds of e^5 to one.
inline constexpr double beyond_doubt = 10.0;

/// A law whose weight is below so many of its standard errors, or below the least weight, is not there.
inline constexpr double weight_errors = 2.0;
inline constexpr double least_weight = 1e-6;

/// Share of the noise's sd that held rows may leave open where the moments reject a fit: beyond half of it
/// laws that lie a noise apart could be mistaken for each other.
inline constexpr double largest_bound = 0.5;

/// Refused rows beyond this share make a plain `ok` untrue: what was refused may differ from what was read.
inline constexpr double largest_refused_share = 0.1;

/// Changes of mode below which weights may err by more than a seventh of themselves: 50, and two roots of it,
/// for the number seen is itself known to about its root.
inline constexpr double few_changes = 64.0;

/// p of J below which an accepted fit is not said to agree.
inline constexpr double doubtful_p = 1e-4;

/// A shift larger than what was found by so many of its standard errors is excluded: one in 700, of a bound.
inline constexpr double excluded_errors = 3.0;

// Which of two fits is believed.

/// Deviance a parameter beyond which a start lies in a wrong valley: a right optimum has 1 in the mean, and
/// one that EM has not quite reached some ten.
inline constexpr double hopeless_deviance = 50.0;

/// Were a rival right, J would exceed the fit's by so much in fewer than one stream in a million: chi-square
/// of one, five deviations.
inline constexpr double near_distance = 25.0;

/// Were a rival right, its likelihood on the sample would fall below the fit's by so many of its standard
/// errors in fewer than one stream in 700; by the second number in one of a billion, so that nothing is lost
/// by not looking at it any more.
inline constexpr double near_deviations = 3.0;
inline constexpr double hopeless_deviations = 6.0;

/// Standard errors by which the likelihood of the sample must contradict a polish, which knows more rows: one
/// in 30,000, of some ten checks a stream.
inline constexpr double likelihood_errors = 4.0;

/// Distance of two estimates of the same thing a parameter, for many parameters: one in a million for few,
/// where it is wider (hausman_limit).
inline constexpr double largest_parting = 6.0;

/// Deviations of chi-square at which rows since the anchor moved contradict those before: one in 700; being
/// wrong costs old rows and no verdict.
inline constexpr double contradiction = 3.0;

/// Relative standard error of the variances of moments of order six, beyond which those of lower order are
/// asked: as if 25 rows carried a variance. With a sample of 5,000 bounded features stay far below, Gaussian
/// ones do not.
inline constexpr double largest_variance_error = 0.2;

/// p of J of lower order at which it may overrule J, which has complained before: a second opinion must be
/// clear.
inline constexpr double least_second_opinion = 1e-3;

/// J/dof with a thin tail of rows over that without, from which on the tail is suspected to ruin the moments:
/// both are 1 to 1.5 for right fits.
inline constexpr double suspicious_factor = 3.0;

}  // namespace mixstream::limits
