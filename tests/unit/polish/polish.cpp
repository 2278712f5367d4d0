#include "mixstream/polish/polish.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "mixstream/core/random.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/rows/simulation.hpp"
#include "support/allocation_count.hpp"
#include "support/golden.hpp"

using namespace mixstream;

namespace {

DenseMatrix square(std::vector<double> values) {
  const auto size = static_cast<std::size_t>(std::sqrt(static_cast<double>(values.size())) + 0.5);
  return {size, size, std::move(values)};
}

DenseMatrix diagonal(std::size_t size, double value) {
  DenseMatrix result{size, size, std::vector<double>(size * size)};
  for (std::size_t i = 0; i < size; ++i) result(i, i) = value;
  return result;
}

/// A stream of the paper's kind and a start near its truth.
struct Stream {
  Simulation simulation{{.map = FeatureMap::parse("1,t,t^4").value(), .component_count = 3, .seed = 5}};
  Mixture start;
  DenseMatrix information;

  Stream() : start(simulation.truth()), information(diagonal(12, 50.0)) {
    Random random(6);
    for (double& coefficient : start.coefficients) coefficient += 0.05 * random.normal();
  }
  AnchoredPolish polish(const PolishSettings& settings = {}) const {
    return {start, information, NoiseModel::shared, settings};
  }
};

void absorb(AnchoredPolish& polish, const RowTable& rows, std::size_t from, std::size_t to) {
  for (std::size_t i = from; i < to; ++i) polish.absorb(rows.row(i));
}

}  // namespace

TEST_CASE("polish, warming and merging agree with the numpy reference") {
  const std::vector<std::filesystem::path> files = golden_files("polish");
  for (const std::filesystem::path& path : files) {
    CAPTURE(path.string());
    const Golden golden = read_golden(path);
    const Mixture start{golden.d, golden.lists.at("start_weights"), golden.lists.at("start_coefficients"),
                        golden.lists.at("start_variances")};
    const DenseMatrix information = square(golden.lists.at("information"));
    RowTable sample{golden.d, {}, {}, {}};
    for (std::size_t i = 0; i < 96; ++i) sample.add(golden.row(i));
    AnchoredPolish first(start, information, golden.noise, {.move_every = 128});
    first.warm_anchor(sample);
    for (std::size_t i = 96; i < 352; ++i) first.absorb(golden.row(i));
    CHECK(first.moves() == 2);
    CHECK(largest_difference(first.fit().parameters, golden.lists.at("first")) < 1e-9);
    CHECK(largest_difference(first.fit().information.values, golden.lists.at("first_information")) < 1e-9);

    std::vector<std::size_t> reverse;
    for (std::size_t h = golden.k; h-- > 0;) reverse.push_back(h);
    AnchoredPolish second(relabelled(start, reverse), information, golden.noise, {.move_every = 128});
    for (std::size_t i = 352; i < golden.rows; ++i) second.absorb(golden.row(i));
    CHECK(largest_difference(second.fit().parameters, golden.lists.at("second")) < 1e-9);
    REQUIRE(first.merge(second));
    CHECK(largest_difference(first.fit().parameters, golden.lists.at("merged")) < 1e-9);
  }
  CHECK(files.size() == 3);
}

TEST_CASE("two polishes at one anchor merge to the polish of all rows") {
  Stream stream;
  const RowTable rows = stream.simulation.table(1000);
  AnchoredPolish whole = stream.polish();
  absorb(whole, rows, 0, 1000);
  AnchoredPolish left = stream.polish();
  AnchoredPolish right(stream.start, diagonal(12, 0.0), NoiseModel::shared);
  absorb(left, rows, 0, 300);
  absorb(right, rows, 300, 1000);
  REQUIRE(left.merge(right));
  CHECK(left.rows() == 1000);
  CHECK(largest_difference(left.fit().parameters, whole.fit().parameters) < 1e-12);
  CHECK(largest_difference(left.fit().information.values, whole.fit().information.values) < 1e-12);
}

