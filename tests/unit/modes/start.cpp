#include "mixstream/modes/start.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "mixstream/core/random.hpp"

using namespace mixstream;

namespace {

const ModeShape two_laws{2, 2, Modes::persistent, {}, NoiseModel::shared, {}};

ModeModel model_of(double stay) {
  Mixture laws = empty_mixture(2, 2);
  laws.weights = {0.5, 0.5};
  laws.coefficients = {1.0, 2.0, -1.0, 0.5};
  laws.noise_variances = {0.09, 0.09};
  return model_from(laws, two_laws, stay);
}

/// Rows of a sensor whose mode changes where it is told to.
struct Stream {
  Random random{11};
  std::vector<double> x{1.0, 0.0};

  Row next(bool other) {
    x[1] = random.uniform(-1.0, 1.0);
    const double line = other ? -1.0 + 0.5 * x[1] : 1.0 + 2.0 * x[1];
    return {x, line + 0.3 * random.normal()};
  }
};

}  // namespace

TEST_CASE("what held runs begin in is no change of mode") {
  Stream stream;
  ChainTable chains(ChainSettings{});
  Runs runs(2);
  RowTable sample{2, {}, {}, {}};
  constexpr std::size_t between = 1024;  // of 20,000 rows every fourth run of 256 is held
  for (std::size_t t = 0; t < 20000; ++t) {
    // One long stay, and another in the middle: both changes lie in runs that are held.
    const Row row = stream.next(t >= 8 * between + 100 && t < 11 * between + 100);
    runs.add(row, chains.next(0, 0.0));
    if (t % 4 == 0) sample.add(row);
  }
  const HeldRows held{&runs, &sample, chains.capacity()};
  const ModePolish polish = polish_of_runs(model_of(0.999), two_laws, held, {});
  const DenseMatrix counts = polish.fit().counts;
  CHECK(counts(0, 1) == doctest::Approx(1.0).epsilon(0.1));
  CHECK(counts(1, 0) == doctest::Approx(1.0).epsilon(0.1));

  const SettledModel settled = settle(model_of(0.9), two_laws, held);
  CHECK(settled.model.transitions(0, 1) == doctest::Approx(1.0 / 4200).epsilon(0.3));  // rows held in mode 0
  CHECK(settled.model.transitions(1, 0) == doctest::Approx(1.0 / 900).epsilon(0.5));
}

TEST_CASE("chains that begin in given modes say nothing of the ways between modes") {
  ModeFilter filter(two_laws);
  filter.set_anchor(model_of(0.9));
  std::vector<double> chain(filter.chain_size());
  std::vector<double> score(filter.stride());
  std::vector<double> used(2);
  const std::vector<double> x{1.0, 0.3};
  const auto begin = [&] { return filter.advance(chain, {x, 0.4}, 0, score, used); };
  const double stationary = begin();
  CHECK(std::abs(score[two_laws.cell(0, 1)]) > 1e-3);
  const std::vector<double> all_in_one{1.0, 0.0};
  filter.begin_in(all_in_one);
  const double e = 0.4 - 1.6;
  CHECK(begin() == doctest::Approx(-0.5 * std::log(2 * 3.14159265358979 * 0.09) - e * e / 0.18));
  CHECK(score[two_laws.cell(0, 1)] == 0.0);
  CHECK(score[two_laws.cell(1, 0)] == 0.0);
  filter.begin_in({});
  CHECK(begin() == stationary);
}

TEST_CASE("a way that was never seen has an error as large as what one change would tell") {
  Stream stream;
  ModePolish polish(model_of(0.99), two_laws);
  constexpr unsigned rows = 4000;
  for (unsigned t = 0; t < rows; ++t) polish.absorb(stream.next(false), {0, t == 0 ? 0U : 1U});
  const ModeFit fit = polish.fit();
  const std::size_t q = two_laws.cell(0, 1);
  const double error = fit.model.transitions(0, 1) * std::sqrt(fit.covariance(q, q));
  CHECK(error * rows > 0.8);
  CHECK(error * rows < 1.5);
}

TEST_CASE("a polish knows of the ways between modes what held rows tell, where laws lie close too") {
  Mixture laws = empty_mixture(2, 2);
  laws.weights = {0.5, 0.5};
  laws.coefficients = {0.4, 0.6, -0.4, -0.6};
  laws.noise_variances = {0.09, 0.09};
  Random random(23);
  std::vector<double> x{1.0, 0.0};
  double squares = 0.0;
  constexpr int streams = 60;
  for (int stream = 0; stream < streams; ++stream) {
    Runs runs(2);
    ChainTable chains(ChainSettings{});
    for (int t = 0; t < 3000; ++t) {  // every row draws its law anew: log A_ij / A_ii is 0
      x[1] = random.uniform(-1.0, 1.0);
      const auto law = laws.law(random.bits() & 1U);
      runs.add({x, law[0] + law[1] * x[1] + 0.3 * random.normal()}, chains.next(0, 0.0));
    }
    const HeldRows held{&runs, nullptr, chains.capacity()};
    const SettledModel settled = settle(model_from(laws, two_laws), two_laws, held);
    const ModeFit fit = polish_of_runs(settled.model, two_laws, held, {}).fit();
    for (const std::size_t q : {two_laws.cell(0, 1), two_laws.cell(1, 0)})
      squares += fit.parameters[q] * fit.parameters[q] / fit.covariance(q, q);
  }
  const double spread = std::sqrt(squares / (2.0 * streams));
  CAPTURE(spread);
  CHECK(spread > 0.75);  // four standard deviations of 120 normal readings
  CHECK(spread < 1.25);
}
