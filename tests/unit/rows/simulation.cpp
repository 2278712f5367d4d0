#include "mixstream/rows/simulation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <stdexcept>

using namespace mixstream;

TEST_CASE("a simulated stream has the means, weights and noise it says") {
  SimulationSettings settings{.map = FeatureMap::parse("1,t").value(), .component_count = 2};
  settings.weights = {0.75, 0.25};
  settings.noise_variances = {0.5, 2.0};
  settings.seed = 9;
  Simulation simulation(settings);
  const Mixture& truth = simulation.truth();
  double count[2] = {};
  double error[2] = {};
  double square[2] = {};
  for (int i = 0; i < 40000; ++i) {
    const Row row = simulation.next();
    const std::size_t h = simulation.component();
    const double residual = row.response - truth.law(h)[0] - truth.law(h)[1] * row.features[1];
    CHECK(std::abs(row.features[1]) <= 1.0);
    count[h] += 1;
    error[h] += residual;
    square[h] += residual * residual;
  }
  CHECK(count[0] / 40000 == doctest::Approx(0.75).epsilon(0.02));
  for (std::size_t h = 0; h < 2; ++h) {
    CHECK(std::abs(error[h] / count[h]) < 0.06);
    CHECK(square[h] / count[h] == doctest::Approx(settings.noise_variances[h]).epsilon(0.06));
  }
}

TEST_CASE("the same seed gives the same rows, another seed others, and the cut leaves its intervals out") {
  SimulationSettings settings{.map = FeatureMap::parse("1,t").value()};
  settings.cut = true;
  const RowTable one = Simulation(settings).table(500);
  CHECK(one.responses == Simulation(settings).table(500).responses);
  settings.seed = 2;
  CHECK(one.responses != Simulation(settings).table(500).responses);
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double t = std::abs(one.row(i).features[1]);
    CHECK((t < 0.25 || t > 0.5));
  }
}

namespace {

SimulationSettings in_order() {
  SimulationSettings settings{.map = FeatureMap::parse("1,u,v").value(), .component_count = 3};
  settings.noise_variances = {0.25};
  return settings;
}

/// What the stream was before rows had an order: columns, then the law, then the noise.
RowTable rows_by_themselves(const SimulationSettings& settings, std::size_t count) {
  Random random(settings.seed);
  Mixture truth = empty_mixture(3, 3);
  for (double& coefficient : truth.coefficients) coefficient = random.normal();
  RowTable table{3, {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    double x[3] = {1.0, 0.0, 0.0};
    for (double& column : {std::ref(x[1]), std::ref(x[2])}) {
      if (settings.normal_columns) {
        column = random.normal();
      } else if (settings.cut) {
        const double u = random.uniform(0.0, 1.5);
        column = u < 0.5 ? u - 1.0 : (u < 1.0 ? u - 0.75 : u - 0.5);
      } else {
        column = random.uniform(-1.0, 1.0);
      }
    }
    double left = random.uniform();
    std::size_t h = 0;
    while (h < 2 && left >= 1.0 / 3.0) left -= 1.0 / 3.0, ++h;
    const double mean = std::inner_product(x, x + 3, truth.law(h).begin(), 0.0);
    table.add({x, mean + std::sqrt(settings.noise_variances[0]) * random.normal()});
  }
  return table;
}

/// Mean, variance and correlation of neighbours.
struct Course {
  double mean = 0.0;
  double variance = 0.0;
  double neighbours = 0.0;
};

Course course_of(const std::vector<double>& values) {
  Course course;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) course.mean += value / n;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double away = values[i] - course.mean;
    course.variance += away * away / n;
    if (i > 0) course.neighbours += away * (values[i - 1] - course.mean) / n;
  }
  course.neighbours /= course.variance;
  return course;
}

/// The noise of the next rows: y less the law that made it.
std::vector<double> noise_of(Simulation& simulation, std::size_t rows) {
  std::vector<double> noise;
  for (std::size_t i = 0; i < rows; ++i) {
    const Row row = simulation.next();
    const std::span<const double> law = simulation.truth().law(simulation.component());
    noise.push_back(row.response -
                    std::inner_product(row.features.begin(), row.features.end(), law.begin(), 0.0));
  }
  return noise;
}

}  // namespace

