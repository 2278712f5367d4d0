#include "mixstream/moments/tensor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace mixstream {
namespace {

constexpr std::array<double, 7> factorials{1, 1, 2, 6, 24, 120, 720};

double multiplicity(const std::vector<int>& tuple) {
  double result = factorials[tuple.size()];
  for (std::size_t begin = 0; begin < tuple.size();) {
    std::size_t end = begin;
    while (end < tuple.size() && tuple[end] == tuple[begin]) ++end;
    result /= factorials[end - begin];
    begin = end;
  }
  return result;
}

/// Calls visit(indices, position) for every monomial, in pivot order.
template <class Visit>
void for_each_monomial(const Packing& packing, Visit visit) {
  const int m = packing.variables();
  std::size_t position = 0;
  for (int pivot = 0; pivot < m; ++pivot) {
    for (int j = 0; j <= pivot; ++j) {
      for (int i = 0; i <= j; ++i) {
        for (int r = pivot; r < m; ++r) {
          for (int s = r; s < m; ++s) {
            for (int t = s; t < m; ++t) visit(SixIndices{i, j, pivot, r, s, t}, position++);
          }
        }
      }
    }
  }
}

std::vector<int> chosen_variables(const Layout& layout, Variables variables) {
  std::vector<int> chosen;
  if (variables == Variables::extended) {
    for (int v = 0; v < layout.response(); ++v) chosen.push_back(v);
  } else {
    for (int f = 0; f < layout.feature_count; ++f) chosen.push_back(layout.variable_of(f));
  }
  return chosen;
}

}  // namespace

CollapsedPower collapsed_power(int variables, int degree) {
  CollapsedPower power;
  std::vector<int> tuple(static_cast<std::size_t>(degree), 0);
  while (variables > 0 || degree == 0) {
    power.tuples.push_back(tuple);
    power.root_multiplicity.push_back(std::sqrt(multiplicity(tuple)));
    int at = degree - 1;
    while (at >= 0 && tuple[static_cast<std::size_t>(at)] == variables - 1) --at;
    if (at < 0) break;
    const int next = tuple[static_cast<std::size_t>(at)] + 1;
    std::fill(tuple.begin() + at, tuple.end(), next);
  }
  return power;
}

MomentTensor::MomentTensor(Layout layout, Pilot pilot)
    : layout_(layout), pilot_(std::move(pilot)), packing_(layout.variables()), sums_(packing_.size(), 0.0) {}

DenseMatrix MomentTensor::view(int power, int left, int right, Variables variables) const {
  const std::vector<int> chosen = chosen_variables(layout_, variables);
  const CollapsedPower lefts = collapsed_power(static_cast<int>(chosen.size()), left);
  const CollapsedPower rights = collapsed_power(static_cast<int>(chosen.size()), right);
  DenseMatrix result{lefts.tuples.size(), rights.tuples.size(), {}};
  result.values.reserve(result.rows * result.columns);
  const double per_row = total_weight() > 0.0 ? 1.0 / total_weight() : 0.0;
  for (std::size_t i = 0; i < result.rows; ++i) {
    for (std::size_t j = 0; j < result.columns; ++j) {
      SixIndices indices{};  // missing degrees are filled up with the constant, variable 0
      std::size_t at = 0;
      for (const int v : lefts.tuples[i]) indices[at++] = chosen[static_cast<std::size_t>(v)];
      for (const int v : rights.tuples[j]) indices[at++] = chosen[static_cast<std::size_t>(v)];
      for (int q = 0; q < power; ++q) indices[at++] = layout_.response();
      std::ranges::sort(indices);
      result.values.push_back(sums_[packing_.position(indices)] * per_row * lefts.root_multiplicity[i] *
                              rights.root_multiplicity[j]);
    }
  }
  return result;
}

MomentTensor MomentTensor::in_coordinates(const Pilot& pilot) const {
  MomentTensor result = *this;
  change_coordinates(result.sums_, packing_, pilot_, pilot);
  result.pilot_ = pilot;
  return result;
}

// One variable at a time: z'_j = c z_j + e z_0, so a monomial with z_j^p becomes sum_i C(p, i) c^i e^(p-i) of
// the monomials with z_j^i z_0^(p-i). Higher powers first, so that what they read is still the old value.
void change_coordinates(std::span<double> sums, const Packing& packing, const Pilot& from, const Pilot& to) {
  for (std::size_t j = 1; j < from.scale.size(); ++j) {
    const double stretch = from.scale[j] / to.scale[j];
    const double offset = (from.shift[j] - to.shift[j]) / to.scale[j];
    if (stretch == 1.0 && offset == 0.0) continue;
    for (int power = moment_order; power >= 1; --power) {
      for_each_monomial(packing, [&](SixIndices indices, std::size_t position) {
        if (std::ranges::count(indices, static_cast<int>(j)) != power) return;
        double total = 0.0;
        double binomial = 1.0;  // C(power, dropped)
        for (int dropped = 0; dropped <= power; ++dropped) {
          const double factor = binomial * std::pow(stretch, power - dropped) * std::pow(offset, dropped);
          if (factor != 0.0) total += factor * sums[packing.position(indices)];
          if (dropped == power) break;
          *std::ranges::find(indices, static_cast<int>(j)) = 0;
          std::ranges::sort(indices);
          binomial = binomial * (power - dropped) / (dropped + 1);
        }
        sums[position] = total;
      });
    }
  }
}

}  // namespace mixstream
