#include "mixstream/polish/polish.hpp"

#include "mixstream/linalg/packed.hpp"
#include "mixstream/verdict/limits.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/likelihood/parameters.hpp"

namespace mixstream {
namespace {

// One step changes no log-odds and no log variance by more than this: far from the answer the quadratic
// approximation promises nothing.
constexpr double longest_step = 3.0;

// Buffered weights may grow this far before the sums are brought back to scale.
constexpr double largest_growth = 0x1p200;

constexpr double enough_newer = 8.0;  // times the older rows: the polish has settled

bool finite(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

PolishState beginning(const Mixture& start, const DenseMatrix& information, NoiseModel noise,
                      const PolishSettings& settings) {
  const ScoreShape shape(start.component_count(), start.feature_count, noise);
  const std::size_t size = shape.parameters();
  if (settings.pane_count == 0 || settings.move_every == 0)
    throw std::invalid_argument("a polish needs at least one pane and a number of rows between moves");
  if (information.rows != size || information.columns != size || !finite(information.values))
    throw std::invalid_argument("a polish needs the information of every parameter of its start");
  PolishState state{settings, noise, false, start, to_parameters(start, noise)};
  const std::size_t slots = settings.pane_count + 1;
  state.information.assign(slots * packed_size(size), 0.0);
  state.gradient.assign(slots * size, 0.0);
  state.slot_weights.assign(slots, 0.0);
  state.sums.assign(shape.size(), 0.0);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      state.information[packed_index(i, j)] = 0.5 * (information(i, j) + information(j, i));
  }
  return state;
}

}  // namespace

AnchoredPolish::AnchoredPolish(const Mixture& start, const DenseMatrix& information, NoiseModel noise,
                               const PolishSettings& settings)
    : AnchoredPolish(beginning(start, information, noise, settings)) {}

AnchoredPolish::AnchoredPolish(PolishState state)
    : state_(std::move(state)),
      kernel_(state_.anchor.component_count(), state_.anchor.feature_count, state_.noise),
      solver_(kernel_.shape().parameters()),
      block_sums_(kernel_.shape().size()),
      block_score_(solver_.size()),
      total_information_(packed_size(solver_.size())),
      step_(solver_.size()),
      product_(solver_.size()) {
  from_parameters(state_.parameters, state_.noise, state_.anchor);
  kernel_.set_anchor(state_.anchor);
  const std::size_t width = state_.anchor.feature_count + 2;
  for (std::size_t at = 0; at < state_.buffer.size(); at += width) {
    const double* row = state_.buffer.data() + at;
    kernel_.append({row, width - 2}, row[width - 2], row[width - 1]);
  }
  state_.buffer.clear();
}

Outcome<AnchoredPolish> AnchoredPolish::restore(const PolishState& state) {
  const Refusal refusal{Reason::bad_snapshot,
                        "the polish in this state does not fit together; refit without it"};
  const Mixture& anchor = state.anchor;
  const std::size_t k = anchor.component_count();
  if (k == 0 || anchor.feature_count == 0 || anchor.coefficients.size() != k * anchor.feature_count ||
      anchor.noise_variances.size() != k || state.settings.move_every == 0)
    return refusal;
  const ScoreShape shape(k, anchor.feature_count, state.noise);
  const std::size_t size = shape.parameters();
  const std::size_t slots = state.slot_weights.size();
  const std::size_t row = anchor.feature_count + 2;
  if (slots < 2 || slots != state.settings.pane_count + 1 || state.parameters.size() != size ||
      state.information.size() != slots * packed_size(size) || state.gradient.size() != slots * size ||
      state.sums.size() != shape.size() || state.buffer.size() % row != 0 ||
      state.buffer.size() / row >= ScoreKernel::block_rows)
    return refusal;
  if (!finite(state.parameters) || !finite(state.information) || !finite(state.gradient) ||
      !finite(state.sums) || !finite(state.buffer) || !finite(state.slot_weights) ||
      !finite(anchor.noise_variances) || !(state.growth >= 1.0) || !(state.growth <= 2.0 * largest_growth))
    return refusal;
  return AnchoredPolish(state);
}

PolishState AnchoredPolish::state() const {
  PolishState state = state_;
  const std::size_t width = state.anchor.feature_count + 2;
  state.buffer.resize(kernel_.rows() * width);
  for (std::size_t i = 0; i < kernel_.rows(); ++i)
    kernel_.read_row(i, std::span(state.buffer).subspan(i * width, width));
  return state;
}

std::size_t AnchoredPolish::current_slot() const noexcept {
  return 1 + static_cast<std::size_t>(state_.pane_turns % state_.settings.pane_count);
}

std::span<double> AnchoredPolish::information_of(std::size_t slot) noexcept {
  const std::size_t size = total_information_.size();
  return std::span(state_.information).subspan(slot * size, size);
}

std::span<double> AnchoredPolish::gradient_of(std::size_t slot) noexcept {
  return std::span(state_.gradient).subspan(slot * step_.size(), step_.size());
}

void AnchoredPolish::scale_slot(std::size_t slot, double factor) noexcept {
  for (double& value : information_of(slot)) value *= factor;
  for (double& value : gradient_of(slot)) value *= factor;
  state_.slot_weights[slot] *= factor;
}

/// The buffered rows into the sums at this anchor.
void AnchoredPolish::flush() noexcept {
  if (kernel_.rows() == 0) return;
  kernel_.flush(block_sums_);
  for (std::size_t i = 0; i < block_sums_.size(); ++i) state_.sums[i] += block_sums_[i];
  const double scale = 1.0 / state_.growth;
  read_score(shape(), block_sums_, block_score_);
  for (double& value : block_score_) value *= scale;
  const double* density = block_sums_.data() + shape().density_at();
  block_ = {block_sums_[shape().extras_at()] * scale, density[0] * scale, density[1] * scale, {}};
}

BlockScores AnchoredPolish::last_block() const noexcept {
  BlockScores block = block_;
  block.score = block_score_;
  return block;
}

/// Everything into the slots, at its true scale.
void AnchoredPolish::settle() noexcept {
  flush();
  const std::size_t current = current_slot();
  const double scale = 1.0 / state_.growth;
  if (scale != 1.0) {
    for (std::size_t slot = 0; slot < slots(); ++slot) scale_slot(slot, scale);
  }
  add_information(shape(), state_.sums, scale, information_of(current));
  read_score(shape(), state_.sums, product_);
  const auto gradient = gradient_of(current);
  for (std::size_t i = 0; i < product_.size(); ++i) gradient[i] += scale * product_[i];
  state_.slot_weights[current] += scale * state_.sums[shape().extras_at()];
  std::ranges::fill(state_.sums, 0.0);
  state_.growth = 1.0;
}

/// The slots' totals.
void AnchoredPolish::gather(std::span<double> information, std::span<double> gradient) const noexcept {
  std::ranges::fill(information, 0.0);
  std::ranges::fill(gradient, 0.0);
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    for (std::size_t i = 0; i < information.size(); ++i)
      information[i] += state_.information[slot * information.size() + i];
    for (std::size_t i = 0; i < gradient.size(); ++i)
      gradient[i] += state_.gradient[slot * gradient.size() + i];
  }
}

