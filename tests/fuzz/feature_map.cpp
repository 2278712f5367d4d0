// The feature-map parser: any text is refused with words, or parsed to a map that its own text parses back
// to.
#include <cmath>
#include <string_view>
#include <vector>

#include "fuzz/target.hpp"
#include "mixstream/rows/feature_map.hpp"

using namespace mixstream;

namespace {

void judge(const Outcome<FeatureMap>& parsed) {
  if (!parsed) {
    require(parsed.refusal().reason == Reason::bad_feature_map && !parsed.refusal().text.empty());
    return;
  }
  const FeatureMap& map = parsed.value();
  require(map.feature_count() > 0 && map.constant_feature() < static_cast<int>(map.feature_count()));
  const Outcome<FeatureMap> again = FeatureMap::parse(map.text(), map.columns());
  require(again && again.value() == map);
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
