#include "mixstream/rows/feature_map.hpp"

#include <doctest/doctest.h>

#include <cmath>
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

TEST_CASE("functions of columns, quotients and comparisons are features") {
  const FeatureMap map =
      FeatureMap::parse(
          "1, log(x+1), sqrt(4-x), max(0,t-18), max(t,2)^2, 1/x, t/x^2, mode==\"eco\"*t, x*mode==\"a\"\"b\"")
          .value();
  CHECK(map.columns() == std::vector<std::string>{"x", "t", "mode"});
  CHECK(map.names() == std::vector<std::string>{"1", "log(x+1)", "sqrt(4-x)", "max(0,t-18)", "max(2,t)^2",
                                                "1/x", "t/x^2", "t*mode==\"eco\"", "x*mode==\"a\"\"b\""});
  CHECK(FeatureMap::parse(map.text()).value() == map);
  CHECK(!map.is_products());
  CHECK(map.text_columns() == std::vector<std::string>{"mode"});
  std::vector<double> f(9);
  CHECK(map.evaluate(std::vector<double>{2.0, 20.0, map.code_of(2, "eco")}, f) == -1);
  CHECK(f == std::vector<double>{1.0, std::log(3.0), std::sqrt(2.0), 2.0, 400.0, 0.5, 5.0, 20.0, 0.0});
  CHECK(map.evaluate(std::vector<double>{2.0, 20.0, map.code_of(2, "other")}, f) == -1);
  CHECK(f[7] == 0.0);
}

TEST_CASE("a feature without a value is told by its function and number") {
  const FeatureMap map = FeatureMap::parse("1,log(x),sqrt(x),1/x").value();
  std::vector<double> f(4);
  const std::vector<double> negative{-3.0};
  CHECK(map.evaluate(negative, f) == 1);
  CHECK(map.fault_words(1, negative) == "log(x): x is -3, and only positive numbers have a log");
  CHECK(map.fault_words(2, negative).find("square root") != std::string::npos);
  const std::vector<double> zero{0.0};
  CHECK(map.evaluate(zero, f) == 1);
  CHECK(map.fault_words(3, zero).find("divided") != std::string::npos);
}

TEST_CASE("a category is indicators of all but its first value, and carries them") {
  const std::vector<std::string> columns{"t", "machine"};
  const FeatureMap map = FeatureMap::parse("1,machine,t", columns, {{"machine", {"A", "B", "C"}}}).value();
  CHECK(map.names() == std::vector<std::string>{"1", "machine==\"B\"", "machine==\"C\"", "t"});
  CHECK(map.text() == "1,machine{\"A\",\"B\",\"C\"},t");
  const FeatureMap back = FeatureMap::parse(map.text()).value();
  CHECK(back.text() == map.text());
  std::vector<double> f(4);
  CHECK(map.evaluate(std::vector<double>{5.0, map.code_of(1, "C")}, f) == -1);
  CHECK(f == std::vector<double>{1.0, 0.0, 1.0, 5.0});
  CHECK(map.evaluate(std::vector<double>{5.0, map.code_of(1, "A")}, f) == -1);
  CHECK(f == std::vector<double>{1.0, 0.0, 0.0, 5.0});
  CHECK(map.evaluate(std::vector<double>{5.0, map.code_of(1, "D")}, f) == 1);
  CHECK(!FeatureMap::parse("1,machine*t", columns, {{"machine", {"A", "B"}}}));
  CHECK(!FeatureMap::parse("1,machine", columns, {{"machine", {"A"}}}));
  CHECK(!FeatureMap::parse("1,machine,machine^2", columns, {{"machine", {"A", "B"}}}));
}

