#include "mixstream/refinement/starts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"

namespace mixstream {
namespace {

/// a' S b for the difference of two laws.
double squared_length(std::span<const double> law, std::span<const double> other, const DenseMatrix& second) {
  std::vector<double> difference(law.begin(), law.end());
  for (std::size_t i = 0; i < law.size(); ++i) difference[i] -= other[i];
  return quadratic_form(second, difference);
}

}  // namespace

std::vector<Mixture> random_starts(const MomentTensor& tensor, std::size_t component_count,
                                   std::size_t number, Random& random) {
  const double power = tensor.view(2, 0, 0)(0, 0);  // E y^2
  const DenseMatrix root = inverse_root(tensor.view(0, 1, 1));
  const double length = std::sqrt(power / static_cast<double>(root.rows));
  std::vector<Mixture> starts;
  for (std::size_t n = 0; n < number; ++n) {
    Mixture start = empty_mixture(component_count, root.columns);
    for (std::size_t h = 0; h < component_count; ++h) {
      start.weights[h] = 1.0 / static_cast<double>(component_count);
      for (std::size_t i = 0; i < root.rows; ++i) {
        const double draw = random.normal() * length;
        for (std::size_t j = 0; j < root.columns; ++j) start.law(h)[j] += draw * root(i, j);
      }
    }
    start.noise_variances.assign(component_count, power * random.uniform(0.02, 0.3));
    starts.push_back(std::move(start));
  }
  return starts;
}

Mixture tamed(const MomentTensor& tensor, Mixture start, bool keep_noise) {
  const double power = tensor.view(2, 0, 0)(0, 0);
  const DenseMatrix second = tensor.view(0, 1, 1);
  const std::vector<double> zero(start.feature_count, 0.0);
  double largest = 0.0;
  for (std::size_t h = 0; h < start.component_count(); ++h) {
    largest = std::max(largest, squared_length(start.law(h), zero, second));
  }
  const double shrink = std::sqrt(largest / (4.0 * static_cast<double>(start.feature_count) * power));
  if (shrink > 1.0) {
    for (double& coefficient : start.coefficients) coefficient /= shrink;
  }
  if (keep_noise) return start;
  for (double& variance : start.noise_variances) variance = std::clamp(variance, 1e-3 * power, power);
  return start;
}

bool same_optimum(const Mixture& one, const Mixture& two, const DenseMatrix& second_moment) {
  constexpr double share = 0.003;  // of the noise variance
  std::vector<bool> taken(two.component_count(), false);
  for (std::size_t h = 0; h < one.component_count(); ++h) {
    double nearest = std::numeric_limits<double>::infinity();
    std::size_t match = 0;
    for (std::size_t g = 0; g < two.component_count(); ++g) {
      if (taken[g]) continue;
      const double distance = squared_length(one.law(h), two.law(g), second_moment);
      if (distance < nearest) {
        nearest = distance;
        match = g;
      }
    }
    taken[match] = true;
    if (!(nearest < share * one.noise_variances[h])) return false;
    if (std::abs(one.weights[h] - two.weights[match]) > 0.02) return false;
  }
  return true;
}

}  // namespace mixstream
