#include "mixstream/likelihood/common_law.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/expectation.hpp"
#include "mixstream/linalg/packed.hpp"
#include "mixstream/linalg/products.hpp"

namespace mixstream {

double CommonLaw::length(std::span<const double> direction) const {
  std::vector<double> image(direction.size());
  multiply_packed(second, direction, image);
  return std::sqrt(std::max(dot(direction, image), 0.0));
}

CommonLaw common_law(const RowBlocks& rows) {
  const std::size_t d = rows.feature_count();
  CommonLaw result{std::vector<double>(d), 0.0, std::vector<double>(packed_size(d)), PivotedCholesky(d)};
  if (!(rows.total_weight() > 0.0)) return result;
  Mixture one = empty_mixture(1, d);  // of a single component every row is its own
  one.weights[0] = one.noise_variances[0] = 1.0;
  Expectation expectation(1, d);
  std::vector<double> means(component_sums_size(d));
  std::vector<double> step(d);
  for (int pass = 0; pass < 2; ++pass) {  // the second brings back digits that a large y cancels
    expectation.begin(one);
    for (std::size_t block = 0; block < rows.block_count(); ++block) expectation.add(rows.block(block));
    std::ranges::transform(expectation.sums(), means.begin(),
                           [&](double sum) { return sum / rows.total_weight(); });
    std::copy_n(means.begin(), result.second.size(), result.second.begin());
    const std::span<const double> cross = std::span(means).subspan(result.second.size(), d);
    std::ranges::copy(cross, step.begin());
    result.factor.factor(result.second);
    result.factor.solve(step);
    result.noise_variance = means[result.second.size() + d] - dot(step, cross);
    for (std::size_t j = 0; j < d; ++j) one.coefficients[j] += step[j];
  }
  result.law = one.coefficients;
  result.noise_variance = std::max(result.noise_variance, 0.0);
  return result;
}

}  // namespace mixstream
