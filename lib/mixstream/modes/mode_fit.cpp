// What a polish of rows in order says: estimate, covariance, dispersion; and two polishes made one.
#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/likelihood/score_kernel.hpp"
#include "mixstream/linalg/packed.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/modes/mode_polish.hpp"

namespace mixstream {
namespace {

constexpr double apart_limit = 3.0;  // deviations within which two polishes agree on a law

/// See ModePolish::covariance. Of a way that was never seen some log-odds are told all the same: those of
/// 0.05.
double known_of_rare(double count) noexcept {
  const double seen = std::max(count, 0.05);
  return seen * seen / (seen + 1.0);
}

/// theta' = L theta, where the laws of theta' are those of theta in another order.
DenseMatrix label_map(const ModeShape& shape, std::span<const std::size_t> order) {
  const std::size_t size = shape.parameters();
  const std::size_t k = shape.component_count;
  DenseMatrix map{size, size, std::vector<double>(size * size)};
  for (std::size_t h = 0; h < k; ++h) {
    for (std::size_t j = 0; j < shape.feature_count; ++j)
      map(h * shape.feature_count + j, order[h] * shape.feature_count + j) = 1.0;
  }
  if (shape.modes == Modes::persistent) {
    for (std::size_t i = 0; i < k; ++i) {
      for (std::size_t j = 0; j < k; ++j) {
        if (j != i) map(shape.cell(i, j), shape.cell(order[i], order[j])) = 1.0;
      }
    }
  } else {
    const std::size_t width = shape.modes == Modes::gated ? shape.gate.size() : 1;
    for (std::size_t h = 0; h + 1 < k; ++h) {
      for (std::size_t w = 0; w < width; ++w) {
        const std::size_t row = shape.who_at() + h * width + w;
        if (order[h] + 1 < k) map(row, shape.who_at() + order[h] * width + w) += 1.0;
        if (order[k - 1] + 1 < k) map(row, shape.who_at() + order[k - 1] * width + w) -= 1.0;
      }
    }
  }
  for (std::size_t h = 0; h < shape.variance_count(); ++h)
    map(shape.variances_at() + h, shape.variances_at() + (shape.variance_count() > 1 ? order[h] : 0)) = 1.0;
  for (std::size_t q = shape.tails_at(); q < size; ++q) map(q, q) = 1.0;
  return map;
}

}  // namespace

/// H^-1. A rare cell is a count c, and as c can be small where c + 1 were to be expected, its variance is
/// taken for c + 1: that of the logarithm is (c + 1) / c^2. Called on a copy that has been settled.
DenseMatrix ModePolish::covariance() noexcept {
  std::ranges::copy(state_.sums.information, work_.begin());
  for (std::size_t i = 0; i < k() && persists(); ++i) {
    for (std::size_t j = 0; j < k(); ++j) {
      const std::size_t q = j == i ? 0 : state_.shape.cell(i, j);
      if (j != i && state_.free[q] == 0.0)
        work_[packed_index(q, q)] += known_of_rare(state_.sums.counts[i * k() + j]);
    }
  }
  solver_.factor(work_);
  solver_.inverse(work_);
  DenseMatrix result{size(), size(), std::vector<double>(size() * size())};
  for (std::size_t i = 0; i < size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) result(i, j) = result(j, i) = work_[packed_index(i, j)];
  }
  return result;
}

/// b' V^-1 b of every stretch and group of parameters, V the information of those very rows: for a right
/// model each is its rank in the mean, whatever the rows were, for V knows no signs. Where a surprise is rare
/// a short stretch has none, and its V is far too small: batches are joined until they know enough of the
/// group. The estimate takes its own parameters' share. Changes of mode are too few to tell. Called on a copy
/// whose anchor is the estimate.
void ModePolish::find_dispersion(ModeFit& fit) {
  const ModeShape& shape = state_.shape;
  double sum = 0.0, squares = 0.0;
  for (const ScoreGroup& group : groups_) {
    if (persists() && group.first >= shape.who_at() && group.first < shape.variances_at()) continue;
    PivotedCholesky solver(group.size);
    std::vector<double> score(group.size), information(packed_size(group.size));
    for (const ScoreBatch& batch : state_.batches) {
      for (std::size_t a = 0; a < score.size(); ++a) score[a] += batch.score[group.first + a];
      for (std::size_t a = 0; a < information.size(); ++a) information[a] += batch.information[group.at + a];
      if (share_of_all(group, information) < group.least_share) continue;
      squares += static_cast<double>(solver.factor(information));
      sum += solver.inverse_form(score);
      std::ranges::fill(score, 0.0);
      std::ranges::fill(information, 0.0);
    }
  }
  const auto used = static_cast<double>(size() - (persists() ? shape.who_count() : 0));
  fit.dispersion_dof = std::max(squares - used, 0.0);
  fit.dispersion = fit.dispersion_dof < 8.0 * used ? 1.0 : sum / fit.dispersion_dof;
}

