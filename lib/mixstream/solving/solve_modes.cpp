#include "mixstream/solving/solve_modes.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/em_search.hpp"
#include "mixstream/likelihood/law_swaps.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/starts.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {
namespace {

constexpr std::size_t random_start_count = 8;
constexpr std::size_t most_candidates = 3;

/// d A_ij / d theta at (i, j).
std::vector<double> transition_gradient(const ModeModel& model, const ModeShape& shape, std::size_t i,
                                        std::size_t j) {
  std::vector<double> gradient(shape.parameters());
  for (std::size_t l = 0; l < shape.component_count; ++l) {
    if (l == i) continue;
    gradient[shape.cell(i, l)] = model.transitions(i, j) * ((j == l ? 1.0 : 0.0) - model.transitions(i, l));
  }
  return gradient;
}

double error_of(const DenseMatrix& covariance, std::span<const double> gradient) {
  double variance = 0.0;
  for (std::size_t a = 0; a < gradient.size(); ++a) {
    if (gradient[a] == 0.0) continue;
    for (std::size_t b = 0; b < gradient.size(); ++b)
      variance += gradient[a] * covariance(a, b) * gradient[b];
  }
  return std::sqrt(std::max(variance, 0.0));
}

/// The gate's mean weights over the sample and their slopes by gamma: k, and k x who.
void mean_weights(const ModeModel& model, const ModeShape& shape, const RowTable& sample,
                  std::span<double> weights, DenseMatrix& slopes) {
  const std::size_t k = shape.component_count;
  const std::size_t width = shape.gate.size();
  std::ranges::fill(weights, 0.0);
  std::vector<double> chances(k);
  double rows = 0.0;
  for (std::size_t t = 0; t < sample.size(); ++t) {
    const Row row = sample.row(t);
    open_gate(model, shape, row.features, chances);
    for (std::size_t h = 0; h < k; ++h) weights[h] += row.weight * chances[h];
    for (std::size_t h = 0; h < k; ++h) {
      for (std::size_t l = 0; l + 1 < k; ++l) {
        const double slope = row.weight * chances[h] * ((h == l ? 1.0 : 0.0) - chances[l]);
        for (std::size_t w = 0; w < width; ++w)
          slopes(h, l * width + w) += slope * row.features[shape.gate[w]];
      }
    }
    rows += row.weight;
  }
  for (double& weight : weights) weight /= std::max(rows, 1.0);
  for (double& slope : slopes.values) slope /= std::max(rows, 1.0);
}

/// Slopes of the reported weights by `who`, k x who_count; the weights themselves into the mixture.
DenseMatrix weight_slopes(const ModeModel& model, const ModeShape& shape, const RowTable& sample,
                          Mixture& mixture) {
  const std::size_t k = shape.component_count;
  DenseMatrix slopes{k, shape.who_count(), std::vector<double>(k * shape.who_count())};
  if (shape.modes == Modes::persistent) {
    stationary_tangent(model.transitions, mixture.weights, slopes.values);
  } else if (shape.modes == Modes::gated) {
    mean_weights(model, shape, sample, mixture.weights, slopes);
  } else {
    for (std::size_t h = 0; h < k; ++h) {
      for (std::size_t l = 0; l + 1 < k; ++l)
        slopes(h, l) = mixture.weights[h] * ((h == l ? 1.0 : 0.0) - mixture.weights[l]);
    }
  }
  return slopes;
}

/// d theta of the mixture / d theta of the model.
DenseMatrix answer_jacobian(const ModeModel& model, const ModeShape& shape, const DenseMatrix& slopes,
                            const Mixture& mixture) {
  const std::size_t k = shape.component_count;
  const std::size_t rows = parameter_count(k, shape.feature_count, shape.noise);
  DenseMatrix jacobian{rows, shape.parameters(), std::vector<double>(rows * shape.parameters())};
  for (std::size_t q = 0; q < shape.who_at(); ++q) jacobian(q, q) = 1.0;
  for (std::size_t h = 0; h + 1 < k; ++h) {  // log pi_h - log pi_k
    for (std::size_t c = 0; c < shape.who_count(); ++c)
      jacobian(shape.who_at() + h, shape.who_at() + c) =
          slopes(h, c) / std::max(mixture.weights[h], 1e-12) -
          slopes(k - 1, c) / std::max(mixture.weights[k - 1], 1e-12);
  }
  const std::size_t variances = shape.who_at() + k - 1;
  for (std::size_t v = 0; v < shape.variance_count(); ++v) {
    jacobian(variances + v, shape.variances_at() + v) = 1.0;
    if (shape.noise_shape.memory) jacobian(variances + v, shape.memory_at()) = 2.0 * model.memory;
  }
  return jacobian;
}

void describe_chain(const ModeFit& fit, const ModeShape& shape, std::span<const std::size_t> order,
                    ModesReport& modes) {
  const std::size_t k = shape.component_count;
  modes.transitions = modes.transition_errors = {k, k, std::vector<double>(k * k)};
  double total = 0.0;
  for (const double visits : fit.visits) total += visits;
  modes.changes = fit.changes;
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      const std::size_t from = order[i];
      const std::size_t to = order[j];
      modes.transitions(i, j) = fit.model.transitions(from, to);
      modes.transition_errors(i, j) =
          error_of(fit.covariance, transition_gradient(fit.model, shape, from, to));
    }
    const double leaves = std::max(1.0 - modes.transitions(i, i), 1e-12);
    modes.dwells.push_back(1.0 / leaves);
    modes.dwell_errors.push_back(modes.transition_errors(i, i) / (leaves * leaves));
    modes.seen_shares.push_back(fit.visits[order[i]] / std::max(total, 1e-300));
  }
}

