#include "mixstream/modes/tracker.hpp"

#include <algorithm>
#include <stdexcept>

namespace mixstream {

ModeTracker::ModeTracker(const ModeShape& shape, const ModeModel& model)
    : filter_(shape),
      chain_(filter_.chain_size()),
      score_(filter_.stride()),
      used_(shape.component_count),
      next_(shape.component_count) {
  const std::size_t k = shape.component_count;
  if (model.laws.component_count() != k || model.laws.feature_count != shape.feature_count ||
      model.transitions.rows != (shape.modes == Modes::persistent ? k : 0) ||
      model.gate.columns != (shape.modes == Modes::gated ? shape.gate.size() : 0))
    throw std::invalid_argument("a tracker needs a model of its own shape");
  filter_.set_anchor(model);
  std::ranges::copy(model.laws.weights, chain_.begin());  // what is known before the first row
}

std::span<const double> ModeTracker::follow(const Row& row, unsigned steps) noexcept {
  begun_here_ = !begun_ || steps == 0 || steps > ModeFilter::longest_gap;
  log_density_ = filter_.advance(chain_, row, begun_ ? steps : 0, score_, used_);
  begun_ = true;
  return probabilities();
}

std::size_t ModeTracker::likeliest() const noexcept {
  const auto modes = probabilities();
  return static_cast<std::size_t>(std::ranges::max_element(modes) - modes.begin());
}

double ModeTracker::rows_left() const noexcept {
  if (filter_.shape().modes != Modes::persistent) return 1.0;
  const std::size_t mode = likeliest();
  return 1.0 / std::max(1.0 - filter_.anchor().transitions(mode, mode), 1e-12);
}

void ModeTracker::ahead(unsigned steps, std::span<double> probabilities) const noexcept {
  std::ranges::copy(this->probabilities(), probabilities.begin());
  if (filter_.shape().modes == Modes::independent && steps > 0)
    std::ranges::copy(filter_.anchor().laws.weights, probabilities.begin());
  if (filter_.shape().modes == Modes::persistent)
    step_ahead(filter_.anchor().transitions, steps, probabilities, next_);
}

void ModeTracker::pass_on(std::span<const double> features, std::span<double> probabilities) const noexcept {
  switch (filter_.shape().modes) {
    case Modes::persistent:
      return step_ahead(filter_.anchor().transitions, 1, probabilities, next_);
    case Modes::gated:
      return open_gate(filter_.anchor(), filter_.shape(), features, probabilities);
    case Modes::independent:
      std::ranges::copy(filter_.anchor().laws.weights, probabilities.begin());
  }
}

void step_ahead(const DenseMatrix& transitions, unsigned steps, std::span<double> probabilities,
                std::span<double> spare) noexcept {
  for (unsigned step = 0; step < steps; ++step) {
    std::ranges::fill(spare, 0.0);
    for (std::size_t i = 0; i < spare.size(); ++i) {
      for (std::size_t j = 0; j < spare.size(); ++j) spare[j] += probabilities[i] * transitions(i, j);
    }
    if (std::ranges::equal(spare, probabilities)) return;  // it has come to rest
    std::ranges::copy(spare, probabilities.begin());
  }
}

std::vector<double> smoothed(std::size_t component_count, std::span<const double> filtered,
                             std::span<const double> pairs, std::span<const unsigned char> begins) {
  const std::size_t k = component_count;
  std::vector<double> result(filtered.begin(), filtered.end());
  for (std::size_t t = begins.size(); t-- > 1;) {
    if (begins[t] != 0) continue;
    for (std::size_t i = 0; i < k; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < k; ++j)
        sum += result[t * k + j] * pairs[(t * k + i) * k + j] / std::max(filtered[t * k + j], 1e-300);
      result[(t - 1) * k + i] = sum;
    }
  }
  return result;
}

}  // namespace mixstream
