// The rows choose the model: it begins with independent rows and equal noise, and grows where they ask for
// it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "mixstream/estimator.hpp"
#include "mixstream/following/extensions.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstream/sensor_loop.hpp"
#include "support/allocation_count.hpp"

using namespace mixstream;

namespace {

SimulationSettings three_laws(std::uint64_t seed) {
  SimulationSettings stream;
  stream.map = FeatureMap::parse("1,u,v").value();
  stream.component_count = 3;
  stream.coefficients = std::vector<double>{4.0, 3.0, 0.0, -2.0, 1.0, 1.0, 0.0, -2.0, 3.0};
  stream.noise_variances = {0.09};
  stream.seed = seed;
  return stream;
}

EstimatorSettings automatic(std::size_t laws = 3) {
  EstimatorSettings settings;
  settings.state.layout = {3, 0};
  settings.solve.component_count = laws;
  settings.solve.choice = {true, true};
  return settings;
}

Report fitted(const SimulationSettings& stream, int rows, const EstimatorSettings& settings = automatic()) {
  Simulation simulation(stream);
  Estimator estimator = Estimator::create(settings).value();
  for (int t = 0; t < rows; ++t) {
    estimator.absorb(simulation.next());
    if (estimator.fit_is_due()) estimator.scheduled_fit();
  }
  return estimator.fit();
}

Doubt raised(DoubtKind kind, double size = 1.0) {
  Doubt doubt;
  doubt.kind = kind;
  doubt.raised = true;
  doubt.size = size;
  return doubt;
}

}  // namespace

TEST_CASE(
    "doubts call for the parts that they name, one at a time and together, and only for those allowed") {
  const ModeShape plain{3, 3, Modes::independent, {}, NoiseModel::shared, {}};
  const Layout layout{3, 0};
  const std::vector<Doubt> doubts{raised(DoubtKind::persistence), raised(DoubtKind::memory)};
  const std::vector<ModelExtension> all = extensions_of(plain, doubts, {true, true}, layout);
  REQUIRE(all.size() == 4);
  CHECK(all[0].shape.modes == Modes::persistent);
  CHECK_FALSE(all[0].shape.noise_shape.memory);
  CHECK(all[1].shape.noise_shape.memory);
  CHECK(all[1].shape.modes == Modes::independent);
  CHECK(all[2].shape.modes == Modes::gated);  // it may be a gate, too
  CHECK(all[3].shape.modes == Modes::persistent);
  CHECK(all[3].shape.noise_shape.memory);
  for (const ModelExtension& extension : all) CHECK(extension.because == DoubtKind::persistence);
  CHECK(extensions_of(plain, doubts, {true, false}, layout).size() == 2);
  CHECK(extensions_of(plain, doubts, {}, layout).empty());
  CHECK(extensions_of(all[3].shape, std::span(doubts).subspan(1), {true, true}, layout).empty());

  const std::vector<Doubt> gate{raised(DoubtKind::gate)};
  CHECK(extensions_of(plain, gate, {true, true}, layout).front().shape.gate ==
        std::vector<std::size_t>{0, 1, 2});
  const std::vector<ModelExtension> without_constant = extensions_of(plain, gate, {true, true}, {3, -1});
  REQUIRE(without_constant.size() == 1);  // no gate then; that laws last is tried all the same
  CHECK(without_constant[0].shape.modes == Modes::persistent);
  const std::vector<Doubt> light{raised(DoubtKind::tails, -0.1), raised(DoubtKind::missing_term)};
  CHECK(extensions_of(plain, light, {true, true}, layout).empty());
}

TEST_CASE(
    "laws that last, noise that remembers and a gate pass for each other: where one is raised, others are "
    "tried") {
  const ModeShape plain{3, 3, Modes::independent, {}, NoiseModel::shared, {}};
  const auto asked_by = [&](DoubtKind kind) {
    const std::vector<Doubt> doubts{raised(kind)};
    return extensions_of(plain, doubts, {true, true}, {3, 0});
  };
  const std::vector<ModelExtension> lasting = asked_by(DoubtKind::persistence);
  REQUIRE(lasting.size() == 4);
  CHECK(lasting[0].shape.modes == Modes::persistent);
  CHECK(lasting[1].shape.noise_shape.memory);
  CHECK(lasting[1].shape.modes == Modes::independent);
  CHECK(lasting[2].shape.modes == Modes::gated);
  CHECK(lasting[3].shape.modes == Modes::persistent);  // as the strongest asks
  CHECK(lasting[3].shape.noise_shape.memory);
  CHECK(lasting[3].shape.gate.empty());
  for (const ModelExtension& extension : lasting) CHECK(extension.because == DoubtKind::persistence);
  const std::vector<ModelExtension> remembering = asked_by(DoubtKind::memory);
  REQUIRE(remembering.size() == 3);
  CHECK(remembering[0].shape.noise_shape.memory);
  CHECK(remembering[1].shape.modes == Modes::persistent);
  const std::vector<ModelExtension> gated = asked_by(DoubtKind::gate);
  REQUIRE(gated.size() == 2);
  CHECK(gated[0].shape.modes == Modes::gated);
  CHECK(gated[1].shape.modes == Modes::persistent);
}

