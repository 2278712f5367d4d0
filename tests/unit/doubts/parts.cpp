// The small parts: terms, rounding, repeats, words, intervals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "mixstream/core/random.hpp"
#include "mixstream/doubts/interval_fit.hpp"
#include "mixstream/doubts/response.hpp"
#include "mixstream/doubts/sums.hpp"
#include "mixstream/doubts/terms.hpp"
#include "mixstream/doubts/words.hpp"

using namespace mixstream;

TEST_CASE("a feature's name is read as powers of columns") {
  CHECK(powers_of("1").empty());
  CHECK(powers_of("u") == Powers{{"u", 1}});
  CHECK(powers_of("u^2*v") == Powers{{"u", 2}, {"v", 1}});
  CHECK(powers_of("u*u^2") == Powers{{"u", 3}});
  CHECK(powers_of("`a*b`^2") == Powers{{"`a*b`", 2}});
  CHECK(powers_of("log(u*2)") == Powers{{"log(u*2)", 1}});
  CHECK(powers_of("u/v") == Powers{{"u/v", 1}});
  CHECK(name_of(powers_of("u*v*u")) == "u^2*v");
}

TEST_CASE("terms that a map lacks come by degree, squares first, and none that it has") {
  std::vector<std::string> names;
  const auto terms = missing_terms({"1", "u", "v", "u^2"}, 48);
  for (const Term& term : terms) names.push_back(term.name);
  CHECK(names == std::vector<std::string>{"v^2", "u*v", "u^3", "v^3", "u^2*v", "u*v^2"});
  CHECK(terms[4].below == std::vector<std::size_t>{1});     // u*v below u^2*v; u^2 is in the map
  CHECK(terms[5].below == std::vector<std::size_t>{0, 1});  // v^2 and u*v below u*v^2
  CHECK(missing_terms({"u", "v"}, 48).front().name == "1");
  CHECK(missing_terms({"1", "u", "v"}, 2).size() == 2);
  CHECK(terms[4].factors == std::vector<std::size_t>{1, 1, 2});
}

TEST_CASE("where a column stands only in a power, the power takes its place") {
  const auto terms = missing_terms({"1", "t^4"}, 48);
  REQUIRE(terms.size() == 2);
  CHECK(terms[0].name == "t^8");
  CHECK(terms[1].name == "t^12");
}

std::vector<double> sorted(std::vector<double> values) {
  std::ranges::sort(values);
  return values;
}

TEST_CASE("the step of rounding is found, and none where there is none") {
  Random random(3);
  std::vector<double> plain, rounded;
  for (int i = 0; i < 2000; ++i) {
    plain.push_back(1e3 + 2.0 * random.normal());
    rounded.push_back(0.25 * std::round(plain.back() / 0.25));
  }
  CHECK(rounding_step(sorted(plain)) == 0.0);
  CHECK(rounding_step(sorted(rounded)) == doctest::Approx(0.25));
  for (double& value : rounded) value = 0.1 * std::round(value / 0.1);
  CHECK(rounding_step(sorted(rounded)) == doctest::Approx(0.1).epsilon(1e-6));
}

TEST_CASE("one value far away hides no rounding") {
  Random random(7);
  std::vector<double> rounded;
  for (int i = 0; i < 3000; ++i) rounded.push_back(1e4 + 1e-3 * std::round(1e3 * random.uniform()));
  rounded.push_back(10500.123);
  CHECK(rounding_step(sorted(rounded)) == doctest::Approx(1e-3).epsilon(1e-6));
  for (double& value : rounded) value += 1e-5 * random.normal();
  CHECK(rounding_step(sorted(rounded)) == 0.0);
}

TEST_CASE("equal pairs tell a stuck sensor from rounding") {
  Random random(4);
  std::vector<double> fine, stuck;
  for (int i = 0; i < 5000; ++i) fine.push_back(1e-5 * std::round(random.normal() / 1e-5));
  CHECK(equal_pairs(sorted(fine)).log_p > std::log(1e-3));
  stuck = fine;
  for (std::size_t i = 0; i < 100; ++i) stuck[i] = stuck[i % 20];
  CHECK(equal_pairs(sorted(stuck)).log_p < std::log(1e-9));
  std::vector<double> exact;
  for (int i = 0; i < 5000; ++i) exact.push_back(random.normal());
  CHECK(equal_pairs(sorted(exact)).log_p == 0.0);
  for (std::size_t i = 0; i < 40; ++i) exact[i] = exact[i + 40];
  CHECK(equal_pairs(sorted(exact)).log_p < std::log(1e-9));
  CHECK(equal_pairs(sorted(exact)).share == doctest::Approx(80.0 / 5000.0));
  for (std::size_t i = 0; i < 1000; ++i) exact[i] = exact[i % 20];
  CHECK(equal_pairs(sorted(exact)).log_p < -3000.0);
}

