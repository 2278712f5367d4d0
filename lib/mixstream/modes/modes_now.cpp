#include "mixstream/modes/modes_now.hpp"

#include <algorithm>

namespace mixstream {

std::optional<std::size_t> ModesNow::place_of(std::uint64_t sensor) const noexcept {
  const auto found = std::ranges::find(sensors, sensor);
  if (found == sensors.end()) return {};
  return static_cast<std::size_t>(found - sensors.begin());
}

std::vector<double> ModesNow::after(std::size_t sensor, std::uint64_t rows) const {
  std::vector<double> chances(of(sensor).begin(), of(sensor).end());
  if (kind != Modes::persistent) return chances;
  const std::size_t k = chances.size();
  DenseMatrix power = transitions;  // A^1, A^2, A^4 ..
  for (; rows > 0; rows >>= 1) {
    if (rows % 2 != 0) {
      std::vector<double> moved(k);
      for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < k; ++j) moved[j] += chances[i] * power(i, j);
      }
      chances = std::move(moved);
    }
    DenseMatrix square{k, k, std::vector<double>(k * k)};
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t l = 0; l < k; ++l) {
        for (std::size_t j = 0; j < k; ++j) square(i, j) += power(i, l) * power(l, j);
      }
    }
    power = std::move(square);
  }
  return chances;
}

double rows_left(const DenseMatrix& transitions, std::span<const double> probabilities) noexcept {
  double rows = 0.0;
  for (std::size_t h = 0; h < probabilities.size(); ++h)
    rows += probabilities[h] / std::max(1.0 - transitions(h, h), 1e-12);
  return rows;
}

}  // namespace mixstream
