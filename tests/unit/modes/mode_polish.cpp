#include "mixstream/modes/mode_polish.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "support/allocation_count.hpp"
#include "support/golden.hpp"

using namespace mixstream;

namespace {

ModeShape shape_of_file(const Golden& golden) {
  return {golden.k, golden.d, Modes::persistent, {}, golden.noise, {}};
}

ModeModel model_at(std::vector<double> theta, const ModeShape& shape) {
  ModeModel model = empty_model(shape);
  from_parameters(theta, shape, model);
  return model;
}

double largest_gap(const std::vector<double>& one, const std::vector<double>& two) {
  REQUIRE(one.size() == two.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < one.size(); ++i)
    largest = std::max(largest, std::abs(one[i] - two[i]) / (1.0 + std::abs(two[i])));
  return largest;
}

/// A chain of two laws, each row the truth's own.
struct Stream {
  Random random{7};
  std::size_t mode = 0;
  double stay = 0.99;
  std::vector<double> x{1.0, 0.0};

  Row next() {
    if (random.uniform(0.0, 1.0) > stay) mode = 1 - mode;
    x[1] = random.uniform(-1.0, 1.0);
    return {x, (mode == 0 ? 1.0 + 2.0 * x[1] : -1.0 + 0.5 * x[1]) + 0.3 * random.normal()};
  }
};

const ModeShape two_laws{2, 2, Modes::persistent, {}, NoiseModel::shared, {}};

ModeModel near_truth() {
  Mixture laws = empty_mixture(2, 2);
  laws.weights = {0.5, 0.5};
  laws.coefficients = {1.01, 1.98, -0.99, 0.51};
  laws.noise_variances = {0.1, 0.1};
  return model_from(laws, two_laws, 0.9);
}

}  // namespace

TEST_CASE("filter, tangent and scores agree with the numpy reference") {
  const auto files = golden_files("modes");
  for (const auto& path : files) {
    CAPTURE(path.string());
    const Golden golden = read_golden(path);
    const ModeShape shape = shape_of_file(golden);
    ModeFilter filter(shape);
    filter.set_anchor(model_at(golden.lists.at("theta"), shape));
    std::vector<double> chain(filter.chain_size());
    std::vector<double> score(filter.stride());
    std::vector<double> used(golden.k);
    std::vector<double> scores;
    std::vector<double> densities;
    for (std::size_t t = 0; t < 64; ++t) {
      const auto steps = static_cast<unsigned>(golden.lists.at("gaps")[t]);
      densities.push_back(filter.advance(chain, golden.row(t), steps, score, used));
      scores.insert(scores.end(), score.begin(),
                    score.begin() + static_cast<std::ptrdiff_t>(shape.parameters()));
    }
    CHECK(largest_gap(densities, golden.lists.at("log_likelihood")) < 1e-9);
    CHECK(largest_gap(scores, golden.lists.at("scores")) < 1e-9);
    const auto modes = filter.filtered(chain);
    CHECK(largest_gap({modes.begin(), modes.end()}, golden.lists.at("posterior")) < 1e-9);
    std::vector<double> tangent;
    for (std::size_t h = 0; h < golden.k; ++h) {
      const auto from = chain.begin() + static_cast<std::ptrdiff_t>(golden.k + h * filter.stride());
      tangent.insert(tangent.end(), from, from + static_cast<std::ptrdiff_t>(shape.parameters()));
    }
    CHECK(largest_gap(tangent, golden.lists.at("tangent")) < 1e-9);
  }
  CHECK(files.size() == 2);
}

TEST_CASE("one whole pass agrees with the numpy reference") {
  for (const auto& path : golden_files("modes")) {
    CAPTURE(path.string());
    const Golden golden = read_golden(path);
    const ModeShape shape = shape_of_file(golden);
    ModePolish polish(model_at(golden.lists.at("theta"), shape), shape,
                      {.first_move = 1024, .move_every = 4096, .most_chains = 1});
    for (std::size_t t = 0; t < golden.rows; ++t) polish.absorb(golden.row(t), {0, t == 0 ? 0U : 1U});
    CHECK(polish.state().moves == 2);
    CHECK(largest_gap(polish.parameters(), golden.lists.at("passed")) < 1e-9);
    CHECK(largest_gap(polish.state().sums.counts, golden.lists.at("counts")) < 1e-9);
    CHECK(largest_gap(polish.fit().covariance.values, golden.lists.at("covariance")) < 1e-9);
  }
}

