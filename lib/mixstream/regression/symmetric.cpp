#include "mixstream/regression/symmetric.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/moments/tensor.hpp"

namespace mixstream {
namespace {

/// Rank of a sorted tuple among all sorted tuples of its degree, lexicographic.
std::size_t rank_of(std::span<const std::size_t> tuple, std::size_t dimension) noexcept {
  const auto pairs_from = [&](std::size_t i) { return (dimension - i) * (dimension - i + 1) / 2; };
  const auto triples_from = [&](std::size_t i) { return pairs_from(i) * (dimension - i + 2) / 3; };
  if (tuple.size() == 1) return tuple[0];
  const std::size_t i = tuple[tuple.size() - 2];
  const std::size_t j = tuple[tuple.size() - 1];
  if (tuple.size() == 2) return pairs_from(0) - pairs_from(i) + (j - i);
  const std::size_t first = tuple[0];
  return triples_from(0) - triples_from(first) + pairs_from(first) - pairs_from(i) + (j - i);
}

}  // namespace

SymmetricShape::SymmetricShape(int dimension, int degree) : dimension_(dimension), degree_(degree) {
  if (dimension < 0 || degree < 1 || degree > 3) {
    throw std::invalid_argument("a collapsed symmetric tensor has degree 1, 2 or 3");
  }
  CollapsedPower power = collapsed_power(dimension, degree);
  tuples_ = std::move(power.tuples);
  root_multiplicity_ = std::move(power.root_multiplicity);
  const auto d = static_cast<std::size_t>(dimension);
  const std::size_t entries = degree == 1 ? d : (degree == 2 ? d * d : d * d * d);
  positions_.resize(entries);
  for (std::size_t entry = 0; entry < entries; ++entry) {
    std::array<std::size_t, 3> tuple{};
    std::size_t rest = entry;
    for (int at = degree - 1; at >= 0; --at, rest /= d) tuple[static_cast<std::size_t>(at)] = rest % d;
    const std::span<std::size_t> used(tuple.data(), static_cast<std::size_t>(degree));
    std::ranges::sort(used);
    positions_[entry] = static_cast<std::uint32_t>(rank_of(used, d));
  }
}

void SymmetricShape::unfold(std::span<const double> collapsed, DenseMatrix& unfolding) const {
  const auto d = static_cast<std::size_t>(dimension_);
  if (unfolding.values.size() != positions_.size()) unfolding.values.resize(positions_.size());
  unfolding.rows = d;
  unfolding.columns = d == 0 ? 0 : positions_.size() / d;
  for (std::size_t entry = 0; entry < positions_.size(); ++entry) {
    const std::size_t at = positions_[entry];
    unfolding.values[entry] = collapsed[at] / root_multiplicity_[at];
  }
}

void SymmetricShape::fold(const DenseMatrix& unfolding, std::span<double> collapsed) const noexcept {
  std::ranges::fill(collapsed, 0.0);
  for (std::size_t entry = 0; entry < positions_.size(); ++entry) {
    collapsed[positions_[entry]] += unfolding.values[entry];
  }
  for (std::size_t at = 0; at < size(); ++at) collapsed[at] /= root_multiplicity_[at];
}

void SymmetricShape::power(std::span<const double> vector, std::span<double> collapsed) const noexcept {
  std::ranges::fill(collapsed, 0.0);
  add_power(vector, 1.0, collapsed);
}

void SymmetricShape::add_power(std::span<const double> vector, double weight,
                               std::span<double> collapsed) const noexcept {
  for (std::size_t at = 0; at < size(); ++at) {
    double product = weight * root_multiplicity_[at];
    for (const int index : tuples_[at]) product *= vector[static_cast<std::size_t>(index)];
    collapsed[at] += product;
  }
}

void lift(const DenseMatrix& basis, const SymmetricShape& outer, const SymmetricShape& inner,
          DenseMatrix& result) {
  reshape(result, outer.size(), inner.size());
  const auto p = static_cast<std::size_t>(outer.degree());
  std::array<std::size_t, 3> order{};
  for (std::size_t column = 0; column < inner.size(); ++column) {
    yield_point();
    for (std::size_t i = 0; i < p; ++i) order[i] = static_cast<std::size_t>(inner.tuples()[column][i]);
    // The symmetric part of the product: its mean over the distinct orders of the inner tuple.
    double orders = 0.0;
    do {
      ++orders;
      for (std::size_t row = 0; row < outer.size(); ++row) {
        double product = 1.0;
        for (std::size_t i = 0; i < p; ++i) {
          product *= basis(static_cast<std::size_t>(outer.tuples()[row][i]), order[i]);
        }
        result(row, column) += product;
      }
    } while (std::next_permutation(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(p)));
    for (std::size_t row = 0; row < outer.size(); ++row) {
      result(row, column) *= outer.root_multiplicity()[row] * inner.root_multiplicity()[column] / orders;
    }
  }
}

}  // namespace mixstream
