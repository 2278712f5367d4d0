#include "mixstream/refinement/refine.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/refinement/fit_conditions.hpp"
#include "support/expected_tensor.hpp"
#include "support/kept.hpp"

using namespace mixstream;
using namespace experiments;

namespace {

double refined_error(const Setting& setting, const Drawn& drawn, const Kept& kept, RefinedFit& fit) {
  auto outcome = refine(kept.tensor, kept.sample, setting.k, {}, {.noise = setting.noise()});
  REQUIRE(outcome);
  fit = outcome.value();
  return law_error(drawn.truth, to_raw(fit.mixture, drawn.layout, kept.pilot));
}

double likelihood_error(const Setting& setting, const Drawn& drawn) {
  return law_error(drawn.truth, fit_em(drawn.rows, drawn.truth, {.noise = setting.noise()}).mixture);
}

/// y = s p u + r q v with u, v, s, r = 1 or -1, all equally likely: four laws whose y is spread over the same
/// four levels at every (u, v), so that four constants explain it as well, and other sets of planes.
Drawn planes_or_levels(std::size_t rows, std::uint64_t seed) {
  const double p = 1.0, q = 0.37, noise = 0.1;
  Drawn drawn{
      {3, {0.25, 0.25, 0.25, 0.25}, {}, std::vector<double>(4, noise * noise)}, {3, {}, {}, {}}, {3, 0}};
  for (const double s : {1.0, -1.0}) {
    for (const double r : {1.0, -1.0})
      for (const double beta : {0.0, s * p, r * q}) drawn.truth.coefficients.push_back(beta);
  }
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal(0.0, noise);
  const auto sign = [&] { return random() % 2 == 0 ? 1.0 : -1.0; };
  for (std::size_t i = 0; i < rows; ++i) {
    const std::vector<double> x{1.0, sign(), sign()};
    drawn.rows.add({x, sign() * p * x[1] + sign() * q * x[2] + normal(random)});
  }
  return drawn;
}

/// Lines over a standard normal u: few rows carry the moments of high order.
Drawn normal_lines(const std::vector<double>& weights, const std::vector<double>& laws, std::size_t rows,
                   unsigned seed) {
  const double noise = 0.2;
  Drawn drawn{
      {2, weights, laws, std::vector<double>(weights.size(), noise * noise)}, {2, {}, {}, {}}, {2, 0}};
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::discrete_distribution<std::size_t> component(weights.begin(), weights.end());
  for (std::size_t i = 0; i < rows; ++i) {
    const std::vector<double> x{1.0, normal(random)};
    const std::size_t h = component(random);
    drawn.rows.add({x, laws[2 * h] + laws[2 * h + 1] * x[1] + noise * normal(random)});
  }
  return drawn;
}

}  // namespace

TEST_CASE("exact population moments give back the exact parameters, k > d included") {
  const std::vector<Setting> settings{{"line", "1,t", 2, {0.65, 0.35}, {0.05, 0.4}},
                                      {"three lines", "1,t", 3},
                                      {"plane", "1,u,v", 3},
                                      {"no constant", "u,v", 3, {0.5, 0.3, 0.2}}};
  for (const Setting& setting : settings) {
    CAPTURE(setting.name);
    const Drawn drawn = draw(setting, 400, 21);
    const MomentTensor tensor = expected_tensor(drawn.rows, drawn.layout, drawn.truth, 1e6);
    const Conditions conditions(tensor, drawn.rows, ConditionSet{});
    Mixture start = drawn.truth;
    std::mt19937 random(3);
    std::normal_distribution<double> normal(0.0, 0.02);
    for (double& coefficient : start.coefficients) coefficient += normal(random);
    for (double& variance : start.noise_variances) variance *= 1.05;
    const auto fit = fit_conditions(conditions, start, {.noise = setting.noise()});
    REQUIRE(fit);
    CHECK(law_error(drawn.truth, fit.value().mixture) < 1e-6);
    CHECK(fit.value().distance < 1e-6);
    for (std::size_t h = 0; h < setting.k; ++h) {
      CHECK(fit.value().mixture.noise_variances[h] ==
            doctest::Approx(drawn.truth.noise_variances[h]).epsilon(1e-6));
      CHECK(fit.value().mixture.weights[h] == doctest::Approx(drawn.truth.weights[h]).epsilon(1e-6));
    }
  }
}