TEST_CASE("who chooses the law can be taken back: a gate and laws that last follow each other") {
  ModeShape lasting{3, 3, Modes::persistent, {}, NoiseModel::shared, {}};
  const std::vector<Doubt> gate{raised(DoubtKind::gate)};
  const std::vector<ModelExtension> gated = extensions_of(lasting, gate, {true, true}, {3, 0});
  REQUIRE(gated.size() == 1);
  CHECK(gated[0].shape.modes == Modes::gated);
  const std::vector<Doubt> persistence{raised(DoubtKind::persistence)};
  const std::vector<ModelExtension> back = extensions_of(gated[0].shape, persistence, {true, false}, {3, 0});
  REQUIRE(back.size() == 1);
  CHECK(back[0].shape == lasting);
}

TEST_CASE("rows that a gate parts are counted as laws of a gate") {
  SimulationSettings stream;
  stream.map = FeatureMap::parse("1,u,v").value();
  stream.component_count = 3;
  stream.coefficients = std::vector<double>{4.0, 3.0, 0.0, -2.0, 1.0, 1.0, 0.0, -2.0, 3.0};
  stream.noise_variances = {0.09};
  stream.gate = stream.map;
  stream.gate_coefficients = std::vector<double>{0.0, 4.0, 0.0, 0.0, -4.0, 0.0};
  for (std::uint64_t seed = 1; seed < 3; ++seed) {
    stream.seed = seed;
    const Report report = fitted(stream, 12000, automatic(0));
    CAPTURE(seed);
    CHECK(report.components.size() == 3);
    CHECK(report.model->modes == Modes::gated);
    CHECK(report.status == FitStatus::ok);
  }
}

TEST_CASE("a gate over a column that wanders is taken for a gate and fitted ok, steep or not") {
  for (const auto& [steep, wander] : {std::pair{3.0, 0.99}, {8.0, 0.99}, {3.0, 0.999}}) {
    for (std::uint64_t seed = 1; seed < 4; ++seed) {
      SimulationSettings stream;
      stream.map = FeatureMap::parse("1,u").value();
      stream.component_count = 2;
      stream.coefficients = std::vector<double>{4.0, 3.0, -1.0, -2.0};
      stream.noise_variances = {0.09};
      stream.gate = FeatureMap::parse("1,u").value();
      stream.gate_coefficients = std::vector<double>{0.0, -steep};
      stream.wander = wander;
      stream.seed = seed;
      EstimatorSettings settings = automatic(2);
      settings.state.layout = {2, 0};
      const Report report = fitted(stream, 30000, settings);
      CAPTURE(steep);
      CAPTURE(wander);
      CAPTURE(seed);
      REQUIRE(report.model);
      CHECK(report.model->modes == Modes::gated);
      CHECK(report.status == FitStatus::ok);
    }
  }
}

TEST_CASE("independent rows with equal noise stay what they are") {
  const Report report = fitted(three_laws(1), 12000);
  CHECK(report.status == FitStatus::ok);
  REQUIRE(report.model);
  CHECK(report.model->modes == Modes::independent);
  CHECK(report.model->noise == NoiseModel::shared);
  CHECK(report.model->chosen.empty());
  CHECK(report.moment_test);
}

TEST_CASE("modes that last are taken up by a trial, without false drift, and fitted ok") {
  SimulationSettings stream = three_laws(2);
  stream.stay = 0.99;
  stream.wander = 0.99;
  const Report report = fitted(stream, 40000);
  CHECK(report.status == FitStatus::ok);
  CHECK(report.drift.empty());
  REQUIRE(report.model);
  CHECK(report.model->modes == Modes::persistent);
  REQUIRE_FALSE(report.model->chosen.empty());
  CHECK(report.model->chosen.front().row < 15000);
  CHECK(report.model->chosen.front().gain > 0.0);
  CHECK(report.model->chosen.front().because == name_of(DoubtKind::persistence));
  CHECK(coefficient_error(Simulation(stream).truth(), report.mixture()) < 0.05);
}

TEST_CASE("a run of one mode is no drift of the moments, before the model of modes is taken up either") {
  int alarms = 0;
  for (std::uint64_t seed = 20; seed < 23; ++seed) {
    SimulationSettings stream = three_laws(seed);
    stream.stay = 0.997;
    EstimatorSettings settings = automatic();
    settings.every = 1000;
    Simulation simulation(stream);
    Estimator estimator = Estimator::create(settings).value();
    for (int t = 0; t < 16000; ++t) {
      estimator.absorb(simulation.next());
      if (!estimator.fit_is_due()) continue;
      estimator.scheduled_fit();
      alarms +=
          static_cast<int>(std::ranges::count(estimator.drift(), DriftSign::moments, &DriftEvent::sign));
    }
  }
  CHECK(alarms == 0);
}