TEST_CASE("labels do not matter: a polish of relabelled components merges as the same one does") {
  Stream stream;
  const RowTable rows = stream.simulation.table(3000);
  const std::vector<std::size_t> order{2, 0, 1};
  AnchoredPolish plain = stream.polish({.move_every = 500});
  absorb(plain, rows, 0, 1000);
  AnchoredPolish plain_again = plain;
  const DenseMatrix nothing = diagonal(12, 0.0);
  AnchoredPolish other(stream.start, nothing, NoiseModel::shared, {.move_every = 500});
  AnchoredPolish relabelled_other(relabelled(stream.start, order), nothing, NoiseModel::shared,
                                  {.move_every = 500});
  absorb(other, rows, 1000, 3000);
  absorb(relabelled_other, rows, 1000, 3000);
  REQUIRE(plain.merge(other));
  REQUIRE(plain_again.merge(relabelled_other));
  CHECK(largest_difference(plain_again.fit().parameters, plain.fit().parameters) < 1e-8);
}

TEST_CASE("a restored polish continues bit for bit") {
  Stream stream;
  const RowTable rows = stream.simulation.table(5000);
  AnchoredPolish continuous = stream.polish({.move_every = 1000});
  AnchoredPolish before = stream.polish({.move_every = 1000});
  for (std::size_t i = 0; i < 5000; ++i) {
    continuous.forget(0.9999);
    continuous.absorb(rows.row(i));
  }
  for (std::size_t i = 0; i < 2345; ++i) {
    before.forget(0.9999);
    before.absorb(rows.row(i));
  }
  const PolishState stored = before.state();
  CHECK(stored.buffer.size() == 2345 % 64 * 5);
  Outcome<AnchoredPolish> restored = AnchoredPolish::restore(stored);
  REQUIRE(restored);
  CHECK(restored.value().state() == stored);
  for (std::size_t i = 2345; i < 5000; ++i) {
    restored.value().forget(0.9999);
    restored.value().absorb(rows.row(i));
  }
  CHECK(restored.value().state() == continuous.state());
  CHECK(restored.value().fit().parameters == continuous.fit().parameters);
}

TEST_CASE("damaged states are refused") {
  Stream stream;
  const PolishState good = stream.polish().state();
  const auto refused = [](const PolishState& state) { return !AnchoredPolish::restore(state); };
  CHECK_FALSE(refused(good));
  PolishState bad = good;
  bad.information.pop_back();
  CHECK(refused(bad));
  bad = good;
  bad.gradient[3] = std::numeric_limits<double>::quiet_NaN();
  CHECK(refused(bad));
  bad = good;
  bad.settings.pane_count = 7;
  CHECK(refused(bad));
  bad = good;
  bad.growth = 0.0;
  CHECK(refused(bad));
  bad = good;
  bad.buffer.assign(64 * 5, 0.0);
  CHECK(refused(bad));
  bad = good;
  bad.anchor.weights.clear();
  CHECK(refused(bad));
}

TEST_CASE("reading a polish does not change it") {
  Stream stream;
  const RowTable rows = stream.simulation.table(100);
  AnchoredPolish polish = stream.polish();
  absorb(polish, rows, 0, 100);
  const PolishState before = polish.state();
  (void)polish.fit();
  CHECK(polish.state() == before);
}

TEST_CASE("no row allocates, moves of the anchor and turns of the window included") {
  Stream stream;
  const RowTable rows = stream.simulation.table(3000);
  AnchoredPolish polish = stream.polish({.move_every = 500, .pane_count = 4});
  const std::size_t before = allocation_count();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    polish.forget(0.999);
    polish.absorb(rows.row(i));
    if (i % 700 == 0) polish.turn_pane();
  }
  CHECK(allocation_count() == before);
  CHECK(polish.moves() == 5);
}