TEST_CASE("parts too short to move their anchor tell what they saw of rare ways") {
  for (const unsigned parts : {1U, 3U, 7U}) {
    CAPTURE(parts);
    Stream stream;
    ModePolish one(near_truth(), two_laws, {.first_move = 1000, .move_every = 12500, .most_chains = 1});
    for (unsigned t = 0; t < 40000; ++t) one.absorb(stream.next(), {0, t == 0 ? 0U : 1U});
    ModePolish led = one;
    const ModePolishSettings settled{.first_move = 12500, .move_every = 12500, .most_chains = 1};
    std::vector<ModePolish> branches;
    for (unsigned part = 0; part < parts; ++part) branches.emplace_back(led.anchor(), two_laws, settled);
    for (unsigned t = 0; t < 35000; ++t) {
      const Row row = stream.next();
      one.absorb(row, {0, 1});
      branches[t * parts / 35000].absorb(
          row, {0, t * parts / 35000 == (t - 1) * parts / 35000 && t > 0 ? 1U : 0U});
    }
    ModePolish sum = branches[0];
    for (unsigned part = 1; part < parts; ++part) REQUIRE(sum.merge(branches[part]));
    REQUIRE(led.merge(sum));
    const ModeFit together = led.fit();
    const ModeFit told = one.fit();
    for (std::size_t q = 0; q < told.parameters.size(); ++q)
      CHECK(std::abs(together.parameters[q] - told.parameters[q]) < 0.5 * std::sqrt(told.covariance(q, q)));
  }
}

TEST_CASE("a polish carried to other coordinates is the polish of rows in those coordinates") {
  const Layout layout{2, 0};
  const Pilot pilot{{0.0, 0.25, -1.5}, {1.0, 0.5, 4.0}};
  ModeShape remembering = two_laws;
  remembering.noise = NoiseModel::per_component;
  remembering.noise_shape = {true, true};
  const ModeShape gated{2, 2, Modes::gated, {0, 1}, NoiseModel::shared, {}};
  for (const ModeShape& shape : {two_laws, remembering, gated}) {
    const Mixture laws = near_truth().laws;
    const ModePolishSettings settings{.first_move = 512, .move_every = 1024, .most_chains = 2};
    ModePolish there(model_from(laws, shape, 0.9), shape, settings);
    ModePolish here(model_from(to_pilot(laws, layout, pilot), shape, 0.9), shape, settings);
    Stream stream;
    for (unsigned t = 0; t < 2000; ++t) {
      const Row row = stream.next();
      std::vector<double> variables(3);
      to_pilot(row, layout, pilot, variables);
      const std::vector<double> x{1.0, variables[1]};
      there.absorb(row, {0, t == 0 ? 0U : 1U});
      here.absorb({x, variables[2]}, {0, t == 0 ? 0U : 1U});
    }
    REQUIRE(there.take_coordinates(layout, pilot));
    const ModeFit carried = there.fit();
    const ModeFit told = here.fit();
    CHECK(largest_gap(carried.parameters, told.parameters) < 1e-9);
    CHECK(largest_gap(carried.covariance.values, told.covariance.values) < 1e-9);
    CHECK(there.log_likelihood() == doctest::Approx(here.log_likelihood()).epsilon(1e-9));
    if (shape.modes == Modes::persistent)
      CHECK(carried.dispersion == doctest::Approx(told.dispersion).epsilon(1e-6));
  }
  ModePolish without(model_from(near_truth().laws, {2, 2, Modes::gated, {1}, NoiseModel::shared, {}}),
                     {2, 2, Modes::gated, {1}, NoiseModel::shared, {}});
  CHECK(!without.take_coordinates(layout, pilot));
}

TEST_CASE("a polish goes on bit for bit from its state, in the middle of a block") {
  Stream stream;
  ModePolish polish(near_truth(), two_laws, {.first_move = 256, .move_every = 512, .most_chains = 2});
  for (int t = 0; t < 1000; ++t) polish.absorb(stream.next(), {0, t == 0 ? 0U : 1U});
  Outcome<ModePolish> restored = ModePolish::restore(polish.state());
  REQUIRE(restored);
  for (int t = 0; t < 1000; ++t) {
    const Row row = stream.next();
    CHECK(polish.absorb(row, {0, 1}) == restored.value().absorb(row, {0, 1}));
  }
  CHECK(polish.state() == restored.value().state());
}

