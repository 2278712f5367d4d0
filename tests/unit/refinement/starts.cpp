// Starts in the scale of the data, tame ones, and optima met twice.
#include "mixstream/refinement/starts.hpp"

#include <doctest/doctest.h>

#include "mixstream/linalg/products.hpp"
#include "support/kept.hpp"

using namespace mixstream;
using namespace experiments;

namespace {

const Setting plane{"plane", "1,u,v", 2};

struct Moments {
  Drawn drawn = draw(plane, 2000, 7);
  Kept kept = keep(drawn);
  DenseMatrix second = kept.tensor.view(0, 1, 1);
  double power = kept.tensor.view(2, 0, 0)(0, 0);
};

}  // namespace

TEST_CASE("random starts have lines as long as y on average, equal weights and noise of a share of y") {
  const Moments moments;
  Random random(3);
  const std::vector<Mixture> starts = random_starts(moments.kept.tensor, 2, 400, random);
  double square = 0.0;
  for (const Mixture& start : starts) {
    square += quadratic_form(moments.second, start.law(0)) / 400.0;
    CHECK(start.weights[1] == 0.5);
    CHECK(start.noise_variances[0] >= 0.02 * moments.power);
    CHECK(start.noise_variances[0] <= 0.3 * moments.power);
  }
  CHECK(square == doctest::Approx(moments.power).epsilon(0.2));  // 400 draws of a chi-square of three: 4 %
}

TEST_CASE("a wild start is brought to the size of y, a tame one stays") {
  const Moments moments;
  Random random(4);
  Mixture wild = random_starts(moments.kept.tensor, 2, 1, random).front();
  const Mixture before = tamed(moments.kept.tensor, wild, false);
  for (double& coefficient : wild.coefficients) coefficient *= 1e6;
  wild.noise_variances.assign(2, 1e9);
  const Mixture tame = tamed(moments.kept.tensor, wild, false);
  for (std::size_t h = 0; h < 2; ++h)
    CHECK(quadratic_form(moments.second, tame.law(h)) <= 12.0 * moments.power * (1.0 + 1e-12));
  CHECK(tame.noise_variances[0] == moments.power);
  CHECK(tamed(moments.kept.tensor, wild, true).noise_variances[0] == 1e9);
  CHECK(tamed(moments.kept.tensor, before, false).coefficients == before.coefficients);
}

TEST_CASE("an optimum is the same in another order, and another one beyond a share of the noise") {
  const DenseMatrix second{2, 2, {1.0, 0.0, 0.0, 1.0}};
  const Mixture one{2, {0.3, 0.7}, {0.0, 1.0, 3.0, -1.0}, {0.04, 0.04}};
  const Mixture turned{2, {0.7, 0.3}, {3.0, -1.0, 0.005, 1.0}, {0.04, 0.04}};
  CHECK(same_optimum(one, turned, second));
  Mixture moved = turned;
  moved.coefficients[2] = 0.02;  // 0.0004 of 0.04 is a share of 0.01
  CHECK_FALSE(same_optimum(one, moved, second));
  moved = turned;
  moved.weights = {0.65, 0.35};
  CHECK_FALSE(same_optimum(one, moved, second));
}