TEST_CASE("numbers of six digits, and floats, are no stuck sensor") {
  Random random(9);
  std::vector<double> digits, floats;
  for (int i = 0; i < 5000; ++i) {
    const double value = 8.0 + 12.0 * random.normal();
    const double step = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 5.0);
    digits.push_back(step * std::round(value / step));
    floats.push_back(static_cast<double>(static_cast<float>(value)));
  }
  CHECK(equal_pairs(sorted(digits)).log_p > std::log(1e-3));
  CHECK(equal_pairs(sorted(floats)).log_p > std::log(1e-3));
  for (std::size_t i = 0; i < 60; ++i) digits[i] = floats[i] = digits[i + 60 - i % 60];
  CHECK(equal_pairs(sorted(digits)).log_p < std::log(1e-9));
  CHECK(equal_pairs(sorted(floats)).log_p < std::log(1e-9));
}

TEST_CASE("chi-square and F agree with tables") {
  CHECK(chi_square_p(3.841459, 1) == doctest::Approx(0.05).epsilon(1e-5));
  CHECK(chi_square_p(11.344867, 3) == doctest::Approx(0.01).epsilon(1e-5));
  CHECK(f_p(4.084746, 1, 40) == doctest::Approx(0.05).epsilon(1e-5));
  CHECK(f_p(2.838745, 3, 40) == doctest::Approx(0.05).epsilon(1e-5));
  CHECK(chi_square_p(0.0, 3) == 1.0);
}

TEST_CASE("a truncated normal deviate has the mean and square of its integral") {
  for (const auto& [low, high] : {std::pair{-1.0, 0.5}, std::pair{2.0, 2.4}, std::pair{-6.0, -5.0}}) {
    double chance = 0.0, mean = 0.0, square = 0.0;
    const int steps = 200000;
    for (int i = 0; i < steps; ++i) {
      const double z = low + (high - low) * (i + 0.5) / steps;
      const double density =
          std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi) * (high - low) / steps;
      chance += density;
      mean += z * density;
      square += z * z * density;
    }
    const Truncated seen = truncated_normal(low, high);
    CHECK(seen.chance == doctest::Approx(chance).epsilon(1e-7));
    CHECK(seen.mean == doctest::Approx(mean / chance).epsilon(1e-6));
    CHECK(seen.square == doctest::Approx(square / chance).epsilon(1e-6));
  }
}

TEST_CASE("a doubt is said with its size and mended by a command") {
  const DoubtContext context{{"1", "u", "v"}, "power", 3, 2.0};
  Doubt doubt;
  doubt.kind = DoubtKind::missing_term;
  doubt.term = "u^2";
  doubt.size = 0.05;
  doubt.shift = 0.17;
  CHECK(doubt_sentence(doubt, context) == "about +0.05 u^2 in every law: 0.17 noise sd at most");
  CHECK(doubt_remedy(doubt, context) == "add u^2: -x '1,u,v,u^2'");
  doubt.term = "u^3";
  CHECK(doubt_remedy(doubt, context) == "add u^2 and u^3: -x '1,u,v,u^2,u^3'");
  doubt.kind = DoubtKind::missing_term_of_one_law;
  doubt.law = 1;
  doubt.term = "u*v";
  CHECK(doubt_sentence(doubt, context) == "about +0.05 u*v in law 2: 0.17 noise sd at most");
  doubt = {};
  doubt.kind = DoubtKind::stuck;
  doubt.size = 0.02;
  CHECK(doubt_sentence(doubt, context) == "power repeats its value in 2 % of rows: it hardly moves the laws");
  doubt.kind = DoubtKind::gate;
  doubt.term = "u";
  doubt.size = std::log(10.0) / 0.25;
  CHECK(doubt_sentence(doubt, context) ==
        "u chooses the law: 0.25 more of it changes the odds tenfold: it hardly moves the laws");
  doubt.kind = DoubtKind::missing_term;
  doubt.size = -446000.0;
  CHECK(doubt_sentence(doubt, context).starts_with("about -446000 u in every law"));
  doubt.term.clear();
  doubt.kind = DoubtKind::delay;
  doubt.size = 1.0;
  CHECK(doubt_remedy(doubt, {{"1", "u", "u^2*v"}, "y", 2, 1.0}) == "-x '1,lag(u,1),lag(u,1)^2*lag(v,1)'");
  for (std::size_t kind = 0; kind < doubt_kind_count; ++kind) {
    doubt.kind = static_cast<DoubtKind>(kind);
    CHECK_FALSE(doubt_title(doubt).empty());
    CHECK_FALSE(doubt_sentence(doubt, context).empty());
    CHECK_FALSE(doubt_remedy(doubt, context).empty());
    CHECK(std::string(name_of(doubt.kind)) != "unknown");
  }
}