/// Moves the anchor by the step, shortened if need be; the gradients are carried to the new anchor.
void AnchoredPolish::step_to(std::span<double> step) noexcept {
  const std::size_t laws = state_.anchor.coefficients.size();
  double largest = 0.0;
  for (const double change : step.subspan(laws)) largest = std::max(largest, std::abs(change));
  if (!finite(step)) {
    ++state_.refused_moves;
    return;
  }
  const double shortening = largest > longest_step ? longest_step / largest : 1.0;
  for (std::size_t i = 0; i < step.size(); ++i) {
    step[i] *= shortening;
    state_.parameters[i] += step[i];
  }
  for (std::size_t slot = 0; slot < slots(); ++slot) {
    multiply_packed(information_of(slot), step, product_);
    const auto gradient = gradient_of(slot);
    for (std::size_t i = 0; i < step.size(); ++i) gradient[i] -= product_[i];
  }
  from_parameters(state_.parameters, state_.noise, state_.anchor);
  kernel_.set_anchor(state_.anchor);
}

void AnchoredPolish::move_anchor() noexcept {
  const bool forgets = state_.growth > 1.0;  // its first rows go by themselves
  if (!state_.is_branch && !forgets && state_.moves == 1) join_beginning();
  settle();
  gather(total_information_, step_);
  solver_.factor(total_information_);
  solver_.solve(step_);
  step_to(step_);
  if (state_.slot_weights[0] == 0.0)
    doubt_start();
  else if (!state_.is_branch)
    doubt_older_rows();
  ++state_.moves;
  state_.rows_since_move = 0;
}

/// What the row slots hold moves to slot 0. Not in a window, whose panes drop out one by one.
void AnchoredPolish::join_beginning() noexcept {
  if (slots() > 2) return;
  for (std::size_t slot = 1; slot < slots(); ++slot) {
    const auto information = information_of(slot);
    const auto gradient = gradient_of(slot);
    for (std::size_t i = 0; i < information.size(); ++i) information_of(0)[i] += information[i];
    for (std::size_t i = 0; i < gradient.size(); ++i) gradient_of(0)[i] += gradient[i];
    state_.slot_weights[0] += state_.slot_weights[slot];
    scale_slot(slot, 0.0);
  }
}

