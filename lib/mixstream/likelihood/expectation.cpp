#include "mixstream/likelihood/expectation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace mixstream {
namespace {

variants::ExpectedSums kernel_for([[maybe_unused]] InstructionSet set) noexcept {
#if defined(__x86_64__)
  if (set >= InstructionSet::avx2) return variants::expected_sums_avx2;
#endif
  return variants::expected_sums_plain;
}

}  // namespace

Expectation::Expectation(std::size_t component_count, std::size_t feature_count, InstructionSet set)
    : component_count_(component_count),
      feature_count_(feature_count),
      kernel_(kernel_for(set)),
      coefficients_(component_count * feature_count),
      offsets_(component_count),
      half_precisions_(component_count),
      scratch_((2 * component_count + 1) * variants::em_block_rows),
      sums_(component_count * component_sums_size(feature_count)) {}

void Expectation::begin(const Mixture& mixture) noexcept {
  constexpr double tiny = std::numeric_limits<double>::min();
  std::ranges::copy(mixture.coefficients, coefficients_.begin());
  for (std::size_t h = 0; h < component_count_; ++h) {
    const double variance = std::max(mixture.noise_variances[h], tiny);
    offsets_[h] = std::log(std::max(mixture.weights[h], tiny)) -
                  0.5 * (std::log(2.0 * std::numbers::pi) + std::log(variance));
    half_precisions_[h] = 0.5 / variance;
  }
  std::ranges::fill(sums_, 0.0);
  log_likelihood_ = 0.0;
}

void Expectation::add(const double* block) noexcept {
  log_likelihood_ += kernel_(block, laws(), scratch_.data(), sums_.data());
}

void Expectation::add_likelihood(const double* block) noexcept {
  log_likelihood_ += kernel_(block, laws(), scratch_.data(), nullptr);
}

variants::Laws Expectation::laws() const noexcept {
  return {component_count_, feature_count_, coefficients_.data(), offsets_.data(), half_precisions_.data()};
}

}  // namespace mixstream
