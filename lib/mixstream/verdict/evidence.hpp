// What is known of a fit when it is judged: measurements, never decisions.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace mixstream {

/// Of laws that the moments lead to: what the search measured.
struct FitEvidence {
  double distance = 0.0;  ///< J = n |W (observed - implied)|^2
  std::size_t dof = 0;    ///< degrees of freedom of J at a right fit
  /// J/dof of a right fit with weights from half the sample (against the other half), at least 1.
  double expected_ratio = 1.0;
  double p_value = 0.0;      ///< of J / usual_ratio() against chi-square(dof)
  bool cubic = false;        ///< only y, y^2 and y^3 were matched: the noise is not Gaussian
  bool lower_order = false;  ///< only moments of lower order were: few rows carry those of order six

  double line_error = 0.0;  ///< largest rms standard error of a law's line, as a share of y's size
  double loss = 0.0;        ///< nats a row below the likeliest candidate of the sample
  double deviance = std::numeric_limits<double>::infinity();  ///< 2 R (best log-likelihood seen - this fit's)
  double expected_deviance = 0.0;                             ///< of an estimate with these errors
  double climbed_deviance = std::numeric_limits<double>::infinity();  ///< after a few steps of EM, if asked
  double parameters = 0.0;

  static constexpr double not_asked = -std::numeric_limits<double>::infinity();
  double own_noise_gain = not_asked;     ///< BIC that noise of each law's own gains on the rows
  double one_law_more_gain = not_asked;  ///< and one law more
  bool met_again = true;                 ///< with many laws: another start came back to it
  int rivals = 0;                        ///< other laws that neither J nor the sample excludes

  /// J/dof that a right fit shows on average: weights from the whole sample err less than half as much
  /// (0.35 to 0.5, measured from bounded to Gaussian features).
  double usual_ratio() const noexcept { return 1.0 + 0.4 * (expected_ratio - 1.0); }
};

/// What was looked for beside the model, as far as the verdict needs it.
struct DoubtEvidence {
  double shift = 0.0;       ///< of laws or predictions, the larger, in noise sd, if the doubt is right
  double bound = 0.0;       ///< the largest shift that the held rows do not exclude
  bool raised = false;      ///< beyond chance
  std::string sentence;     ///< what is missing, how large, what to do
  double prediction = 0.0;  ///< of the predictions alone
};

/// Of EM on the sample, where that alone is asked for.
struct EmEvidence {
  std::size_t rows = 0;
  int starts = 0;
  bool spurious = false;  ///< every start ended in an optimum that a few rows make
};

struct Evidence {
  std::string breakdown;               ///< what the solver broke down over; empty: it did not
  std::optional<EmEvidence> em;        ///< nothing: another method
  std::size_t component_count = 0;     ///< k
  bool count_chosen = false;           ///< by the rows, not by the user
  std::optional<FitEvidence> moments;  ///< nothing: J does not belong to this model
  bool laws_by_likelihood = false;     ///< the moments contradict the laws shown, the sample's own
  bool tail_suspected = false;         ///< rows far outside the bulk have ruined the moments
  double parting = 0.0;                ///< moments against scores, in their errors
  bool parted = false;                 ///< beyond what two estimates of one thing differ by
  double least_weight = 1.0;           ///< of the laws shown
  double least_weight_error = 0.0;     ///< its standard error
  bool laws_coincide = false;          ///< by BIC one law fewer explains the held rows as well
  std::optional<double> dispersion;    ///< of batch sums of the scores; 1: as the model promises
  double largest_dispersion = 1.0;     ///< of a right model
  std::optional<double> changes;       ///< of mode, seen
  bool noise_remembers = false;        ///< the model has a memory of noise
  std::vector<DoubtEvidence> doubts;   ///< strongest first
  bool doubts_sought = false;
  bool law_missing = false;    ///< a further law explains rows that these do not
  double tolerance = 0.1;      ///< share of the noise sd, see usual_tolerance
  double refused_share = 0.0;  ///< of all rows
};

}  // namespace mixstream
