// Views of the order-6 sums: E[y^q phi_l phi_r'] wherever the sums stand.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/moments/tensor.hpp"

namespace mixstream {

/// The variables that a view is taken of, in order.
std::vector<int> chosen_variables(const Layout& layout, Variables variables);

/// Which sums a view needs, and what it makes of them. `sum_of(indices)`: the sum of w times the six
/// variables' product. As many calls as the view has distinct entries.
template <class SumOf>
DenseMatrix view_of(const Layout& layout, int power, int left, int right, Variables variables,
                    double total_weight, const SumOf& sum_of) {
  const std::vector<int> chosen = chosen_variables(layout, variables);
  const CollapsedPower lefts = collapsed_power(static_cast<int>(chosen.size()), left);
  const CollapsedPower rights = collapsed_power(static_cast<int>(chosen.size()), right);
  DenseMatrix result{lefts.tuples.size(), rights.tuples.size(), {}};
  result.values.reserve(result.rows * result.columns);
  const double per_row = total_weight > 0.0 ? 1.0 / total_weight : 0.0;
  for (std::size_t i = 0; i < result.rows; ++i) {
    if (i * result.columns % 1024 < result.columns) yield_point();
    for (std::size_t j = 0; j < result.columns; ++j) {
      if (left == right && j < i) {  // symmetric
        result.values.push_back(result(j, i));
        continue;
      }
      SixIndices indices{};  // missing degrees are filled up with the constant, variable 0
      std::size_t at = 0;
      for (const int v : lefts.tuples[i]) indices[at++] = chosen[static_cast<std::size_t>(v)];
      for (const int v : rights.tuples[j]) indices[at++] = chosen[static_cast<std::size_t>(v)];
      for (int q = 0; q < power; ++q) indices[at++] = layout.response();
      std::ranges::sort(indices);
      result.values.push_back(sum_of(indices) * per_row * lefts.root_multiplicity[i] *
                              rights.root_multiplicity[j]);
    }
  }
  return result;
}

}  // namespace mixstream
