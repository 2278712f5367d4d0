// The feature-map parser: any text is refused with words, or parsed to a map that its own text parses back
// to.
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
  const std::vector<double> columns(map.columns().size(), 1.0);
  std::vector<double> features(map.feature_count());
  map.evaluate(columns, features);
  for (const double feature : features) require(feature == 1.0);
}

}  // namespace

void fuzz(std::string_view text) {
  judge(FeatureMap::parse(text));
  judge(FeatureMap::parse(text, {"t", "u", "v", "odd name"}));
}
