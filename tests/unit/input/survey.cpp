// What the columns of an input hold.
#include "input/survey.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace mixstream;

namespace {

const NumberRules plain_rules;

ColumnSurvey survey_of(const std::vector<std::string>& texts, const std::string& name = "c",
                       const NumberRules& rules = plain_rules) {
  ColumnSurvey column(name, rules);
  for (const std::string& text : texts) column.add(text);
  return column;
}

using Texts = std::vector<std::string>;

/// Values i -> text(i) of so many rows.
template <class Text>
Texts rows(int count, Text text) {
  Texts texts;
  for (int i = 0; i < count; ++i) texts.push_back(text(i));
  return texts;
}

std::string number(int i) {
  return std::to_string(i);
}

}  // namespace

TEST_CASE("numbers, texts, constants, counters and nothing are told apart") {
  CHECK(survey_of({"1.5", "2", "-3e1"}).kind() == ColumnKind::number);
  CHECK(survey_of({"", "NA", " nan "}).kind() == ColumnKind::empty);
  CHECK(survey_of({"7", "7", "7"}).kind() == ColumnKind::constant);
  CHECK(survey_of({"7", "7.0", "7"}).kind() == ColumnKind::constant);
  CHECK(survey_of({"north", "north"}).kind() == ColumnKind::constant);
  CHECK(survey_of({"4", "5", "6", "7"}).kind() == ColumnKind::identifier);
  CHECK(survey_of({"4", "5", "7", "8"}).kind() == ColumnKind::number);
  CHECK(survey_of({"A", "B", "A", "B"}).kind() == ColumnKind::category);
  CHECK(survey_of(rows(50, [](int i) { return "n" + number(i); })).kind() == ColumnKind::identifier);
  CHECK(survey_of(rows(80, [](int i) { return "n" + number(i % 40); })).kind() == ColumnKind::text);
}

TEST_CASE("a category has 32 values at most") {
  const auto of = [](int values) {
    return survey_of(rows(200, [=](int i) { return "v" + number(i % values); })).kind();
  };
  CHECK(of(32) == ColumnKind::category);
  CHECK(of(33) == ColumnKind::text);
}

TEST_CASE("times are those in writing, or numbers that grow and are called so") {
  const ColumnSurvey written = survey_of({"2024-05-01", "2024-05-02", "2024-05-04", "2024-05-03"});
  CHECK(written.kind() == ColumnKind::time);
  CHECK(written.steps().steps() == 2);
  CHECK(written.steps().backward() == 1);
  CHECK(written.steps().longest() == 2 * 86400.0);
  CHECK(survey_of({"10", "20", "35"}, "Time (s)").kind() == ColumnKind::time);
  CHECK(survey_of({"10", "20", "15"}, "Time (s)").kind() == ColumnKind::number);
  CHECK(survey_of({"10", "20", "35"}, "flow").kind() == ColumnKind::number);
}

TEST_CASE("steps know their median, the longest and how many are longer") {
  StepCounts steps;
  for (int i = 0; i < 90; ++i) steps.add(10.0);
  for (int i = 0; i < 5; ++i) steps.add(1000.0);
  steps.add(-3.0);
  steps.add(0.0);
  CHECK(steps.steps() == 95);
  CHECK(steps.median() == 10.0);
  CHECK(steps.longer_than(30.0) == 5);
  CHECK(steps.longest() == 1000.0);
  CHECK(steps.backward() == 1);
  CHECK(StepCounts().median() == 0.0);
}

TEST_CASE("a stretch of one value has its length and its first row; missing values make none") {
  const ColumnSurvey stuck = survey_of({"1", "2", "2", "2", "3", "", "", "", "", "4"});
  CHECK(stuck.longest_run() == 3);
  CHECK(stuck.longest_run_row() == 2);
  CHECK(stuck.missing() == 4);
  ColumnSurvey raw("c", plain_rules);
  for (const double value : {1.0, 5.0, 5.0, 2.0}) raw.add(value);
  CHECK(raw.longest_run() == 2);
  CHECK(raw.longest_run_row() == 2);
}