TEST_CASE("known noise stays as it is") {
  const Setting setting{"plane", "1,u,v", 2};
  const Drawn drawn = draw(setting, 30000, 22);
  const Kept kept = keep(drawn, 3000);
  Mixture start = to_pilot(drawn.truth, drawn.layout, kept.pilot);
  const std::vector<double> known = start.noise_variances;
  for (double& coefficient : start.coefficients) coefficient += 0.05;
  const auto fit = refine(kept.tensor, kept.sample, 2, std::span(&start, 1), {.noise = NoiseModel::known});
  REQUIRE(fit);
  CHECK(fit.value().accepted);
  CHECK(fit.value().mixture.noise_variances == known);
  CHECK(fit.value().information.rows == 7);
}

TEST_CASE("x = (1, t, t^2), which the paper excludes, is fitted as well as by maximum likelihood") {
  double refined = 0.0;
  double likelihood = 0.0;
  const Setting setting{"parabola", "1,t,t^2", 2};
  for (std::uint64_t seed = 31; seed < 37; ++seed) {
    const Drawn drawn = draw(setting, 40000, seed);
    RefinedFit fit;
    refined += std::pow(refined_error(setting, drawn, keep(drawn), fit), 2.0);
    likelihood += std::pow(likelihood_error(setting, drawn), 2.0);
    CHECK(fit.accepted);
  }
  CHECK(std::sqrt(refined / likelihood) < 1.3);
}

TEST_CASE("two lines with intercept and unequal noise are found at 5,000 and at 100,000 rows") {
  const Setting setting{"line", "1,t", 2, {0.65, 0.35}, {0.05, 0.4}};
  for (const std::size_t rows : {5000, 100000}) {
    const Drawn drawn = draw(setting, rows, 41);
    RefinedFit fit;
    const double error = refined_error(setting, drawn, keep(drawn), fit);
    CHECK(fit.accepted);
    CHECK(error < 60.0 / std::sqrt(static_cast<double>(rows)) * 0.1);
  }
}

TEST_CASE("one component too few is never accepted") {
  const Drawn drawn = draw({"square", "1,u,v,u^2*v^2", 3}, 60000, 51);
  const Kept kept = keep(drawn, 2500);
  const auto fit = refine(kept.tensor, kept.sample, 2, {}, {});
  REQUIRE(fit);
  CHECK_FALSE(fit.value().accepted);
  CHECK(fit.value().complaints.distance);
}

TEST_CASE("while the sample holds every row, a richer model that explains them far better is told of") {
  const std::vector<double> laws{1.0, 2.0, -1.0, -1.0, 0.5, 1.0, 3.0, -2.0, 2.0};
  const Setting three{"three", "1,u,v", 3, {0.5, 0.3, 0.2}, {0.09}, false, false, laws};
  const Setting unequal{"unequal",   "1,u,v", 2,     {0.6, 0.4},
                        {0.01, 0.5}, true,    false, {laws.begin(), laws.begin() + 6}};
  int by_count = 0;
  int by_noise = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {  // J has little to say of so few rows
    const Kept few = keep(draw(three, 500, seed));
    const RefinedFit too_few = refine(few.tensor, few.sample, 2, {}, {}).value();
    CHECK_FALSE(too_few.accepted);
    by_count += too_few.complaints.count ? 1 : 0;
    CHECK_FALSE(refine(few.tensor, few.sample, 3, {}, {}).value().complaints.count);
    const Kept noisy = keep(draw(unequal, 3000, seed));
    const RefinedFit shared = refine(noisy.tensor, noisy.sample, 2, {}, {}).value();
    CHECK_FALSE(shared.accepted);
    by_noise += shared.complaints.noise ? 1 : 0;
  }
  CHECK(by_count >= 2);
  CHECK(by_noise >= 2);
}