TEST_CASE("rows drawn by themselves are the same to the last bit as before rows could be in order") {
  for (const int kind : {0, 1, 2}) {
    SimulationSettings settings = in_order();
    settings.normal_columns = kind == 1;
    settings.cut = kind == 2;
    settings.seed = 5;
    CHECK(Simulation(settings).table(1000) == rows_by_themselves(settings, 1000));
  }
}

TEST_CASE("a law lasts as long as told, and the weights are the chain's stationary ones") {
  for (const std::vector<double>& weights : {std::vector<double>{}, std::vector<double>{0.6, 0.3, 0.1}}) {
    SimulationSettings settings = in_order();
    settings.weights = weights;
    settings.stay = 0.9;
    Simulation simulation(settings);
    const std::vector<double> transitions = simulation.transitions();
    constexpr int rows = 400000;
    std::vector<double> counts(9);
    double stayed = 0.0;
    simulation.next();
    for (int i = 0; i < rows; ++i) {
      const std::size_t before = simulation.component();
      simulation.next();
      counts[3 * before + simulation.component()] += 1.0;
      stayed += before == simulation.component() ? 1.0 : 0.0;
    }
    CHECK(std::abs(stayed / rows - 0.9) < 0.003);
    for (std::size_t i = 0; i < 3; ++i) {
      const double from = counts[3 * i] + counts[3 * i + 1] + counts[3 * i + 2];
      CHECK(std::abs(from / rows - simulation.truth().weights[i]) < 0.02);  // sd 0.003 at dwell 10
      for (std::size_t j = 0; j < 3; ++j) {
        const double p = transitions[3 * i + j];
        CHECK(std::abs(counts[3 * i + j] / from - p) < 5.0 * std::sqrt(p * (1.0 - p) / from));
      }
      if (weights.empty()) CHECK(transitions[4 * i] == doctest::Approx(0.9).epsilon(1e-12));
    }
  }
}

TEST_CASE("columns wander and keep their distribution") {
  for (const int kind : {0, 1, 2}) {
    SimulationSettings settings = in_order();
    settings.wander = 0.8;
    settings.normal_columns = kind == 1;
    settings.cut = kind == 2;
    Simulation simulation(settings);
    std::vector<double> column;
    for (int i = 0; i < 200000; ++i) column.push_back(simulation.next().features[2]);
    const Course course = course_of(column);
    const double variance =
        kind == 0 ? 1.0 / 3.0 : (kind == 1 ? 1.0 : (2.0 / 3.0 - 2.0 / 3.0 * 7.0 / 64.0) / 1.5);
    CHECK(std::abs(course.mean) < 0.03);
    CHECK(course.variance == doctest::Approx(variance).epsilon(0.03));
    CHECK(std::abs(course.neighbours - 0.8) < 0.03);  // of ranks: a little less than of the Gaussian below
    if (kind == 0) {
      for (const double edge : {-0.8, -0.5, 0.0, 0.5, 0.8}) {
        const auto below =
            static_cast<double>(std::ranges::count_if(column, [&](double u) { return u < edge; }));
        CHECK(std::abs(below / 200000.0 - 0.5 * (1.0 + edge)) < 0.02);
      }
    }
  }
}

TEST_CASE("noise remembers and keeps its variance, across changes of law") {
  SimulationSettings settings = in_order();
  settings.stay = 0.9;
  settings.noise_memory = 0.7;
  Simulation simulation(settings);
  const Course course = course_of(noise_of(simulation, 200000));
  CHECK(std::abs(course.mean) < 0.02);
  CHECK(course.variance == doctest::Approx(0.25).epsilon(0.03));
  CHECK(std::abs(course.neighbours - 0.7) < 0.01);
}

