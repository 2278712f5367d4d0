#include "mixstream/rows/reservoir.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

using namespace mixstream;

namespace {

constexpr double one = 1.0;

/// A row whose response is its number.
Row numbered(std::size_t number) {
  return {{&one, 1}, static_cast<double>(number)};
}

/// Offers rows [begin, end) of a stream with these weights.
void offer(Reservoir& reservoir, const std::vector<double>& weights, std::uint64_t seed, std::size_t begin,
           std::size_t end) {
  const std::uint64_t source = source_hash(seed, 0);
  for (std::size_t i = begin; i < end; ++i)
    reservoir.offer(numbered(i), row_hash(source, i), weights[i], static_cast<std::uint8_t>(i % 4));
}

Reservoir sampled(const std::vector<double>& weights, std::uint64_t seed, std::size_t capacity) {
  Reservoir reservoir(capacity, 1);
  offer(reservoir, weights, seed, 0, weights.size());
  return reservoir;
}

/// How often each row of the population stands in the sample, over `draws` seeds.
template <class Draw>
std::vector<double> inclusion_counts(std::size_t population, int draws, Draw draw) {
  std::vector<double> counts(population);
  for (int seed = 0; seed < draws; ++seed) {
    const Sample sample = draw(static_cast<std::uint64_t>(seed)).sample(1.0);
    for (const double number : sample.rows.responses) ++counts[static_cast<std::size_t>(number)];
  }
  return counts;
}

/// Chances that rows drawn one after the other, in proportion to weight, without replacement, are among the
/// first `capacity`: by simulating just that.
std::vector<double> successive_sampling(const std::vector<double>& weights, std::size_t capacity, int draws) {
  std::mt19937_64 random(99);
  std::vector<double> counts(weights.size());
  for (int draw = 0; draw < draws; ++draw) {
    std::vector<double> left = weights;
    for (std::size_t taken = 0; taken < capacity; ++taken) {
      std::discrete_distribution<std::size_t> choose(left.begin(), left.end());
      const std::size_t chosen = choose(random);
      ++counts[chosen];
      left[chosen] = 0.0;
    }
  }
  return counts;
}

/// Pearson's statistic for two tables of counts from equally many draws.
double chi_square(const std::vector<double>& seen, const std::vector<double>& expected, int draws) {
  double statistic = 0.0;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double share = (seen[i] + expected[i]) / (2.0 * draws);
    statistic += std::pow(seen[i] - expected[i], 2) / (2.0 * draws * share * (1.0 - share));
  }
  return statistic;
}

}  // namespace

TEST_CASE("every row stands in the sample while there is room, with its own weight") {
  const std::vector<double> weights{1.0, 2.0, 0.5};
  const Sample sample = sampled(weights, 1, 3).sample(1.0);
  REQUIRE(sample.rows.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = static_cast<std::size_t>(sample.rows.responses[i]);
    CHECK(sample.rows.weights[i] == weights[number]);
    CHECK(sample.bins[i] == number % 4);
  }
}

TEST_CASE("chances of standing in the sample are those of drawing in proportion to weight") {
  std::vector<double> weights(40);
  for (std::size_t i = 0; i < weights.size(); ++i)
    weights[i] = i % 4 == 0 ? 5.0 : 0.5 + 0.05 * static_cast<double>(i);
  constexpr int draws = 20000;
  const auto seen =
      inclusion_counts(40, draws, [&](std::uint64_t seed) { return sampled(weights, seed, 8); });
  const auto expected = successive_sampling(weights, 8, draws);
  CHECK(chi_square(seen, expected, draws) < 75.0);  // 39 degrees of freedom; 75 is passed once in 2,500
  std::vector<double> equal(40, 1.0);
  const auto flat = inclusion_counts(40, draws, [&](std::uint64_t seed) { return sampled(equal, seed, 8); });
  CHECK(chi_square(flat, expected, draws) > 1000.0);  // the test can tell
}