TEST_CASE("where few rows carry the moments of order six, those of lower order decide") {
  const std::vector<double> two{1.0, 2.0, -1.0, -1.0};
  for (const unsigned seed : {45U, 46U}) {
    const Drawn drawn = normal_lines({0.3, 0.7}, two, 40000, seed);
    const Kept kept = keep(drawn);
    const auto fit = refine(kept.tensor, kept.sample, 2, {}, {});
    REQUIRE(fit);
    CHECK(fit.value().accepted);
    CHECK(fit.value().lower_order == (seed == 45));  // whose few rows beyond 4 lie far from their lines
    CHECK(law_error(drawn.truth, to_raw(fit.value().mixture, drawn.layout, kept.pilot)) < 0.05);
  }
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Drawn three = normal_lines({0.3, 0.4, 0.3}, {1.0, 2.0, -1.0, -1.0, 0.0, 0.5}, 40000, seed);
    const Kept kept = keep(three);
    const auto fit = refine(kept.tensor, kept.sample, 2, {}, {});
    REQUIRE(fit);
    CHECK_FALSE(fit.value().accepted);
  }
}

TEST_CASE("with many laws a fit that no other start comes back to is not accepted") {
  const Setting shape{"seven", "1,u,v,u*v^3,u^2*v^2,u^3*v,u^3*v^4,u^4*v^3", 7};
  int wrong = 0;
  for (unsigned seed = 1; seed <= 5; ++seed) {
    const Drawn drawn = draw(shape, 6000, seed);
    const Kept kept = keep(drawn, 2500);
    const auto error_of = [&](const RefinedFit& fit) {
      return law_error(drawn.truth, to_raw(fit.mixture, drawn.layout, kept.pilot));
    };
    const RefinedFit found = refine(kept.tensor, kept.sample, 7, {}, {.confirming_starts = 12}).value();
    const Mixture truth = to_pilot(drawn.truth, drawn.layout, kept.pilot);
    const RefinedFit known =
        refine(kept.tensor, kept.sample, 7, {}, {.confirming_starts = 12}, &truth).value();
    if (error_of(found) < 2.0 * error_of(known)) continue;
    ++wrong;
    CHECK_FALSE(found.accepted);
    CHECK(found.complaints.search);
  }
  CHECK(wrong >= 2);
  const Drawn seven = draw(shape, 6000, 4);
  const Kept few = keep(seven, 2500);
  const Mixture truth = to_pilot(seven.truth, seven.layout, few.pilot);
  const auto known = refine(few.tensor, few.sample, 7, {}, {.confirming_starts = 12}, &truth);
  REQUIRE(known);
  CHECK(known.value().accepted);
  const auto unmet = refine(few.tensor, few.sample, 7, {},
                            {.confirming_starts = 0, .rival_starts = 0, .previous_was_met = false}, &truth);
  REQUIRE(unmet);
  CHECK(unmet.value().complaints.only_search());

  const Drawn four = draw({"four", "1,u,v", 4}, 60000, 4);
  const Kept many = keep(four, 2500);
  const auto found = refine(many.tensor, many.sample, 4, {}, {});
  REQUIRE(found);
  CHECK(found.value().accepted);
}

TEST_CASE("laws that the rows cannot tell from others have rivals, once they are sought") {
  const Drawn drawn = planes_or_levels(20000, 5);
  const Kept kept = keep(drawn, 2500);
  const Mixture truth = to_pilot(drawn.truth, drawn.layout, kept.pilot);
  const auto unsought = refine(kept.tensor, kept.sample, 4, {}, {}, &truth);
  REQUIRE(unsought);
  CHECK(unsought.value().accepted);
  CHECK(unsought.value().rivals == 0);
  const auto sought = refine(kept.tensor, kept.sample, 4, {}, {.seek_rivals = true}, &truth);
  REQUIRE(sought);
  CHECK(sought.value().rivals > 0);

  const Drawn four = draw({"four", "1,u,v", 4}, 60000, 4);
  const Kept sure = keep(four, 2500);
  const Mixture right = to_pilot(four.truth, four.layout, sure.pilot);
  const auto alone = refine(sure.tensor, sure.sample, 4, {}, {.seek_rivals = true}, &right);
  REQUIRE(alone);
  CHECK(alone.value().accepted);
  CHECK(alone.value().rivals == 0);
}

