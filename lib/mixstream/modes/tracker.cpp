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
  if (filter_.shape().modes != Modes::persistent) return;
  const DenseMatrix& a = filter_.anchor().transitions;
  for (unsigned step = 0; step < steps; ++step) {
    std::ranges::fill(next_, 0.0);
    for (std::size_t i = 0; i < next_.size(); ++i) {
      for (std::size_t j = 0; j < next_.size(); ++j) next_[j] += probabilities[i] * a(i, j);
    }
    if (std::ranges::equal(next_, probabilities)) return;  // it has come to rest
    std::ranges::copy(next_, probabilities.begin());
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
