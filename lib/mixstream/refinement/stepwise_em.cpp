#include "mixstream/refinement/stepwise_em.hpp"

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

const Mixture& checked(const Mixture& start, const StepwiseEmSettings& settings) {
  const bool alpha_fits = settings.step_exponent > 0.5 && settings.step_exponent <= 1.0;
  if (!is_finite(start) || start.component_count() == 0 || !alpha_fits || !(settings.step_delay >= 1.0)) {
    throw std::invalid_argument(
        "stepwise EM needs a finite start, a step exponent in (0.5, 1] and a delay of one block or more");
  }
  return start;
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
    : settings_(settings),
      mixture_(checked(start, settings)),
      average_(start),
      next_(start),
      expectation_(start.component_count(), start.feature_count),
      maximise_(start.feature_count, settings.noise, floor_of(start, settings)),
      block_((start.feature_count + 2) * block_rows),
      sums_(start.component_count() * component_sums_size(start.feature_count)),
      move_(start.feature_count) {}

void StepwiseEm::add(const Row& row) noexcept {
  const std::size_t d = mixture_.feature_count;
  if (!usable(row, d)) return;
  for (std::size_t j = 0; j < d; ++j) block_[j * block_rows + waiting_] = row.features[j];
  block_[d * block_rows + waiting_] = row.response;
  block_[(d + 1) * block_rows + waiting_] = row.weight;
  ++row_count_;
  if (++waiting_ == block_rows) work_off_block();
}

void StepwiseEm::work_off_block() noexcept {
  waiting_ = 0;
  const double weight = std::accumulate(block_.end() - block_rows, block_.end(), 0.0);
  expectation_.begin(mixture_);
  expectation_.add(block_.data());
  const double blocks = weight / static_cast<double>(block_rows);  // a block of weight 128 counts as two
  const double gamma = std::pow(std::max(time_, settings_.step_delay), -settings_.step_exponent);
  const bool warming_up =
      time_ < settings_.step_delay;  // a plain mean until every component has rows for a law
  const double share = warming_up ? blocks / (time_ + blocks) : 1.0 - std::pow(1.0 - gamma, blocks);
  const std::span<const double> fresh = expectation_.sums();
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] += share * (fresh[i] / weight - sums_[i]);
  time_ += blocks;
  if (time_ < settings_.step_delay) return;
  next_ = mixture_;
  maximise_(sums_, next_);
  if (!is_finite(next_)) return;
  std::swap(mixture_, next_);
  rebase(next_);
  update_average();
}

/// The sums hold residuals at the law before; with the law moved by b they are e - b . x, which the sums
/// themselves can tell: c becomes c - G b, and sum e^2 becomes sum e^2 - 2 b . c + b'G b.
void StepwiseEm::rebase(const Mixture& before) noexcept {
  const std::size_t d = mixture_.feature_count;
  const std::size_t gram = d * (d + 1) / 2;
  for (std::size_t h = 0; h < mixture_.component_count(); ++h) {
    double* sums = sums_.data() + h * component_sums_size(d);
    double* cross = sums + gram;
    double& squares = cross[d];
    for (std::size_t j = 0; j < d; ++j) {
      move_[j] = mixture_.law(h)[j] - before.law(h)[j];
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
  const double share = std::min(1.0, 3.0 / (time_ - settings_.step_delay + 3.0));
  blend(average_.weights, mixture_.weights, share);
  blend(average_.coefficients, mixture_.coefficients, share);
  if (settings_.noise != NoiseModel::known) {
    blend(average_.noise_variances, mixture_.noise_variances, share);
  }
}

}  // namespace mixstream
