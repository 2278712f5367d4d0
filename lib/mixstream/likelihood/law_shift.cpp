#include "mixstream/likelihood/law_shift.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/likelihood/expectation.hpp"
#include "mixstream/likelihood/row_blocks.hpp"
#include "mixstream/linalg/pivoted_cholesky.hpp"

namespace mixstream {
namespace {

constexpr int most_iterations = 200;
constexpr double enough_gain = 1e-6;              // in log-likelihood of all rows: far below what is judged
constexpr double rows_per_number = 10.0;          // of a law, below which the rows at hand say nothing of it
constexpr double least_share_of_variance = 1e-4;  // of the response, that noise keeps

/// EM in which only some laws move.
class Climb {
 public:
  Climb(const RowTable& rows, NoiseModel noise, const Mixture& laws)
      : blocks_(rows),
        noise_(noise),
        expectation_(laws.component_count(), laws.feature_count),
        factor_(laws.feature_count),
        step_(laws.feature_count),
        floor_(least_share_of_variance * blocks_.response_variance()) {}

  double weight() const noexcept { return blocks_.total_weight(); }
  ComponentSums sums(std::size_t component) const noexcept {
    return component_sums(expectation_.sums(), component, factor_.size());
  }

  /// Moves shares, noise and the laws that may; returns the log-likelihood of the rows.
  double run(Mixture& mixture, const std::vector<bool>& moves) {
    double before = expect(mixture);
    for (int i = 0; i < most_iterations; ++i) {
      maximise(mixture, moves);
      const double after = expect(mixture);
      const bool enough = !(after - before > enough_gain);
      before = after;
      if (enough) break;
    }
    return before;
  }

 private:
  double expect(const Mixture& mixture) {
    expectation_.begin(mixture);
    for (std::size_t block = 0; block < blocks_.block_count(); ++block) {
      if (block % 16 == 0) yield_point();
      expectation_.add(blocks_.block(block));
    }
    return expectation_.log_likelihood();
  }

  void maximise(Mixture& mixture, const std::vector<bool>& moves) {
    double all_squares = 0.0;
    for (std::size_t h = 0; h < mixture.component_count(); ++h) {
      const ComponentSums part = sums(h);
      const double squares = moves[h] ? move(part, mixture.law(h)) : part.triangle.back();
      all_squares += squares;
      mixture.weights[h] = part.count / weight();
      if (noise_ == NoiseModel::per_component && moves[h])
        mixture.noise_variances[h] = std::max(squares / part.count, floor_);
    }
    if (noise_ == NoiseModel::shared)
      std::ranges::fill(mixture.noise_variances, std::max(all_squares / weight(), floor_));
  }

  double move(const ComponentSums& part, std::span<double> law) {
    const std::size_t gram = law.size() * (law.size() + 1) / 2;
    const std::span<const double> cross = part.triangle.subspan(gram, law.size());
    factor_.factor(part.triangle.first(gram));
    std::ranges::copy(cross, step_.begin());
    factor_.solve(step_);
    double squares = part.triangle.back();
    for (std::size_t f = 0; f < law.size(); ++f) {
      law[f] += step_[f];
      squares -= step_[f] * cross[f];
    }
    return std::max(squares, 0.0);
  }

  RowBlocks blocks_;
  NoiseModel noise_;
  Expectation expectation_;
  PivotedCholesky factor_;
  std::vector<double> step_;
  double floor_;
};

/// (b - b')' G (b - b') over the rows' own mean and noise.
double size_of_move(const ComponentSums& part, std::span<const double> one, std::span<const double> other,
                    double noise_variance) {
  double sum = 0.0;
  const double* gram = part.triangle.data();
  for (std::size_t i = 0; i < one.size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      sum += *gram++ * (one[i] - other[i]) * (one[j] - other[j]) * (i == j ? 1.0 : 2.0);
  }
  return std::sqrt(std::max(sum, 0.0) / part.count / noise_variance);
}

}  // namespace

LawShift shift_of_laws(const RowTable& rows, const Mixture& laws, NoiseModel noise, double rows_behind) {
  LawShift shift;
  shift.now = laws;
  const std::size_t d = laws.feature_count;
  const std::size_t k = laws.component_count();
  if (rows.size() == 0 || rows.feature_count != d || k == 0 || !is_finite(laws)) return shift;
  Climb climb(rows, noise, laws);
  if (!(climb.weight() > 0.0)) return shift;
  Mixture held = laws;
  std::vector<bool> moves(k, false);
  const double before = climb.run(held, moves);
  std::size_t moving = 0;
  for (std::size_t h = 0; h < k; ++h) {
    moves[h] = climb.sums(h).count >= rows_per_number * static_cast<double>(d + 1);
    moving += moves[h] ? 1 : 0;
  }
  if (moving == 0) return shift;
  Mixture now = held;
  const double after = climb.run(now, moves);
  if (!std::isfinite(before) || !std::isfinite(after) || !is_finite(now)) return shift;
  const double of_laws = rows_behind > 0.0 ? climb.weight() / rows_behind : 0.0;
  const double chi_square = std::max(2.0 * (after - before), 0.0) / (1.0 + of_laws);
  shift.deviations = deviations_of_chi_square(chi_square, static_cast<double>(moving * d));
  for (std::size_t h = 0; h < k; ++h) {
    if (!moves[h] || !(climb.sums(h).count > 0.0)) continue;
    const double size = size_of_move(climb.sums(h), now.law(h), laws.law(h), now.noise_variances[h]);
    if (!(size > shift.size)) continue;
    shift.size = size;
    shift.component = h;
  }
  shift.now = std::move(now);
  return shift;
}

}  // namespace mixstream
