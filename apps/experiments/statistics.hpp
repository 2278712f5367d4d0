// Figures of many runs. Each takes its values in any order; none allocates but for a copy to sort.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace experiments {

/// The middle value, or the mean of the middle two. Needs at least one value.
inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return 0.5 * (values[(values.size() - 1) / 2] + values[values.size() / 2]);
}

inline double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// With n - 1; zero for a single value.
inline double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0.0;
  const double centre = mean(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

inline double root_mean_square(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0) /
                   static_cast<double>(values.size()));
}

/// Kolmogorov's distance of p-values to uniform, and the probability of a larger one.
struct Uniformity {
  double distance = 0.0;
  double p_value = 1.0;
};
inline Uniformity uniformity(std::vector<double> p_values) {
  std::ranges::sort(p_values);
  const auto n = static_cast<double>(p_values.size());
  double distance = 0.0;
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    const auto rank = static_cast<double>(i);
    distance = std::max({distance, p_values[i] - rank / n, (rank + 1.0) / n - p_values[i]});
  }
  const double scaled = (std::sqrt(n) + 0.12 + 0.11 / std::sqrt(n)) * distance;
  double tail = 0.0;
  for (int j = 1; j < 100; ++j) tail += (j % 2 == 1 ? 2.0 : -2.0) * std::exp(-2.0 * j * j * scaled * scaled);
  return {distance, std::clamp(tail, 0.0, 1.0)};
}

/// Least-squares line through (x, y): its slope. Needs two different x.
inline double slope(const std::vector<double>& x, const std::vector<double>& y) {
  const double x_mean = mean(x);
  const double y_mean = mean(y);
  double across = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    across += (x[i] - x_mean) * (y[i] - y_mean);
    squares += (x[i] - x_mean) * (x[i] - x_mean);
  }
  return across / squares;
}

}  // namespace experiments
