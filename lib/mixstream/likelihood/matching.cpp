#include "mixstream/likelihood/matching.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace mixstream {
namespace {

constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();
constexpr double too_far = 1e300;  // stands for every distance that overflows

double squared_distance(std::span<const double> left, std::span<const double> right,
                        std::span<const double> metric) noexcept {
  const std::size_t d = left.size();
  double sum = 0.0;
  for (std::size_t i = 0; i < d; ++i) {
    const double difference = left[i] - right[i];
    if (metric.empty()) {
      sum += difference * difference;
      continue;
    }
    for (std::size_t j = 0; j < d; ++j) sum += difference * metric[i * d + j] * (left[j] - right[j]);
  }
  return sum < too_far ? std::max(sum, 0.0) : too_far;  // NaN included
}

/// Least-cost assignment of rows to columns (the Hungarian method): rows join one at a time, each along the
/// shortest path of reassignments, measured in costs less the prices of rows and columns.
class Assignment {
 public:
  Assignment(std::vector<double> costs, std::size_t size)
      : costs_(std::move(costs)),
        size_(size),
        row_price_(size, 0.0),
        column_price_(size, 0.0),
        row_of_(size, nobody) {}

  /// The row that each column goes to.
  std::vector<std::size_t> solve() {
    for (std::size_t row = 0; row < size_; ++row) join(row);
    return row_of_;
  }

 private:
  void join(std::size_t new_row) {
    std::vector<double> distance(size_, std::numeric_limits<double>::infinity());
    std::vector<std::size_t> came_from(size_, nobody);  // the column before on the path
    std::vector<char> settled(size_, 0);
    std::size_t row = new_row;
    std::size_t column = nobody;
    double reached = 0.0;
    while (true) {
      for (std::size_t j = 0; j < size_; ++j) {
        if (settled[j] != 0) continue;
        const double through = reached + costs_[row * size_ + j] - row_price_[row] - column_price_[j];
        if (through < distance[j]) {
          distance[j] = through;
          came_from[j] = column;
        }
      }
      column = nearest_open(distance, settled);
      reached = distance[column];
      settled[column] = 1;
      if (row_of_[column] == nobody) break;
      row = row_of_[column];
    }
    update_prices(new_row, distance, settled, reached);
    for (std::size_t before = came_from[column]; before != nobody; before = came_from[column]) {
      row_of_[column] = row_of_[before];
      column = before;
    }
    row_of_[column] = new_row;
  }

  std::size_t nearest_open(const std::vector<double>& distance, const std::vector<char>& settled) const {
    std::size_t best = nobody;
    for (std::size_t j = 0; j < size_; ++j) {
      if (settled[j] == 0 && (best == nobody || distance[j] < distance[best])) best = j;
    }
    return best;
  }

  void update_prices(std::size_t new_row, const std::vector<double>& distance,
                     const std::vector<char>& settled, double reached) {
    row_price_[new_row] += reached;
    for (std::size_t j = 0; j < size_; ++j) {
      if (settled[j] == 0 || row_of_[j] == nobody) continue;
      row_price_[row_of_[j]] += reached - distance[j];
      column_price_[j] -= reached - distance[j];
    }
  }

  std::vector<double> costs_;
  std::size_t size_;
  std::vector<double> row_price_;
  std::vector<double> column_price_;
  std::vector<std::size_t> row_of_;
};

}  // namespace

std::vector<std::size_t> matching_order(const Mixture& reference, const Mixture& mixture,
                                        std::span<const double> metric) {
  const std::size_t wanted = reference.component_count();
  const std::size_t given = mixture.component_count();
  const std::size_t size = std::max(wanted, given);
  std::vector<double> costs(size * size, 0.0);  // a missing partner costs nothing
  for (std::size_t g = 0; g < given; ++g) {
    for (std::size_t r = 0; r < wanted; ++r) {
      costs[g * size + r] = squared_distance(reference.law(r), mixture.law(g), metric);
    }
  }
  std::vector<std::size_t> order = Assignment(std::move(costs), size).solve();
  std::erase_if(order, [&](std::size_t component) { return component >= given; });
  return order;
}

double coefficient_error(const Mixture& truth, const Mixture& mixture) {
  if (truth.component_count() != mixture.component_count() || truth.feature_count != mixture.feature_count) {
    throw std::invalid_argument("the error of coefficients needs mixtures of the same shape");
  }
  const std::vector<std::size_t> order = matching_order(truth, mixture);
  double sum = 0.0;
  for (std::size_t h = 0; h < order.size(); ++h) {
    sum += squared_distance(truth.law(h), mixture.law(order[h]), {});
  }
  return std::sqrt(sum);
}

}  // namespace mixstream
