// The expectation step of EM at machine speed: vectors run over rows, the instruction set is chosen at run
// time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/cpu/instruction_set.hpp"
#include "mixstream/likelihood/row_blocks.hpp"

namespace mixstream {

/// What the maximisation step needs of one component h, with z = (x, e_h) and e_h = y - beta_h . x.
struct ComponentSums {
  std::span<const double> triangle;  ///< sum w r_h z z', lower triangle row by row: (d + 1)(d + 2) / 2 sums
  double count;                      ///< sum w r_h
};

/// Sums of one component: triangle, then count.
constexpr std::size_t component_sums_size(std::size_t feature_count) noexcept {
  return (feature_count + 1) * (feature_count + 2) / 2 + 1;
}

/// Component h in the sums of all, which stand one after the other. No throw, no allocation.
inline ComponentSums component_sums(std::span<const double> sums, std::size_t component,
                                    std::size_t feature_count) noexcept {
  const std::size_t size = component_sums_size(feature_count);
  const std::span<const double> own = sums.subspan(component * size, size);
  return {own.first(size - 1), own.back()};
}

/// Workspace and sums for k components of d features. Allocates at construction only.
class Expectation {
 public:
  Expectation(std::size_t component_count, std::size_t feature_count,
              InstructionSet set = best_instruction_set());

  /// The mixture that the next rows are held against; sums start from zero. No throw, no allocation.
  void begin(const Mixture& mixture) noexcept;

  /// Adds one block (row_blocks.hpp) to the sums. No throw, no allocation; 64 k d^2 / 2 products.
  void add(const double* block) noexcept;

  /// Adds one block to the log-likelihood alone, leaving the sums. No throw, no allocation; 64 k d products.
  void add_likelihood(const double* block) noexcept;

  double log_likelihood() const noexcept { return log_likelihood_; }  ///< sum w log p(y | x)
  /// log p(y | x) of every row of the block added last.
  std::span<const double> log_densities() const noexcept {
    return std::span(scratch_).last(variants::em_block_rows);
  }
  std::span<const double> sums() const noexcept { return sums_; }  ///< component_sums reads them

 private:
  variants::Laws laws() const noexcept;

  std::size_t component_count_;
  std::size_t feature_count_;
  variants::ExpectedSums kernel_;
  std::vector<double> coefficients_;
  std::vector<double> offsets_;
  std::vector<double> half_precisions_;
  std::vector<double> scratch_;
  std::vector<double> sums_;  // k times: triangle, then count
  double log_likelihood_ = 0.0;
};

}  // namespace mixstream