TEST_CASE("damaged states are refused") {
  Stream stream;
  ModePolish polish(near_truth(), two_laws);
  for (int t = 0; t < 100; ++t) polish.absorb(stream.next(), {0, t == 0 ? 0U : 1U});
  const auto refused = [&](auto damage) {
    ModePolishState state = polish.state();
    damage(state);
    return !ModePolish::restore(state);
  };
  CHECK(refused([](ModePolishState& s) { s.parameters.pop_back(); }));
  CHECK(refused([](ModePolishState& s) { s.sums.information[0] = NAN; }));
  CHECK(refused([](ModePolishState& s) { s.chains.clear(); }));
  CHECK(refused([](ModePolishState& s) { s.block.push_back(0.0); }));
  CHECK(refused([](ModePolishState& s) { s.shape.gate = {5}; }));
  CHECK(refused([](ModePolishState& s) { s.batches.clear(); }));
  CHECK(refused([](ModePolishState& s) { s.growth = 0.5; }));
  CHECK(refused([](ModePolishState& s) { s.settings.most_chains = 1ULL << 40; }));
}

TEST_CASE("absorbing allocates nothing") {
  Stream stream;
  ModePolish polish(near_truth(), two_laws, {.first_move = 256, .move_every = 512, .most_chains = 2});
  polish.absorb(stream.next(), {0, 0});
  ModePolish copy = polish;  // has the same room
  const std::size_t before = allocation_count();
  for (int t = 0; t < 5000; ++t) {
    const Row row = stream.next();
    polish.absorb(row, {0, 1});
    copy.absorb(row, {0, 1});
    copy.forget(0.9999);
  }
  CHECK(allocation_count() == before);
}

TEST_CASE("two halves merge to laws, transitions and counts of the whole, whatever their labels") {
  Stream stream;
  const ModePolishSettings settings{.first_move = 1000, .move_every = 4000, .most_chains = 1};
  ModePolish whole(near_truth(), two_laws, settings);
  ModePolish first(near_truth(), two_laws, settings);
  const std::vector<std::size_t> turned{1, 0};
  ModePolish second(relabelled(near_truth(), turned), two_laws, settings);
  for (int t = 0; t < 40000; ++t) {
    const Row row = stream.next();
    whole.absorb(row, {0, t == 0 ? 0U : 1U});
    (t < 20000 ? first : second).absorb(row, {0, t % 20000 == 0 ? 0U : 1U});
  }
  REQUIRE(first.merge(second));
  const ModeFit merged = first.fit();
  const ModeFit all = whole.fit();
  for (std::size_t q = 0; q < all.parameters.size(); ++q) {
    const double error = std::sqrt(all.covariance(q, q));
    CHECK(std::abs(merged.parameters[q] - all.parameters[q]) <
          error);  // each half began at anchors of its own
    CHECK(std::sqrt(merged.covariance(q, q)) == doctest::Approx(error).epsilon(0.05));
  }
  CHECK(merged.counts(0, 1) == doctest::Approx(all.counts(0, 1)).epsilon(0.03));
  CHECK(first.rows() == whole.rows());
}

TEST_CASE("scores of a right model vary as promised, those of noise that remembers more") {
  Stream stream;
  ModePolish polish(near_truth(), two_laws);
  ModePolish wrong(near_truth(), two_laws);
  double memory = 0.0;
  for (int t = 0; t < 60000; ++t) {
    Row row = stream.next();
    polish.absorb(row, {0, t == 0 ? 0U : 1U});
    const double law = stream.mode == 0 ? 1.0 + 2.0 * stream.x[1] : -1.0 + 0.5 * stream.x[1];
    memory = 0.8 * memory + 0.6 * (row.response - law);
    row.response = law + memory;
    wrong.absorb(row, {0, t == 0 ? 0U : 1U});
  }
  CHECK(polish.fit().dispersion < 1.25);
  CHECK(polish.fit().dispersion > 0.8);
  CHECK(wrong.fit().dispersion > 2.0);
}
