#include "mixstream/report/page_view.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

using namespace mixstream;

namespace {

/// Rows of a map over columns, drawn evenly; each row lies exactly on the law of its index modulo k.
RowTable rows_on_laws(const FeatureMap& map, const Mixture& mixture, std::size_t count) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> even(-1.0, 1.0);
  RowTable rows;
  rows.feature_count = map.feature_count();
  std::vector<double> columns(map.columns().size());
  std::vector<double> x(map.feature_count());
  for (std::size_t i = 0; i < count; ++i) {
    for (double& value : columns) value = even(random);
    map.evaluate(columns, x);
    double y = 0.0;
    for (std::size_t f = 0; f < x.size(); ++f) y += mixture.law(i % mixture.component_count())[f] * x[f];
    rows.add({x, y, 1.0});
  }
  return rows;
}

std::vector<std::size_t> alternating(std::size_t count, std::size_t k) {
  std::vector<std::size_t> components(count);
  for (std::size_t i = 0; i < count; ++i) components[i] = i % k;
  return components;
}

}  // namespace

TEST_CASE("the range shows all values unless a few lie far out") {
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i) values.push_back(i);
  CHECK(view_of(values).low == 0.0);
  CHECK(view_of(values).high == 100.0);
  values.push_back(1e9);
  CHECK(view_of(values).low == 0.0);
  CHECK(view_of(values).high < 200.0);
}

TEST_CASE("the range is never empty and never infinite") {
  for (const std::vector<double>& values :
       {std::vector<double>{}, {0.0}, {3.0, 3.0}, {-2.0}, {INFINITY, 1.0}, {NAN}}) {
    const ViewRange range = view_of(values);
    CHECK(range.low < range.high);
    CHECK(std::isfinite(range.high - range.low));
  }
}

TEST_CASE("over one column the laws are the curves of their polynomials") {
  const FeatureMap map = FeatureMap::parse("1,t,t^3").value();
  const Mixture mixture{3, {0.5, 0.5}, {1, 2, 3, -1, 0, 4}, {1, 1}};
  const RowTable rows = rows_on_laws(map, mixture, 60);
  const auto axes = axes_of(map, rows, mixture, alternating(60, 2));
  REQUIRE(axes.size() == 2);
  CHECK(axes[0].name == "t");
  CHECK(axes[0].adjusted.empty());
  CHECK(axes[0].held.empty());
  for (std::size_t i = 0; i < axes[0].grid.size(); ++i) {
    const double t = axes[0].grid[i];
    CHECK(axes[0].laws[0][i] == doctest::Approx(1 + 2 * t + 3 * t * t * t));
    CHECK(axes[0].laws[1][i] == doctest::Approx(-1 + 4 * t * t * t));
  }
  CHECK(axes[1].kind == ViewAxis::Kind::fitted);
  for (std::size_t i = 0; i < 60; ++i) CHECK(axes[1].values[i] == doctest::Approx(rows.responses[i]));
}

TEST_CASE("over several columns the others stand at their medians and adjusted rows on their laws") {
  const FeatureMap map = FeatureMap::parse("1,u,v,u*v").value();
  const Mixture mixture{4, {0.5, 0.5}, {1, 2, 3, 4, 0, -1, 5, 2}, {1, 1}};
  const RowTable rows = rows_on_laws(map, mixture, 61);
  const auto components = alternating(61, 2);
  const auto axes = axes_of(map, rows, mixture, components);
  REQUIRE(axes.size() == 3);
  REQUIRE(axes[0].held.size() == 1);
  CHECK(axes[0].held[0].first == "v");
  const double v = axes[0].held[0].second;
  int below = 0;
  for (std::size_t i = 0; i < 61; ++i) below += rows.row(i).features[2] < v ? 1 : 0;
  CHECK(below == 30);
  for (std::size_t i = 0; i < 61; ++i) {
    const double u = axes[0].values[i];
    const double on_law = components[i] == 0 ? 1 + 2 * u + 3 * v + 4 * u * v : -u + 5 * v + 2 * u * v;
    CHECK(axes[0].adjusted[i] == doctest::Approx(on_law));
  }
}

TEST_CASE("where columns cannot be read back the axes are features, without curves") {
  const FeatureMap map = FeatureMap::parse("1,t^2,u").value();
  const Mixture mixture{3, {1.0}, {1, 2, 3}, {1}};
  const RowTable rows = rows_on_laws(map, mixture, 10);
  const auto axes = axes_of(map, rows, mixture, alternating(10, 1));
  REQUIRE(axes.size() == 3);
  CHECK(axes[0].kind == ViewAxis::Kind::feature);
  CHECK(axes[0].name == "t^2");
  CHECK(axes[0].laws.empty());
  CHECK(axes[1].name == "u");
}

TEST_CASE("residual histograms are densities that count a row by its probability") {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  const Mixture mixture{1, {0.25, 0.75}, {0.0, 50.0}, {1.0, 4.0}};  // far apart: every row is sure
  RowTable rows;
  rows.feature_count = 1;
  int inside = 0;  // rows of the first law with a residual in [0, 1/6): the bin right of zero
  for (int i = 0; i < 4000; ++i) {
    const double x = 1.0;
    const double noise = normal(random);
    rows.add({{&x, 1}, i % 4 == 0 ? noise : 50.0 + 2.0 * noise, 1.0});
    inside += i % 4 == 0 && noise >= 0.0 && noise < 8.0 / 48.0 ? 1 : 0;
  }
  const auto histograms = residual_histograms(rows, mixture);
  REQUIRE(histograms.size() == 2);
  CHECK(histograms[0].half_width == 4.0);
  CHECK(histograms[1].half_width == 8.0);
  CHECK(histograms[0].rows == doctest::Approx(1000.0));
  CHECK(histograms[0].density[24] == doctest::Approx(inside / 1000.0 / (8.0 / 48.0)));
  for (const ResidualHistogram& histogram : histograms) {
    double mass = histogram.outside;
    for (const double density : histogram.density) mass += density * 2.0 * histogram.half_width / 48.0;
    CHECK(mass == doctest::Approx(1.0));
  }
}

TEST_CASE("residuals far wider than the fitted noise get a wider histogram, zero noise none") {
  const Mixture narrow{1, {1.0}, {0.0}, {1e-4}};
  RowTable rows;
  rows.feature_count = 1;
  const double x = 1.0;
  for (int i = -50; i <= 50; ++i) rows.add({{&x, 1}, 0.003 * i, 1.0});
  CHECK(residual_histograms(rows, narrow)[0].half_width > 0.15);
  CHECK(residual_histograms(rows, narrow)[0].outside == 0.0);
}
