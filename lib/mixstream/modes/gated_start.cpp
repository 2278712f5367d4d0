#include "mixstream/modes/gated_start.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/score_kernel.hpp"
#include "mixstream/linalg/packed.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"

namespace mixstream {
namespace {

constexpr double steepness = 3.0;  // of the gate at a cut, a standard deviation of the feature

/// The law of some rows by least squares, into law; returns the mean square of what it leaves.
double least_squares(const RowTable& rows, std::span<const std::size_t> chosen, std::span<double> law) {
  const std::size_t d = rows.feature_count;
  std::vector<double> squares(d * (d + 1) / 2);
  std::ranges::fill(law, 0.0);
  for (const std::size_t i : chosen) {
    const Row row = rows.row(i);
    for (std::size_t a = 0; a < d; ++a) {
      law[a] += row.weight * row.features[a] * row.response;
      for (std::size_t b = 0; b <= a; ++b)
        squares[packed_index(a, b)] += row.weight * row.features[a] * row.features[b];
    }
  }
  PivotedCholesky solver(d);
  solver.factor(squares);
  solver.solve(law);
  double left = 0.0;
  double weight = 0.0;
  for (const std::size_t i : chosen) {
    const Row row = rows.row(i);
    const double residual =
        row.response - std::inner_product(law.begin(), law.end(), row.features.begin(), 0.0);
    left += row.weight * residual * residual;
    weight += row.weight;
  }
  return left / weight;
}

double spread_of(const RowTable& rows, std::size_t feature) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double value = rows.row(i).features[feature];
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(rows.size());
  return std::sqrt(std::max(squares / n - sum * sum / (n * n), 0.0));
}

/// The k slices along one feature, and a gate that turns at the cuts: gamma_h . w is the sum over the cuts c
/// above slice h of steepness (c - w) / spread.
ModeModel sliced_start(const ModeShape& shape, const RowTable& rows, std::size_t column, double spread) {
  const std::size_t k = shape.component_count;
  const std::size_t feature = shape.gate[column];
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::size_t i) { return rows.row(i).features[feature]; });
  Mixture mixture = empty_mixture(k, shape.feature_count);
  std::ranges::fill(mixture.weights, 1.0 / static_cast<double>(k));
  for (std::size_t h = 0; h < k; ++h) {
    const std::size_t begin = h * order.size() / k;
    const std::size_t end = (h + 1) * order.size() / k;
    mixture.noise_variances[h] =
        least_squares(rows, std::span(order).subspan(begin, end - begin), mixture.law(h));
  }
  if (shape.noise == NoiseModel::shared) {
    const double mean = std::accumulate(mixture.noise_variances.begin(), mixture.noise_variances.end(), 0.0) /
                        static_cast<double>(k);
    std::ranges::fill(mixture.noise_variances, mean);
  }
  ModeModel model = model_from(mixture, shape);
  for (std::size_t cut = 1; cut < k; ++cut) {
    const double at = rows.row(order[cut * order.size() / k]).features[feature];
    for (std::size_t h = 0; h < cut; ++h) {
      model.gate(h, 0) += steepness * at / spread;
      model.gate(h, column) -= steepness / spread;
    }
  }
  return model;
}

}  // namespace

std::vector<ModeModel> sliced_starts(const ModeShape& shape, const RowTable& rows) {
  std::vector<ModeModel> starts;
  if (shape.modes != Modes::gated || shape.noise == NoiseModel::known) return starts;
  if (rows.size() < 2 * shape.component_count * (shape.feature_count + 1)) return starts;
  for (std::size_t column = 1; column < shape.gate.size(); ++column) {
    const double spread = spread_of(rows, shape.gate[column]);
    if (!(spread > 1e-9)) continue;
    ModeModel start = sliced_start(shape, rows, column, spread);
    const bool sound =
        is_finite(start.laws) &&
        std::ranges::all_of(start.laws.noise_variances, [](double variance) { return variance > 0.0; });
    if (sound) starts.push_back(std::move(start));
  }
  return starts;
}

double promise_of_gate(const Mixture& laws, std::span<const std::size_t> gate, const RowTable& rows) {
  const std::size_t k = laws.component_count();
  const std::size_t width = gate.size() - 1;  // beside the constant
  const std::size_t size = (k - 1) * width;
  std::vector<double> means(width), posterior(k), score(size), sum(size), information(packed_size(size));
  double weight = 0.0;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const Row row = rows.row(t);
    weight += row.weight;
    for (std::size_t w = 0; w < width; ++w) means[w] += row.weight * row.features[gate[w + 1]];
  }
  for (double& mean : means) mean /= weight;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const Row row = rows.row(t);
    responsibilities(laws, row, posterior);
    for (std::size_t h = 0; h + 1 < k; ++h) {
      for (std::size_t w = 0; w < width; ++w)
        score[h * width + w] = (posterior[h] - laws.weights[h]) * (row.features[gate[w + 1]] - means[w]);
    }
    for (std::size_t a = 0; a < size; ++a) {
      sum[a] += row.weight * score[a];
      for (std::size_t b = 0; b <= a; ++b)
        information[packed_index(a, b)] += row.weight * score[a] * score[b];
    }
  }
  PivotedCholesky solver(size);
  solver.factor(information);
  return solver.inverse_form(sum);
}

}  // namespace mixstream