/// An honest beginning lies within its own errors of what the rows say: (theta_0 - theta)' I_0 (theta_0 -
/// theta) is about its rank. One that does not is given the errors that it shows.
void AnchoredPolish::doubt_start() noexcept {
  const std::size_t rank = solver_.factor(information_of(0));
  if (rank == 0) return;
  const auto size = static_cast<double>(rank);
  const double ratio = solver_.inverse_form(gradient_of(0)) / size;
  if (ratio > 1.0 + 2.0 * std::sqrt(2.0 / size)) scale_slot(0, 1.0 / ratio);
}

/// n_0 older rows and n_1 newer ones that say the same lie apart by chance: (theta_0 - theta)' H_0 (theta_0 -
/// theta) is n_1 / (n_0 + n_1) of a chi-square. Where it is far more, the older ones were taken at anchors
/// too far off; that error does not average out, so they fade by the square, and the newer ones, whose
/// anchors they held, are older ones from now on. Once many newer rows have agreed nothing is doubted any
/// more: where laws change later, a polish that does not forget is to average.
void AnchoredPolish::doubt_older_rows() noexcept {
  const double older = state_.slot_weights[0];
  const double newer = state_.slot_weights[1];
  if (!(newer > 0.0) || newer >= enough_newer * older) return;
  const auto dof = static_cast<double>(solver_.factor(information_of(0)));
  const double chi_square = solver_.inverse_form(gradient_of(0)) * (older + newer) / newer;
  if (dof == 0.0 || !(deviations_of_chi_square(chi_square, dof) > limits::contradiction)) return;
  scale_slot(0, dof * dof / (chi_square * chi_square));
  join_beginning();
}

void AnchoredPolish::warm_anchor(const RowTable& sample) noexcept {
  settle();
  for (int step = 0; step < state_.settings.warm_steps; ++step) {
    gather(total_information_, step_);
    for (std::size_t i = 0; i < sample.size(); ++i) {
      const Row row = sample.row(i);
      kernel_.append(row.features, row.response, row.weight);
      if (!kernel_.full() && i + 1 < sample.size()) continue;
      yield_point();
      kernel_.flush(block_sums_);
      add_information(shape(), block_sums_, 1.0, total_information_);
      read_score(shape(), block_sums_, product_);
      for (std::size_t p = 0; p < step_.size(); ++p) step_[p] += product_[p];
    }
    solver_.factor(total_information_);
    solver_.solve(step_);
    step_to(step_);
  }
}

void AnchoredPolish::forget(double keep) noexcept {
  if (!(keep > 0.0 && keep < 1.0)) return;
  if (state_.growth / keep > largest_growth) settle();
  if (keep * largest_growth > 1.0) {
    state_.growth /= keep;
  } else {
    settle();
    for (std::size_t slot = 0; slot < slots(); ++slot) scale_slot(slot, keep);
  }
}

void AnchoredPolish::turn_pane() noexcept {
  settle();
  const auto panes = static_cast<std::uint64_t>(state_.settings.pane_count);
  if (state_.pane_turns < panes) {
    const auto left = static_cast<double>(panes - state_.pane_turns);
    scale_slot(0, (left - 1.0) / left);
  }
  ++state_.pane_turns;
  scale_slot(current_slot(), 0.0);
}

double AnchoredPolish::row_information(std::span<double> packed) const noexcept {
  std::ranges::fill(packed, 0.0);
  double weight = 0.0;
  for (std::size_t slot = 1; slot < slots(); ++slot) {
    for (std::size_t i = 0; i < packed.size(); ++i) packed[i] += state_.information[slot * packed.size() + i];
    weight += state_.slot_weights[slot];
  }
  const double total = weight + state_.slot_weights[0];
  if (!(weight > 0.0)) return 0.0;
  for (double& value : packed) value *= total / weight;
  return total;
}

PolishedFit AnchoredPolish::fit() const {
  AnchoredPolish settled(*this);
  settled.settle();
  settled.gather(settled.total_information_, settled.step_);
  PolishedFit result;
  const std::size_t size = step_.size();
  result.information = {size, size, std::vector<double>(size * size)};
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      result.information(i, j) = result.information(j, i) = settled.total_information_[packed_index(i, j)];
    }
  }
  settled.solver_.factor(settled.total_information_);
  settled.solver_.solve(settled.step_);
  settled.step_to(settled.step_);
  settled.solver_.inverse(settled.total_information_);
  for (std::size_t i = 0; i < size; ++i) {
    result.standard_errors.push_back(
        std::sqrt(std::max(settled.total_information_[packed_index(i, i)], 0.0)));
  }
  result.mixture = settled.state_.anchor;
  result.parameters = settled.state_.parameters;
  return result;
}

}  // namespace mixstream
