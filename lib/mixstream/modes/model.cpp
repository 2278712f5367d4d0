#include "mixstream/modes/model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace mixstream {
namespace {

constexpr std::size_t most_laws = 32;
constexpr double widest_logit = 25.0;  // probabilities stay above 1e-11: a chain can always be left
constexpr double widest_gate = 300.0;  // of a gate's coefficient
constexpr double widest_log_variance = 700.0;
constexpr double least_freedom = 1.1;    // of nu: the mean of the noise exists
constexpr double most_freedom = 1000.0;  // the same as Gaussian for all that rows can say
constexpr double widest_memory = 3.8;    // atanh rho: |rho| < 0.999

using Square = std::array<double, most_laws * most_laws>;

/// Solves M' x = b for every column of b at once, in place; M is k x k. Gauss with pivots.
void solve_transposed(Square& m, std::size_t k, std::span<double> b, std::size_t columns) noexcept {
  // Works on M' directly: entry (row, column) of M' is m[column * k + row].
  const auto at = [&](std::size_t row, std::size_t column) -> double& { return m[column * k + row]; };
  for (std::size_t pivot = 0; pivot < k; ++pivot) {
    std::size_t best = pivot;
    for (std::size_t row = pivot + 1; row < k; ++row) {
      if (std::abs(at(row, pivot)) > std::abs(at(best, pivot))) best = row;
    }
    if (best != pivot) {
      for (std::size_t column = 0; column < k; ++column) std::swap(at(best, column), at(pivot, column));
      for (std::size_t c = 0; c < columns; ++c) std::swap(b[best * columns + c], b[pivot * columns + c]);
    }
    for (std::size_t row = 0; row < k; ++row) {
      if (row == pivot) continue;
      const double factor = at(row, pivot) / at(pivot, pivot);
      if (factor == 0.0) continue;
      for (std::size_t column = pivot; column < k; ++column) at(row, column) -= factor * at(pivot, column);
      for (std::size_t c = 0; c < columns; ++c) b[row * columns + c] -= factor * b[pivot * columns + c];
    }
  }
  for (std::size_t row = 0; row < k; ++row) {
    for (std::size_t c = 0; c < columns; ++c) b[row * columns + c] /= at(row, row);
  }
}

void softmax(std::span<double> logits) noexcept {
  const double top = *std::ranges::max_element(logits);
  double total = 0.0;
  for (double& logit : logits) total += logit = std::exp(logit - top);
  for (double& logit : logits) logit /= total;
}

double log_ratio(double a, double b) noexcept {
  constexpr double tiny = 1e-300;
  return std::clamp(std::log(std::max(a, tiny) / std::max(b, tiny)), -widest_logit, widest_logit);
}

}  // namespace

std::size_t ModeShape::who_count() const noexcept {
  const std::size_t others = component_count - 1;
  if (modes == Modes::persistent) return component_count * others;
  return modes == Modes::gated ? others * gate.size() : others;
}

std::size_t ModeShape::variance_count() const noexcept {
  if (noise == NoiseModel::known) return 0;
  return noise == NoiseModel::shared ? 1 : component_count;
}

ModeModel empty_model(const ModeShape& shape) {
  const std::size_t k = shape.component_count;
  ModeModel model;
  model.laws = empty_mixture(k, shape.feature_count);
  if (shape.modes == Modes::persistent) model.transitions = {k, k, std::vector<double>(k * k)};
  if (shape.modes == Modes::gated)
    model.gate = {k, shape.gate.size(), std::vector<double>(k * shape.gate.size())};
  return model;
}

ModeModel model_from(const Mixture& mixture, const ModeShape& shape, double stay) {
  ModeModel model = empty_model(shape);
  model.laws = mixture;
  const std::size_t k = shape.component_count;
  if (shape.modes == Modes::persistent) {
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t j = 0; j < k; ++j)
        model.transitions(i, j) = (i == j ? stay : 0.0) + (1.0 - stay) * mixture.weights[j];
    }
  }
  if (shape.modes == Modes::gated) {  // the constant of the gate carries the weights
    for (std::size_t h = 0; h < k; ++h)
      model.gate(h, 0) = log_ratio(mixture.weights[h], mixture.weights[k - 1]);
  }
  if (shape.noise_shape.tails) {
    model.degrees_of_freedom = 10.0;
    for (double& variance : model.laws.noise_variances) variance *= 0.8;  // that of t(10) is 1.25 s2
  }
  return model;
}

std::vector<double> to_parameters(const ModeModel& model, const ModeShape& shape) {
  const std::size_t k = shape.component_count;
  std::vector<double> theta = model.laws.coefficients;
  const auto& pi = model.laws.weights;
  if (shape.modes == Modes::persistent) {
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t j = 0; j < k; ++j) {
        if (j != i) theta.push_back(log_ratio(model.transitions(i, j), model.transitions(i, i)));
      }
    }
  } else if (shape.modes == Modes::gated) {
    const auto gamma = std::span(model.gate.values).first(shape.who_count());
    theta.insert(theta.end(), gamma.begin(), gamma.end());
  } else {
    for (std::size_t h = 0; h + 1 < k; ++h) theta.push_back(log_ratio(pi[h], pi[k - 1]));
  }
  for (std::size_t h = 0; h < shape.variance_count(); ++h)
    theta.push_back(std::log(std::max(model.laws.noise_variances[h], 1e-300)));
  if (shape.noise_shape.tails)
    theta.push_back(std::log(std::clamp(model.degrees_of_freedom, least_freedom, most_freedom)));
  if (shape.noise_shape.memory) theta.push_back(std::atanh(std::clamp(model.memory, -0.998, 0.998)));
  return theta;
}