TEST_CASE("forgetting before each row equals rows of shrinking weight") {
  Stream stream;
  const RowTable rows = stream.simulation.table(900);
  const double keep = std::exp2(-1.0 / 200.0);
  AnchoredPolish forgetting = stream.polish();
  RowTable weighted = rows;
  for (std::size_t i = 0; i < 900; ++i) {
    forgetting.forget(keep);
    forgetting.absorb(rows.row(i));
    weighted.weights[i] = std::pow(keep, static_cast<double>(899 - i));
  }
  DenseMatrix faded = stream.information;
  for (double& value : faded.values) value *= std::pow(keep, 900.0);
  AnchoredPolish direct(stream.start, faded, NoiseModel::shared);
  absorb(direct, weighted, 0, 900);
  CHECK(largest_difference(forgetting.fit().parameters, direct.fit().parameters) < 1e-10);
  CHECK(largest_difference(forgetting.fit().information.values, direct.fit().information.values) < 1e-10);
}

TEST_CASE("a gap so long that nothing is left does not break a polish") {
  Stream stream;
  const RowTable rows = stream.simulation.table(2000);
  AnchoredPolish polish = stream.polish();
  absorb(polish, rows, 0, 1000);
  polish.forget(1e-300);
  polish.forget(1e-300);
  absorb(polish, rows, 1000, 2000);
  AnchoredPolish fresh(stream.start, diagonal(12, 0.0), NoiseModel::shared);
  absorb(fresh, rows, 1000, 2000);
  CHECK(largest_difference(polish.fit().parameters, fresh.fit().parameters) < 1e-9);
}

TEST_CASE("a window holds the last panes only, and its beginning fades out") {
  Stream stream;
  const RowTable rows = stream.simulation.table(1000);
  AnchoredPolish window = stream.polish({.pane_count = 2});
  for (std::size_t pane = 0; pane < 5; ++pane) {
    if (pane > 0) window.turn_pane();
    absorb(window, rows, pane * 200, pane * 200 + 200);
  }
  AnchoredPolish last(stream.start, diagonal(12, 0.0), NoiseModel::shared);
  absorb(last, rows, 600, 1000);
  CHECK(largest_difference(window.fit().parameters, last.fit().parameters) < 1e-9);
  CHECK(largest_difference(window.fit().information.values, last.fit().information.values) < 1e-12);

  AnchoredPolish fading = stream.polish({.pane_count = 2});
  fading.turn_pane();
  CHECK(fading.fit().information(0, 0) == doctest::Approx(25.0));
  fading.turn_pane();
  CHECK(fading.fit().information(0, 0) == 0.0);
}

TEST_CASE("what the data do not determine stays at the anchor") {
  // The second feature is never anything but zero, so its coefficients have no information at all.
  const Mixture start{2, {0.5, 0.5}, {1.0, 7.0, -1.0, 8.0}, {0.1, 0.1}};
  AnchoredPolish polish(start, diagonal(6, 0.0), NoiseModel::shared);
  Random random(3);
  for (int i = 0; i < 5000; ++i) {
    const double x[2] = {1.0, 0.0};
    polish.absorb({x, (random.uniform() < 0.5 ? 1.1 : -1.1) + 0.3 * random.normal()});
  }
  const PolishedFit fit = polish.fit();
  CHECK(fit.mixture.law(0)[1] == 7.0);
  CHECK(fit.mixture.law(1)[1] == 8.0);
  CHECK(fit.mixture.law(0)[0] == doctest::Approx(1.1).epsilon(0.03));
}

TEST_CASE("many moves bring a poor start to the maximum of the likelihood") {
  Stream stream;
  const RowTable rows = stream.simulation.table(20000);
  AnchoredPolish polish(stream.start, diagonal(12, 0.0), NoiseModel::shared, {.move_every = 20000});
  for (int pass = 0; pass < 6; ++pass) {  // each pass forgets the one before: plain scoring
    polish.forget(1e-300);
    absorb(polish, rows, 0, rows.size());
    polish.move_anchor();
  }
  // Scores vanish at the maximum.
  std::vector<double> probabilities(3);
  std::vector<double> score(12);
  std::vector<double> total(12);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    row_score(polish.anchor(), rows.row(i), NoiseModel::shared, probabilities, score);
    for (std::size_t p = 0; p < 12; ++p) total[p] += score[p] / static_cast<double>(rows.size());
  }
  for (const double value : total) CHECK(std::abs(value) < 1e-5);
}

