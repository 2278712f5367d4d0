#include "mixstream/following/transition_watch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "mixstream/following/mode_drift.hpp"
#include "mixstream/likelihood/chi_square.hpp"

namespace mixstream {
namespace {

constexpr std::size_t block_rows = 1024;

/// Transitions of a chain that keeps its mode with probability `memory` and else draws one by the weights, a
/// block after the other.
class CountedChain {
 public:
  CountedChain(std::vector<double> weights, double memory, unsigned seed)
      : weights_(std::move(weights)), memory_(memory), random_(seed) {}

  void set_weights(std::vector<double> weights) { weights_ = std::move(weights); }
  void set_memory(double memory) { memory_ = memory; }

  std::vector<double> next_block() {
    const std::size_t k = weights_.size();
    std::vector<double> counts(k * k);
    for (std::size_t left = block_rows; left > 0;) {
      const double leaves = (1.0 - memory_) * (1.0 - weights_[mode_]);
      const auto stays =
          std::min<std::size_t>(left, std::geometric_distribution<std::size_t>(leaves)(random_));
      counts[mode_ * k + mode_] += static_cast<double>(stays);
      left -= stays;
      if (left == 0) break;
      std::vector<double> others = weights_;
      others[mode_] = 0.0;
      const std::size_t to = std::discrete_distribution<std::size_t>(others.begin(), others.end())(random_);
      counts[mode_ * k + to] += 1.0;
      mode_ = to;
      --left;
    }
    return counts;
  }

 private:
  std::vector<double> weights_;
  double memory_;
  std::size_t mode_ = 0;
  std::mt19937 random_;
};

double deviations(TransitionWatch& watch) {
  const TransitionWatch::Reading reading = watch.likeliest_change(ModeDriftSettings{}.enough_changes);
  return reading.dof > 0.0 ? deviations_of_chi_square(reading.chi_square, reading.dof) : 0.0;
}

/// The largest reading of a stream of so many blocks, read after each.
double largest_reading(CountedChain chain, std::size_t k, std::size_t blocks) {
  TransitionWatch watch(k);
  double largest = 0.0;
  for (std::size_t block = 0; block < blocks; ++block) {
    watch.add(chain.next_block());
    largest = std::max(largest, deviations(watch));
  }
  return largest;
}

TEST_CASE("a chain that does not change raises nothing: 600 streams") {
  const double limit = ModeDriftSettings{}.change_limit;
  for (const auto& [k, dwell] : {std::pair{2U, 300.0}, {3U, 300.0}, {3U, 1000.0}, {4U, 300.0}}) {
    std::vector<double> readings;
    const double equal = 1.0 / k;
    const double memory = 1.0 - 1.0 / dwell / (1.0 - equal);
    for (unsigned seed = 0; seed < 150; ++seed)
      readings.push_back(
          largest_reading(CountedChain(std::vector<double>(k, equal), memory, 100 * k + seed), k, 98));
    std::ranges::sort(readings);
    INFO("k ", k, " dwell ", dwell, " median ", readings[75], " of the largest ", readings.back());
    CHECK(readings.back() < limit);
    // The likeliest of many boundaries: one in a hundred streams passes 4.2, and a tenth of these 0.75 more.
    CHECK(readings[147] < 4.7);
  }
}

TEST_CASE("a change of weights or of dwell is seen, and told once") {
  const double memory = 1.0 - 1.0 / 300.0 / (2.0 / 3.0);
  const double limit = ModeDriftSettings{}.change_limit;
  for (const bool of_weights : {true, false}) {
    int seen = 0;
    for (unsigned seed = 0; seed < 20; ++seed) {
      CountedChain chain(std::vector<double>(3, 1.0 / 3.0), memory, seed);
      TransitionWatch watch(3);
      for (int block = 0; block < 98; ++block) watch.add(chain.next_block());
      REQUIRE(deviations(watch) < limit);
      if (of_weights)
        chain.set_weights({0.7, 0.2, 0.1});
      else
        chain.set_memory(1.0 - 10.0 * (1.0 - memory));
      for (int block = 0; block < (of_weights ? 98 : 5); ++block) watch.add(chain.next_block());
      if (!(deviations(watch) > limit)) continue;
      ++seen;
      watch.forget_before(watch.likeliest_change(20.0).stretches);
      CHECK(deviations(watch) < limit);
    }
    CHECK(seen >= 18);
  }
}

TEST_CASE("what is counted stays counted while stretches double, and is restored") {
  CountedChain chain({0.5, 0.5}, 0.99, 1);
  TransitionWatch watch(2);
  double rows = 0.0;
  for (int block = 0; block < 1000; ++block) {
    watch.add(chain.next_block());
    rows += block_rows;
  }
  const std::vector<double>& counts = watch.state().counts;
  CHECK(std::accumulate(counts.begin(), counts.end(), 0.0) == rows);
  CHECK(counts.size() / 4 <= TransitionWatch::most_stretches);
  REQUIRE(TransitionWatch::is_sound(watch.state(), 2));
  TransitionWatch copy(2);
  copy.restore(watch.state());
  const std::vector<double> block = chain.next_block();
  watch.add(block);
  copy.add(block);
  CHECK(copy.state() == watch.state());
  TransitionWatchState odd = watch.state();
  odd.counts.pop_back();
  CHECK(!TransitionWatch::is_sound(odd, 2));
  odd = watch.state();
  odd.counts[0] = -1.0;
  CHECK(!TransitionWatch::is_sound(odd, 2));
}

}  // namespace
}  // namespace mixstream
