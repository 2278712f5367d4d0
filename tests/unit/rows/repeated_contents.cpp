#include "mixstream/rows/repeated_contents.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/rows/reservoir.hpp"

using namespace mixstream;

namespace {

constexpr std::size_t row_count = 100'000;
constexpr std::size_t sample_rows = 1'000;

/// A stream of rows: what the response is, by its number.
using Stream = std::function<std::vector<double>(std::mt19937_64& random)>;

std::vector<double> drawn(const std::function<double()>& draw) {
  std::vector<double> responses(row_count);
  std::ranges::generate(responses, draw);
  return responses;
}

Stream levels(double count) {
  return [count](std::mt19937_64& random) {
    std::uniform_real_distribution<double> uniform(0.0, count);
    return drawn([&] { return std::floor(uniform(random)) / count; });
  };
}

/// A machine that is off for half of the rows, for 500 rows at a time.
std::vector<double> half_off(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 0.5);
  std::vector<double> responses = drawn([&] { return uniform(random); });
  for (std::size_t i = 0; i < row_count; ++i) {
    if (i / 500 % 2 == 1) responses[i] = 1.0;
  }
  return responses;
}

/// From the middle on a sensor is stuck.
std::vector<double> stuck_late(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 0.5);
  std::vector<double> responses = drawn([&] { return uniform(random); });
  std::fill(responses.begin() + row_count / 2, responses.end(), 1.0);
  return responses;
}

std::vector<double> file_ten_times(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<double> responses = drawn([&] { return uniform(random); });
  for (std::size_t i = row_count / 10; i < row_count; ++i) responses[i] = responses[i - row_count / 10];
  return responses;
}

std::vector<double> all_different(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  return drawn([&] { return uniform(random); });
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Drawn {
  double bias;   ///< of the sample's mean, in standard errors of the mean over all draws
  double worth;  ///< of a row of the sample, in rows of a sample whose rows are drawn one by one
};

/// The samples of many streams of this kind, their rows numbered by what they hold.
Drawn sampled(const Stream& stream, bool notices_repeats, int draws) {
  double errors = 0.0;
  double squares = 0.0;
  for (int seed = 0; seed < draws; ++seed) {
    std::mt19937_64 random(static_cast<unsigned>(seed));
    const std::vector<double> responses = stream(random);
    const double mean = mean_of(responses);
    double variance = 0.0;
    for (const double value : responses) variance += (value - mean) * (value - mean) / row_count;
    RepeatedContents contents;
    Reservoir reservoir(sample_rows, 1);
    const std::uint64_t source = source_hash(static_cast<std::uint64_t>(seed), 0);
    for (std::size_t i = 0; i < row_count; ++i) {
      const double one = 1.0;
      const Row row{{&one, 1}, responses[i]};
      const std::uint64_t content = content_number(row);
      const bool repeats = notices_repeats && contents.notice(content);
      reservoir.offer(row, row_hash(source, repeats ? row_hash(7, i) : content), 1.0, 0);
    }
    const double chance = static_cast<double>(sample_rows) / row_count;
    const double error = (mean_of(reservoir.sample(1.0).rows.responses) - mean) /
                         std::sqrt(variance * (1.0 - chance) / static_cast<double>(sample_rows));
    errors += error;
    squares += error * error;
  }
  return {errors / std::sqrt(squares), draws / squares};
}

}  // namespace

TEST_CASE("a row's number is what it holds") {
  const std::array<double, 3> features{1.0, 0.25, -0.0};
  const Row row{features, 3.5, 2.0, 10.0, 4};
  const std::uint64_t number = content_number(row);
  const std::array<double, 3> same{1.0, 0.25, 0.0};
  CHECK(content_number({same, 3.5, 2.0, 10.0, 4}) == number);
  const std::array<double, 3> turned{1.0, 0.0, 0.25};
  CHECK(content_number({turned, 3.5, 2.0, 10.0, 4}) != number);
  CHECK(content_number({features, std::nextafter(3.5, 4.0), 2.0, 10.0, 4}) != number);
  CHECK(content_number({features, 3.5, 1.0, 10.0, 4}) != number);
  CHECK(content_number({features, 3.5, 2.0, 11.0, 4}) != number);
  CHECK(content_number({features, 3.5, 2.0, 10.0, 5}) != number);
}

TEST_CASE("numbers of rounded values are all different and fill their range") {
  std::vector<std::uint64_t> numbers;
  for (int a = 0; a < 300; ++a) {
    for (int b = 0; b < 300; ++b) {
      const std::array<double, 2> features{a * 0.5, b * 0.25};
      numbers.push_back(content_number({features, static_cast<double>(a - b)}));
    }
  }
  std::ranges::sort(numbers);
  CHECK(std::ranges::adjacent_find(numbers) == numbers.end());
  double farthest = 0.0;  // Kolmogorov's distance
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(numbers.size());
    farthest = std::max(farthest, std::abs(static_cast<double>(numbers[i]) * 0x1p-64 - share));
  }
  CHECK(farthest * std::sqrt(static_cast<double>(numbers.size())) < 2.0);
}

TEST_CASE("rows that repeat are sampled row by row") {
  struct Kind {
    std::string name;
    Stream stream;
  };
  for (const Kind& kind :
       {Kind{"all different", all_different}, Kind{"half off", half_off}, Kind{"stuck late", stuck_late},
        Kind{"20 levels", levels(20)}, Kind{"200 levels", levels(200)}, Kind{"2,000 levels", levels(2'000)},
        Kind{"20,000 levels", levels(20'000)}, Kind{"a file ten times", file_ten_times}}) {
    CAPTURE(kind.name);
    const Drawn content = sampled(kind.stream, true, 200);
    MESSAGE(kind.name << ": bias " << content.bias << ", worth " << content.worth << "; by content alone "
                      << sampled(kind.stream, false, 20).worth);
    CHECK(std::abs(content.bias) < 4.0);
    CHECK(content.worth > 0.65);  // 16/17 is promised; a tenth is what 200 draws may err by
  }
}

TEST_CASE("what was noticed is saved and added") {
  RepeatedContents one, two, both;
  for (std::uint64_t i = 0; i < 100; ++i) {
    CHECK_FALSE(one.notice(mixed_bits(i)));
    CHECK_FALSE(two.notice(mixed_bits(1000 + i)));
  }
  CHECK(one.notice(mixed_bits(99)));
  CHECK(one.returns() == 1);
  CHECK(one.notice(mixed_bits(99)));
  CHECK(one.returns() == 1);
  both = one;
  both.merge(two);
  CHECK(both.notice(mixed_bits(99)));
  CHECK(both.notice(mixed_bits(1000 + 99)));
  CHECK(both.returns() == 2);

  ByteWriter out;
  both.encode(out);
  const Bytes bytes = std::move(out).take();
  ByteReader in(bytes);
  const std::optional<RepeatedContents> read = RepeatedContents::decode(in);
  REQUIRE(read);
  CHECK(in.at_end());
  CHECK(read->returns() == 2);
  ByteReader cut(std::span<const std::byte>(bytes).first(bytes.size() - 1));
  CHECK_FALSE(RepeatedContents::decode(cut));
}

TEST_CASE("once enough contents have come again all rows are numbered by their places") {
  RepeatedContents contents;
  for (std::uint64_t i = 0; contents.returns() < RepeatedContents::most_returns; ++i)
    contents.notice(mixed_bits(i % 5'000));
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(contents.notice(mixed_bits(1'000'000 + i)));
}