TEST_CASE("lags come from the rows before, and a gap is none") {
  const FeatureMap map = FeatureMap::parse("1,lag(x,1),lag(x,3),x").value();
  CHECK(map.lags().size() == 2);
  CHECK(map.input_count() == 3);
  LagMemory memory(map);
  std::vector<double> f(4);
  std::vector<int> filled;
  for (int i = 0; i < 10; ++i) {
    if (i == 6) {
      memory.gap();
      continue;
    }
    std::vector<double> values{static_cast<double>(i), 0.0, 0.0};
    if (!memory.fill(values)) continue;
    filled.push_back(i);
    CHECK(map.evaluate(values, f) == -1);
    CHECK(f == std::vector<double>{1.0, i - 1.0, i - 3.0, static_cast<double>(i)});
  }
  CHECK(filled == std::vector<int>{3, 4, 5, 8});
  CHECK(refusal("lag(x,0)").find("lag") != std::string::npos);
  CHECK(refusal("lag(x)").find("lag") != std::string::npos);
}

TEST_CASE("names stand as in the header where nothing else could be meant") {
  const std::vector<std::string> columns{"Flow (m3/h)", "Flow", "a-b", "a", "2nd stage", "1"};
  const auto names = [&](const std::string& text) {
    return FeatureMap::parse(text, columns).value().names();
  };
  CHECK(names("1,Flow (m3/h)") == std::vector<std::string>{"1", "`Flow (m3/h)`"});
  CHECK(names("1,Flow (m3/h)^2*Flow") == std::vector<std::string>{"1", "`Flow (m3/h)`^2*Flow"});
  CHECK(names("log(Flow (m3/h)+1)") == std::vector<std::string>{"log(`Flow (m3/h)`+1)"});
  CHECK(names("2nd stage") == std::vector<std::string>{"`2nd stage`"});
  const Outcome<FeatureMap> ambiguous = FeatureMap::parse("1,a-b", columns);
  REQUIRE(!ambiguous);
  CHECK(ambiguous.refusal().text.find("`a-b`") != std::string::npos);
  CHECK(names("`a-b`") == std::vector<std::string>{"`a-b`"});
  CHECK(FeatureMap::parse("1,Flo", {"Flow (m3/h)", "x"}).refusal().text.find("did you mean") ==
        std::string::npos);
  CHECK(FeatureMap::parse("1,flow", {"Flow (m3/h)", "x"}).refusal().text.find("'`Flow (m3/h)`'") !=
        std::string::npos);
  CHECK(FeatureMap::parse("1,v", {"v.1", "v.2"}).refusal().text.find("write v.1 for the first") !=
        std::string::npos);
}

TEST_CASE("an unknown column is refused with the nearest known one") {
  const Outcome<FeatureMap> map = FeatureMap::parse("1,presure", {"pressure", "flow"});
  REQUIRE_FALSE(map);
  CHECK(map.refusal().text.find("did you mean 'pressure'") != std::string::npos);
  CHECK(map.refusal().text.find("pressure, flow") != std::string::npos);
  CHECK(FeatureMap::parse("1,zzzzz", {"pressure"}).refusal().text.find("did you mean") == std::string::npos);
}

TEST_CASE("a backquote in a column's name is written twice between backquotes") {
  const std::vector<std::string> columns{"a`b", "`", "t"};
  const Outcome<FeatureMap> map = FeatureMap::parse("1,`a``b`*t,````^2", columns);
  REQUIRE_MESSAGE(map, map.refusal().text);
  CHECK(map.value().names() == std::vector<std::string>{"1", "`a``b`*t", "````^2"});
  const Outcome<FeatureMap> again = FeatureMap::parse(map.value().text());
  REQUIRE(again);
  CHECK(again.value().columns() == std::vector<std::string>{"a`b", "t", "`"});
  CHECK(again.value().text() == map.value().text());
  CHECK(FeatureMap::plain(columns).value().names() == std::vector<std::string>{"1", "`a``b`", "````", "t"});
  for (const char* open : {"`a``b", "``", "`", "```"}) {
    CAPTURE(open);
    CHECK_FALSE(FeatureMap::parse(open));
  }
}
