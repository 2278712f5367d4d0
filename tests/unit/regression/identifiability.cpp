#include "mixstream/regression/identifiability.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "mixstream/core/random.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstream/tensor/spectral.hpp"
#include "support/moments.hpp"

using namespace mixstream;

namespace {

struct Stream {
  MomentTensor tensor;
  std::vector<std::string> names;
  Mixture truth;
};

Stream simulated(const char* text, std::size_t rows, bool shifted, std::uint64_t seed = 3) {
  const FeatureMap map = FeatureMap::parse(text).value();
  SimulationSettings settings{map, 2};
  settings.seed = seed;
  Simulation simulation(settings);
  const Layout layout{static_cast<int>(map.feature_count()), map.constant_feature()};
  Pilot pilot = Pilot::identity(layout.variables());
  if (shifted) {
    for (std::size_t j = 1; j < pilot.scale.size(); ++j) {
      pilot.scale[j] = j % 2 == 0 ? 0.5 : 1.0;
      pilot.shift[j] = 0.25;
    }
  }
  MomentTensor tensor(layout, pilot);
  for (std::size_t i = 0; i < rows; ++i) testing::add_row(tensor, simulation.next());
  tensor.effective_rows = static_cast<double>(rows);
  return {tensor, map.names(), simulation.truth()};
}

using Groups = std::vector<std::vector<std::string>>;

Groups groups(const std::vector<Dependence>& found) {
  Groups result;
  for (const Dependence& dependence : found) result.push_back(dependence.monomials);
  return result;
}

}  // namespace

TEST_CASE("dependent products of features are named, whatever the pilot") {
  for (const bool shifted : {false, true}) {
    const Stream parabola = simulated("1,t,t^2", 500, shifted);
    CHECK(dependences(parabola.tensor, 1, parabola.names).empty());
    CHECK(groups(dependences(parabola.tensor, 2, parabola.names)) == Groups{{"1*t^2", "t*t"}});
    const Stream paper = simulated("1,t,t^4,t^7", 500, shifted);
    CHECK(groups(dependences(paper.tensor, 2, paper.names)) == Groups{{"t*t^7", "t^4*t^4"}});
    CHECK(groups(dependences(paper.tensor, 3, paper.names)) == Groups{{"1*t*t^7", "1*t^4*t^4"},
                                                                      {"t*t*t^7", "t*t^4*t^4"},
                                                                      {"t*t^4*t^7", "t^4*t^4*t^4"},
                                                                      {"t*t^7*t^7", "t^4*t^4*t^7"}});
  }
}

TEST_CASE("the nullities of the paper's maps are those of counting equal monomials") {
  const auto nullity = [](const char* text, int degree) {
    const Stream stream = simulated(text, 3000, false);
    const Identifiability found = diagnose(stream.tensor, nullptr, stream.names);
    const PowerDiagnosis& power = found.powers[static_cast<std::size_t>(degree - 1)];
    CHECK(found.spectral == false);
    CHECK(power.smallest_eigenvalue == 0.0);
    CHECK_FALSE(power.convexity.has_value());
    CHECK_FALSE(power.penalty_asked.has_value());
    return power.unknowns - power.rank;
  };
  CHECK(nullity("1,t,t^4,t^7", 2) == 1);
  CHECK(nullity("1,t,t^4,t^7", 3) == 4);
  CHECK(nullity("1,u,v,u*v^3,u^2*v^2,u^3*v", 2) == 3);
  CHECK(nullity("1,u,v,u*v^3,u^2*v^2,u^3*v", 3) == 16);
}

TEST_CASE("features that are always zero or copies are named") {
  MomentTensor tensor({3, 0}, Pilot::identity(4));
  Random random(2);
  for (int i = 0; i < 50; ++i) {
    const std::vector<double> x{1.0, 5.0, 0.0};
    testing::add_row(tensor, {x, random.normal()});
  }
  CHECK(groups(dependences(tensor, 1, {})) == Groups{{"x1", "x2"}, {"x3"}});
  CHECK(describe(dependences(tensor, 1, {})) == "x1 and x2; x3 is always zero");
}

