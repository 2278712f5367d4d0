// Population moments: the tensor that rows would have if every y^q were its expectation under a mixture.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/moments/tensor.hpp"

namespace mixstream {

/// E[y^q] for y normal, from binomials and double factorials: shares nothing with the library.
inline double normal_moment(double mean, double variance, int q) {
  double sum = 0.0;
  for (int i = 0; 2 * i <= q; ++i) {
    const double ways = std::tgamma(q + 1.0) / (std::tgamma(2.0 * i + 1.0) * std::tgamma(q - 2.0 * i + 1.0));
    double pairs = 1.0;
    for (int j = 1; j < 2 * i; j += 2) pairs *= j;
    sum += ways * pairs * std::pow(variance, i) * std::pow(mean, q - 2 * i);
  }
  return sum;
}

inline double mixture_moment(const Mixture& mixture, std::span<const double> x, int q) {
  double sum = 0.0;
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    double mean = 0.0;
    for (std::size_t j = 0; j < x.size(); ++j) mean += mixture.law(h)[j] * x[j];
    sum += mixture.weights[h] * normal_moment(mean, mixture.noise_variances[h], q);
  }
  return sum;
}

inline MomentTensor expected_tensor(const RowTable& rows, const Layout& layout, const Mixture& mixture,
                                    double effective_rows) {
  const int m = layout.variables();
  MomentTensor tensor(layout, Pilot::identity(m));
  std::vector<double> z(static_cast<std::size_t>(m));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    to_pilot(rows.row(i), layout, tensor.pilot(), z);
    double moments[7];
    for (int q = 0; q <= 6; ++q) moments[q] = mixture_moment(mixture, rows.row(i).features, q);
    SixIndices s{};
    for (s[0] = 0; s[0] < m; ++s[0])
      for (s[1] = s[0]; s[1] < m; ++s[1])
        for (s[2] = s[1]; s[2] < m; ++s[2])
          for (s[3] = s[2]; s[3] < m; ++s[3])
            for (s[4] = s[3]; s[4] < m; ++s[4])
              for (s[5] = s[4]; s[5] < m; ++s[5]) {
                double product = rows.weights[i];
                int q = 0;
                for (const int v : s)
                  v == m - 1 ? void(++q) : void(product *= z[static_cast<std::size_t>(v)]);
                tensor.sums()[tensor.packing().position(s)] += product * moments[q];
              }
  }
  tensor.effective_rows = effective_rows;
  return tensor;
}

}  // namespace mixstream
