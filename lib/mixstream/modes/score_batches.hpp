// Sums of scores over stretches of rows, each beside the information of its own rows.
//
// A stretch may lie in one mode and at one place of x. What its parameters know of each other there is kept
// for those that stand for one another: the coefficients of a law, and those of a gate, where far from zero a
// constant does what a slope does. What laws know of each other is left out.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/modes/model.hpp"

namespace mixstream {

/// Sums of a stretch of consecutive rows, carried along with the anchor: their weight, their scores, and the
/// information of each group of parameters (packed, group by group).
struct ScoreBatch {
  double weight = 0.0;
  std::vector<double> score;
  std::vector<double> information;

  friend bool operator==(const ScoreBatch&, const ScoreBatch&) = default;
};

/// Parameters whose information a batch keeps whole.
struct ScoreGroup {
  std::size_t first = 0;  ///< parameter
  std::size_t size = 0;
  std::size_t at = 0;  ///< where its packed information begins in a batch's
  double least_share =
      0.0;  ///< of all that is known of them: what a stretch must know before it can be judged
};

/// Each law, the gate, and every other parameter by itself. Allocates.
std::vector<ScoreGroup> score_groups(const ModeShape& shape);
/// How many numbers a batch's information has. No throw.
std::size_t information_size(std::span<const ScoreGroup> groups) noexcept;

/// The groups' parts of packed information of all parameters. No throw, no allocation.
void take_groups(std::span<const ScoreGroup> groups, std::span<const double> packed,
                 std::span<double> result) noexcept;

/// The anchor goes by a step: b -= V step. `product`: room for the largest group. No throw, no allocation.
void carry_batch(std::span<const ScoreGroup> groups, std::span<const double> step, std::span<double> product,
                 ScoreBatch& batch) noexcept;

/// A batch's information in other parameters, theta = M theta': M' V M. Allocates; P^3 products.
std::vector<double> batch_in(std::span<const ScoreGroup> groups, std::span<const double> information,
                             const DenseMatrix& map);

/// From a batch that has every parameter of a gate by itself, as older states do. Allocates.
std::vector<double> batch_of_single_gates(const ModeShape& shape, std::span<const double> information);

}  // namespace mixstream