TEST_CASE("whitened normal features have the eigenvalues of Hermite moments") {
  // x ~ N(0, I_2): Sigma_1 = I; Sigma_2 has 2 twice (differences, products) and 4 (the trace direction).
  const testing::Design design = testing::normal_design(2, false);
  Mixture truth = empty_mixture(1, 2);
  truth.weights = {1.0};
  truth.coefficients = {1.0, -2.0};
  truth.noise_variances = {0.3};
  const MomentTensor tensor = testing::population(design.points, design.masses, design.layout, truth, 1000);
  const Identifiability found = diagnose(tensor, &truth, {});
  CHECK(found.spectral);
  CHECK(*found.powers[0].smallest_eigenvalue == doctest::Approx(1.0));
  CHECK(*found.powers[1].smallest_eigenvalue == doctest::Approx(2.0));
  CHECK(*found.powers[1].condition == doctest::Approx(2.0));
  CHECK(*found.powers[1].convexity == doctest::Approx(1.0));
  for (const PowerDiagnosis& power : found.powers) CHECK(*power.penalty_asked < 1e-9);  // exact moments
  REQUIRE(found.second_spectrum.size() == 2);
  CHECK(found.second_spectrum[0] == doctest::Approx(5.0));
  CHECK(std::abs(found.second_spectrum[1]) < 1e-10);
  CHECK(found.second_spectrum_errors.size() == 2);
}

TEST_CASE("the penalty asked for is twice the operator norm of the mean residual times x") {
  const Stream stream = simulated("1,t,t^3", 2000, false);
  const Identifiability found = diagnose(stream.tensor, &stream.truth, stream.names);
  // p = 1 by hand: E[(y - M1 . x) x] with the true M1
  const std::vector<double> cross = stream.tensor.view(1, 1, 0).values;
  const DenseMatrix gram = stream.tensor.view(0, 1, 1);
  double square = 0.0;
  for (std::size_t a = 0; a < 3; ++a) {
    double residual = cross[a];
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t h = 0; h < 2; ++h)
        residual -= gram(a, b) * stream.truth.weights[h] * stream.truth.law(h)[b];
    square += residual * residual;
  }
  CHECK(*found.powers[0].penalty_asked == doctest::Approx(2.0 * std::sqrt(square)).epsilon(1e-9));
}

TEST_CASE("the spectrum of M2 lies within its standard errors") {
  // Over seeds: (eigenvalue - true) / error of the leading eigenvalue has about unit size.
  double total = 0.0;
  const int seeds = 40;
  for (int seed = 0; seed < seeds; ++seed) {
    const Stream stream = simulated("1,u,v", 20000, false, 700 + static_cast<std::uint64_t>(seed));
    const Identifiability found = diagnose(stream.tensor, &stream.truth, stream.names);
    DenseMatrix second{3, 3, std::vector<double>(9)};
    for (std::size_t h = 0; h < 2; ++h)
      for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t b = 0; b < 3; ++b)
          second(a, b) += 0.5 * stream.truth.law(h)[a] * stream.truth.law(h)[b];
    // power iteration: shares nothing with the library
    std::vector<double> v{1.0, 0.3, 0.1};
    double largest = 0.0;
    for (int step = 0; step < 2000; ++step) {
      std::vector<double> next(3, 0.0);
      for (std::size_t a = 0; a < 3; ++a)
        for (std::size_t b = 0; b < 3; ++b) next[a] += second(a, b) * v[b];
      largest = std::hypot(next[0], next[1], next[2]);
      for (std::size_t a = 0; a < 3; ++a) v[a] = next[a] / largest;
    }
    REQUIRE(found.second_spectrum_errors.size() == 3);
    total += std::pow((found.second_spectrum[0] - largest) / found.second_spectrum_errors[0], 2);
  }
  const double size = std::sqrt(total / seeds);
  CAPTURE(size);
  CHECK(size > 0.6);
  CHECK(size < 1.6);
}