TEST_CASE("noise with tails has Student's quantiles and the variance it says") {
  SimulationSettings settings = in_order();
  settings.tails = 4.0;
  Simulation simulation(settings);
  std::vector<double> noise = noise_of(simulation, 200000);
  CHECK(course_of(noise).variance == doctest::Approx(0.25).epsilon(0.1));  // its fourth moment is infinite
  std::ranges::sort(noise);
  const double scale = std::sqrt(0.25 * 2.0 / 4.0);
  // Quantiles of t with 4 degrees of freedom, from a table.
  for (const auto& [share, quantile] : {std::pair{0.75, 0.741}, {0.9, 1.533}, {0.975, 2.776}, {0.995, 4.604}})
    CHECK(noise[static_cast<std::size_t>(200000 * share)] == doctest::Approx(scale * quantile).epsilon(0.04));
}

TEST_CASE("a gate chooses the law by the columns") {
  SimulationSettings settings = in_order();
  settings.component_count = 2;
  settings.gate = FeatureMap::parse("1,v", settings.map.columns()).value();
  settings.gate_coefficients = {0.5, -3.0};
  Simulation simulation(settings);
  double count[2] = {};
  double first[2] = {};
  double all = 0.0;
  for (int i = 0; i < 100000; ++i) {
    const double v = simulation.next().features[2];
    const bool is_first = simulation.component() == 0;
    all += is_first ? 1e-5 : 0.0;
    if (std::abs(v) < 0.9) continue;
    count[v > 0.0] += 1.0;
    first[v > 0.0] += is_first ? 1.0 : 0.0;
  }
  CHECK(first[0] / count[0] == doctest::Approx(1.0 / (1.0 + std::exp(-0.5 - 2.85))).epsilon(0.01));
  CHECK(first[1] / count[1] == doctest::Approx(1.0 / (1.0 + std::exp(-0.5 + 2.85))).epsilon(0.1));
  CHECK(all == doctest::Approx(simulation.truth().weights[0]).epsilon(0.02));
}

TEST_CASE("responses are rounded, and sensors take turns with chains of their own") {
  SimulationSettings settings = in_order();
  settings.round_to = 0.5;
  settings.sensors = 3;
  settings.stay = 0.99;
  settings.wander = 0.999;
  Simulation simulation(settings);
  std::vector<double> one;
  std::vector<double> other;
  double changes = 0.0;
  std::size_t last = 3;
  for (std::uint64_t i = 0; i < 60000; ++i) {
    const Row row = simulation.next();
    CHECK(row.sensor == i % 3 + 1);
    CHECK(row.response == 0.5 * std::round(row.response / 0.5));
    if (row.sensor == 1) {
      one.push_back(row.features[1]);
      changes += last < 3 && simulation.component() != last ? 1.0 : 0.0;
      last = simulation.component();
    } else if (row.sensor == 2) {
      other.push_back(row.features[1]);
    }
  }
  CHECK(changes / 20000 == doctest::Approx(0.01).epsilon(0.3));
  CHECK(course_of(one).neighbours > 0.99);
  CHECK(one != other);
}

TEST_CASE("a simulation that cannot be is refused") {
  const auto refused = [](auto change) {
    SimulationSettings settings = in_order();
    change(settings);
    CHECK_THROWS_AS(Simulation{settings}, std::invalid_argument);
  };
  refused([](SimulationSettings& s) { s.stay = 0.3; });  // less than by chance
  refused([](SimulationSettings& s) { s.stay = 1.1; });
  refused([](SimulationSettings& s) { s.wander = 1.0; });
  refused([](SimulationSettings& s) { s.noise_memory = -1.0; });
  refused([](SimulationSettings& s) { s.tails = 2.0; });
  refused([](SimulationSettings& s) { s.round_to = -1.0; });
  refused([](SimulationSettings& s) { s.gate = FeatureMap::parse("1,u").value(); });  // other columns
  refused([](SimulationSettings& s) {
    s.gate = FeatureMap::parse("1,u", s.map.columns()).value();
    s.gate_coefficients = {1.0};
  });
  refused([](SimulationSettings& s) {
    s.gate = FeatureMap::parse("1,u", s.map.columns()).value();
    s.stay = 0.9;
  });
}