TEST_CASE("a warm re-solve takes the last fit and one refinement") {
  const Drawn drawn = draw({"square", "1,u,v,u^2*v^2", 3}, 60000, 52);
  const Kept kept = keep(drawn);
  const auto cold = refine(kept.tensor, kept.sample, 3, {}, {});
  REQUIRE(cold);
  REQUIRE(cold.value().accepted);
  const auto warm = refine(kept.tensor, kept.sample, 3, {}, {}, &cold.value().mixture);
  REQUIRE(warm);
  CHECK(warm.value().accepted);
  CHECK(warm.value().starts_tried == 1);
  CHECK(warm.value().iterations < 6);
  CHECK(law_error(cold.value().mixture, warm.value().mixture) < 1e-2);
}

TEST_CASE("J of the fit before stands beside the new fit's") {
  const Drawn drawn = draw({"square", "1,u,v,u^2*v^2", 3}, 60000, 52);
  const Kept kept = keep(drawn);
  Mixture previous = to_pilot(drawn.truth, drawn.layout, kept.pilot);
  for (double& coefficient : previous.coefficients) coefficient *= 1.01;
  const auto fit = refine(kept.tensor, kept.sample, 3, {}, {}, &previous);
  REQUIRE(fit);
  REQUIRE(fit.value().previous_distance);
  const Conditions conditions(kept.tensor, kept.sample, ConditionSet{});
  const auto there = fit_conditions(conditions, previous, {.rounds = 0});
  REQUIRE(there);
  CHECK(*fit.value().previous_distance == doctest::Approx(there.value().distance));
  CHECK(*fit.value().previous_distance > fit.value().distance);
  CHECK_FALSE(refine(kept.tensor, kept.sample, 3, {}, {}).value().previous_distance);
}

TEST_CASE("while the sample holds every row, EM's likeliest optimum is the answer where the moments stray") {
  const Setting five{"five", "1,u,v,u*v^3,u^2*v^2,u^3*v", 5};
  const Drawn drawn = draw(five, 800, 3);
  RefinedFit fit;
  const double error = refined_error(five, drawn, keep(drawn), fit);
  CHECK(fit.accepted);
  CHECK(fit.deviance < 1.0);  // of the likeliest optimum seen
  CHECK(error == doctest::Approx(likelihood_error(five, drawn)).epsilon(0.02));
}

TEST_CASE("noise that is not Gaussian makes J speak, or leaves the fit right") {
  const Setting setting{"square", "1,u,v,u^2*v^2", 2};
  const Drawn gaussian = draw(setting, 40000, 53);
  for (const OtherNoise noise : {OtherNoise::laplace, OtherNoise::skewed}) {
    const Drawn drawn = with_noise(gaussian, noise, 54);
    RefinedFit fit;
    const double error = refined_error(setting, drawn, keep(drawn, 2500), fit);
    CHECK((!fit.accepted || error < 1.5 * likelihood_error(setting, drawn) + 0.02));
    CHECK((!fit.accepted || fit.conditions == "q<=3"));
  }
}

TEST_CASE("refinement refuses what it cannot do, in words") {
  const Drawn drawn = draw({"line", "1,t", 2}, 500, 54);
  const Kept kept = keep(drawn);
  CHECK(refine(kept.tensor, kept.sample, 0, {}, {}).refusal().reason == Reason::bad_settings);
  CHECK(refine(kept.tensor, kept.sample, 9, {}, {}).refusal().reason == Reason::not_identifiable);
  CHECK(refine(kept.tensor, RowTable{2, {}, {}, {}}, 2, {}, {}).refusal().reason == Reason::too_few_rows);
  CHECK(refine(kept.tensor, RowTable{3, {}, {}, {}}, 2, {}, {}).refusal().reason == Reason::wrong_shape);
  CHECK(refine(kept.tensor, kept.sample, 2, {}, {.noise = NoiseModel::known}).refusal().reason ==
        Reason::bad_settings);
}