TEST_CASE("a code is a few whole numbers, each in many rows") {
  const auto codes = [](int values, int count) {
    return survey_of(rows(count, [=](int i) { return number(i % values); })).is_code();
  };
  CHECK(codes(3, 18));
  CHECK_FALSE(codes(3, 17));
  CHECK(codes(10, 600));
  CHECK_FALSE(codes(11, 600));
  CHECK_FALSE(survey_of(rows(60, [](int i) { return number(i % 3) + ".5"; })).is_code());
}

TEST_CASE("how numbers are written is the way of most that are none as the rules go") {
  CHECK(survey_of({"1,5", "2,25", "1,234"}).style() == NumberStyle::decimal_comma);
  CHECK(survey_of({"1,234", "12,345"}).style() == NumberStyle::either_comma);
  CHECK(survey_of({"1,234", "1,234.5"}).style() == NumberStyle::comma_thousands);
  CHECK(survey_of({"1.5", "2"}).style() == NumberStyle::none);
  CHECK(survey_of({"1,5", "2,5"}).kind() == ColumnKind::number);
  CHECK(survey_of({"1,5", "2,5"}).example() == "1,5");
  const NumberRules german{',', '.', {}};
  CHECK(survey_of({"1.234,5", "2,5"}, "c", german).style() == NumberStyle::none);
  CHECK(survey_of({"1.234", "2.345"}).has_point_groups());
  CHECK_FALSE(survey_of({"1.234", "2.3"}).has_point_groups());
}

TEST_CASE("a few words among many numbers are told; many words are not") {
  CHECK(survey_of({"1", "err", "2", "3", "err", "4"}).words_among_numbers() == Texts{"err"});
  CHECK(survey_of({"1", "a", "b", "c", "d", "2", "3", "4", "5"}).words_among_numbers().empty());
  CHECK(survey_of({"a", "b", "1"}).words_among_numbers().empty());
}

TEST_CASE("a thousand values are told apart, and that there are more") {
  const ColumnSurvey column = survey_of(rows(1500, number));
  CHECK(column.values().size() == ColumnSurvey::most_values);
  CHECK(column.more_values());
  CHECK_FALSE(survey_of(rows(1000, number)).more_values());
}

TEST_CASE("lines are cut into a text for each column, of CSV and of nested objects") {
  LineFields csv(Format::csv, ';', {"a", "b", "c"});
  CHECK(csv.cut("1;\"x;\"\"y\"\"\";3\r") == Texts{"1", "x;\"y\"", "3"});
  CHECK(csv.cut("1;2;3\r\r") == Texts{"1", "2", "3\r"});
  CHECK(csv.cut("1;2") == Texts{"1", "2", ""});
  CHECK(csv.cut("1;2;3;") == Texts{"1", "2", "3"});
  CHECK(csv.cut("1;2;3;4").empty());
  CHECK(csv.cut(" \t").empty());
  CHECK(csv.cut("1;\"2;3").empty());
  LineFields json(Format::ndjson, ',', {"t", "pump.flow", "on"});
  CHECK(json.cut(R"({"on":true,"pump":{"flow":2.5,"x":1},"t":null})") == Texts{"", "2.5", "true"});
  CHECK(json.cut("[1]").empty());
  CHECK(json.cut("{").empty());
}

TEST_CASE("the first lines of an input are surveyed, a line of units left out, and stay to be read") {
  Outcome<Input> input = open_input(memory_bytes("t,flow\ns,m3/h\n1,2.5\n2,3.5\n"));
  REQUIRE(input);
  const auto columns = survey(input.value(), plain_rules, 10);
  REQUIRE(columns);
  REQUIRE(columns.value().size() == 2);
  CHECK(columns.value()[1].name() == "flow");
  CHECK(columns.value()[1].rows() == 2);
  CHECK(columns.value()[1].greatest() == 3.5);
  auto reader = std::move(input.value()).select({.numbers = {"flow"}});
  REQUIRE(reader);
  CHECK(reader.value()->next().value().rows == 2);
}