void from_parameters(std::span<double> theta, const ModeShape& shape, ModeModel& model) noexcept {
  const std::size_t k = shape.component_count;
  std::copy_n(theta.begin(), shape.who_at(), model.laws.coefficients.begin());
  const auto who = theta.subspan(shape.who_at(), shape.who_count());
  const double widest = shape.modes == Modes::gated ? widest_gate : widest_logit;
  for (double& logit : who) logit = std::clamp(logit, -widest, widest);
  std::vector<double>& weights = model.laws.weights;
  if (shape.modes == Modes::persistent) {
    for (std::size_t i = 0; i < k; ++i) {
      const auto row = std::span(model.transitions.values).subspan(i * k, k);
      for (std::size_t j = 0; j < k; ++j) row[j] = j == i ? 0.0 : theta[shape.cell(i, j)];
      softmax(row);
    }
    stationary_weights(model.transitions, weights);
  } else if (shape.modes == Modes::gated) {
    std::ranges::copy(who, model.gate.values.begin());
    for (std::size_t h = 0; h < k; ++h) weights[h] = h + 1 < k ? who[h * shape.gate.size()] : 0.0;
    softmax(weights);
  } else {
    for (std::size_t h = 0; h < k; ++h) weights[h] = h + 1 < k ? who[h] : 0.0;
    softmax(weights);
  }
  for (std::size_t h = 0; h < k && shape.noise != NoiseModel::known; ++h) {
    double& logarithm = theta[shape.variances_at() + (shape.noise == NoiseModel::shared ? 0 : h)];
    logarithm = std::clamp(logarithm, -widest_log_variance, widest_log_variance);
    model.laws.noise_variances[h] = std::exp(logarithm);
  }
  if (shape.noise_shape.tails) {
    double& logarithm = theta[shape.tails_at()];
    logarithm = std::clamp(logarithm, std::log(least_freedom), std::log(most_freedom));
    model.degrees_of_freedom = std::exp(logarithm);
  }
  if (shape.noise_shape.memory) {
    double& angle = theta[shape.memory_at()];
    angle = std::clamp(angle, -widest_memory, widest_memory);
    model.memory = std::tanh(angle);
  }
}

void stationary_weights(const DenseMatrix& transitions, std::span<double> pi) noexcept {
  const std::size_t k = pi.size();
  Square m{};  // I - A + 1/k: regular for every chain that can be left; pi' M = 1'/k
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j)
      m[i * k + j] = (i == j ? 1.0 : 0.0) - transitions(i, j) + 1.0 / static_cast<double>(k);
  }
  std::ranges::fill(pi, 1.0 / static_cast<double>(k));
  solve_transposed(m, k, pi, 1);
  double total = 0.0;
  for (double& weight : pi) total += weight = std::max(weight, 0.0);
  for (double& weight : pi) weight /= total;
}

void stationary_tangent(const DenseMatrix& transitions, std::span<const double> pi,
                        std::span<double> tangent) noexcept {
  const std::size_t k = pi.size();
  const std::size_t cells = k * (k - 1);
  // Right-hand sides: column c of (k x cells) is (pi dA/dc)', with dA_ij / da_il = A_ij (1[j = l] - A_il).
  for (std::size_t i = 0, cell = 0; i < k; ++i) {
    for (std::size_t l = 0; l < k; ++l) {
      if (l == i) continue;
      for (std::size_t j = 0; j < k; ++j)
        tangent[j * cells + cell] = pi[i] * transitions(i, j) * ((j == l ? 1.0 : 0.0) - transitions(i, l));
      ++cell;
    }
  }
  Square m{};
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) m[i * k + j] = (i == j ? 1.0 : 0.0) - transitions(i, j) + pi[j];
  }
  solve_transposed(m, k, tangent, cells);
}

void open_gate(const ModeModel& model, const ModeShape& shape, std::span<const double> features,
               std::span<double> weights) noexcept {
  const std::size_t k = shape.component_count;
  double top = 0.0;
  for (std::size_t h = 0; h < k; ++h) {
    double logit = 0.0;
    for (std::size_t w = 0; w < shape.gate.size(); ++w) logit += model.gate(h, w) * features[shape.gate[w]];
    weights[h] = logit;
    top = std::max(top, logit);
  }
  double total = 0.0;
  for (std::size_t h = 0; h < k; ++h) total += weights[h] = std::exp(weights[h] - top);
  for (std::size_t h = 0; h < k; ++h) weights[h] = std::max(weights[h] / total, 1e-300);
}

ModeModel relabelled(const ModeModel& model, std::span<const std::size_t> order) {
  ModeModel result = model;
  result.laws = relabelled(model.laws, order);
  const std::size_t k = order.size();
  for (std::size_t i = 0; i < model.transitions.rows; ++i) {
    for (std::size_t j = 0; j < k; ++j) result.transitions(i, j) = model.transitions(order[i], order[j]);
  }
  for (std::size_t h = 0; h < model.gate.rows; ++h) {
    for (std::size_t w = 0; w < model.gate.columns; ++w)
      result.gate(h, w) = model.gate(order[h], w) - model.gate(order[k - 1], w);
  }
  return result;
}

}  // namespace mixstream
