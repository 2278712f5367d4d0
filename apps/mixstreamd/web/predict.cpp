#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "api.hpp"
#include "mixstream/likelihood/prediction.hpp"
#include "mixstream/report/fitted_laws.hpp"
#include "mixstream/report/json.hpp"
#include "shallow_json.hpp"

namespace mixstream::web {
namespace {

using Json = nlohmann::ordered_json;

const std::string shape =
    R"(send {"rows":[{"COLUMN":NUMBER,...},...]}, and "level" if the interval is not to be 0.95)";

struct Question {
  Json rows;
  double level = 0.95;
};

Outcome<Question> question_of(const std::string& body) {
  const std::optional<Json> parsed = shallow_json(body);
  if (!parsed) return Refusal{Reason::bad_input, "the body is not JSON, or nested deeply: " + shape};
  const Json& json = *parsed;
  if (!json.is_object() || !json.contains("rows") || !json["rows"].is_array())
    return Refusal{Reason::bad_input, "the body holds no list of rows: " + shape};
  Question question{json["rows"]};
  if (!json.contains("level")) return question;
  if (json["level"].is_number()) question.level = json["level"].get<double>();
  if (!json["level"].is_number() || !(question.level > 0.0 && question.level < 1.0))
    return Refusal{Reason::bad_input, "level is a probability between 0 and 1"};
  return question;
}

/// What the laws say of one row after the other.
class Predictor {
 public:
  explicit Predictor(const PageModel& model)
      : mixture_(model.report.mixture()),
        map_(model.map),
        response_(model.report.response),
        values_(map_.columns().size()),
        features_(map_.feature_count()),
        probabilities_(mixture_.component_count()) {
    if (!model.report.modes || model.report.modes->kind != Modes::gated) return;
    if (Outcome<FittedLaws> laws = laws_from_json(to_json(model.report))) gated_ = std::move(laws).value();
  }

  Outcome<Json> predict(const Json& row, double level) {
    if (!row.is_object()) return Refusal{Reason::bad_input, "is not an object: " + shape};
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const std::optional<double> value = value_of(row, i);
      if (!value) return missing(row, map_.columns()[i]);
      values_[i] = *value;
    }
    const std::optional<double> response = number_of(row, response_);
    if (!response && row.contains(response_) && !row[response_].is_null())
      return Refusal{Reason::bad_input, fmt::format("{} is not a number", response_)};
    map_.evaluate(values_, features_);
    if (gated_) open_gate(*gated_->model, gated_->shape, features_, mixture_.weights);
    const RowPrediction said = predict_row(mixture_, features_, response, level, probabilities_);
    return json_of(said);
  }

 private:
  /// A number, or the code of a text where the map takes texts.
  std::optional<double> value_of(const Json& row, std::size_t column) const {
    const std::string& name = map_.columns()[column];
    const auto found = row.find(name);
    if (!map_.is_text(column) || found == row.end() || !found->is_string()) return number_of(row, name);
    return map_.code_of(column, found->get<std::string>());
  }

  static std::optional<double> number_of(const Json& row, const std::string& column) {
    const auto found = row.find(column);
    if (found == row.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  }

  static Refusal missing(const Json& row, const std::string& column) {
    std::vector<std::string> given;
    for (const auto& [name, value] : row.items()) given.push_back(name);
    const std::string near = nearest_name(column, given);
    return {Reason::bad_input,
            fmt::format("has no number in column {}{}", column,
                        near.empty() || near == column ? "" : fmt::format(" (it has {})", near))};
  }

  Outcome<Json> json_of(const RowPrediction& said) const {
    Json json{{"component", said.component + 1}, {"probabilities", probabilities_}};
    json["expected"] = said.expected;
    json["low"] = said.interval.low;
    json["high"] = said.interval.high;
    bool finite =
        std::isfinite(said.expected) && std::isfinite(said.interval.low) && std::isfinite(said.interval.high);
    for (const double p : probabilities_) finite = finite && std::isfinite(p);
    if (!finite)
      return Refusal{Reason::numerical, "lies too far out: the laws' values there are no finite numbers"};
    return json;
  }

  Mixture mixture_;
  std::optional<FittedLaws> gated_;  // where the features choose the weights
  const FeatureMap& map_;
  std::string response_;
  std::vector<double> values_;
  std::vector<double> features_;
  std::vector<double> probabilities_;
};

}  // namespace

Response predict_response(const StreamView& stream, const std::string& body) {
  if (stream.fit == nullptr || stream.fit->model.report.components.empty())
    return error_response(
        409, fmt::format("stream {} has no laws yet: ask again after its first fit", stream.name));
  const Outcome<Question> question = question_of(body);
  if (!question) return error_response(400, question.refusal().text);
  Predictor predictor(stream.fit->model);
  Json predictions = Json::array();
  for (const Json& row : question.value().rows) {
    Outcome<Json> said = predictor.predict(row, question.value().level);
    if (!said)
      return error_response(400, fmt::format("row {} {}", predictions.size() + 1, said.refusal().text));
    predictions.push_back(std::move(said).value());
  }
  const Json json{{"stream", stream.name},
                  {"fit_rows", stream.fit->model.report.rows},
                  {"stale", stream.stale},
                  {"level", question.value().level},
                  {"predictions", std::move(predictions)}};
  return response_of(json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n");
}

}  // namespace mixstream::web
