#include "mixstream/doubts/law_count.hpp"

#include "mixstream/doubts/prediction.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/linalg/least_squares.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {
namespace {

constexpr std::size_t most_starts = 8;
constexpr double worst_shares[] = {0.02, 0.1};  // of rows, where a further law is looked for first
constexpr int short_rounds = 20;
constexpr int long_rounds = 200;

/// (beta_g - beta_h)' Cov^-1 (beta_g - beta_h).
double wald_of_pair(const ModeModel& model, const ModeShape& shape, const DenseMatrix& covariance,
                    std::size_t g, std::size_t h) {
  const std::size_t d = shape.feature_count;
  DenseMatrix own{d, d, std::vector<double>(d * d)};
  std::vector<double> difference(d), solution(d);
  for (std::size_t i = 0; i < d; ++i) {
    difference[i] = model.laws.law(g)[i] - model.laws.law(h)[i];
    for (std::size_t j = 0; j < d; ++j)
      own(i, j) = covariance(g * d + i, g * d + j) + covariance(h * d + i, h * d + j) -
                  covariance(g * d + i, h * d + j) - covariance(h * d + i, g * d + j);
  }
  return least_squares(own, difference, solution, estimated_cutoff) ? dot(difference, solution) : 0.0;
}

/// (pi_h / its error)^2, by the errors of the logits. Where modes persist or a gate chooses: by the rows.
double wald_of_weight(const ModeModel& model, const ModeShape& shape, const DenseMatrix& covariance,
                      std::size_t h, double rows) {
  const std::size_t k = shape.component_count;
  const auto& pi = model.laws.weights;
  if (shape.modes != Modes::independent) return pi[h] * rows;
  std::vector<double> slope(shape.parameters());
  for (std::size_t l = 0; l + 1 < k; ++l) slope[shape.who_at() + l] = pi[h] * ((h == l ? 1.0 : 0.0) - pi[l]);
  std::vector<double> product(slope.size());
  multiply(covariance, slope, product);
  const double variance = std::max(dot(slope, product), pi[h] / rows * 1e-6);
  return pi[h] * pi[h] / std::max(variance, 1e-300);
}

double rms(const DenseMatrix& features, std::span<const double> law) {
  std::vector<double> product(law.size());
  multiply(features, law, product);
  return std::sqrt(std::max(dot(law, product), 0.0));
}

/// Weighted least squares; false where rows do not determine a law.
bool least_squares(const RowTable& rows, std::span<const double> weights, std::span<const double> target,
                   std::span<double> law) {
  const std::size_t d = rows.feature_count;
  DenseMatrix second{d, d, std::vector<double>(d * d)};
  std::vector<double> cross(d);
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const auto x = rows.row(t).features;
    for (std::size_t i = 0; i < d; ++i) {
      cross[i] += weights[t] * x[i] * target[t];
      for (std::size_t j = 0; j < d; ++j) second(i, j) += weights[t] * x[i] * x[j];
    }
  }
  return least_squares(second, cross, law, estimated_cutoff);
}

/// Starts with one law more on a half of the rows.
class WiderStarts {
 public:
  WiderStarts(const Mixture& laws, const RowTable& rows, std::span<const double> log_densities)
      : laws_(laws), rows_(rows), log_densities_(log_densities) {}

  /// One law apart, in every way.
  std::vector<Mixture> splits_of(std::size_t h) {
    for (std::size_t j = 0; j <= laws_.feature_count; ++j) split(h, j);
    return std::move(starts_);
  }

  std::vector<Mixture> all() {
    for (const double share : worst_shares) from_worst_rows(share);
    for (std::size_t h = 0; h < laws_.component_count(); ++h) split(h, laws_.feature_count);
    for (std::size_t j = 0; j < laws_.feature_count; ++j) {
      for (std::size_t h = 0; h < laws_.component_count(); ++h) split(h, j);
    }
    return std::move(starts_);
  }

 private:
  void add(Mixture start) {
    if (starts_.size() < most_starts && is_finite(start)) starts_.push_back(std::move(start));
  }

