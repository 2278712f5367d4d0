// Scores of a block of rows and their products, one source (scores.cpp) compiled once for each instruction
// set; ScoreKernel chooses at run time.
//
// The score of a row is (c_h x for every h; e_2 .. e_q), with c_h = r_h eps_h / s2_h and the extras e: r_h -
// pi_h for the log-odds, r_h (eps_h^2 / s2_h - 1) / 2 for the log variances. With e_1 = 1 in front, all sums
// of scores and of their products are three rectangles: c_h c_g times x_i x_j, c_h e_l times x_j, and e_l
// e_m. The first has k(k+1)/2 x d(d+1)/2 distinct sums where the triangle of (c_h x)(c_g x)' has about twice
// as many.
#pragma once

#include <cstddef>

namespace mixstream::variants {

/// What a variant reads. A column is one number for each row of the block; columns are `stride` doubles apart
/// and start on a cache line. Rows up to the next multiple of 8 must be readable, finite and of weight 0.
struct ScoreInput {
  std::size_t features;    ///< d
  std::size_t components;  ///< k
  std::size_t variances;   ///< log variances among the parameters: 0, 1 or k
  std::size_t rows;
  std::size_t stride;
  const double* columns;       ///< x_1 .. x_d, y, w
  const double* coefficients;  ///< B, k x d
  const double* weights;       ///< pi
  const double* precisions;    ///< 1 / s2_h
  const double* constants;     ///< log pi_h - log(2 pi s2_h) / 2
  double least_log_density;    ///< log p(y | x) counts as at least this
};

/// Where the sums of a block go; each is overwritten.
struct ScoreOutput {
  double* pairs;    ///< sum w c_h c_g x_i x_j: pair (h <= g) by pair (i <= j)
  double* cross;    ///< sum w c_h e_l x_j: (h, l) by j
  double* extras;   ///< sum w e_l e_m, l <= m
  double* density;  ///< sum w log p, sum w (log p)^2, and a place that saved states have
};

/// Columns of scratch a variant needs.
constexpr std::size_t score_chunk = 24;  ///< pairs x_i x_j held at a time
constexpr std::size_t score_workspace_columns(std::size_t k, std::size_t extras) noexcept {
  return 2 * k + k * (k + 1) / 2 + k * extras + extras + score_chunk;
}

using AccumulateScores = void (*)(const ScoreInput&, double* workspace, const ScoreOutput&) noexcept;

void scores_plain(const ScoreInput&, double* workspace, const ScoreOutput&) noexcept;  ///< two lanes
void scores_avx2(const ScoreInput&, double* workspace, const ScoreOutput&) noexcept;
void scores_avx512(const ScoreInput&, double* workspace, const ScoreOutput&) noexcept;
void scores_wide(const ScoreInput&, double* workspace, const ScoreOutput&) noexcept;  ///< tests only: 8 lanes

}  // namespace mixstream::variants
