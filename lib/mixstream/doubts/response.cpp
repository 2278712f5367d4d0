#include "mixstream/doubts/response.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <utility>

namespace mixstream {
namespace {

constexpr double least_expected = 0.5;  // repeats by accident that every stream is granted
constexpr std::size_t least_values = 5;
constexpr int pair_bins = 10;
constexpr double most_expected_pairs = 50.0;  // beyond it pairs hang together and are no Poisson count

/// log P(Poisson(expected) >= count): its first term where it is too small for a double.
double poisson_log_p(double count, double expected) {
  if (count < 1.0) return 0.0;
  const double mean = std::max(expected, least_expected);
  const double p = boost::math::gamma_p(count, mean);
  if (p > 1e-280) return std::log(p);
  return count * std::log(mean) - mean - std::lgamma(count + 1.0);
}

/// Euclid's, with remainders to the nearest multiple; what is below `same` is zero.
double common_measure(double larger, double smaller, double same) {
  while (smaller > same) larger = std::exchange(smaller, std::abs(std::remainder(larger, smaller)));
  return larger;
}

/// The step that fits this gap too. Gaps are off by `same` each: a step by that too, once for each time that
/// it goes into the gap. A gap of many steps tells the step more precisely than it was known.
double step_with(double step, double gap, double same) {
  const double multiple = std::round(gap / step);
  const double tolerance = same * (1.0 + multiple);
  if (std::abs(std::remainder(gap, step)) > tolerance) return common_measure(gap, step, tolerance);
  return gap / multiple;
}

/// Sorted responses, cut where numbers of a fixed count of digits, decimal or binary, change their step.
std::vector<std::span<const double>> of_one_step(std::span<const double> sorted) {
  const auto place = [](double value) {
    const double size = std::abs(value);
    if (!(size > 0.0)) return std::pair(0.0, 0.0);
    const double sign = value < 0.0 ? -1.0 : 1.0;
    return std::pair(sign * (2000.0 + std::floor(std::log10(size))), std::floor(std::log2(size)));
  };
  std::vector<std::span<const double>> ranges;
  for (std::size_t first = 0; first < sorted.size();) {
    const auto own = place(sorted[first]);
    const auto rest = sorted.subspan(first);
    const auto end = std::ranges::partition_point(rest, [&](double value) { return place(value) == own; });
    ranges.push_back(rest.first(static_cast<std::size_t>(end - rest.begin())));
    first += ranges.back().size();
  }
  return ranges;
}

struct PairCount {
  double equal = 0.0;
  double near = 0.0;  // up to pair_bins steps apart
  double rows = 0.0;  // that share their value
};

/// Gives up, with what it has, where pairs are too many to be rare.
void count_pairs(std::span<const double> sorted, double step, PairCount& pairs) {
  const std::size_t n = sorted.size();
  for (std::size_t i = 0; i < n; ++i) {
    const bool shares = (i > 0 && sorted[i] == sorted[i - 1]) || (i + 1 < n && sorted[i] == sorted[i + 1]);
    pairs.rows += shares ? 1.0 : 0.0;
    for (std::size_t j = i + 1; j < n; ++j) {
      const double apart = sorted[j] - sorted[i];
      if (apart > (pair_bins + 0.5) * step) break;
      (apart == 0.0 ? pairs.equal : pairs.near) += 1.0;
      if (pairs.near > 4.0 * pair_bins * most_expected_pairs) return;
    }
  }
}

}  // namespace

double rounding_step(std::span<const double> sorted) {
  if (sorted.size() < least_values) return 0.0;
  // What the way through pilot coordinates may have cost.
  const double same = 1e-14 * std::max(std::abs(sorted.front()), std::abs(sorted.back()));
  std::vector<double> gaps;
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const double gap = sorted[i] - sorted[i - 1];
    if (gap > same) gaps.push_back(gap);
  }
  if (gaps.size() + 1 < least_values) return 0.0;
  std::ranges::sort(gaps);
  double step = gaps.front();
  for (const double gap : gaps) step = step_with(step, gap, same);
  if (!(step > 100.0 * same)) return 0.0;
  const bool all = std::ranges::all_of(gaps, [&](double gap) {
    const double multiple = gap / step;
    return multiple < 1e6 && std::abs(multiple - std::round(multiple)) < 1e-3 + 2.0 * same / step * multiple;
  });
  return all && same / step < 1e-2 ? step : 0.0;
}

double chance_of_value(const ModeModel& model, const Row& row, const Sight& sight, const RowBefore& before,
                       double value, double step) noexcept {
  double chance = 0.0;
  for (std::size_t h = 0; h < sight.chances.size(); ++h) {
    const auto law = model.laws.law(h);
    double residual = value;
    for (std::size_t j = 0; j < law.size(); ++j) residual -= law[j] * row.features[j];
    const double unit = 1.0 / std::sqrt(2.0 * model.laws.noise_variances[h]);
    const double within =
        0.5 * std::abs(std::erf((residual + 0.5 * step) * unit) - std::erf((residual - 0.5 * step) * unit));
    chance += std::max(sight.chances[h], before.posterior[h]) * within;
  }
  return std::min(chance, 1.0);
}

void Repeats::watch(const Sight& sight, const RowBefore& before, const PlacedRow& placed) {
  if (chains_.size() <= placed.slot) chains_.resize(placed.slot + 1);
  if (pull_.empty()) pull_.resize(sight.score.size());
  Chain& chain = chains_[placed.slot];
  rows_ += 1.0;
  if (!before.known) {
    chain = {};
    return;
  }
  const bool repeats = placed.row.response == before.response;
  const double chance =
      step_ > 0.0 ? chance_of_value(model_, placed.row, sight, before, before.response, step_) : 0.0;
  repeats_ += repeats ? 1.0 : 0.0;
  expected_ += chance;
  thrice_ += repeats && chain.repeats ? 1.0 : 0.0;
  expected_thrice_ += chance * chain.chance;
  if (repeats) {
    for (std::size_t q = 0; q < pull_.size(); ++q) pull_[q] += placed.row.weight * sight.score[q];
  }
  chain = {repeats, chance};
}

double Repeats::log_p() const {
  return poisson_log_p(thrice_, expected_thrice_);
}

double Repeats::share() const {
  return rows_ > 0.0 ? std::max(repeats_ - expected_, 0.0) / rows_ : 0.0;
}

EqualPairs equal_pairs(std::span<const double> sorted) {
  const std::vector<std::span<const double>> ranges = of_one_step(sorted);
  double coarsest = 0.0;
  std::vector<double> steps;
  for (const auto range : ranges) {
    steps.push_back(rounding_step(range));
    coarsest = std::max(coarsest, steps.back());
  }
  PairCount pairs;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool few = ranges[i].size() < least_values;  // too few to tell their step: as coarse as any
    count_pairs(ranges[i], few ? coarsest : steps[i], pairs);
    if (pairs.near > 2.0 * pair_bins * most_expected_pairs) return {};
  }
  EqualPairs result;
  result.log_p = poisson_log_p(pairs.equal, 0.5 * pairs.near / pair_bins);
  result.share = pairs.rows / std::max(1.0, static_cast<double>(sorted.size()));
  return result;
}

}  // namespace mixstream