/// gamma in raw coordinates: slopes scale, the constant gathers the shifts.
void describe_gate(const ModeFit& fit, const ModeShape& shape, std::span<const std::size_t> order,
                   const Layout& layout, const Pilot& pilot, ModesReport& modes) {
  const std::size_t k = shape.component_count;
  const std::size_t width = shape.gate.size();
  modes.gate_coefficients = modes.gate_errors = {k, width, std::vector<double>(k * width)};
  const std::size_t last = order[k - 1];
  for (std::size_t h = 0; h + 1 < k; ++h) {
    for (std::size_t w = 0; w < width; ++w) {
      std::vector<double> gradient(shape.parameters());
      const auto add = [&](std::size_t law, std::size_t term, double factor) {
        if (law + 1 < k) gradient[shape.who_at() + law * width + term] += factor;
      };
      const auto scale_of = [&](std::size_t term) {
        return pilot.scale[static_cast<std::size_t>(layout.variable_of(static_cast<int>(shape.gate[term])))];
      };
      const bool is_constant = static_cast<int>(shape.gate[w]) == layout.constant_feature;
      for (const auto& [law, sign] : {std::pair{order[h], 1.0}, std::pair{last, -1.0}}) {
        add(law, w, sign / (is_constant ? 1.0 : scale_of(w)));
        for (std::size_t other = 0; is_constant && other < width; ++other) {
          if (other == w) continue;
          const auto variable =
              static_cast<std::size_t>(layout.variable_of(static_cast<int>(shape.gate[other])));
          add(law, other, -sign * pilot.shift[variable] / pilot.scale[variable]);
        }
      }
      double value = 0.0;
      for (std::size_t q = 0; q < gradient.size(); ++q) value += gradient[q] * fit.parameters[q];
      modes.gate_coefficients(h, w) = value;
      modes.gate_errors(h, w) = error_of(fit.covariance, gradient);
    }
  }
}

}  // namespace

