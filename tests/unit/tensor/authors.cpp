// The rest of the authors' programs, as the experiments have it, against the library's own way from M2 and M3
// to laws, which shares no code with it.
#include "experiments/authors.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "experiments/pass.hpp"
#include "mixstream/moments/state.hpp"

using namespace experiments;

namespace {

struct Solved {
  MomentTensor raw;
  SpectralFit fit;
};

Solved solved(const Drawn& drawn, int k) {
  MomentState state = MomentState::create({.layout = drawn.layout}).value();
  for (std::size_t i = 0; i < drawn.rows.size(); ++i) state.absorb(drawn.rows.row(i));
  SpectralSettings settings;
  settings.noise_variance = 0.1;
  settings.objective = PaperObjective::published;
  SpectralWorkspace workspace;
  return {state.moments().in_raw_coordinates(),
          paper_estimate(state.moments(), k, settings, workspace).value()};
}

Drawn four_features(std::size_t k) {
  Setting setting;
  setting.map = "1,u,v,u^2*v^2";
  setting.k = k;
  return draw(setting, 20000, 8);
}

CubeTensor counted(std::size_t d) {
  CubeTensor cube(d);
  for (std::size_t i = 0; i < cube.values.size(); ++i) cube.values[i] = static_cast<double>(i);
  return cube;
}

}  // namespace

TEST_CASE("a tensor is read back with its indices turned round; wrongly from three features on") {
  for (const bool wrongly : {false, true})
    CHECK(read_back(counted(2), wrongly)(0, 1, 1) == counted(2)(1, 1, 0));
  const CubeTensor three = counted(3);
  CHECK(read_back(three, false)(2, 1, 0) == three(0, 1, 2));
  const CubeTensor wrong = read_back(three, true);
  CHECK(wrong(0, 2, 1) == three(1, 2, 0));
  CHECK(wrong(1, 0, 0) == three(0, 2, 0));  // place 6, not 9
  CHECK(wrong(2, 2, 2) == three(2, 0, 2));  // place 20
}

TEST_CASE("read back rightly, M2 and M3 give the laws that the library finds in them") {
  for (const std::size_t k : {2U, 3U}) {
    CAPTURE(k);
    const Drawn drawn = four_features(k);
    const SpectralFit fit = solved(drawn, static_cast<int>(k)).fit;
    const CubeTensor third = symmetric_third(fit);
    const auto laws = laws_of_the_authors(fit, read_back(third, false), 3);
    REQUIRE(laws);
    CHECK(law_error(fit.mixture, laws.value()) < 1e-4);
    const auto wrong = laws_of_the_authors(fit, read_back(third, true), 3);
    REQUIRE(wrong);
    CHECK(law_error(fit.mixture, wrong.value()) > 0.1);
  }
}

TEST_CASE("without symmetry the objective is lower, and no small step makes it lower still") {
  const Solved two = solved(four_features(2), 2);
  const CubeTensor symmetric = symmetric_third(two.fit);
  CHECK(published_objective(two.raw, two.fit, symmetric) ==
        doctest::Approx(two.fit.third->objective).epsilon(1e-6));
  const CubeTensor found = free_third(two.raw, two.fit);
  const double least = published_objective(two.raw, two.fit, found);
  CHECK(least < two.fit.third->objective);
  Random random(4);
  for (int step = 0; step < 200; ++step) {
    CubeTensor other = found;
    const double size = std::pow(10.0, -1.0 - step % 5);
    for (double& value : other.values) value += size * random.normal();
    CHECK(published_objective(two.raw, two.fit, other) > least);
  }
}
