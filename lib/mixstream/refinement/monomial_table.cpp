#include "mixstream/refinement/monomial_table.hpp"

#include "mixstream/moments/tensor.hpp"

namespace mixstream {

MonomialTable::MonomialTable(std::size_t variables, int highest) : variables_(variables) {
  levels_.push_back({{0}, {0}, {0}, {1.0}});
  for (int degree = 1; degree <= highest; ++degree) grow();
}

void MonomialTable::grow() {
  Level& below = levels_.back();
  Level next;
  for (std::size_t t = 0; t < below.parent.size(); ++t) {
    below.first_child[t] = next.parent.size();
    for (std::size_t v = below.last[t]; v < variables_; ++v) {
      next.parent.push_back(t);
      next.last.push_back(v);
    }
  }
  next.first_child.resize(next.parent.size());
  next.root_multiplicity =
      collapsed_power(static_cast<int>(variables_), static_cast<int>(levels_.size())).root_multiplicity;
  levels_.push_back(std::move(next));
}

void MonomialTable::evaluate(int degree, std::span<const double> values, std::vector<double>& result,
                             std::vector<double>& scratch) const {
  result.assign(1, 1.0);
  for (int depth = 1; depth <= degree; ++depth) {
    const Level& level = levels_[static_cast<std::size_t>(depth)];
    scratch.resize(level.parent.size());
    for (std::size_t t = 0; t < scratch.size(); ++t) {
      scratch[t] = result[level.parent[t]] * values[level.last[t]];
    }
    result.swap(scratch);
  }
}

void MonomialTable::evaluate_rows(int degree, const double* columns, std::size_t stride,
                                  std::vector<double>& result, std::vector<double>& scratch) const {
  result.assign(stride, 1.0);
  for (int depth = 1; depth <= degree; ++depth) {
    const Level& level = levels_[static_cast<std::size_t>(depth)];
    scratch.resize(level.parent.size() * stride);
    for (std::size_t t = 0; t < level.parent.size(); ++t) {
      const double* parent = result.data() + level.parent[t] * stride;
      const double* variable = columns + level.last[t] * stride;
      double* product = scratch.data() + t * stride;
      for (std::size_t i = 0; i < stride; ++i) product[i] = parent[i] * variable[i];
    }
    result.swap(scratch);
  }
}

std::vector<MonomialTable::Slope> MonomialTable::slopes(int degree) const {
  std::vector<Slope> result;
  const CollapsedPower power = collapsed_power(static_cast<int>(variables_), degree);
  for (std::size_t t = 0; t < power.tuples.size(); ++t) {
    const std::vector<int>& tuple = power.tuples[t];
    for (std::size_t skipped = 0; skipped < tuple.size(); ++skipped) {
      if (skipped > 0 && tuple[skipped] == tuple[skipped - 1]) continue;
      double exponent = 0.0;
      std::size_t source = 0;
      for (std::size_t at = 0, depth = 0; at < tuple.size(); ++at) {
        exponent += tuple[at] == tuple[skipped] ? 1.0 : 0.0;
        if (at == skipped) continue;
        const Level& level = levels_[depth++];
        source = level.first_child[source] + static_cast<std::size_t>(tuple[at]) - level.last[source];
      }
      result.push_back(
          {t, static_cast<std::size_t>(tuple[skipped]), source, exponent * power.root_multiplicity[t]});
    }
  }
  return result;
}

}  // namespace mixstream
