// Scores of extensions and tests against the numpy reference.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "mixstream/doubts/extension.hpp"
#include "mixstream/doubts/look.hpp"
#include "mixstream/doubts/sums.hpp"
#include "support/golden.hpp"

using namespace mixstream;

namespace {

struct Case {
  Golden golden;
  ModeShape shape;
  ModeModel model;
  Layout layout{3, 0};
  RowTable table;
  Runs runs{3, 5120};
  DoubtRows rows;

  explicit Case(const std::filesystem::path& path) : golden(read_golden(path)) {
    shape = {golden.k, golden.d, Modes::independent, {}, golden.noise, {}};
    shape.noise_shape.tails = golden.lists.at("theta").size() == shape.parameters() + 1;
    model = empty_model(shape);
    std::vector<double> theta = golden.lists.at("theta");
    from_parameters(theta, shape, model);
    table.feature_count = golden.d;
    for (std::size_t t = 0; t < golden.rows; ++t) {
      table.add(golden.row(t));
      runs.add(golden.row(t), {0, t == 0 ? 0U : 1U});
    }
    rows = {&table, &runs, golden.rows, &layout, nullptr, {"1", "u", "v"}};
  }
};

/// The columns of a look, row by row, beside those of the reference; `unit`: of the look's regressor.
struct Columns {
  std::vector<Look> looks;
  std::vector<std::vector<double>> values;  // by row
};

Columns columns_of(const Case& at, Concern concern, std::vector<double>& influence) {
  const RawUnits units(at.rows, 3);
  const HeldDesign design =
      design_of(placed_runs(at.runs), units, missing_terms(at.rows.features, 48), at.shape);
  const Extension extension(at.shape, design, units, concern);
  Columns columns{extension.looks(), {}};
  Sighting sighting(at.model, at.shape, 1);
  for (std::size_t t = 0; t < design.rows.size(); ++t) {
    const PlacedRow& placed = design.rows[t];
    const Sight& sight = sighting.see(placed.row, 0, placed.steps);
    columns.values.emplace_back(extension.columns());
    extension.score(sight, sighting.before(0), t, columns.values.back());
    influence.insert(influence.end(), sight.influence.begin(), sight.influence.end());
    sighting.remember(placed.row, 0);
  }
  return columns;
}

double root_of_mean_square(const Case& at, std::size_t feature) {
  double sum = 0.0;
  for (std::size_t t = 0; t < at.golden.rows; ++t) sum += std::pow(at.golden.row(t).features[feature], 2);
  return std::sqrt(sum / static_cast<double>(at.golden.rows));
}

void compare(const Case& at, const Columns& columns, DoubtKind kind, const std::string& term,
             const std::string& list, double unit) {
  const auto look = std::ranges::find_if(
      columns.looks, [&](const Look& other) { return other.doubt.kind == kind && other.doubt.term == term; });
  REQUIRE(look != columns.looks.end());
  const std::vector<double>& wanted = at.golden.lists.at(list);
  const std::size_t width = look->sums.size();
  REQUIRE(wanted.size() == width * at.golden.rows);
  double worst = 0.0;
  for (std::size_t t = 0; t < at.golden.rows; ++t) {
    for (std::size_t i = 0; i < width; ++i)
      worst =
          std::max(worst, std::abs(unit * columns.values[t][look->sums[i].front()] - wanted[t * width + i]));
  }
  INFO(list);
  CHECK(worst < 1e-9);
}

const Doubt& find(const std::vector<Doubt>& doubts, DoubtKind kind, const std::string& term) {
  const auto place = std::ranges::find_if(
      doubts, [&](const Doubt& doubt) { return doubt.kind == kind && doubt.term == term; });
  REQUIRE(place != doubts.end());
  return *place;
}

}  // namespace

TEST_CASE("scores of extensions are those of the reference") {
  const auto files = golden_files("doubts");
  REQUIRE(files.size() == 2);
  for (const auto& path : files) {
    INFO(path.string());
    const Case at(path);
    std::vector<double> influence, again;
    const Columns rows = columns_of(at, Concern::rows, influence);
    const Columns order = columns_of(at, Concern::order, again);
    const std::vector<double>& wanted = at.golden.lists.at("influence");
    REQUIRE(influence.size() == wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) REQUIRE(std::abs(influence[i] - wanted[i]) < 1e-9);
    compare(at, rows, DoubtKind::gate, "u", "gate_u", root_of_mean_square(at, 1));
    compare(at, rows, DoubtKind::growing_noise, "v", "spread_v", root_of_mean_square(at, 2));
    compare(at, rows, DoubtKind::skewed_noise, "", "skewed", 1.0);
    if (at.golden.noise == NoiseModel::shared)
      compare(at, rows, DoubtKind::unequal_noise, "", "unequal", 1.0);
    if (!at.shape.noise_shape.tails) compare(at, rows, DoubtKind::tails, "", "tails", 1.0);
    compare(at, order, DoubtKind::persistence, "", "persistence", 1.0);
    compare(at, order, DoubtKind::memory, "", "memory", 1.0);
  }
}

TEST_CASE("statistics and p-values are those of the reference") {
  const std::map<std::string, DoubtKind> kinds = {{"gate", DoubtKind::gate},
                                                  {"spread", DoubtKind::growing_noise},
                                                  {"noise_per_law", DoubtKind::unequal_noise},
                                                  {"skewed_noise", DoubtKind::skewed_noise},
                                                  {"tails", DoubtKind::tails},
                                                  {"modes_persist", DoubtKind::persistence},
                                                  {"noise_persists", DoubtKind::memory}};
  for (const auto& path : golden_files("doubts")) {
    INFO(path.string());
    const Case at(path);
    // Level 0: nothing is raised, so every doubt is told as it stands alone.
    const auto doubts = look_for_doubts(at.model, at.shape, at.rows, {.level = 0.0, .few_laws = false});
    std::size_t compared = 0;
    for (const auto& [key, test] : at.golden.lists) {
      if (!key.starts_with("test:")) continue;
      INFO(key);
      const auto colon = key.find(':', 5);
      const std::string kind = key.substr(5, colon - 5);
      const std::string term = colon == std::string::npos ? "" : key.substr(colon + 1);
      if (kind.starts_with("feature")) {  // one doubt, told by the better of two looks
        const Doubt& doubt = find(doubts, DoubtKind::missing_term, term);
        const auto& one = at.golden.lists.at("test:feature:" + term);
        const auto& each = at.golden.lists.at("test:feature_per_law:" + term);
        const auto& told = doubt.dof == 1 ? one : each;
        CHECK(doubt.statistic == doctest::Approx(told[0]).epsilon(1e-7));
        CHECK(doubt.p == doctest::Approx(std::min(1.0, 2.0 * std::min(one[2], each[2]))).epsilon(1e-6));
      } else {
        const Doubt& doubt = find(doubts, kinds.at(kind), term);
        CHECK(doubt.statistic == doctest::Approx(test[0]).epsilon(1e-7));
        CHECK(doubt.dof == static_cast<std::size_t>(test[1]));
        CHECK(doubt.p == doctest::Approx(test[2]).epsilon(1e-6));
      }
      ++compared;
    }
    CHECK(compared >= 14);
  }
}
