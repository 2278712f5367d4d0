// A filter's step over one row and the products of scores, one source (row_step.cpp) compiled once for each
// instruction set. Symbols as in modes/filter.hpp.
//
// Laws and parameters lie in the lanes of vectors. A list of laws is `lanes` doubles long, a multiple of 8,
// with no law behind the k-th. Tangents are k rows of `stride` doubles, a multiple of 8, P of them used and
// the rest zero.
#pragma once

#include <cstddef>

namespace mixstream::variants {

constexpr std::size_t most_laws = 32;

/// Lists of laws in the filter's workspace.
enum LawList : std::size_t {
  log_scales,  ///< of the anchor: the density's constant over s_j; -1e300 behind the last law
  precisions,  ///< 1 / s_j
  residuals_then,
  filtered,  ///< f_j
  pulls,     ///< sum_i q_ij dlog N_ij by the mean, the log variance, log nu and atanh rho
  by_variance,
  by_tails,
  by_memory,
  law_lists
};
/// Tables of law i before and law j now.
enum LawTable : std::size_t {
  transitions,  ///< of the anchor: A
  densities,    ///< N_ij over the largest of them; after the step row 0 is r_0j
  influences,   ///< -dlog N_ij / de_j
  spreads,      ///< dlog N_ij / dlog s_j^2
  tail_slopes,  ///< dlog N_ij / dlog nu
  moved,        ///< r_ij A_ij
  law_tables
};
constexpr std::size_t place(LawList list, std::size_t lanes) noexcept {
  return list * lanes;
}
constexpr std::size_t place(LawTable table, std::size_t lanes) noexcept {
  return (law_lists + table * lanes) * lanes;
}

/// Which parts a model has, where they stand in theta, and where what is longer stands in the workspace.
struct StepPlan {
  std::size_t laws = 0;
  std::size_t features = 0;
  std::size_t lanes = 0;
  std::size_t stride = 0;
  std::size_t who_at = 0;
  std::size_t variances_at = 0;
  std::size_t variance_count = 0;
  std::size_t tails_at = 0;
  std::size_t memory_at = 0;
  bool tails = false;
  bool memory = false;
  std::size_t coefficients = 0;   ///< of the anchor: of feature f, law by law, features x lanes
  std::size_t slopes = 0;         ///< dlog A_ij / d who for j, then i: who_span() numbers
  std::size_t units = 0;          ///< 1 where law j's variance stands, for every j; where nu; where rho
  std::size_t shares = 0;         ///< q_ij, laws x laws
  std::size_t features_now = 0;   ///< x at the coefficients of law j, for every j: laws x stride
  std::size_t features_then = 0;  ///< likewise of the row before
  std::size_t additions =
      0;  ///< sum_i r_ij f_i dA_ij / d who of a row that is no single step: laws x who_span()
  std::size_t size = 0;

  /// The vectors that hold who chooses, and perhaps neighbours.
  std::size_t who_begin() const noexcept { return who_at / 8 * 8; }
  std::size_t who_span() const noexcept { return (variances_at + 7) / 8 * 8 - who_begin(); }
};

/// What a row brings.
struct StepRow {
  const double* features = nullptr;
  double response = 0.0;
  const double* from = nullptr;  ///< f; null: the chain begins
  const double* ways = nullptr;  ///< A_ij, laws x lanes; where the chain begins only row 0
  const double* last = nullptr;  ///< x and y of the row before, where the noise remembers it; else null
  double kept = 0.0;             ///< of the residual before
  double kept_slope = 0.0;       ///< by atanh rho
  double root = 1.0;             ///< 1 / sqrt of how many times s2 the variance is
  double log_root = 0.0;
  double fresh_slope = 0.0;    ///< dlog of that number by atanh rho
  double freedom = 0.0;        ///< nu
  double freedom_slope = 0.0;  ///< of the density's constant by nu
};

/// Densities, q, r and f of a row, and what its densities add to T. Returns log L.
using WeighRow = double (*)(const StepPlan& plan, double* space, const StepRow& row) noexcept;

/// How a row follows the one before in its chain.
enum class Follows {
  nothing,   ///< it begins the chain, or its model knows no order
  one_step,  ///< one step of persistent modes, whose dA_ij the kernel knows
  somehow,   ///< dA_ij stand in the additions
};
/// T_j = sum_i (r_ij A_ij D_i + r_ij f_i dA_ij + q_ij dlog N_ij); score = sum_j T_j; D_j = T_j - f_j score.
/// Only the additions know how a chain begins.
using CarryTangents = void (*)(const StepPlan& plan, double* space, Follows follows, double* tangents,
                               double* score) noexcept;
/// Adds sum_t w_t s_t s_t' to a packed lower triangle of P rows; `sums`: sum_t w_t s_t, stride numbers;
/// `scratch`: rows x stride numbers.
using AddProducts = void (*)(std::size_t rows, std::size_t parameters, std::size_t stride,
                             const double* scores, const double* weights, double* scratch, double* sums,
                             double* packed) noexcept;

struct RowStep {
  WeighRow weigh;
  CarryTangents carry;
  AddProducts add_products;
};

RowStep row_step_plain() noexcept;
RowStep row_step_avx2() noexcept;
RowStep row_step_avx512() noexcept;

}  // namespace mixstream::variants
