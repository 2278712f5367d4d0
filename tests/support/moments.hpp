// Moment tensors by plain summing, for tests and studies: shares nothing with the library's kernels.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/moments/tensor.hpp"

namespace mixstream::testing {

/// Adds weight * z^(6) for one row, in the tensor's coordinates.
inline void add_row(MomentTensor& tensor, const Row& row) {
  const Packing& packing = tensor.packing();
  const int m = packing.variables();
  std::array<double, 64> z{};
  to_pilot(row, tensor.layout(), tensor.pilot(), {z.data(), static_cast<std::size_t>(m)});
  double* sum = tensor.sums().data();
  std::vector<double> right(packing.right_count(0));
  for (int pivot = 0; pivot < m; ++pivot) {
    std::size_t count = 0;
    for (int i = pivot; i < m; ++i)
      for (int j = i; j < m; ++j) {
        const double pair = z[static_cast<std::size_t>(i)] * z[static_cast<std::size_t>(j)];
        for (int l = j; l < m; ++l) right[count++] = pair * z[static_cast<std::size_t>(l)];
      }
    for (int j = 0; j <= pivot; ++j)
      for (int i = 0; i <= j; ++i) {
        const double left = row.weight * z[static_cast<std::size_t>(i)] * z[static_cast<std::size_t>(j)] *
                            z[static_cast<std::size_t>(pivot)];
        for (std::size_t c = 0; c < count; ++c) sum[c] += left * right[c];
        sum += count;
      }
  }
}

/// Nodes and weights that integrate polynomials to degree 7 exactly against the standard normal density.
inline constexpr std::array<double, 4> hermite_nodes{-2.3344142183389773, -0.7419637843027258,
                                                     0.7419637843027258, 2.3344142183389773};
inline constexpr std::array<double, 4> hermite_weights{0.04587585476806849, 0.45412414523193151,
                                                       0.45412414523193151, 0.04587585476806849};

/// Population moments: x drawn from the given points, y from the mixture with normal noise, exactly to
/// degree 6. `rows` is what the tensor claims as its number of rows.
inline MomentTensor population(const std::vector<std::vector<double>>& points, std::span<const double> masses,
                               const Layout& layout, const Mixture& mixture, double rows) {
  MomentTensor tensor(layout, Pilot::identity(layout.variables()));
  for (std::size_t i = 0; i < points.size(); ++i) {
    for (std::size_t h = 0; h < mixture.component_count(); ++h) {
      double mean = 0.0;
      for (std::size_t a = 0; a < points[i].size(); ++a) mean += mixture.law(h)[a] * points[i][a];
      for (std::size_t q = 0; q < 4; ++q) {
        const double y = mean + std::sqrt(mixture.noise_variances[h]) * hermite_nodes[q];
        add_row(tensor, {points[i], y, masses[i] * mixture.weights[h] * hermite_weights[q]});
      }
    }
  }
  tensor.effective_rows = rows;
  tensor.row_count = 1;
  return tensor;
}

/// Every combination of Hermite nodes in `normal` coordinates, behind a constant 1 where asked.
struct Design {
  std::vector<std::vector<double>> points;
  std::vector<double> masses;
  Layout layout;
};
inline Design normal_design(int features, bool constant) {
  Design design{{{}}, {1.0}, {features, constant ? 0 : -1}};
  if (constant) design.points[0].push_back(1.0);
  for (int f = constant ? 1 : 0; f < features; ++f) {
    std::vector<std::vector<double>> points;
    std::vector<double> masses;
    for (std::size_t i = 0; i < design.points.size(); ++i) {
      for (std::size_t q = 0; q < 4; ++q) {
        points.push_back(design.points[i]);
        points.back().push_back(hermite_nodes[q]);
        masses.push_back(design.masses[i] * hermite_weights[q]);
      }
    }
    design.points = std::move(points);
    design.masses = std::move(masses);
  }
  return design;
}

/// |B - B'|_F, least over all matchings of components (bitmask dynamic programme, k <= 16).
inline double coefficient_error(const Mixture& truth, const Mixture& found) {
  const std::size_t k = truth.component_count();
  std::vector<double> best(std::size_t{1} << k, 1e300);
  best[0] = 0.0;
  for (std::size_t mask = 0; mask + 1 < best.size(); ++mask) {
    const auto h = static_cast<std::size_t>(__builtin_popcountll(mask));
    for (std::size_t g = 0; g < k; ++g) {
      if (mask >> g & 1U) continue;
      double square = 0.0;
      for (std::size_t a = 0; a < truth.feature_count; ++a) {
        square += std::pow(truth.law(h)[a] - found.law(g)[a], 2);
      }
      const std::size_t next = mask | std::size_t{1} << g;
      best[next] = std::min(best[next], best[mask] + square);
    }
  }
  return std::sqrt(best.back());
}

}  // namespace mixstream::testing