  Mixture wider(std::size_t h, double share) const {
    Mixture result = laws_;
    result.weights[h] *= 1.0 - share;
    result.weights.push_back(laws_.weights[h] * share);
    result.noise_variances.push_back(laws_.noise_variances[h]);
    const auto law = laws_.law(h);
    result.coefficients.insert(result.coefficients.end(), law.begin(), law.end());
    return result;
  }

  void from_worst_rows(double worst_share) {
    std::vector<double> sorted(log_densities_.begin(), log_densities_.end());
    const auto worst = static_cast<std::ptrdiff_t>(worst_share * static_cast<double>(sorted.size()));
    std::nth_element(sorted.begin(), sorted.begin() + worst, sorted.end());
    const double limit = sorted[static_cast<std::size_t>(worst)];
    std::vector<double> weights(rows_.size());
    for (std::size_t t = 0; t < rows_.size(); ++t) weights[t] = log_densities_[t] < limit ? 1.0 : 0.0;
    Mixture start = wider(0, 0.5);
    for (std::size_t h = 0; h < laws_.component_count(); ++h)
      start.weights[h] = laws_.weights[h] * (1.0 - worst_share);
    start.weights.back() = worst_share;
    if (least_squares(rows_, weights, rows_.responses, start.law(laws_.component_count())))
      add(std::move(start));
  }

  /// The law apart by what |residual| follows in all features, or, in one of them, by its usual size.
  void split(std::size_t h, std::size_t feature) {
    const std::size_t d = laws_.feature_count;
    std::vector<double> weights(rows_.size()), sizes(rows_.size()), apart(d),
        posterior(laws_.component_count());
    double mass = 0.0, size = 0.0, square = 0.0;
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      const Row row = rows_.row(t);
      responsibilities(laws_, row, posterior);
      weights[t] = posterior[h] * row.weight;
      sizes[t] = std::abs(row.response - dot(laws_.law(h), row.features));
      mass += weights[t];
      size += weights[t] * sizes[t];
      if (feature < d) square += weights[t] * row.features[feature] * row.features[feature];
    }
    if (feature == d && !least_squares(rows_, weights, sizes, apart)) return;
    if (feature < d)
      apart[feature] = size / std::max(mass, 1e-300) / std::sqrt(std::max(square / mass, 1e-300));
    Mixture start = wider(h, 0.5);
    for (std::size_t j = 0; j < d; ++j) {
      start.law(h)[j] += apart[j];
      start.law(laws_.component_count())[j] -= apart[j];
    }
    add(std::move(start));
  }

  const Mixture& laws_;
  const RowTable& rows_;
  std::span<const double> log_densities_;
  std::vector<Mixture> starts_;
};

struct Half {
  RowTable rows;
  std::vector<double> log_densities;
};

/// The likeliest mixture from these starts; `laws` where there is none.
Mixture likeliest_of(const std::vector<Mixture>& starts, const Half& half, const Mixture& laws,
                     NoiseModel noise) {
  const RowBlocks blocks(half.rows);
  EmSettings settings{.noise = noise, .max_iterations = short_rounds, .stop_below_gain = 1e-6};
  EmFit best;
  best.mean_log_likelihood = -1e300;
  for (const Mixture& start : starts) {
    yield_point();
    EmFit fit = fit_em(blocks, start, settings);
    if (is_finite(fit.mixture) && fit.mean_log_likelihood > best.mean_log_likelihood) best = std::move(fit);
  }
  if (best.mixture.weights.empty()) return laws;
  settings.max_iterations = long_rounds;
  settings.extrapolated = true;
  return fit_em(blocks, best.mixture, settings).mixture;
}

/// The likeliest mixture with one law more.
Mixture wider_fit(const Half& half, const Mixture& laws, NoiseModel noise) {
  return likeliest_of(WiderStarts(laws, half.rows, half.log_densities).all(), half, laws, noise);
}

/// The new law of a wider mixture: the one that matches none.
std::size_t new_law(const Mixture& laws, const Mixture& wider, const DenseMatrix& features) {
  return matching_order(laws, wider, features.values).back();
}