/// Of what all rows know of a group's parameters, one by one: the mean share that this information is.
double ModePolish::share_of_all(const ScoreGroup& group, std::span<const double> information) const noexcept {
  double share = 0.0;
  for (std::size_t a = 0; a < group.size; ++a) {
    const std::size_t q = group.first + a;
    const double all = state_.sums.information[packed_index(q, q)];
    if (all > 0.0) share += information[packed_index(a, a)] / (all * static_cast<double>(group.size));
  }
  return share;
}

ModeFit ModePolish::fit() const {
  ModePolish settled(*this);
  settled.flush();
  settled.rescale();
  settled.find_step();
  settled.take_step();
  ModeFit result;
  result.model = settled.filter_.anchor();
  result.parameters = settled.state_.parameters;
  result.covariance = settled.covariance();
  settled.find_dispersion(result);
  if (persists()) result.counts = {k(), k(), settled.state_.sums.counts};
  result.visits = settled.state_.visits;
  result.changes = settled.state_.changes;
  result.rows = settled.state_.sums.weight;
  return result;
}

/// Whether law h is law `other` of the older polish, within the errors of both; then what the older one knew
/// of it is added.
bool ModePolish::take_over_law(const ModeFit& now, std::size_t h, const ModeFit& older, std::size_t other,
                               double share) {
  const std::size_t d = state_.shape.feature_count;
  PivotedCholesky solver(d);
  std::vector<double> block(packed_size(d));
  std::vector<double> apart(d);
  const auto read_block = [&](const DenseMatrix& from, std::size_t law, double factor) {
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b <= a; ++b)
        block[packed_index(a, b)] = factor * block[packed_index(a, b)] + from(law * d + a, law * d + b);
    }
  };
  for (std::size_t j = 0; j < d; ++j)
    apart[j] = older.parameters[other * d + j] - state_.parameters[h * d + j];
  read_block(older.covariance, other, 0.0);
  read_block(now.covariance, h, 1.0);
  if (solver.factor(block) < d ||
      !(deviations_of_chi_square(solver.inverse_form(apart), static_cast<double>(d)) < apart_limit))
    return false;
  read_block(older.covariance, other, 0.0);
  if (solver.factor(block) < d) return false;
  solver.inverse(block);
  for (double& number : block) number *= share;
  multiply_packed(block, apart, std::span(product_).first(d));
  for (std::size_t a = 0; a < d; ++a) {
    state_.sums.gradient[h * d + a] += product_[a];
    for (std::size_t b = 0; b <= a; ++b)
      state_.sums.information[packed_index(h * d + a, h * d + b)] += block[packed_index(a, b)];
  }
  return true;
}

/// The ways between laws i and j, which both polishes know, likewise; i may be j.
void ModePolish::take_over_ways(std::size_t i, std::size_t j, const ModeFit& older,
                                std::span<const std::size_t> order, double share) {
  const double seen = share * older.counts(order[i], order[j]);
  state_.sums.counts[i * k() + j] += seen;
  if (j == i) return;
  state_.changes += seen;
  const std::size_t q = state_.shape.cell(i, j);
  if (state_.free[q] == 0.0) return;
  state_.sums.information[packed_index(q, q)] += seen;
  state_.sums.gradient[q] +=
      seen * (older.parameters[state_.shape.cell(order[i], order[j])] - state_.parameters[q]);
}

