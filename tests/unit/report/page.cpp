#include "mixstream/report/page.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "mixstream/report/json.hpp"

using namespace mixstream;
using Json = nlohmann::json;

namespace {

const std::string hostile = "</script><img src=x onerror=alert(1)>&\"'\xE2\x80\xA8\xFF";

ComponentReport law(double weight, std::vector<double> coefficients) {
  ComponentReport component;
  component.weight = weight;
  component.coefficients = std::move(coefficients);
  component.noise_variance = 0.01;
  return component;
}

/// Two lines over one column, with rows on them.
PageModel model_of(const std::string& column) {
  PageModel model;
  model.map = FeatureMap::plain({column}).value();
  model.report.rows = 1000;
  model.report.component_count = 2;
  model.report.features = model.map.names();
  model.report.response = "y";
  model.report.components = {law(0.25, {1.0, 2.0}), law(0.75, {-1.0, 0.5})};
  model.report.status = FitStatus::ok;
  model.sample.rows.feature_count = 2;
  for (int i = 0; i < 40; ++i) {
    const double x[] = {1.0, i / 40.0};
    model.sample.rows.add({x, i % 2 == 0 ? 1.0 + 2.0 * x[1] : -1.0 + 0.5 * x[1], 1.0});
  }
  return model;
}

Json data_of(const PageModel& model) {
  PageInput input;
  input.models.push_back(model);
  return Json::parse(page_data(input));
}

}  // namespace

TEST_CASE("the page's data hold the report as the tool prints it") {
  const PageModel model = model_of("t");
  CHECK(data_of(model)["models"][0]["report"] == Json::parse(to_json(model.report)));
}

TEST_CASE("rows of the sample carry the law that made them and how sure that is") {
  const Json sample = data_of(model_of("t"))["models"][0]["sample"];
  REQUIRE(sample["y"].size() == 40);
  for (std::size_t i = 0; i < 40; ++i) {
    CHECK(sample["component"][i] == i % 2);
    CHECK(sample["probability"][i].get<double>() > 0.95);
  }
  CHECK(sample["axes"][0]["name"] == "t");
  CHECK(sample["axes"][0]["x"][10].get<double>() == doctest::Approx(0.25));
}

TEST_CASE("earlier fits get the labels of the newest, and the newest stands last") {
  PageModel model = model_of("t");
  Report earlier = model.report;
  earlier.rows = 500;
  earlier.components = {law(0.7, {-1.1, 0.6}), law(0.3, {1.1, 1.9})};
  Report first = earlier;
  first.rows = 100;
  first.components = {law(1.0, {0.0, 0.0})};
  model.history.add(first);
  model.history.add(earlier);
  const Json history = data_of(model)["models"][0]["history"];
  REQUIRE(history.size() == 3);
  CHECK(history[0]["k"] == 1);
  CHECK(history[1]["components"][0]["weight"] == 0.3);
  CHECK(history[1]["components"][1]["weight"] == 0.7);
  CHECK(history[2]["rows"] == 1000);
  CHECK(history[2]["components"][0]["weight"] == 0.25);
  CHECK(history[2]["components"][0]["weight_se"].is_null());
}

TEST_CASE("a page without a fit still shows the rows") {
  PageModel model = model_of("t");
  model.report.components.clear();
  const Json data = data_of(model)["models"][0];
  CHECK(data["sample"]["y"].size() == 40);
  CHECK(data["sample"]["axes"].size() == 1);
  CHECK(data["sample"]["axes"][0]["laws"].empty());
  CHECK(data["residuals"].empty());
}

TEST_CASE("many models share the points") {
  PageInput input;
  for (int i = 0; i < 40; ++i) {
    input.models.push_back(model_of("t"));
    for (int row = 0; row < 9; ++row)
      for (int j = 0; j < 40; ++j) input.models.back().sample.rows.add(input.models[0].sample.rows.row(0));
  }
  const Json data = Json::parse(page_data(input, {.most_points = 16000}));
  for (const Json& model : data["models"]) CHECK(model["sample"]["y"].size() == 200);
}

TEST_CASE("hostile names reach the data as they are, and the page as text only") {
  PageInput input;
  input.models.push_back(model_of(hostile));
  input.models[0].report.response = hostile;
  input.models[0].report.group = hostile;
  input.models[0].report.words = hostile;
  const std::string data = page_data(input);
  CHECK(data.find('<') == std::string::npos);
  for (const char c : data) CHECK(static_cast<unsigned char>(c) < 0x80U);
  const std::string name = Json::parse(data)["models"][0]["sample"]["axes"][0]["name"];
  CHECK(name.substr(0, name.size() - 3) ==
        hostile.substr(0, hostile.size() - 1));  // the last byte is no UTF-8
  const Outcome<std::string> page = to_html(input);
  REQUIRE(static_cast<bool>(page) == has_page());
  if (page) {
    CHECK(page.value().find("<img") == std::string::npos);
    std::size_t scripts = 0;
    for (std::size_t at = 0; (at = page.value().find("</script", at)) != std::string::npos; ++at) ++scripts;
    CHECK(scripts == 3);
  }
}

TEST_CASE("what modes did over the stream is on the page, and only there") {
  PageModel model = model_of("t");
  CHECK_FALSE(data_of(model)["models"][0].contains("modes"));
  ModesReport& modes = model.report.modes.emplace();
  modes.transitions = modes.transition_errors = {2, 2, {0.9, 0.1, 0.2, 0.8}};
  modes.strip = {2, 2, {10.0, 0.0, 2.5, 7.5}};
  modes.last = {0, 1, 1};
  modes.stays = {2, 4, {0.0, 3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0}};
  const Json shown = data_of(model)["models"][0];
  CHECK(shown["modes"]["strip"] == Json{{10.0, 0.0}, {2.5, 7.5}});
  CHECK(shown["modes"]["last"] == Json{0, 1, 1});
  CHECK(shown["modes"]["stays"] == Json{{0.0, 3.0}, {1.0, 0.0}});  // up to the longest
  CHECK_FALSE(shown["report"]["modes"].contains("strip"));
}

TEST_CASE("with a gate the features choose a row's law, and the weights are drawn over x") {
  PageModel model = model_of("t");
  ModesReport& modes = model.report.modes.emplace();
  modes.kind = Modes::gated;
  modes.gate = {"1", "t"};
  modes.gate_coefficients = modes.gate_errors = {2, 2, {-20.0, 40.0, 0.0, 0.0}};
  model.report.components[1] = law(0.75, {1.0, 2.0});  // two laws alike: x alone tells them apart
  const Json sample = data_of(model)["models"][0]["sample"];
  const Json& axis = sample["axes"][0];
  REQUIRE(axis["gate"].size() == 2);
  for (std::size_t i = 0; i < axis["grid"].size(); i += 20) {
    const double t = axis["grid"][i];
    CHECK(axis["gate"][0][i].get<double>() ==
          doctest::Approx(1.0 / (1.0 + std::exp(20.0 - 40.0 * t))).epsilon(1e-4));
    CHECK(axis["gate"][0][i].get<double>() + axis["gate"][1][i].get<double>() ==
          doctest::Approx(1.0).epsilon(1e-4));
  }
  CHECK(sample["component"][5] == 1);   // t = 0.125
  CHECK(sample["component"][35] == 0);  // t = 0.875
}
