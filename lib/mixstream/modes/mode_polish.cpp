#include "mixstream/modes/mode_polish.hpp"

#include "mixstream/linalg/packed.hpp"
#include "mixstream/verdict/limits.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/likelihood/score_kernel.hpp"

namespace mixstream {
namespace {

constexpr double prior_count = 0.5;   // of every transition: keeps A off the boundary
constexpr double longest_rare = 3.0;  // step of a rare cell's log-odds
constexpr double longest_step = 1.0;  // of any other parameter that is no coefficient
constexpr double largest_growth = 0x1p200;

bool finite(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

void add_scaled(std::span<double> to, std::span<const double> from, double factor) noexcept {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

void scale(std::span<double> numbers, double factor) noexcept {
  for (double& number : numbers) number *= factor;
}

void scale(ScoreSums& sums, double factor) noexcept {
  scale(sums.information, factor);
  scale(sums.gradient, factor);
  scale(sums.counts, factor);
  sums.weight *= factor;
}

/// to -= share * from
void take_away(ScoreSums& to, const ScoreSums& from, double share) noexcept {
  add_scaled(to.information, from.information, -share);
  add_scaled(to.gradient, from.gradient, -share);
  add_scaled(to.counts, from.counts, -share);
  to.weight -= share * from.weight;
}

ScoreSums empty_sums(const ModeShape& shape) {
  const std::size_t size = shape.parameters();
  const std::size_t counts =
      shape.modes == Modes::persistent ? shape.component_count * shape.component_count : 0;
  return {std::vector<double>(packed_size(size)), std::vector<double>(size), std::vector<double>(counts),
          0.0};
}

ModePolishState beginning(const ModeModel& start, const ModeShape& shape,
                          const ModePolishSettings& settings) {
  if (start.laws.component_count() != shape.component_count || shape.component_count == 0 ||
      start.laws.feature_count != shape.feature_count || settings.first_move == 0 ||
      settings.most_chains == 0)
    throw std::invalid_argument("a polish needs a start of its own shape");
  ModePolishState state;
  state.settings = settings;
  state.shape = shape;
  state.parameters = to_parameters(start, shape);
  state.known_variances = start.laws.noise_variances;
  state.sums = empty_sums(shape);
  const std::size_t k = shape.component_count;
  for (std::size_t at = 0; at < state.sums.counts.size(); ++at)
    state.sums.counts[at] = prior_count * static_cast<double>(k) * start.transitions.values[at];
  state.older = empty_sums(shape);
  state.free.assign(shape.parameters(), 1.0);
  if (shape.modes == Modes::persistent)
    std::fill_n(state.free.begin() + static_cast<std::ptrdiff_t>(shape.who_at()), shape.who_count(), 0.0);
  state.visits.assign(k, 0.0);
  state.block_use.assign(k, 0.0);
  return state;
}

}  // namespace

void leave_out_chain(const ModeShape& shape, std::span<double> vector, std::span<double> packed) noexcept {
  if (shape.modes != Modes::persistent) return;
  for (std::size_t q = shape.who_at(); q < shape.variances_at(); ++q) {
    vector[q] = 0.0;
    for (std::size_t p = 0; p <= q; ++p) packed[packed_index(q, p)] = 0.0;
    for (std::size_t p = q; p < vector.size(); ++p) packed[packed_index(p, q)] = 0.0;
  }
}

void add_transitions(const ModeShape& shape, const DenseMatrix& transitions, std::span<const double> score,
                     std::span<const double> use, std::span<double> counts) noexcept {
  const std::size_t k = shape.component_count;
  for (std::size_t i = 0; i < k; ++i) {
    double rest = 0.0;
    for (std::size_t j = 0; j < k; ++j) {
      if (j == i) continue;
      const double change = score[shape.cell(i, j)];
      rest -= change;
      counts[i * k + j] += change + transitions(i, j) * use[i];
    }
    counts[i * k + i] += rest + transitions(i, i) * use[i];
  }
}

ModePolish::ModePolish(const ModeModel& start, const ModeShape& shape, const ModePolishSettings& settings)
    : ModePolish(beginning(start, shape, settings)) {}

ModePolish::ModePolish(ModePolishState state)
    : state_(std::move(state)),
      filter_(state_.shape),
      model_(empty_model(state_.shape)),
      solver_(state_.parameters.size()),
      step_(solver_.size()),
      moved_(solver_.size()),
      product_(solver_.size()),
      work_(packed_size(solver_.size())),
      block_score_(solver_.size()),
      block_information_(work_.size()),
      scratch_((block_rows + 1) * filter_.stride()),
      block_use_(k()),
      block_counts_(state_.sums.counts.size()),
      groups_(score_groups(state_.shape)),
      batch_information_(information_size(groups_)) {
  state_.chains.resize(state_.settings.most_chains * filter_.chain_size());
  state_.block.reserve(block_rows * filter_.stride());
  state_.block_weights.reserve(block_rows);
  state_.batches.reserve(most_batches);
  for (ScoreBatch& batch : state_.batches) {
    batch.score.resize(size());
    batch.information.resize(batch_information_.size());
  }
  while (state_.batches.size() < most_batches)
    state_.batches.push_back(
        {0.0, std::vector<double>(size()), std::vector<double>(batch_information_.size())});
  model_.laws.noise_variances = state_.known_variances;
  from_parameters(state_.parameters, state_.shape, model_);
  filter_.set_anchor(model_);
}

ModePolish::ModePolish(const ModePolish& other) : ModePolish(ModePolishState(other.state_)) {
  block_score_ = other.block_score_;
  block_information_ = other.block_information_;
  block_use_ = other.block_use_;
  block_weight_ = other.block_weight_;
  last_log_density_ = other.last_log_density_;
}

Outcome<ModePolish> ModePolish::restore(const ModePolishState& stored) {
  const Refusal refusal{Reason::bad_snapshot,
                        "the polish in this state does not fit together; refit without it"};
  const ModeShape& shape = stored.shape;
  const std::size_t k = shape.component_count;
  if (k == 0 || k > 32 || shape.feature_count == 0 || shape.feature_count > 64 ||
      stored.settings.first_move == 0 || stored.settings.move_every == 0 ||
      stored.settings.most_chains == 0 || stored.settings.most_chains > 1U << 20 ||
      (shape.modes == Modes::gated) != !shape.gate.empty())
    return refusal;
  if (std::ranges::any_of(shape.gate, [&](std::size_t at) { return at >= shape.feature_count; }))
    return refusal;
  ModePolishState state(stored);
  const std::size_t of_single_gates =
      k * packed_size(shape.feature_count) + shape.parameters() - shape.who_at();
  for (ScoreBatch& batch : state.batches) {  // as written before gates were kept whole
    if (batch.information.size() == of_single_gates)
      batch.information = batch_of_single_gates(shape, batch.information);
  }
  const std::size_t size = shape.parameters();
  const std::size_t counts = shape.modes == Modes::persistent ? k * k : 0;
  const auto fits = [&](const ScoreSums& sums) {
    return sums.information.size() == packed_size(size) && sums.gradient.size() == size &&
           sums.counts.size() == counts && finite(sums.information) && finite(sums.gradient) &&
           finite(sums.counts) && std::isfinite(sums.weight);
  };
  const ModeFilter filter(shape);
  const std::size_t batch_information = information_size(score_groups(shape));
  const auto sound_batch = [&](const ScoreBatch& batch) {
    return batch.score.size() == size && batch.information.size() == batch_information &&
           std::isfinite(batch.weight) && finite(batch.score) && finite(batch.information);
  };
  const std::size_t rows = state.block_weights.size();
  const bool sound =
      state.parameters.size() == size && state.known_variances.size() == k && fits(state.sums) &&
      fits(state.older) && state.free.size() == size && state.visits.size() == k &&
      state.batches.size() == most_batches && std::ranges::all_of(state.batches, sound_batch) &&
      rows < block_rows && state.block.size() == rows * filter.stride() && state.block_use.size() == k &&
      state.chains.size() == state.settings.most_chains * filter.chain_size() && finite(state.parameters) &&
      finite(state.known_variances) && finite(state.free) && finite(state.visits) && finite(state.block) &&
      finite(state.block_weights) && finite(state.chains) && state.batch_weight > 0.0 &&
      state.growth >= 1.0 && state.growth <= 2.0 * largest_growth;
  if (!sound) return refusal;
  return ModePolish(std::move(state));
}

bool ModePolish::absorb(const Row& row, const ChainTable::Step& step) noexcept {
  const std::size_t at = state_.block.size();
  state_.block.resize(at + filter_.stride());  // within what is reserved
  const std::size_t chain = filter_.chain_size();
  const double weight = row.weight * state_.growth;
  last_log_density_ =
      filter_.advance(std::span(state_.chains).subspan(step.slot * chain, chain), row, step.steps,
                      std::span(state_.block).subspan(at, filter_.stride()), state_.block_use, weight);
  state_.block_weights.push_back(weight);
  add_scaled(state_.visits, modes_of(step.slot), weight);
  state_.log_likelihood += row.weight * last_log_density_;
  state_.weight += row.weight;
  ++state_.rows;
  ++state_.rows_since_move;
  if (state_.block_weights.size() < block_rows) return false;
  flush();
  if (state_.rows_since_move >= rows_until_move()) move_anchor();
  return true;
}

std::uint64_t ModePolish::rows_until_move() const noexcept {
  const std::uint64_t doubled =
      state_.moves < 32 ? state_.settings.first_move << state_.moves : ~std::uint64_t{0};
  return std::min(doubled, state_.settings.move_every);
}

void ModePolish::count_transitions() noexcept {
  std::ranges::fill(block_counts_, 0.0);
  add_transitions(state_.shape, filter_.anchor().transitions, block_score_, state_.block_use, block_counts_);
  add_scaled(state_.sums.counts, block_counts_, 1.0);
  for (std::size_t at = 0; at < block_counts_.size(); ++at) {
    if (at % (k() + 1) != 0) state_.changes += std::max(block_counts_[at] / state_.growth, 0.0);
  }
}

/// Neighbours join and a full batch is twice as long.
void ModePolish::join_batches() noexcept {
  for (std::size_t i = 0; i < most_batches; i += 2) {
    ScoreBatch& one = state_.batches[i];
    const ScoreBatch& two = state_.batches[i + 1];
    one.weight += two.weight;
    add_scaled(one.score, two.score, 1.0);
    add_scaled(one.information, two.information, 1.0);
    if (i > 0) std::swap(state_.batches[i / 2], one);
  }
  for (std::size_t i = most_batches / 2; i < most_batches; ++i) {
    state_.batches[i].weight = 0.0;
    std::ranges::fill(state_.batches[i].score, 0.0);
    std::ranges::fill(state_.batches[i].information, 0.0);
  }
  state_.batch_weight *= 2.0;
}

void ModePolish::add_batch(double weight, std::span<const double> score,
                           std::span<const double> information) noexcept {
  const auto open = [&] {
    return std::ranges::find_if(state_.batches,
                                [&](const ScoreBatch& batch) { return batch.weight < state_.batch_weight; });
  };
  auto batch = open();
  if (batch == state_.batches.end()) {
    join_batches();
    batch = open();
  }
  batch->weight += weight;
  add_scaled(batch->score, score, 1.0);
  add_scaled(batch->information, information, 1.0);
}

/// The block's sums into the batch that is open.
void ModePolish::add_to_batches() noexcept {
  take_groups(groups_, block_information_, batch_information_);
  add_batch(block_weight_, block_score_, batch_information_);
}

void ModePolish::carry_batches(std::span<const double> step) noexcept {
  for (ScoreBatch& batch : state_.batches) {
    if (batch.weight > 0.0) carry_batch(groups_, step, product_, batch);
  }
}

/// The block into the sums.
void ModePolish::flush() noexcept {
  const std::size_t rows = state_.block_weights.size();
  if (rows == 0) return;
  const std::vector<double>& weights = state_.block_weights;
  const auto sums = std::span(scratch_).last(filter_.stride());
  block_weight_ = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::ranges::fill(block_information_, 0.0);
  filter_.kernels().add_products(rows, size(), filter_.stride(), state_.block.data(), weights.data(),
                                 scratch_.data(), sums.data(), block_information_.data());
  std::ranges::copy(sums.first(size()), block_score_.begin());
  if (persists()) count_transitions();
  for (std::size_t q = state_.shape.who_at(); q < state_.shape.variances_at() && persists(); ++q) {
    if (state_.free[q] != 0.0) continue;
    for (std::size_t p = 0; p < size(); ++p)
      block_information_[packed_index(std::max(p, q), std::min(p, q))] = 0.0;
  }
  add_to_batches();
  add_scaled(state_.sums.information, block_information_, 1.0);
  for (std::size_t q = 0; q < size(); ++q) state_.sums.gradient[q] += state_.free[q] * block_score_[q];
  state_.sums.weight += block_weight_;
  std::ranges::copy(state_.block_use, block_use_.begin());
  std::ranges::fill(state_.block_use, 0.0);
  state_.block.clear();
  state_.block_weights.clear();
  const double to_scale = 1.0 / state_.growth;
  if (to_scale == 1.0) return;
  block_weight_ *= to_scale;
  scale(block_score_, to_scale);
  scale(block_information_, to_scale);
  scale(block_use_, to_scale);
}

ModeBlock ModePolish::last_block() const noexcept {
  return {block_weight_, block_score_, block_information_, block_use_};
}

/// Everything at its true scale.
void ModePolish::rescale() noexcept {
  if (state_.growth == 1.0) return;
  const double factor = 1.0 / state_.growth;
  scale(state_.sums, factor);
  scale(state_.older, factor);
  scale(state_.visits, factor);
  for (ScoreBatch& batch : state_.batches) {
    batch.weight *= factor;
    scale(batch.score, factor);
    scale(batch.information, factor);
  }
  state_.growth = 1.0;
}

void ModePolish::forget(double keep) noexcept {
  if (!(keep > 0.0 && keep < 1.0)) return;
  if (keep * largest_growth <= 1.0) keep = 2.0 / largest_growth;
  if (state_.growth / keep > largest_growth) {
    flush();
    rescale();
  }
  state_.growth /= keep;
}

/// Rare cells to where their counts are.
void ModePolish::rare_steps() noexcept {
  for (std::size_t i = 0; i < k(); ++i) {
    for (std::size_t j = 0; j < k(); ++j) {
      if (j == i || state_.free[state_.shape.cell(i, j)] != 0.0) continue;
      const std::size_t q = state_.shape.cell(i, j);
      const double seen = std::max(state_.sums.counts[i * k() + j], 0.1 * prior_count);
      const double stayed = std::max(state_.sums.counts[i * k() + i], 0.1 * prior_count);
      step_[q] = std::clamp(std::log(seen / stayed) - state_.parameters[q], -longest_rare, longest_rare);
    }
  }
}

/// The step to the estimate: rare cells by their counts, the rest by H^-1 gradient.
void ModePolish::find_step() noexcept {
  solver_.factor(state_.sums.information);
  std::ranges::copy(state_.sums.gradient, step_.begin());
  solver_.solve(step_);
  for (std::size_t q = state_.shape.who_at(); q < size(); ++q)
    step_[q] = std::clamp(step_[q], -longest_step, longest_step);
  if (persists()) rare_steps();
}

/// Older rows and newer ones that say the same lie apart by chance: with g_0 = H_0 (theta_0 - theta), what
/// the older ones' gradient is at the estimate of all, g_0' (H_0^-1 + H_1^-1) g_0 is a chi-square, whatever
/// each part saw of which law. Where it is far more, the older ones were taken at anchors too far off, and
/// fade. True if they did. The ways between modes have no say: rows that saw none of a change would seem to
/// know for certain that there is none.
bool ModePolish::doubt_older_rows() noexcept {
  const ScoreSums& older = state_.older;
  const double newer = state_.sums.weight - older.weight;
  if (!(older.weight > 0.0) || !(newer > 0.0)) return false;
  multiply_packed(older.information, step_, product_);
  for (std::size_t q = 0; q < size(); ++q) product_[q] = state_.free[q] * (older.gradient[q] - product_[q]);
  for (std::size_t at = 0; at < work_.size(); ++at)
    work_[at] = state_.sums.information[at] - older.information[at];
  leave_out_chain(state_.shape, product_, work_);
  const std::size_t newer_rank = solver_.factor(work_);
  double chi_square = solver_.inverse_form(product_);
  std::ranges::copy(older.information, work_.begin());
  leave_out_chain(state_.shape, product_, work_);
  const std::size_t older_rank = solver_.factor(work_);
  chi_square += solver_.inverse_form(product_);
  const auto dof = static_cast<double>(std::min(newer_rank, older_rank));
  if (dof == 0.0) return false;
  if (!(deviations_of_chi_square(chi_square, dof) > limits::contradiction)) return false;
  take_away(state_.sums, older, 1.0 - dof / chi_square);
  ++state_.fades;
  return true;
}

void ModePolish::take_step() noexcept {
  if (!finite(step_)) {
    ++state_.refused_moves;
    return;
  }
  std::ranges::copy(state_.parameters, moved_.begin());
  add_scaled(moved_, step_, 1.0);
  from_parameters(moved_, state_.shape, model_);  // brings theta back into bounds
  for (std::size_t q = 0; q < size(); ++q) step_[q] = moved_[q] - state_.parameters[q];
  multiply_packed(state_.sums.information, step_, product_);
  for (std::size_t q = 0; q < size(); ++q)
    state_.sums.gradient[q] = state_.free[q] * (state_.sums.gradient[q] - product_[q]);
  carry_batches(step_);
  std::ranges::copy(moved_, state_.parameters.begin());
  filter_.set_anchor(model_);
}

/// Cells that have been seen often enough are moved by scores from now on; what is known of them is their
/// count.
void ModePolish::admit_cells() noexcept {
  for (std::size_t i = 0; i < k(); ++i) {
    for (std::size_t j = 0; j < k(); ++j) {
      if (j == i) continue;
      const std::size_t q = state_.shape.cell(i, j);
      const double seen = std::min(state_.sums.counts[i * k() + j], state_.sums.counts[i * k() + i]);
      if (state_.free[q] != 0.0 || seen <= enough_seen) continue;
      state_.free[q] = 1.0;
      state_.sums.information[packed_index(q, q)] += seen;
    }
  }
}

void ModePolish::begin_moving(const ModePolishSettings& settings) noexcept {
  state_.settings.first_move = settings.first_move;
  state_.settings.move_every = settings.move_every;
  move_anchor();
}

void ModePolish::move_anchor() noexcept {
  flush();
  rescale();
  find_step();
  if (doubt_older_rows()) find_step();
  take_step();
  if (persists()) admit_cells();
  state_.older = state_.sums;
  ++state_.moves;
  state_.rows_since_move = 0;
}

}  // namespace mixstream
