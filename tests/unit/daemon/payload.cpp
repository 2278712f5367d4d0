// Messages to rows.
#include "payload/payload.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "support/allocation_count.hpp"

using namespace mixstream;

namespace {

PayloadSettings settings_for(PayloadFormat format, std::vector<std::string> columns = {}) {
  PayloadSettings settings;
  settings.format = format;
  settings.map = FeatureMap::parse("1,t,t^2").value();
  settings.columns = std::move(columns);
  return settings;
}

std::string block(const std::vector<double>& numbers) {
  std::string bytes(numbers.size() * 8, '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

/// What became of a message, one text a row: "t=.. y=.." or the fault's name, then the identity.
std::vector<std::string> rows_of(PayloadParser& parser, std::string_view payload, double arrival = 100.0) {
  std::vector<std::string> result;
  for (const PayloadRow& row : parser.parse(std::as_bytes(std::span(payload)), arrival)) {
    CHECK(row.index == result.size());
    std::string text;
    if (row.fault == RowFault::none) {
      REQUIRE(row.row.features.size() == 3);
      CHECK(row.row.features[0] == 1.0);
      CHECK(row.row.features[2] == row.row.features[1] * row.row.features[1]);
      char numbers[200];
      std::snprintf(numbers, sizeof numbers, "t=%g y=%g", row.row.features[1], row.row.response);
      text = numbers;
      if (row.row.weight != 1.0) text += " w=" + std::to_string(static_cast<int>(row.row.weight));
      if (row.row.time != arrival) text += " at=" + std::to_string(static_cast<int>(row.row.time));
    } else {
      text = name_of(row.fault);
    }
    if (row.numbered)
      text += " #" + std::string(row.sensor) + "/" + std::to_string(row.epoch) + "/" +
              std::to_string(row.sequence);
    else if (!row.sensor.empty())
      text += " #" + std::string(row.sensor);
    result.insert(result.end(), row.repeats, text);
  }
  return result;
}

using Texts = std::vector<std::string>;

Texts json(std::string_view payload, std::vector<std::string> columns = {}) {
  PayloadParser parser = PayloadParser::create(settings_for(PayloadFormat::json, std::move(columns))).value();
  return rows_of(parser, payload);
}

Texts csv(std::string_view payload) {
  PayloadParser parser =
      PayloadParser::create(settings_for(PayloadFormat::csv, {"sensor", "seq", "t", "note", "y"})).value();
  return rows_of(parser, payload);
}

}  // namespace

TEST_CASE("a JSON object is a row; further fields do no harm") {
  CHECK(json(R"({"t": 1.5, "y": -2e1})") == Texts{"t=1.5 y=-20"});
  CHECK(json(R"( {"y": 2, "extra": {"a": [1]}, "t": 3, "flag": true} )") == Texts{"t=3 y=2"});
  CHECK(json(R"({"t": "1.5", "y": "2"})") == Texts{"t=1.5 y=2"});
}

TEST_CASE("a JSON array holds rows; a bad one does not spoil the others") {
  CHECK(json(R"([{"t":1,"y":2},{"t":null,"y":2},{"y":2},{"t":"x","y":2},7,[1,2],{"t":1,"y":3}])") ==
        Texts{"t=1 y=2", "missing_value", "missing_key", "not_a_number", "bad_json", "bad_json", "t=1 y=3"});
  CHECK(json("[]").empty());
}

TEST_CASE("optional fields name sensor, epoch, sequence, time and weight") {
  CHECK(json(R"({"t":1,"y":2,"sensor":"a","epoch":3,"seq":4,"time":50,"weight":2})") ==
        Texts{"t=1 y=2 w=2 at=50 #a/3/4"});
  CHECK(json(R"({"t":1,"y":2,"seq":4})") == Texts{"t=1 y=2 #/0/4"});
  CHECK(json(R"({"t":1,"y":2,"sensor":17,"seq":9007199254740991})") ==
        Texts{"t=1 y=2 #17/0/9007199254740991"});
  CHECK(json(R"({"t":1,"y":2,"sensor":null,"epoch":null,"seq":null,"time":null,"weight":null})") ==
        Texts{"t=1 y=2"});
}

TEST_CASE("a refused row keeps its identity where that is sound, whatever the order of the fields") {
  CHECK(json(R"([{"t":"x","y":2,"sensor":"a","seq":4},{"sensor":"a","seq":5,"t":1}])") ==
        Texts{"not_a_number #a/0/4", "missing_key #a/0/5"});
}

TEST_CASE("sequence numbers are whole and exact, or refused") {
  for (const char* bad : {"-1", "1.5", "9007199254740992", "9007199254740993", "1e300"}) {
    CAPTURE(bad);
    CHECK(json(std::string(R"({"t":1,"y":2,"seq":)") + bad + "}") == Texts{"bad_sequence"});
    CHECK(json(std::string(R"({"t":1,"y":2,"seq":1,"epoch":)") + bad + "}") == Texts{"bad_sequence"});
  }
  CHECK(json(R"({"t":1,"y":2,"seq":"x"})") == Texts{"not_a_number"});
  CHECK(json(R"({"t":1,"y":2,"seq":1,"sensor":[1]})") == Texts{"bad_sensor"});
  CHECK(json(R"({"t":1,"y":2,"seq":1,"sensor":")" + std::string(257, 's') + "\"}") == Texts{"bad_sensor"});
}

TEST_CASE("rows in an envelope share its fields, and its sequence number counts up") {
  CHECK(
      json(
          R"({"sensor":"a","epoch":2,"seq":10,"time":7,"rows":[{"t":1,"y":2},{"t":"x"},{"t":2,"y":4,"weight":3}]})") ==
      Texts{"t=1 y=2 at=7 #a/2/10", "not_a_number #a/2/11", "t=2 y=4 w=3 at=7 #a/2/12"});
  CHECK(json(R"({"t":5,"rows":[{"y":1},{"y":2,"t":6}]})") == Texts{"t=5 y=1", "t=6 y=2"});
  CHECK(json(R"({"seq":"x","rows":[{"t":1,"y":1}]})") == Texts{"not_a_number"});
  CHECK(json(R"({"t":1,"y":2,"rows":3})") == Texts{"t=1 y=2"});
}

TEST_CASE("JSON rows may be arrays of numbers in the order of the columns") {
  CHECK(json("[[1,2],[3,4],[5],[null,1]]", {"t", "y"}) ==
        Texts{"t=1 y=2", "t=3 y=4", "ragged", "missing_value"});
  CHECK(json(R"({"seq":4,"rows":[[2,1],[4,3]]})", {"y", "t"}) == Texts{"t=1 y=2 #/0/4", "t=3 y=4 #/0/5"});
}

TEST_CASE("what is no JSON is one refused row") {
  for (const char* bad : {"", "{", "[{\"t\":1,\"y\":2}", "nonsense", "1", "\"text\"", "null",
                          "{\"t\":1 \"y\":2}", "\xff\xfe"}) {
    CAPTURE(bad);
    CHECK(json(bad) == Texts{"bad_json"});
  }
  CHECK(json(std::string("{\"t\":1,\"y\":2}\0", 14)) == Texts{"bad_json"});
}

TEST_CASE("CSV lines are rows, with or without a last newline, CRLF or quotes") {
  CHECK(csv("a,1,1.5,,2\nb,2,-3e0,x,4\r\n\n\"a \"\"q\"\"\",3,\"7\",\"n,\nm\",8") ==
        Texts{"t=1.5 y=2 #a/0/1", "t=-3 y=4 #b/0/2", "t=7 y=8 #a \"q\"/0/3"});
  CHECK(csv("").empty());
  CHECK(csv("\n\r\n").empty());
}

TEST_CASE("a bad CSV line does not spoil the others") {
  CHECK(csv("a,1,x,,2\na,2,1\na,3,,,2\na,,1,,2\na,b,1,,2\n\"a,6,1,,2\na,7,1,,2\n") ==
        Texts{"not_a_number #a/0/1", "ragged", "missing_value #a/0/3", "t=1 y=2 #a", "not_a_number #a",
              "open_quote", "t=1 y=2 #a/0/7"});
  CHECK(csv(std::string("a,1,1,\0,2\na,2,inf,,2\na,3,1e999,,2", 33)) ==
        Texts{"binary", "infinite #a/0/2", "infinite #a/0/3"});
  CHECK(csv("a,1,1,5,,2") == Texts{"ragged"});
  CHECK(csv("a,1,\"1,5\",,2") == Texts{"not_a_number #a/0/1"});
}

TEST_CASE("a block of doubles is rows in the order of the columns") {
  PayloadParser parser = PayloadParser::create(settings_for(PayloadFormat::f64, {"y", "seq", "t"})).value();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(rows_of(parser, block({1, 7, 2, nan, 8, 2, 1, nan, 3, infinity, 9, 1, 1, 0.5, 1})) ==
        Texts{"t=2 y=1 #/0/7", "missing_value #/0/8", "t=3 y=1", "infinite #/0/9", "bad_sequence"});
  CHECK(rows_of(parser, block({1, 7, 2}) + "rest") == Texts{"t=2 y=1 #/0/7", "ragged"});
  CHECK(rows_of(parser, "").empty());
}

TEST_CASE("a refused row is described in words, unprintable bytes escaped") {
  PayloadParser parser = PayloadParser::create(settings_for(PayloadFormat::json)).value();
  const std::string payload = R"([{"t":1,"y":1},{"t":1,"y":"a\u0007b"}])";
  const auto rows = parser.parse(std::as_bytes(std::span(payload)), 0.0);
  CHECK(describe(rows[1]) == R"(row 2: field "y": "a\x07b" is not a number)");
}

namespace {

/// The features of each row of a message; those of a refused one are its reason and words.
Texts featured(const std::string& map, PayloadFormat format, std::string_view payload,
               std::vector<std::string> columns = {}) {
  PayloadSettings settings = settings_for(format, std::move(columns));
  settings.map = FeatureMap::parse(map).value();
  PayloadParser parser = PayloadParser::create(settings).value();
  Texts texts;
  for (const PayloadRow& row : parser.parse(std::as_bytes(std::span(payload)), 0.0)) {
    std::string text;
    for (const double feature : row.row.features) {
      char number[40];
      std::snprintf(number, sizeof number, "%s%g", text.empty() ? "" : " ", feature);
      text += number;
    }
    texts.push_back(row.fault == RowFault::none ? text : std::string(reason_of(row)) + "; " + describe(row));
  }
  return texts;
}

}  // namespace

TEST_CASE("functions are computed, and a row where one has no value is refused with function and value") {
  CHECK(featured("1,log(t),1/t,max(0,t-2)", PayloadFormat::json,
                 R"([{"t":1,"y":2},{"t":-3,"y":2},{"t":4,"y":2},{"t":0,"y":2},{"t":"x","y":1}])") ==
        Texts{"1 0 1 0", "undefined_feature; row 2: log(t): t is -3, and only positive numbers have a log",
              "1 1.38629 0.25 2", "undefined_feature; row 4: a feature has no value",
              "not_a_number; row 5: field \"t\": \"x\" is not a number"});
  CHECK(featured("1,1/t", PayloadFormat::csv, "2,1\n0,1\n", {"t", "y"}) ==
        Texts{"1 0.5", "undefined_feature; row 2: 1/t: t is 0, and nothing is divided by it"});
  CHECK(featured("1,sqrt(t)", PayloadFormat::f64, block({4, 1, -4, 1}), {"t", "y"}) ==
        Texts{"1 2", "undefined_feature; row 2: sqrt(t): t is -4, and negative numbers have no square root"});
}

TEST_CASE("a refused row between others leaves their features alone") {
  CHECK(featured("1,log(t)", PayloadFormat::json, R"({"rows":[{"t":-1},{"t":1},{"t":-1},{"t":1}],"y":1})")
            .back() == "1 0");
}

TEST_CASE("texts of a category and of a comparison are as mixstream fit reads them") {
  const std::string map = R"(1,machine{"A","B","a ""q""","7"},mode=="eco")";
  const std::string unknown =
      "undefined_feature; row 1: machine==\"B\": a value that machine did not have where its values were "
      "looked at; write the indicators that you want, such as machine==\"B\"";
  CHECK(featured(map, PayloadFormat::json,
                 R"([{"machine":"A","mode":"eco","y":1},{"machine":"B","mode":"x","y":1},
                     {"machine":7,"mode":"NA","y":1},{"machine":7.0,"mode":false,"y":1},
                     {"machine":"a \"q\"","mode":"","y":1},{"machine":null,"mode":"x","y":1},
                     {"machine":[1],"mode":"x","y":1}])") ==
        Texts{"1 0 0 0 1", "1 1 0 0 0", "1 0 0 1 0", "1 0 0 1 0",
              "missing_value; row 5: field \"mode\": missing value",
              "missing_value; row 6: field \"machine\": missing value",
              "not_a_number; row 7: field \"machine\": \"[...]\" is not a number"});
  CHECK(featured(map, PayloadFormat::json, R"({"machine":"C","mode":"eco","y":1})") == Texts{unknown});
  CHECK(featured(map, PayloadFormat::csv, " B ,eco,1\n\"B\",eco,1\r\n7,x,1\n\"a \"\"q\"\"\",NA,1\n,eco,1\n",
                 {"machine", "mode", "y"}) ==
        Texts{"1 1 0 0 1", "1 1 0 0 1", "1 0 0 1 0", "1 0 1 0 0",
              "missing_value; row 5: field \"machine\": missing value"});
  PayloadSettings numbers = settings_for(PayloadFormat::f64, {"machine", "mode", "y"});
  numbers.map = FeatureMap::parse(map).value();
  CHECK(PayloadParser::create(numbers).refusal().text ==
        "f64 holds numbers only, and the features take 'machine' for a text");
}

TEST_CASE("columns that cannot make rows are refused") {
  const auto refused = [](PayloadFormat format, std::vector<std::string> columns) {
    return !PayloadParser::create(settings_for(format, std::move(columns)));
  };
  CHECK(refused(PayloadFormat::csv, {}));
  CHECK(refused(PayloadFormat::csv, {"t", "seq"}));
  CHECK(refused(PayloadFormat::f64, {"t", "y", "t"}));
  CHECK(refused(PayloadFormat::json, {"y"}));
  CHECK_FALSE(refused(PayloadFormat::json, {}));
  CHECK_FALSE(refused(PayloadFormat::f64, {"y", "t"}));
}

TEST_CASE("in steady state no message allocates") {
  const std::string rows =
      R"([{"t":1.25,"y":2,"seq":1,"sensor":"a-sensor-with-a-long-name"},{"t":1.5,"y":2,"seq":2,"sensor":"b"}])";
  const std::string lines = "a,1,1.5,,2\na,2,1.5,,2\n";
  const std::string numbers = block({1, 7, 2, 1, 8, 2});
  PayloadParser from_json = PayloadParser::create(settings_for(PayloadFormat::json)).value();
  PayloadParser from_csv =
      PayloadParser::create(settings_for(PayloadFormat::csv, {"sensor", "seq", "t", "note", "y"})).value();
  PayloadParser from_f64 = PayloadParser::create(settings_for(PayloadFormat::f64, {"y", "seq", "t"})).value();
  const auto parse_all = [&] {
    return from_json.parse(std::as_bytes(std::span(rows)), 0.0).size() +
           from_csv.parse(std::as_bytes(std::span(lines)), 0.0).size() +
           from_f64.parse(std::as_bytes(std::span(numbers)), 0.0).size();
  };
  for (int i = 0; i < 3; ++i) parse_all();
  const std::size_t before = allocation_count();
  std::size_t seen = 0;
  for (int i = 0; i < 100; ++i) seen += parse_all();
  CHECK(seen == 600);
  CHECK(allocation_count() == before);
}