TEST_CASE("unequal and heavy-tailed noise are taken up too") {
  SimulationSettings unequal = three_laws(3);
  unequal.noise_variances = {0.01, 0.09, 0.5};
  const Report by_law = fitted(unequal, 16000);
  CHECK(by_law.model->noise == NoiseModel::per_component);
  CHECK_FALSE(by_law.model->chosen.empty());  // by a trial, not by the held rows alone
  SimulationSettings heavy = three_laws(4);
  heavy.tails = 3.0;
  const Report tailed = fitted(heavy, 16000);
  CHECK(tailed.model->noise_shape.tails);
  CHECK_FALSE(tailed.model->chosen.empty());
}

TEST_CASE("before a trial is over the rows at hand choose for the report") {
  SimulationSettings stream = three_laws(5);
  stream.stay = 0.98;
  stream.wander = 0.99;
  const Report report = fitted(stream, 3000);
  REQUIRE(report.model);
  CHECK(report.model->by_held_rows);
  CHECK(report.model->modes == Modes::persistent);
}

TEST_CASE("saved in the middle of a trial, it goes on bit for bit") {
  SimulationSettings stream = three_laws(6);
  stream.stay = 0.99;
  Simulation simulation(stream);
  Estimator estimator = Estimator::create(automatic()).value();
  const auto feed = [](Estimator& to, const Row& row) {
    to.absorb(row);
    if (to.fit_is_due()) to.scheduled_fit();
  };
  for (int t = 0; t < 6000; ++t) feed(estimator, simulation.next());
  Outcome<Estimator> loaded = Estimator::decode(estimator.encode(), automatic());
  REQUIRE(loaded);
  CHECK(loaded.value().encode() == estimator.encode());
  for (int t = 0; t < 6000; ++t) {
    const Row row = simulation.next();
    feed(estimator, row);
    feed(loaded.value(), row);
  }
  CHECK(loaded.value().encode() == estimator.encode());
  CHECK(estimator.fit().model->modes == Modes::persistent);
  CHECK_FALSE(estimator.fit().model->chosen.empty());
}

TEST_CASE("a loop whose rows choose the model takes rows without allocation, during trials and after") {
  SimulationSettings stream = three_laws(7);
  stream.stay = 0.99;
  Simulation simulation(stream);
  LoopSettings settings;
  settings.estimator = automatic();
  SensorLoop loop = SensorLoop::create(settings).value();
  std::size_t allocated = 0;
  for (int t = 0; t < 20000; ++t) {
    const Row row = simulation.next();
    const std::size_t before = allocation_count();
    loop.absorb(row);
    allocated += allocation_count() - before;
    loop.refit();
  }
  CHECK(allocated == 0);
  CHECK(loop.whole().fit().model->modes == Modes::persistent);
}

TEST_CASE("one law is least squares, whatever the noise") {
  SimulationSettings stream = three_laws(8);
  stream.component_count = 1;
  stream.coefficients = std::vector<double>{4.0, 3.0, -1.0};
  stream.tails = 2.5;
  EstimatorSettings settings = automatic(1);
  settings.solve.choice = {};
  Simulation simulation(stream);
  const RowTable rows = Simulation(stream).table(20000);
  double sums[3][4] = {};
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const Row row = rows.row(t);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) sums[i][j] += row.features[i] * row.features[j];
      sums[i][3] += row.features[i] * row.response;
    }
  }
  for (int i = 0; i < 3; ++i) {  // Gauss and Jordan
    for (int r = 0; r < 3; ++r) {
      if (r == i) continue;
      const double factor = sums[r][i] / sums[i][i];
      for (int j = 0; j < 4; ++j) sums[r][j] -= factor * sums[i][j];
    }
  }
  const Report report = fitted(stream, 20000, settings);
  REQUIRE(report.components.size() == 1);
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(std::abs(report.components[0].coefficients[j] - sums[j][3] / sums[j][j]) < 1e-9);
    CHECK(report.components[0].coefficient_errors[j] < 0.02);
  }
}

TEST_CASE("the number of laws is chosen under the noise that the rows ask for") {
  SimulationSettings stream = three_laws(9);
  stream.tails = 3.0;
  const Report report = fitted(stream, 16000, automatic(0));
  CHECK(report.component_count == 3);
  CHECK(report.status == FitStatus::ok);
}

TEST_CASE("rows in order count from the first on, before the pilot is fixed") {
  Random random(11);
  EstimatorSettings settings;
  settings.state.layout = {1, 0};
  settings.solve.component_count = 2;
  settings.solve.choice = {true, true};
  settings.solve.feature_names = {"1"};
  Estimator chosen = Estimator::create(settings).value();
  settings.solve.choice = {};
  settings.solve.modes = Modes::persistent;
  Estimator asked = Estimator::create(settings).value();
  const double x[] = {1.0};
  for (int t = 0; t < 120; ++t) {
    const double level = t / 30 % 2 == 0 ? 1100.0 : 850.0;  // three changes
    const Row row{x, level + 60.0 * random.normal(), 1.0};
    chosen.absorb(row);
    asked.absorb(row);
  }
  const Report report = asked.fit();
  REQUIRE(report.modes);
  CHECK(report.modes->changes == doctest::Approx(3.0).epsilon(0.2));
  const Report by_rows = chosen.fit();
  REQUIRE(by_rows.model);
  CHECK(by_rows.model->modes == Modes::persistent);
}
