#include "mixstream/polish/stepwise_em.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace mixstream {
namespace {

constexpr std::size_t block_rows = variants::em_block_rows;

double floor_of(const Mixture& start, const StepwiseEmSettings& settings) {
  const double largest =
      start.noise_variances.empty() ? 0.0 : *std::ranges::max_element(start.noise_variances);
  return std::max(settings.variance_floor * largest, 1e-300);
}

bool fits(const Mixture& start, const StepwiseEmSettings& settings) {
  const bool alpha_fits = settings.step_exponent > 0.5 && settings.step_exponent <= 1.0;
  return is_finite(start) && start.component_count() > 0 && alpha_fits && settings.step_delay >= 1.0;
}

const Mixture& checked(const Mixture& start, const StepwiseEmSettings& settings) {
  if (!fits(start, settings)) {
    throw std::invalid_argument(
        "stepwise EM needs a finite start, a step exponent in (0.5, 1] and a delay of one block or more");
  }
  return start;
}

StepwiseEmState beginning(const Mixture& start, const StepwiseEmSettings& settings) {
  StepwiseEmState state;
  state.settings = settings;
  state.mixture = state.average = start;
  state.sums.resize(start.component_count() * component_sums_size(start.feature_count));
  state.block.resize((start.feature_count + 2) * block_rows);
  state.smallest_variance = floor_of(start, settings);
  return state;
}

bool usable(const Row& row, std::size_t feature_count) noexcept {
  return row.features.size() == feature_count && row.weight > 0.0 && std::isfinite(row.weight) &&
         std::isfinite(row.response) &&
         std::ranges::all_of(row.features, [](double value) { return std::isfinite(value); });
}

/// to += share (from - to)
void blend(std::vector<double>& to, const std::vector<double>& from, double share) noexcept {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += share * (from[i] - to[i]);
}

}  // namespace

StepwiseEm::StepwiseEm(const Mixture& start, const StepwiseEmSettings& settings)
    : StepwiseEm(beginning(checked(start, settings), settings)) {}

StepwiseEm::StepwiseEm(StepwiseEmState state)
    : state_(std::move(state)),
      next_(state_.mixture),
      expectation_(state_.mixture.component_count(), state_.mixture.feature_count),
      maximise_(state_.mixture.feature_count, state_.settings.noise, state_.smallest_variance),
      move_(state_.mixture.feature_count) {}

Outcome<StepwiseEm> StepwiseEm::restore(const StepwiseEmState& state) {
  const Refusal damaged{Reason::bad_snapshot,
                        "the stored path of stepwise EM is not sound; refit without it"};
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!fits(state.mixture, state.settings) || !is_finite(state.average)) return damaged;
  const StepwiseEmState empty = beginning(state.mixture, state.settings);
  const bool same_shape = state.average.feature_count == state.mixture.feature_count &&
                          state.average.component_count() == state.mixture.component_count() &&
                          state.sums.size() == empty.sums.size() && state.block.size() == empty.block.size();
  const bool sound = state.waiting < block_rows && std::isfinite(state.time) && state.time >= 0.0 &&
                     state.smallest_variance > 0.0 && std::ranges::all_of(state.sums, finite) &&
                     std::ranges::all_of(state.block, finite);
  if (!same_shape || !sound) return damaged;
  return StepwiseEm(state);
}

void StepwiseEm::add(const Row& row) noexcept {
  const std::size_t d = state_.mixture.feature_count;
  if (!usable(row, d)) return;
  for (std::size_t j = 0; j < d; ++j) state_.block[j * block_rows + state_.waiting] = row.features[j];
  state_.block[d * block_rows + state_.waiting] = row.response;
  state_.block[(d + 1) * block_rows + state_.waiting] = row.weight;
  ++state_.row_count;
  if (++state_.waiting == block_rows) work_off_block();
}

void StepwiseEm::work_off_block() noexcept {
  state_.waiting = 0;
  const double weight = std::accumulate(state_.block.end() - block_rows, state_.block.end(), 0.0);
  expectation_.begin(state_.mixture);
  expectation_.add(state_.block.data());
  const double blocks = weight / static_cast<double>(block_rows);  // a block of weight 128 counts as two
  const double gamma =
      std::pow(std::max(state_.time, state_.settings.step_delay), -state_.settings.step_exponent);
  const bool warming_up =
      state_.time < state_.settings.step_delay;  // a plain mean until every component has rows for a law
  const double share = warming_up ? blocks / (state_.time + blocks) : 1.0 - std::pow(1.0 - gamma, blocks);
  const std::span<const double> fresh = expectation_.sums();
  for (std::size_t i = 0; i < state_.sums.size(); ++i)
    state_.sums[i] += share * (fresh[i] / weight - state_.sums[i]);
  state_.time += blocks;
  if (state_.time < state_.settings.step_delay) return;
  next_ = state_.mixture;
  maximise_(state_.sums, next_);
  if (!is_finite(next_)) return;
  std::swap(state_.mixture, next_);
  rebase(next_);
  update_average();
}

/// The sums hold residuals at the law before; with the law moved by b they are e - b . x, which the sums
/// themselves can tell: c becomes c - G b, and sum e^2 becomes sum e^2 - 2 b . c + b'G b.
void StepwiseEm::rebase(const Mixture& before) noexcept {
  const std::size_t d = state_.mixture.feature_count;
  const std::size_t gram = d * (d + 1) / 2;
  for (std::size_t h = 0; h < state_.mixture.component_count(); ++h) {
    double* sums = state_.sums.data() + h * component_sums_size(d);
    double* cross = sums + gram;
    double& squares = cross[d];
    for (std::size_t j = 0; j < d; ++j) {
      move_[j] = state_.mixture.law(h)[j] - before.law(h)[j];
      squares -= move_[j] * cross[j];
    }
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        cross[i] -= sums[i < j ? j * (j + 1) / 2 + i : i * (i + 1) / 2 + j] * move_[j];
      }
    }
    for (std::size_t j = 0; j < d; ++j) squares -= move_[j] * cross[j];
    squares = std::max(squares, 0.0);
  }
}

/// Weights t^2 along the path: the first steps, taken far from the optimum, soon count for nothing.
void StepwiseEm::update_average() noexcept {
  const double share = std::min(1.0, 3.0 / (state_.time - state_.settings.step_delay + 3.0));
  blend(state_.average.weights, state_.mixture.weights, share);
  blend(state_.average.coefficients, state_.mixture.coefficients, share);
  if (state_.settings.noise != NoiseModel::known) {
    blend(state_.average.noise_variances, state_.mixture.noise_variances, share);
  }
}

}  // namespace mixstream
