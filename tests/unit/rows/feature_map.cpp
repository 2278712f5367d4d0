#include "mixstream/rows/feature_map.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace mixstream;

namespace {

std::string refusal(const std::string& text) {
  const Outcome<FeatureMap> map = FeatureMap::parse(text);
  REQUIRE_FALSE(map);
  CHECK(map.refusal().reason == Reason::bad_feature_map);
  return map.refusal().text;
}

}  // namespace

TEST_CASE("a feature map names its columns and evaluates its products") {
  const FeatureMap map = FeatureMap::parse(" 1, u , v,u*v^3, v^2 * u^2 ,u*u").value();
  CHECK(map.columns() == std::vector<std::string>{"u", "v"});
  CHECK(map.names() == std::vector<std::string>{"1", "u", "v", "u*v^3", "u^2*v^2", "u^2"});
  CHECK(map.constant_feature() == 0);
  CHECK(FeatureMap::parse(map.text()).value() == map);
  std::vector<double> x(6);
  map.evaluate(std::vector<double>{3.0, -2.0}, x);
  CHECK(x == std::vector<double>{1.0, 3.0, -2.0, -24.0, 36.0, 9.0});
  CHECK(FeatureMap::parse("t^7").value().constant_feature() == -1);
  CHECK(FeatureMap::parse("t,1").value().constant_feature() == 1);
}

TEST_CASE("columns with odd names stand between backquotes") {
  const FeatureMap map = FeatureMap::plain({"flow rate (l/s)", "t", "1"}).value();
  CHECK(map.names() == std::vector<std::string>{"1", "`flow rate (l/s)`", "t", "`1`"});
  CHECK(map.columns().size() == 3);
  CHECK(FeatureMap::parse(map.text()).value() == map);
}

TEST_CASE("a malformed feature map is refused, with place and reason") {
  CHECK(refusal("").find("empty") != std::string::npos);
  CHECK(refusal("1,,t").find("character 3") != std::string::npos);
  CHECK(refusal("1,t^").find("power") != std::string::npos);
  CHECK(refusal("1,t^0").find("power") != std::string::npos);
  CHECK(refusal("1,t^-2").find("power") != std::string::npos);
  CHECK(refusal("1,t^99999999999999999999").find("power") != std::string::npos);
  CHECK(refusal("t^20*t^20").find("power") != std::string::npos);
  CHECK(refusal("1,t,t").find("twice") != std::string::npos);
  CHECK(refusal("1,2t").find("not a feature") != std::string::npos);
  CHECK(refusal("1;t").find("unexpected ';'") != std::string::npos);
  CHECK(refusal("1,t*").find("expected") != std::string::npos);
  CHECK(refusal("1,`t").find("expected") != std::string::npos);
}

TEST_CASE("an unknown column is refused with the nearest known one") {
  const Outcome<FeatureMap> map = FeatureMap::parse("1,presure", {"pressure", "flow"});
  REQUIRE_FALSE(map);
  CHECK(map.refusal().text.find("did you mean 'pressure'") != std::string::npos);
  CHECK(map.refusal().text.find("pressure, flow") != std::string::npos);
  CHECK(FeatureMap::parse("1,zzzzz", {"pressure"}).refusal().text.find("did you mean") == std::string::npos);
}
