#include "mixstream/refinement/law_powers.hpp"

#include "mixstream/moments/tensor.hpp"

namespace mixstream {

LawPowers::LawPowers(std::size_t variables, int highest) {
  degrees_.push_back({{0}, {0}, {0}, {}});
  for (int degree = 1; degree <= highest; ++degree) {
    grow(variables);
    add_slopes(degree, variables);
  }
}

void LawPowers::grow(std::size_t variables) {
  Degree& below = degrees_.back();
  Degree next;
  for (std::size_t t = 0; t < below.parent.size(); ++t) {
    below.first_child[t] = next.parent.size();
    for (std::size_t v = below.last[t]; v < variables; ++v) {
      next.parent.push_back(t);
      next.last.push_back(v);
    }
  }
  next.first_child.resize(next.parent.size());
  degrees_.push_back(std::move(next));
}

void LawPowers::add_slopes(int degree, std::size_t variables) {
  const CollapsedPower power = collapsed_power(static_cast<int>(variables), degree);
  for (std::size_t t = 0; t < power.tuples.size(); ++t) {
    const std::vector<int>& tuple = power.tuples[t];
    for (std::size_t skipped = 0; skipped < tuple.size(); ++skipped) {
      if (skipped > 0 && tuple[skipped] == tuple[skipped - 1]) continue;
      double exponent = 0.0;
      std::size_t source = 0;
      for (std::size_t at = 0, depth = 0; at < tuple.size(); ++at) {
        exponent += tuple[at] == tuple[skipped] ? 1.0 : 0.0;
        if (at == skipped) continue;
        const Degree& level = degrees_[depth++];
        source = level.first_child[source] + static_cast<std::size_t>(tuple[at]) - level.last[source];
      }
      degrees_[static_cast<std::size_t>(degree)].slopes.push_back(
          {t, static_cast<std::size_t>(tuple[skipped]), source, exponent * power.root_multiplicity[t]});
    }
  }
}

void LawPowers::gradient(int degree, std::span<const double> law, std::vector<double>& scratch,
                         double* gradient, std::size_t stride) const {
  scratch.assign(1, 1.0);
  std::vector<double> next;
  for (int level = 1; level < degree; ++level) {
    const Degree& now = degrees_[static_cast<std::size_t>(level)];
    next.resize(now.parent.size());
    for (std::size_t t = 0; t < next.size(); ++t) next[t] = scratch[now.parent[t]] * law[now.last[t]];
    scratch.swap(next);
  }
  for (const Slope& slope : degrees_[static_cast<std::size_t>(degree)].slopes) {
    gradient[slope.monomial * stride + slope.variable] = slope.factor * scratch[slope.source];
  }
}

}  // namespace mixstream
