#include "mixstream/following/transition_watch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mixstream {
namespace {

double times_logarithm(double count) noexcept {
  return count > 0.0 ? count * std::log(count) : 0.0;
}

}  // namespace

TransitionWatch::TransitionWatch(std::size_t component_count)
    : k_(component_count), before_(k_ * k_), after_(k_ * k_), all_(k_ * k_) {
  state_.counts.reserve(most_stretches * k_ * k_);
}

TransitionWatch::TransitionWatch(const TransitionWatch& other) : TransitionWatch(other.k_) {
  restore(other.state_);
}

bool TransitionWatch::is_sound(const TransitionWatchState& state, std::size_t component_count) noexcept {
  const std::size_t cells = component_count * component_count;
  return cells > 0 && state.counts.size() % cells == 0 && state.counts.size() / cells <= most_stretches &&
         state.stretch_blocks > 0 && state.stretch_blocks < 1ULL << 60 &&
         state.open_blocks < state.stretch_blocks && (state.open_blocks == 0 || !state.counts.empty()) &&
         std::ranges::all_of(state.counts, [](double count) { return std::isfinite(count) && count >= 0.0; });
}

void TransitionWatch::restore(const TransitionWatchState& state) {
  state_.counts.assign(state.counts.begin(), state.counts.end());
  state_.stretch_blocks = state.stretch_blocks;
  state_.open_blocks = state.open_blocks;
}

/// Neighbours join; there are half as many, twice as long.
void TransitionWatch::join_stretches() noexcept {
  const std::size_t cells = k_ * k_;
  const std::size_t half = stretches() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    for (std::size_t c = 0; c < cells; ++c)
      state_.counts[i * cells + c] =
          state_.counts[2 * i * cells + c] + state_.counts[(2 * i + 1) * cells + c];
  }
  state_.counts.resize(half * cells);
  state_.stretch_blocks *= 2;
}

void TransitionWatch::add(std::span<const double> counts) noexcept {
  const std::size_t cells = k_ * k_;
  if (state_.open_blocks == 0) {
    if (stretches() == most_stretches) join_stretches();
    state_.counts.resize(state_.counts.size() + cells);  // within the reserve
  }
  double* newest = state_.counts.data() + state_.counts.size() - cells;
  for (std::size_t c = 0; c < cells; ++c) newest[c] += std::max(counts[c], 0.0);
  state_.open_blocks = (state_.open_blocks + 1) % state_.stretch_blocks;
}

/// The largest log-likelihood of a chain with such counts.
double TransitionWatch::likelihood(std::span<const double> counts) const noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < k_; ++i) {
    double used = 0.0;
    for (const double count : counts.subspan(i * k_, k_)) {
      sum += times_logarithm(count);
      used += count;
    }
    sum -= times_logarithm(used);
  }
  return sum;
}

TransitionWatch::Reading TransitionWatch::likeliest_change(double enough) noexcept {
  Reading reading;
  const std::size_t cells = k_ * k_;
  std::ranges::fill(all_, 0.0);
  std::ranges::fill(before_, 0.0);
  for (std::size_t at = 0; at < state_.counts.size(); ++at) all_[at % cells] += state_.counts[at];
  const double rows = std::accumulate(all_.begin(), all_.end(), 0.0);
  double changes = rows;
  for (std::size_t i = 0; i < k_; ++i) changes -= all_[i * k_ + i];
  const double together = likelihood(all_);
  double rows_before = 0.0;
  for (std::size_t split = 1; split < stretches(); ++split) {
    for (std::size_t c = 0; c < cells; ++c) {
      const double count = state_.counts[(split - 1) * cells + c];
      before_[c] += count;
      after_[c] = std::max(all_[c] - before_[c], 0.0);
      rows_before += count;
    }
    if (changes * std::min(rows_before, rows - rows_before) < enough * rows) continue;
    const double chi_square = 2.0 * (likelihood(before_) + likelihood(after_) - together);
    if (!(chi_square > reading.chi_square)) continue;
    reading.chi_square = chi_square;
    reading.stretches = split;
  }
  if (reading.chi_square == 0.0) return reading;
  for (std::size_t i = 0; i < k_; ++i) {  // a way that was never taken is no degree of freedom
    for (std::size_t j = 0; j < k_; ++j) reading.dof += j != i && all_[i * k_ + j] > 0.5 ? 1.0 : 0.0;
  }
  return reading;
}

void TransitionWatch::forget_before(std::size_t boundary) noexcept {
  const std::size_t gone = std::min(boundary, stretches()) * k_ * k_;
  state_.counts.erase(state_.counts.begin(), state_.counts.begin() + static_cast<std::ptrdiff_t>(gone));
  if (state_.counts.empty()) state_.open_blocks = 0;
}

}  // namespace mixstream