/// log of the wider mixture's likelihood over the model's. A plain model is replaced as a
/// whole; any other one keeps its density and is joined by the new law.
double gain_over(const Half& other, const Mixture& wider, std::size_t added, bool is_plain) {
  double gain = 0.0;
  for (std::size_t t = 0; t < other.rows.size(); ++t) {
    const Row row = other.rows.row(t);
    if (is_plain) {
      gain += row.weight * (log_likelihood(wider, row) - other.log_densities[t]);
      continue;
    }
    const double residual = row.response - dot(wider.law(added), row.features);
    const double variance = wider.noise_variances[added];
    const double density =
        -0.5 * (std::log(2.0 * std::numbers::pi * variance) + residual * residual / variance);
    const double share = wider.weights[added];
    gain += row.weight *
            std::log(1.0 - share + share * std::exp(std::min(density - other.log_densities[t], 600.0)));
  }
  return gain;
}

/// The wider mixture on all held rows, beside what the model says of them.
struct WholeFit {
  Mixture mixture;
  double gain = 0.0;  // of log-likelihood
};

WholeFit whole_fit(const Mixture& start, const ModeModel& model, const ModeShape& shape,
                   const std::vector<PlacedRow>& rows, std::span<const double> log_densities,
                   const DenseMatrix& features) {
  Half all;
  all.rows.feature_count = shape.feature_count;
  for (const PlacedRow& placed : rows) all.rows.add(placed.row);
  all.log_densities.assign(log_densities.begin(), log_densities.end());
  const EmSettings settings{
      .noise = shape.noise, .max_iterations = long_rounds, .stop_below_gain = 1e-6, .extrapolated = true};
  WholeFit whole{fit_em(all.rows, start, settings).mixture, 0.0};
  const std::size_t added = new_law(model.laws, whole.mixture, features);
  whole.gain = gain_over(all, whole.mixture, added, shape.is_plain());
  return whole;
}

double shift_between(const Mixture& laws, const Mixture& wider, const DenseMatrix& features) {
  const std::vector<std::size_t> order = matching_order(laws, wider, features.values);
  double shift = 0.0;
  for (std::size_t h = 0; h < laws.component_count(); ++h) {
    std::vector<double> move(laws.feature_count);
    for (std::size_t j = 0; j < move.size(); ++j) move[j] = wider.law(order[h])[j] - laws.law(h)[j];
    shift = std::max(shift, rms(features, move) / std::sqrt(laws.noise_variances[h]));
  }
  return shift;
}

}  // namespace

Doubt too_many_laws(const ModeModel& model, const ModeShape& shape, const DenseMatrix& covariance,
                    const DenseMatrix& features, double rows) {
  const std::size_t k = shape.component_count;
  const std::size_t d = shape.feature_count;
  Doubt doubt;
  doubt.kind = DoubtKind::too_many_laws;
  doubt.dof = d;
  doubt.statistic = 1e300;
  const auto offer = [&](double statistic, std::size_t law, std::optional<std::size_t> other) {
    if (!(statistic < doubt.statistic)) return;
    doubt.statistic = statistic;
    doubt.law = law;
    doubt.other_law = other;
  };
  for (std::size_t h = 0; h < k && k > 1; ++h) {
    for (std::size_t g = 0; g < h; ++g) offer(wald_of_pair(model, shape, covariance, g, h), g, h);
    offer(wald_of_weight(model, shape, covariance, h, rows), h, std::nullopt);
  }
  if (!doubt.law) return doubt;
  if (doubt.other_law) {
    std::vector<double> difference(d);
    for (std::size_t j = 0; j < d; ++j)
      difference[j] = model.laws.law(*doubt.law)[j] - model.laws.law(*doubt.other_law)[j];
    doubt.size = rms(features, difference) / std::sqrt(model.laws.noise_variances[*doubt.law]);
  } else {
    doubt.size = model.laws.weights[*doubt.law];
  }
  doubt.raised = doubt.statistic < static_cast<double>(d + 1) * std::log(std::max(rows, 2.0));
  doubt.p = doubt.adjusted_p = doubt.raised ? 0.0 : 1.0;
  return doubt;
}

