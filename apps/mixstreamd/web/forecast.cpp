#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api.hpp"
#include "mixstream/rows/row.hpp"
#include "shallow_json.hpp"

namespace mixstream::web {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t most_ahead = 1000000;
constexpr std::size_t most_times = 64;
const std::string shape = R"(send {"ahead":[ROWS,...]} and perhaps "sensor":"NAME")";

struct Question {
  std::optional<std::string> sensor;
  std::vector<std::uint64_t> ahead = {1};
};

bool add_rows(const Json& json, std::vector<std::uint64_t>& ahead) {
  if (!json.is_number_unsigned() || json.get<std::uint64_t>() > most_ahead) return false;
  ahead.push_back(json.get<std::uint64_t>());
  return true;
}

Outcome<Question> question_of(const std::string& body) {
  const std::optional<Json> json = shallow_json(body);
  if (!json || !json->is_object())
    return Refusal{Reason::bad_input, "the body is not JSON, or nested deeply: " + shape};
  Question question;
  if (const auto sensor = json->find("sensor"); sensor != json->end()) {
    if (!sensor->is_string()) return Refusal{Reason::bad_input, "sensor is a name: " + shape};
    question.sensor = sensor->get<std::string>();
  }
  const auto ahead = json->find("ahead");
  if (ahead == json->end()) return question;
  const Json list = ahead->is_array() ? *ahead : Json::array({*ahead});
  question.ahead.clear();
  const bool holds = list.size() <= most_times && std::ranges::all_of(list, [&](const Json& rows) {
                       return add_rows(rows, question.ahead);
                     });
  if (!holds)
    return Refusal{Reason::bad_input, fmt::format("ahead is a number of rows up to {}, or a list of at most "
                                                  "{} such numbers",
                                                  most_ahead, most_times)};
  return question;
}

}  // namespace

Response forecast_response(const StreamView& stream, const std::string& body) {
  const Outcome<Question> outcome = question_of(body);
  if (!outcome) return error_response(400, outcome.refusal().text);
  const Question& question = outcome.value();
  if (!stream.modes || stream.modes->sensors.empty())
    return error_response(
        409,
        fmt::format("stream {} follows no modes: its rows are independent of each other, or too few have "
                    "come",
                    stream.name));
  const ModesNow& modes = *stream.modes;
  const auto place = question.sensor ? modes.place_of(sensor_number(*question.sensor)) : modes.newest;
  if (!place)
    return error_response(409, fmt::format("sensor {} is not followed: none of its rows came, or {} other "
                                           "sensors spoke since",
                                           *question.sensor, modes.sensors.size()));
  const auto now = modes.of(*place);
  Json json{{"stream", stream.name}, {"rows", stream.rows.folded}, {"modes", name_of(modes.kind)}};
  if (question.sensor) json["sensor"] = *question.sensor;
  json["component"] = std::ranges::max_element(now) - now.begin() + 1;
  json["probabilities"] = std::vector<double>(now.begin(), now.end());
  json["rows_left"] =
      modes.kind == Modes::persistent ? Json(rows_left(modes.transitions, now)) : Json(nullptr);
  json["forecast"] = Json::array();
  for (const std::uint64_t rows : question.ahead)
    json["forecast"].push_back({{"ahead", rows}, {"probabilities", modes.after(*place, rows)}});
  return response_of(json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n");
}

}  // namespace mixstream::web