std::vector<Mixture> likely_laws(const MomentTensor& tensor, const RowTable& sample,
                                 std::vector<Mixture> starts, std::size_t component_count, NoiseModel noise,
                                 std::uint64_t seed) {
  Random random(seed);
  const double known = starts.empty() ? 1.0 : starts.front().noise_variances.front();
  for (Mixture& start : random_starts(tensor, component_count, random_start_count, random)) {
    if (noise == NoiseModel::known) std::ranges::fill(start.noise_variances, known);
    starts.push_back(std::move(start));
  }
  const RowBlocks rows(sample);
  const EmSettings em{.noise = noise, .max_iterations = 200, .stop_below_gain = 1e-7};
  std::vector<EmFit> optima;
  for (const Mixture& start : starts) {
    yield_point();
    EmFit fit = fit_em(rows, tamed(tensor, start, noise == NoiseModel::known), em);
    if (is_finite(fit.mixture)) optima.push_back(std::move(fit));
  }
  std::ranges::sort(optima, std::ranges::greater{}, &EmFit::mean_log_likelihood);
  if (!optima.empty() && component_count >= many_laws) {
    LawSwaps swaps(rows, {.em = em}, random);
    const int patience = static_cast<int>(2 * component_count);
    optima.insert(optima.begin(), swaps.improved(optima.front(), patience, 1e300));
  }
  const DenseMatrix second = tensor.view(0, 1, 1);
  std::vector<Mixture> distinct;
  for (const EmFit& fit : optima) {
    const bool known_already = std::ranges::any_of(
        distinct, [&](const Mixture& other) { return same_optimum(other, fit.mixture, second); });
    if (!known_already) distinct.push_back(fit.mixture);
    if (distinct.size() == most_candidates) break;
  }
  return distinct;
}

ModeAnswer answer_of(const ModeFit& fit, const ModeShape& shape, const RowTable& sample) {
  ModeAnswer answer{fit.model.laws, {}};
  const double kept = fit.model.memory * fit.model.memory;
  if (shape.noise != NoiseModel::known) {
    for (double& variance : answer.mixture.noise_variances) variance /= 1.0 - kept;
  }
  const DenseMatrix slopes = weight_slopes(fit.model, shape, sample, answer.mixture);
  const DenseMatrix jacobian = answer_jacobian(fit.model, shape, slopes, answer.mixture);
  const std::size_t rows = jacobian.rows;
  const std::size_t size = jacobian.columns;
  DenseMatrix half{rows, size, std::vector<double>(rows * size)};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t a = 0; a < size; ++a) {
      if (jacobian(i, a) == 0.0) continue;
      for (std::size_t b = 0; b < size; ++b) half(i, b) += jacobian(i, a) * fit.covariance(a, b);
    }
  }
  answer.covariance = {rows, rows, std::vector<double>(rows * rows)};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t b = 0; b < size; ++b) answer.covariance(i, j) += half(i, b) * jacobian(j, b);
    }
  }
  return answer;
}

void describe_modes(const ModeFit& fit, const ModeShape& shape, std::span<const std::size_t> order,
                    const Layout& layout, const Pilot& pilot, Report& report) {
  if (shape.noise_shape.tails) report.degrees_of_freedom = fit.model.degrees_of_freedom;
  if (shape.noise_shape.memory) {
    report.noise_memory = fit.model.memory;
    const std::size_t at = shape.memory_at();
    report.noise_memory_error =
        (1.0 - fit.model.memory * fit.model.memory) * std::sqrt(std::max(fit.covariance(at, at), 0.0));
  }
  if (shape.modes == Modes::independent || shape.component_count < 2) return;
  ModesReport modes;
  modes.kind = shape.modes;
  if (shape.modes == Modes::persistent) {
    describe_chain(fit, shape, order, modes);
  } else {
    for (const std::size_t feature : shape.gate)
      modes.gate.push_back(feature < report.features.size() ? report.features[feature]
                                                            : "x" + std::to_string(feature));
    describe_gate(fit, shape, order, layout, pilot, modes);
  }
  report.modes = std::move(modes);
}

double largest_dispersion(const ModeFit& fit) noexcept {
  return limits::largest_rounding *
         f_at_deviations(limits::rejected_deviations, std::max(fit.dispersion_dof, 1.0));
}

}  // namespace mixstream