Doubt too_few_laws(const ModeModel& model, const ModeShape& shape, const std::vector<PlacedRow>& rows,
                   std::span<const double> log_densities, double own_gain, const DenseMatrix& features) {
  Doubt doubt;
  doubt.kind = DoubtKind::too_few_laws;
  const bool in_order = shape.remembers();
  Half halves[2];
  for (std::size_t t = 0; t < rows.size(); ++t) {
    Half& half = halves[in_order ? (t < rows.size() / 2 ? 0 : 1) : t % 2];
    half.rows.feature_count = shape.feature_count;
    half.rows.add(rows[t].row);
    half.log_densities.push_back(log_densities[t]);
  }
  if (halves[0].rows.size() < 4 * shape.parameters()) return doubt;
  double gains[2];
  Mixture best_wider;
  for (int own = 0; own < 2; ++own) {
    const Mixture wider = wider_fit(halves[own], model.laws, shape.noise);
    if (wider.component_count() == model.laws.component_count()) return doubt;
    const std::size_t added = new_law(model.laws, wider, features);
    gains[own] = gain_over(halves[1 - own], wider, added, shape.is_plain());
    if (own == 0 || gains[1] > gains[0]) best_wider = wider;
  }
  const double best = std::max(gains[0], gains[1]);
  const double mean = best + std::log(0.5 * (1.0 + std::exp(-std::abs(gains[0] - gains[1]))));
  doubt.statistic = std::max(0.0, 2.0 * mean);
  doubt.p = doubt.adjusted_p = std::min(1.0, std::exp(-mean));
  if (mean <= 0.0) return doubt;
  const WholeFit whole = whole_fit(best_wider, model, shape, rows, log_densities, features);
  doubt.dof = shape.feature_count + (shape.noise == NoiseModel::per_component ? 2 : 1);
  doubt.explained = std::max(0.0, whole.gain - own_gain) / total_weight(rows);
  doubt.size = whole.mixture.weights[new_law(model.laws, whole.mixture, features)];
  doubt.shift = shift_between(model.laws, whole.mixture, features);
  ModeShape wider = shape;
  wider.component_count = whole.mixture.component_count();
  wider.modes = Modes::independent;
  const ModeModel more{whole.mixture, {}, {}};
  doubt.prediction = prediction_shift({model, shape}, {more, wider}, rows, model);
  return doubt;
}

double shift_if_split(const ModeModel& model, const ModeShape& shape, const std::vector<PlacedRow>& rows,
                      std::span<const double> log_densities, const DenseMatrix& features) {
  if (!shape.is_plain() || shape.noise != NoiseModel::per_component) return 0.0;
  Half all;
  all.rows.feature_count = shape.feature_count;
  for (const PlacedRow& placed : rows) all.rows.add(placed.row);
  all.log_densities.assign(log_densities.begin(), log_densities.end());
  const auto& variances = model.laws.noise_variances;
  const auto widest = static_cast<std::size_t>(std::ranges::max_element(variances) - variances.begin());
  std::vector<Mixture> starts = WiderStarts(model.laws, all.rows, all.log_densities).splits_of(widest);
  const double least = std::ranges::min(variances);
  for (Mixture& start : starts) std::ranges::fill(start.noise_variances, least);
  const Mixture split = likeliest_of(starts, all, model.laws, NoiseModel::shared);
  if (split.component_count() == model.laws.component_count()) return 0.0;
  ModeShape shared = shape;
  shared.noise = NoiseModel::shared;
  shared.component_count = split.component_count();
  const double more = static_cast<double>(shared.parameters()) - static_cast<double>(shape.parameters());
  const double gain = gain_over(all, split, 0, true);
  const double worse_by = more * std::log(std::max(total_weight(rows), 2.0)) - 2.0 * gain;
  return worse_by < limits::beyond_doubt ? shift_between(model.laws, split, features) : 0.0;
}

}  // namespace mixstream
