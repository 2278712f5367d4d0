// What a row says at a model: the raw material of every doubt.
//
// A chain's rows are taken in order; each is seen given its past. q_ij is the probability that law i made the
// row before and law j this one, z_ij the row's standardised residual then (the noise may remember that of
// the row before), psi = -dlog density / dz. Without memory nothing depends on i.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/modes/filter.hpp"
#include "mixstream/modes/model.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

/// One row, seen. Spans live until the next row is taken.
struct Sight {
  std::span<const double> chances;    ///< p_h = P(h | past, x)
  std::span<const double> posterior;  ///< r_h = P(h | past, x, y)
  std::span<const double> influence;  ///< d log p(y) / d mean of law h: sum_i q_ih psi_ih / s_h
  std::span<const double> spread;     ///< d log p(y) / d log s_h^2: sum_i q_ih (psi z - 1) / 2
  std::span<const double> score;      ///< d log p(y | past) / d theta: P numbers
  double centre = 0.0;                ///< sum_ih q_ih psi_ih
  double third = 0.0;        ///< sum q He3(z) / 6, z clipped at 4 and made normal where it is Student
  double fourth = 0.0;       ///< sum q (He4(z) - its mean) / 4, likewise
  double log_density = 0.0;  ///< log p(y | past, x)
};

/// What the row before left behind in its chain.
struct RowBefore {
  bool known = false;  ///< it was one step ago
  std::vector<double> posterior;
  std::vector<double> influence;
  std::vector<double> features;
  double response = 0.0;
  double centre = 0.0;
};

/// Allocates at construction only; one thread at a time.
class Sighting {
 public:
  /// `slots`: chains that rows may belong to. Throws std::invalid_argument for a model without laws.
  Sighting(const ModeModel& model, const ModeShape& shape, std::size_t slots);

  /// The row of the chain in `slot`, `steps` after its last; before(slot) is then still the row before. No
  /// throw, no allocation; the cost of ModeFilter::advance and k^2 products more.
  const Sight& see(const Row& row, std::size_t slot, unsigned steps) noexcept;
  const RowBefore& before(std::size_t slot) const noexcept { return before_[slot]; }
  /// The row that was seen becomes the one before. No throw, no allocation.
  void remember(const Row& row, std::size_t slot) noexcept;

  const ModeShape& shape() const noexcept { return filter_.shape(); }
  const ModeModel& model() const noexcept { return filter_.anchor(); }
  const variants::RowStep& kernels() const noexcept { return filter_.kernels(); }

 private:
  void find_chances(const Row& row, std::span<const double> chain, unsigned steps) noexcept;
  void find_sums(const Row& row, std::span<const double> last, unsigned steps) noexcept;
  double normal_score(double z) const noexcept;

  ModeFilter filter_;
  std::size_t k_;
  std::vector<double> chains_;
  std::vector<RowBefore> before_;
  Sight sight_;
  std::vector<double> chances_, posterior_, influence_, spread_, score_, used_, spare_, last_;
};

/// He3 and He4 with their argument clipped at 4: bounded, so that few rows decide nothing. The mean of the
/// latter under a normal distribution is taken off. No throw.
double clipped_third(double z) noexcept;
double clipped_fourth(double z) noexcept;

}  // namespace mixstream
