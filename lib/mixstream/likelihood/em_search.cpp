#include "mixstream/likelihood/em_search.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/common_law.hpp"
#include "mixstream/likelihood/parameters.hpp"

namespace mixstream {
namespace {

/// sum_{g != h} pi_g s2_g / sum_{g != h} pi_g
double variance_of_the_others(const Mixture& mixture, std::size_t component) noexcept {
  double weight = 0.0;
  double sum = 0.0;
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    if (h == component) continue;
    weight += mixture.weights[h];
    sum += mixture.weights[h] * mixture.noise_variances[h];
  }
  return weight > 0.0 ? sum / weight : 0.0;
}

void judge(EmFit fit, bool spurious, EmSearch& search) {
  search.starts.push_back({fit.mean_log_likelihood, fit.iterations, fit.converged, spurious});
  if (!spurious) {
    const bool first = search.best_is_spurious;
    if (first || fit.mean_log_likelihood > search.best.mean_log_likelihood) search.best = std::move(fit);
    search.best_is_spurious = false;
  } else if (!search.spurious || fit.mean_log_likelihood > search.spurious->mean_log_likelihood) {
    search.spurious = std::move(fit);
  }
}

/// The spurious fit is told only where it would have won; and it is the answer only where there is no other.
void conclude(EmSearch& search) {
  if (search.best_is_spurious) {
    search.best = *search.spurious;
  } else if (search.spurious && search.spurious->mean_log_likelihood <= search.best.mean_log_likelihood) {
    search.spurious.reset();
  }
}

Outcome<EmSearch> search_from(const RowBlocks& rows, std::span<const Mixture> starts,
                              const EmSettings& settings) {
  if (starts.empty()) return Refusal{Reason::bad_settings, "EM needs a start: give one or more"};
  const std::size_t k = starts[0].component_count();
  const bool fit = std::ranges::all_of(starts, [&](const Mixture& start) {
    return start.component_count() == k && start.feature_count == rows.feature_count() && is_finite(start);
  });
  if (k == 0 || !fit) {
    return Refusal{Reason::wrong_shape,
                   "the starts of EM must be finite, with one k and as many features as the rows"};
  }
  const std::size_t parameters = parameter_count(k, rows.feature_count(), settings.noise);
  if (rows.total_weight() < static_cast<double>(parameters)) {
    return Refusal{Reason::too_few_rows, "fewer rows than parameters: give more rows or ask for a smaller k"};
  }
  EmSearch search{.best_is_spurious = true};
  for (const Mixture& start : starts) {
    EmFit found = fit_em(rows, start, settings);
    const bool spurious = is_spurious(found.mixture, rows.total_weight());
    judge(std::move(found), spurious, search);
  }
  conclude(search);
  return search;
}

}  // namespace

bool is_spurious(const Mixture& mixture, std::size_t component, double total_weight,
                 const SpuriousSettings& settings) noexcept {
  const double held = mixture.weights[component] * total_weight;
  const auto coefficients = static_cast<double>(mixture.feature_count) + 1.0;  // the noise is one more
  if (held < coefficients) return true;
  const double limit =
      settings.noise_ratio * settings.noise_ratio * variance_of_the_others(mixture, component);
  return mixture.noise_variances[component] < limit && held < settings.rows_per_coefficient * coefficients;
}

bool is_spurious(const Mixture& mixture, double total_weight, const SpuriousSettings& settings) noexcept {
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    if (is_spurious(mixture, h, total_weight, settings)) return true;
  }
  return false;
}

Mixture random_em_start(const RowBlocks& rows, std::size_t component_count, Random& random) {
  const std::size_t d = rows.feature_count();
  Mixture start = random_em_start(component_count, d, random);
  CommonLaw common = common_law(rows);
  const double spread = common.noise_variance > 0.0 ? std::sqrt(common.noise_variance) : 1.0;
  for (std::size_t h = 0; h < component_count; ++h) {
    common.factor.solve_root(start.law(h));  // standard normal -> covariance (mean of x x')^-1
    for (std::size_t j = 0; j < d; ++j) {
      start.law(h)[j] = common.law[j] + spread * start.law(h)[j] / std::sqrt(static_cast<double>(d));
    }
    start.noise_variances[h] = spread * spread;
  }
  return start;
}

Outcome<EmSearch> best_of_starts(const RowTable& rows, std::span<const Mixture> starts,
                                 const EmSettings& settings) {
  return search_from(RowBlocks(rows), starts, settings);
}

Outcome<EmSearch> best_of_random_starts(const RowTable& rows, std::size_t component_count, int starts,
                                        std::uint64_t seed, const EmSettings& settings, StartScale scale) {
  if (component_count < 1 || starts < 1) {
    return Refusal{Reason::bad_settings,
                   "EM needs one component and one start or more: raise k or the starts"};
  }
  const RowBlocks blocks(rows);
  Random random(seed);
  std::vector<Mixture> drawn;
  drawn.reserve(static_cast<std::size_t>(starts));
  for (int i = 0; i < starts; ++i) {
    drawn.push_back(scale == StartScale::paper ? random_em_start(component_count, rows.feature_count, random)
                                               : random_em_start(blocks, component_count, random));
  }
  return search_from(blocks, drawn, settings);
}

}  // namespace mixstream
