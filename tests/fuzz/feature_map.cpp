// The feature-map parser: any text is refused with words, or parsed to a map whose own text is parsed to a
// map of the same values.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>
#include <vector>

#include "fuzz/target.hpp"
#include "mixstream/rows/feature_map.hpp"

using namespace mixstream;

namespace {

/// A value for each column and lag by its name, whatever its place in the map.
std::vector<double> inputs_of(const FeatureMap& map) {
  const auto of = [](const std::string& name) {
    return 0.5 + 0.25 * (std::accumulate(name.begin(), name.end(), 0) & 15);
  };
  std::vector<double> inputs;
  for (const std::string& name : map.columns()) inputs.push_back(of(name));
  for (std::size_t column = 0; column < map.columns().size(); ++column) {
    if (map.is_text(column)) inputs[column] = map.code_of(column, "x");
  }
  for (const FeatureMap::Lag& lag : map.lags())
    inputs.push_back(of(map.columns()[lag.column]) + 0.125 * static_cast<double>(lag.steps));
  return inputs;
}

std::vector<double> features_of(const FeatureMap& map) {
  std::vector<double> features(map.feature_count());
  map.evaluate(inputs_of(map), features);
  return features;
}

/// Up to the order of the factors in a product.
bool is_close(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other)) ||
         std::abs(one - other) <= 1e-9 * std::abs(one);
}

void judge_text(const FeatureMap& map) {
  const Outcome<FeatureMap> again = FeatureMap::parse(map.text());
  require(static_cast<bool>(again) && again.value().feature_count() == map.feature_count());
  require(again.value().is_products() == map.is_products() &&
          again.value().constant_feature() == map.constant_feature());
  require(std::ranges::equal(features_of(map), features_of(again.value()), is_close));
  const Outcome<FeatureMap> once_more = FeatureMap::parse(again.value().text());
  require(once_more && once_more.value() == again.value());
}

void judge(const Outcome<FeatureMap>& parsed) {
  if (!parsed) {
    require(parsed.refusal().reason == Reason::bad_feature_map && !parsed.refusal().text.empty());
    return;
  }
  const FeatureMap& map = parsed.value();
  require(map.feature_count() > 0 && map.constant_feature() < static_cast<int>(map.feature_count()));
  judge_text(map);
  std::vector<double> inputs(map.input_count(), 1.0);
  std::vector<double> features(map.feature_count());
  const int fault = map.evaluate(inputs, features);
  if (map.is_products()) {
    require(fault < 0);
    for (const double feature : features) require(feature == 1.0);
  }
  if (fault >= 0)
    require(std::isnan(features[static_cast<std::size_t>(fault)]) && !map.fault_words(fault, inputs).empty());
  LagMemory memory(map);
  const bool reaches = memory.fill(inputs);
  require(reaches == map.lags().empty());
  memory.gap();
  for (std::size_t column = 0; column < map.columns().size(); ++column) {
    if (map.is_text(column)) require(map.code_of(column, "t") >= 0.0);
  }
}

}  // namespace

void fuzz(std::string_view text) {
  judge(FeatureMap::parse(text));
  judge(FeatureMap::parse(text, {"t", "u", "v", "odd name", "t-1", "Flow (m3/h)", "1"}));
  judge(FeatureMap::parse(text, {"t", "u", "machine"}, {{"machine", {"a", "b\"c"}}, {"u", {"x"}}}));
}