TEST_CASE("weights of the sample estimate means of the whole stream without bias, split or not") {
  std::mt19937_64 random(5);
  std::lognormal_distribution<double> draw(0.0, 1.5);
  std::vector<double> weights(2000);
  for (double& weight : weights) weight = draw(random);
  double total = 0.0;
  double mean = 0.0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    total += weights[i];
    mean += weights[i] * static_cast<double>(i);
  }
  mean /= total;
  constexpr int draws = 3000;
  for (const bool split : {false, true}) {
    double sum = 0.0;
    double squares = 0.0;
    for (std::uint64_t seed = 0; seed < draws; ++seed) {
      Reservoir reservoir(100, 1);
      Reservoir other(100, 1);
      offer(reservoir, weights, seed, 0, split ? 700 : 2000);
      if (split) offer(other, weights, seed, 700, 2000);
      reservoir.merge(other, 1.0);
      const Sample sample = reservoir.sample(1.0);
      double estimate = 0.0;
      for (std::size_t i = 0; i < 100; ++i) estimate += sample.rows.weights[i] * sample.rows.responses[i];
      estimate /= std::accumulate(sample.rows.weights.begin(), sample.rows.weights.end(), 0.0);
      CHECK(std::accumulate(sample.rows.weights.begin(), sample.rows.weights.end(), 0.0) ==
            doctest::Approx(100.0));
      sum += estimate;
      squares += estimate * estimate;
    }
    const double average = sum / draws;
    const double deviation = std::sqrt((squares / draws - average * average) / draws);
    CHECK(std::abs(average - mean) < 4.0 * deviation);
    CHECK(deviation < 2.0);
  }
}

TEST_CASE("any split in any order merges to the same sample") {
  std::mt19937_64 random(6);
  std::vector<double> weights(500);
  for (double& weight : weights) weight = std::exp2(static_cast<double>(random() % 20) - 10.0);
  const Reservoir whole = sampled(weights, 3, 32);
  for (int round = 0; round < 50; ++round) {
    const std::size_t a = random() % 500;
    const std::size_t b = a + random() % (500 - a);
    std::vector<Reservoir> parts(3, Reservoir(32, 1));
    offer(parts[0], weights, 3, 0, a);
    offer(parts[1], weights, 3, a, b);
    offer(parts[2], weights, 3, b, 500);
    std::ranges::shuffle(parts, random);
    parts[0].merge(parts[1], 1.0);
    parts[0].merge(parts[2], 1.0);
    REQUIRE(parts[0] == whole);
    REQUIRE(parts[0].sample(1.0).rows == whole.sample(1.0).rows);
  }
}

TEST_CASE("scaling every weight changes no choice, and vanished rows leave") {
  std::vector<double> weights(300, 1.0);
  Reservoir reservoir(16, 1);
  offer(reservoir, weights, 7, 0, 150);
  reservoir.scale_weights(0x1p-40);
  CHECK(reservoir.sample(0x1p-40).rows == sampled(std::vector<double>(150, 1.0), 7, 16).sample(1.0).rows);
  for (int i = 0; i < 50; ++i) reservoir.scale_weights(0x1p-64);
  CHECK(reservoir.size() == 0);
  offer(reservoir, weights, 7, 150, 300);
  Reservoir fresh(16, 1);
  offer(fresh, weights, 7, 150, 300);
  CHECK(reservoir == fresh);  // slots freed by the vanished serve the new
}

TEST_CASE("a part of the rows vanishes while the others stay whole") {
  std::vector<double> weights(40);
  for (std::size_t i = 0; i < 40; ++i) weights[i] = i % 2 == 0 ? 1e-100 : 1.0;
  Reservoir reservoir = sampled(weights, 2, 40);
  reservoir.scale_weights(0x1p-600);
  Reservoir kept(40, 1);
  for (std::size_t i = 1; i < 40; i += 2)
    kept.offer(numbered(i), row_hash(source_hash(2, 0), i), weights[i], static_cast<std::uint8_t>(i % 4));
  kept.scale_weights(0x1p-600);
  CHECK(reservoir == kept);
  for (const Reservoir::Entry& entry : reservoir.entries()) CHECK(entry.weight > 0.0);
}

TEST_CASE("an entry that no row could have made is not restored") {
  const double values[2] = {1.0, 2.0};
  Reservoir made = sampled({1.0, 3.0, 0.5}, 4, 3);
  const Reservoir::Entry good = made.entries()[0];
  Reservoir reservoir(1, 1);
  const auto refuses = [&](auto change) {
    Reservoir::Entry entry = good;
    change(entry);
    CHECK_FALSE(reservoir.restore(entry, values));
  };
  refuses([](Reservoir::Entry& e) { e.key = 0.0; });
  refuses([](Reservoir::Entry& e) { e.key *= 0x1p1000; });
  refuses([](Reservoir::Entry& e) { e.key *= 1.001; });
  refuses([](Reservoir::Entry& e) { e.weight = 0.0; });
  refuses([](Reservoir::Entry& e) { e.weight = std::nan(""); });
  refuses([](Reservoir::Entry& e) { e.weight = -e.weight; });
  refuses([](Reservoir::Entry& e) { e.hash ^= 1ULL << 60; });
  CHECK_FALSE(reservoir.restore(good, {values, 1}));
  CHECK(reservoir.restore(good, values));
  CHECK(reservoir.restore(made.entries()[1], values));
  CHECK_FALSE(reservoir.restore(made.entries()[2], values));  // no room
}