TEST_CASE("a start that is surer than it should be is doubted, an honest one is not") {
  Stream stream;
  const RowTable rows = stream.simulation.table(100000);
  const double honest_information = 400.0;  // the start is off by 0.05, one such standard error
  for (const double information : {honest_information, 100.0 * honest_information}) {
    AnchoredPolish polish(stream.start, diagonal(12, information), NoiseModel::shared, {.pane_count = 2});
    absorb(polish, rows, 0, rows.size());
    const double left = polish.state().information[0] / information;
    if (information == honest_information) CHECK(left == 1.0);
    if (information != honest_information) CHECK(left < 0.2);
    const PolishedFit fit = polish.fit();
    for (std::size_t i = 0; i < 9; ++i) {
      CHECK(std::abs(fit.mixture.coefficients[i] - stream.simulation.truth().coefficients[i]) <
            5.0 * fit.standard_errors[i]);
    }
  }
}

TEST_CASE("rows taken at an anchor far off do not hold the estimate, rows at a good one all count") {
  Stream stream;
  const RowTable rows = stream.simulation.table(60000);
  const Mixture likeliest = fit_em(rows, stream.simulation.truth()).mixture;
  Mixture far = stream.simulation.truth();
  for (std::size_t i = 0; i < far.coefficients.size(); ++i) far.coefficients[i] += i % 2 == 0 ? 0.4 : -0.4;
  for (double& variance : far.noise_variances) variance *= 4.0;
  for (const bool near : {true, false}) {
    AnchoredPolish polish(near ? stream.simulation.truth() : far, diagonal(12, 0.0), NoiseModel::shared,
                          {.move_every = 1000});
    absorb(polish, rows, 0, rows.size());
    const std::vector<double> weights = polish.state().slot_weights;
    const double counted = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (near) CHECK(counted > 59000.0);  // all but those since the last move
    const PolishedFit fit = polish.fit();
    double squares = 0.0;
    for (std::size_t i = 0; i < 9; ++i)
      squares +=
          std::pow((fit.mixture.coefficients[i] - likeliest.coefficients[i]) / fit.standard_errors[i], 2.0);
    CHECK(std::sqrt(squares / 9.0) < 0.6);
  }
}

TEST_CASE("the rows of a branch stay apart from what its trunk knows, whatever they say of it") {
  Stream stream;
  AnchoredPolish trunk = stream.polish({.move_every = 500});
  absorb(trunk, stream.simulation.table(1500), 0, 1500);
  AnchoredPolish branch = AnchoredPolish::restore(trunk.branch().state()).value();
  const std::vector<double> known = branch.state().slot_weights;
  Simulation others({.map = FeatureMap::parse("1,t,t^4").value(), .component_count = 3, .seed = 15});
  absorb(branch, others.table(5120), 0, 5120);
  CHECK(branch.moves() > trunk.moves() + 5);
  CHECK(branch.state().slot_weights[0] == known[0]);
  CHECK(branch.state().slot_weights[1] > 4500.0);
}

TEST_CASE("models that differ, and windows, do not merge") {
  Stream stream;
  AnchoredPolish polish = stream.polish();
  AnchoredPolish other({1, {0.5, 0.5}, {1.0, -1.0}, {0.1, 0.1}}, diagonal(4, 1.0), NoiseModel::shared);
  CHECK(polish.merge(other).refusal().reason == Reason::cannot_merge);
  CHECK(polish.merge(stream.polish({.pane_count = 3})).refusal().reason == Reason::cannot_merge);
}

TEST_CASE("a polish is not built from information of the wrong shape") {
  Stream stream;
  CHECK_THROWS_AS(AnchoredPolish(stream.start, diagonal(11, 1.0), NoiseModel::shared), std::invalid_argument);
  CHECK_THROWS_AS(AnchoredPolish(stream.start, diagonal(12, 1.0), NoiseModel::shared, {.pane_count = 0}),
                  std::invalid_argument);
}