void ModePolish::take_over(const ModeFit& older, double share) {
  if (!(share > 0.0) || older.covariance.rows != size()) return;
  const ModeFit now = fit();
  const std::vector<std::size_t> order = matching_order(now.model.laws, older.model.laws);
  bool all = true;  // an unknown law makes the others change places: then their changes tell nothing
  for (std::size_t h = 0; h < k(); ++h) all = take_over_law(now, h, older, order[h], share) && all;
  for (std::size_t i = 0; i < k() && all && persists(); ++i) {
    for (std::size_t j = 0; j < k(); ++j) take_over_ways(i, j, older, order, share);
    state_.visits[i] += share * older.visits[order[i]];
  }
  state_.sums.weight += share * older.rows;
  find_step();
  take_step();
  if (persists()) admit_cells();
  state_.older = state_.sums;
}

/// Puts what is known of a rare way, its count, into H and the gradient: another polish moves it by scores.
void ModePolish::tell_rare(std::size_t i, std::size_t j) noexcept {
  const double ways = state_.sums.counts[i * k() + j];
  const double stays = state_.sums.counts[i * k() + i];
  const std::size_t q = state_.shape.cell(i, j);
  state_.free[q] = 1.0;
  if (!(ways > 0.0) || !(stays > 0.0)) return;
  const double seen = std::min(ways, stays);
  state_.sums.information[packed_index(q, q)] += seen;
  state_.sums.gradient[q] += seen * (std::log(ways / stays) - state_.parameters[q]);
}

Done ModePolish::merge(const ModePolish& other) {
  if (!(state_.shape == other.state_.shape))
    return Refusal{Reason::cannot_merge, "only polishes of the same model can be added"};
  ModePolish added(other);
  added.flush();
  added.rescale();
  flush();
  rescale();
  const std::vector<std::size_t> order = matching_order(anchor().laws, added.anchor().laws);
  std::vector<std::size_t> back(order.size());
  for (std::size_t h = 0; h < order.size(); ++h) back[order[h]] = h;
  for (std::size_t i = 0; i < k() && persists(); ++i) {
    for (std::size_t j = 0; j < k(); ++j) {
      if (j == i) continue;
      const double ours = state_.free[state_.shape.cell(i, j)];
      const double theirs = added.state_.free[state_.shape.cell(order[i], order[j])];
      if (ours < theirs) tell_rare(i, j);
      if (theirs < ours) added.tell_rare(order[i], order[j]);
    }
  }
  const DenseMatrix map = label_map(state_.shape, order);
  const DenseMatrix inverse = label_map(state_.shape, back);
  const std::vector<double> parameters = product(map, added.state_.parameters);
  const std::vector<double> information = congruent(added.state_.sums.information, inverse);
  std::vector<double> gradient = transposed_product(inverse, added.state_.sums.gradient);
  for (std::size_t q = 0; q < size(); ++q) step_[q] = state_.parameters[q] - parameters[q];
  multiply_packed(information, step_, product_);
  for (std::size_t q = 0; q < size(); ++q) state_.sums.gradient[q] += gradient[q] - product_[q];
  for (std::size_t at = 0; at < information.size(); ++at) state_.sums.information[at] += information[at];
  for (std::size_t i = 0; i < k() && persists(); ++i) {
    for (std::size_t j = 0; j < k(); ++j)
      state_.sums.counts[i * k() + j] += added.state_.sums.counts[order[i] * k() + order[j]];
  }
  for (std::size_t h = 0; h < k(); ++h) state_.visits[h] += added.state_.visits[order[h]];
  const std::vector<double> free = product(map, added.state_.free);
  for (std::size_t q = 0; q < size(); ++q)
    state_.free[q] = std::max(state_.free[q], free[q] > 0.5 ? 1.0 : 0.0);
  state_.sums.weight += added.state_.sums.weight;
  state_.rows += added.state_.rows;
  state_.log_likelihood += added.state_.log_likelihood;
  state_.weight += added.state_.weight;
  state_.changes += added.state_.changes;
  state_.batch_weight = std::max(state_.batch_weight, added.state_.batch_weight);
  std::vector<double> away = product(inverse, state_.parameters);
  for (std::size_t q = 0; q < size(); ++q) away[q] -= added.state_.parameters[q];
  added.carry_batches(away);
  for (const ScoreBatch& batch : added.state_.batches) {
    if (batch.weight > 0.0)
      add_batch(batch.weight, transposed_product(inverse, batch.score),
                batch_in(groups_, batch.information, inverse));
  }
  find_step();
  take_step();
  if (persists()) admit_cells();  // once they stand where their counts are
  state_.older = state_.sums;
  return std::monostate{};
}

}  // namespace mixstream
