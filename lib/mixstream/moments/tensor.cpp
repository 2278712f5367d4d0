#include "mixstream/moments/tensor.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/moments/view.hpp"

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

/// Calls visit(indices, position) for every monomial, the last in pivot order first.
template <class Visit>
void for_each_monomial_backwards(const Packing& packing, Visit visit) {
  const int m = packing.variables();
  std::size_t position = packing.size();
  for (int pivot = m - 1; pivot >= 0; --pivot) {
    for (int j = pivot; j >= 0; --j) {
      for (int i = j; i >= 0; --i) {
        for (int r = m - 1; r >= pivot; --r) {
          for (int s = m - 1; s >= r; --s) {
            for (int t = m - 1; t >= s; --t) visit(SixIndices{i, j, pivot, r, s, t}, --position);
          }
        }
      }
    }
  }
}

/// factors[p][q] = C(p, q) stretch^(p - q) offset^q.
using ShiftFactors = std::array<std::array<double, moment_order + 1>, moment_order + 1>;
ShiftFactors shift_factors(double stretch, double offset) {
  ShiftFactors factors{};
  for (int power = 1; power <= moment_order; ++power) {
    double binomial = 1.0;
    for (int dropped = 0; dropped <= power; ++dropped) {
      factors[static_cast<std::size_t>(power)][static_cast<std::size_t>(dropped)] =
          binomial * std::pow(stretch, power - dropped) * std::pow(offset, dropped);
      binomial = binomial * (power - dropped) / (dropped + 1);
    }
  }
  return factors;
}

}  // namespace

std::vector<int> chosen_variables(const Layout& layout, Variables variables) {
  std::vector<int> chosen;
  if (variables == Variables::extended) {
    for (int v = 0; v < layout.response(); ++v) chosen.push_back(v);
  } else {
    for (int f = 0; f < layout.feature_count; ++f) chosen.push_back(layout.variable_of(f));
  }
  return chosen;
}

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
  return view_of(layout_, power, left, right, variables, total_weight(),
                 [&](const SixIndices& indices) { return sums_[packing_.position(indices)]; });
}

MomentTensor MomentTensor::in_coordinates(const Pilot& pilot) const {
  MomentTensor result = *this;
  change_coordinates(result.sums_, packing_, pilot_, pilot);
  result.pilot_ = pilot;
  return result;
}

// One variable at a time: z'_j = c z_j + e z_0, so a monomial with z_j^p becomes sum_i C(p, i) c^i e^(p-i) of
// the monomials with z_j^i z_0^(p-i). With some j replaced by 0 no sorted index grows, so those stand before
// it in pivot order: from the last to the first, what a monomial reads is still the old value.
void change_coordinates(std::span<double> sums, const Packing& packing, const Pilot& from, const Pilot& to) {
  for (std::size_t j = 1; j < from.scale.size(); ++j) {
    const double stretch = from.scale[j] / to.scale[j];
    const double offset = (from.shift[j] - to.shift[j]) / to.scale[j];
    if (stretch == 1.0 && offset == 0.0) continue;
    yield_point();
    const ShiftFactors factors = shift_factors(stretch, offset);
    for_each_monomial_backwards(packing, [&](SixIndices indices, std::size_t position) {
      const auto power = static_cast<std::size_t>(std::ranges::count(indices, static_cast<int>(j)));
      if (power == 0) return;
      double total = factors[power][0] * sums[position];
      // those equal to j stand side by side: one of them becomes 0, and those before move up
      auto after =
          static_cast<std::size_t>(std::ranges::find(indices, static_cast<int>(j)) - indices.begin());
      for (std::size_t dropped = 1; dropped <= power; ++dropped, ++after) {
        std::copy_backward(indices.begin(), indices.begin() + static_cast<std::ptrdiff_t>(after),
                           indices.begin() + static_cast<std::ptrdiff_t>(after) + 1);
        indices[0] = 0;
        const double factor = factors[power][dropped];
        if (factor != 0.0) total += factor * sums[packing.position(indices)];
      }
      sums[position] = total;
    });
  }
}

}  // namespace mixstream
