// What a polish of rows in order says: estimate, covariance, dispersion; and two polishes made one.
#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/matching.hpp"
#include "mixstream/likelihood/score_kernel.hpp"
#include "mixstream/modes/mode_polish.hpp"

namespace mixstream {
namespace {

constexpr double least_count = 0.5;

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

std::vector<double> times(const DenseMatrix& map, std::span<const double> vector) {
  std::vector<double> result(map.rows);
  for (std::size_t i = 0; i < map.rows; ++i) {
    for (std::size_t j = 0; j < map.columns; ++j) result[i] += map(i, j) * vector[j];
  }
  return result;
}

std::vector<double> transposed_times(const DenseMatrix& map, std::span<const double> vector) {
  std::vector<double> result(map.columns);
  for (std::size_t i = 0; i < map.rows; ++i) {
    for (std::size_t j = 0; j < map.columns; ++j) result[j] += map(i, j) * vector[i];
  }
  return result;
}

/// K' H K, packed.
std::vector<double> congruent(std::span<const double> packed, const DenseMatrix& map) {
  const std::size_t size = map.rows;
  DenseMatrix half{size, size, std::vector<double>(size * size)};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double entry = packed[i >= j ? packed_index(i, j) : packed_index(j, i)];
      if (entry == 0.0) continue;
      for (std::size_t c = 0; c < size; ++c) half(i, c) += entry * map(j, c);
    }
  }
  std::vector<double> result(packed.size());
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t r = 0; r < size; ++r) {
      if (map(i, r) == 0.0) continue;
      for (std::size_t c = 0; c <= r; ++c) result[packed_index(r, c)] += map(i, r) * half(i, c);
    }
  }
  return result;
}

}  // namespace

/// H^-1; of a rare cell 1 / count. Called on a copy that has been settled.
DenseMatrix ModePolish::covariance() noexcept {
  std::ranges::copy(state_.sums.information, work_.begin());
  for (std::size_t i = 0; i < k() && persists(); ++i) {
    for (std::size_t j = 0; j < k(); ++j) {
      const std::size_t q = j == i ? 0 : state_.shape.cell(i, j);
      if (j != i && state_.free[q] == 0.0)
        work_[packed_index(q, q)] += std::max(state_.sums.counts[i * k() + j], least_count);
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

/// Batch sums b, carried to the estimate by their share of H and with their mean taken off: the trace of H^-1
/// sum b b', a parameter of laws and noise. Changes of mode are too few in a batch to tell. Called on a copy
/// whose anchor is the estimate.
double ModePolish::dispersion() noexcept {
  double total = 0.0;
  std::size_t count = 0;
  for (const ScoreBatch& batch : state_.batches) {
    total += batch.weight;
    count += batch.weight > 0.5 * state_.batch_weight ? 1 : 0;
  }
  const auto of_chain = [&](std::size_t q) {
    return persists() && q >= state_.shape.who_at() && q < state_.shape.variances_at();
  };
  for (std::size_t i = 0; i < size(); ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const std::size_t at = packed_index(i, j);
      work_[at] = of_chain(i) || of_chain(j) ? 0.0 : state_.sums.information[at];
    }
  }
  const auto rank = static_cast<double>(solver_.factor(work_));
  if (count < 8 || rank == 0.0) return 1.0;
  std::vector<double> mean(size());
  std::vector<std::vector<double>> sums;
  for (const ScoreBatch& batch : state_.batches) {
    if (!(batch.weight > 0.0)) continue;
    for (std::size_t q = 0; q < size(); ++q)
      moved_[q] = batch.anchor[q] - batch.weight * state_.parameters[q];
    multiply_packed(state_.sums.information, moved_, product_);
    std::vector<double> sum(size());
    for (std::size_t q = 0; q < size(); ++q) {
      sum[q] = of_chain(q) ? 0.0 : batch.score[q] + product_[q] / total;
      mean[q] += sum[q];
    }
    sums.push_back(std::move(sum));
  }
  double trace = 0.0;
  std::size_t at = 0;
  for (const ScoreBatch& batch : state_.batches) {
    if (!(batch.weight > 0.0)) continue;
    for (std::size_t q = 0; q < size(); ++q) sums[at][q] -= batch.weight / total * mean[q];
    trace += solver_.inverse_form(sums[at++]);
  }
  const auto batches = static_cast<double>(sums.size());
  return trace / rank * batches / (batches - 1.0);
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
  result.dispersion = settled.dispersion();
  for (const ScoreBatch& batch : settled.state_.batches)
    result.batches += batch.weight > 0.5 * settled.state_.batch_weight ? 1 : 0;
  if (persists()) result.counts = {k(), k(), settled.state_.sums.counts};
  result.visits = settled.state_.visits;
  result.changes = settled.state_.changes;
  result.rows = settled.state_.sums.weight;
  return result;
}

Verdict ModePolish::merge(const ModePolish& other) {
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
  const DenseMatrix map = label_map(state_.shape, order);
  const DenseMatrix inverse = label_map(state_.shape, back);
  const std::vector<double> parameters = times(map, added.state_.parameters);
  const std::vector<double> information = congruent(added.state_.sums.information, inverse);
  std::vector<double> gradient = transposed_times(inverse, added.state_.sums.gradient);
  for (std::size_t q = 0; q < size(); ++q) step_[q] = state_.parameters[q] - parameters[q];
  multiply_packed(information, step_, product_);
  for (std::size_t q = 0; q < size(); ++q) state_.sums.gradient[q] += gradient[q] - product_[q];
  for (std::size_t at = 0; at < information.size(); ++at) state_.sums.information[at] += information[at];
  for (std::size_t i = 0; i < k() && persists(); ++i) {
    for (std::size_t j = 0; j < k(); ++j)
      state_.sums.counts[i * k() + j] += added.state_.sums.counts[order[i] * k() + order[j]];
  }
  for (std::size_t h = 0; h < k(); ++h) state_.visits[h] += added.state_.visits[order[h]];
  const std::vector<double> free = times(map, added.state_.free);
  for (std::size_t q = 0; q < size(); ++q)
    state_.free[q] = std::max(state_.free[q], free[q] > 0.5 ? 1.0 : 0.0);
  state_.sums.weight += added.state_.sums.weight;
  state_.rows += added.state_.rows;
  state_.log_likelihood += added.state_.log_likelihood;
  state_.changes += added.state_.changes;
  for (const ScoreBatch& batch : added.state_.batches) {
    if (!(batch.weight > 0.0)) continue;
    block_weight_ = batch.weight;
    const std::vector<double> score = transposed_times(inverse, batch.score);
    const std::vector<double> anchor = times(map, batch.anchor);
    std::ranges::copy(score, block_score_.begin());
    std::ranges::copy(state_.parameters, moved_.begin());
    for (std::size_t q = 0; q < size(); ++q) state_.parameters[q] = anchor[q] / batch.weight;
    state_.batch_weight = std::max(state_.batch_weight, added.state_.batch_weight);
    add_to_batches();
    std::ranges::copy(moved_, state_.parameters.begin());
  }
  if (persists()) admit_cells();
  find_step();
  take_step();
  state_.older = state_.sums;
  return std::monostate{};
}

}  // namespace mixstream
