#include "site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api.hpp"
#include "influx.hpp"
#include "live_page.hpp"
#include "mixstream/report/json.hpp"
#include "shallow_json.hpp"

namespace mixstream::web {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view streams_path = "/api/v1/streams";
constexpr std::string_view influx_path = "/api/v1/influx";
constexpr std::array<std::string_view, 5> readable_leaves = {"", "data", "history", "model", "models"};
constexpr std::array<std::string_view, 4> writable_leaves = {"forecast", "predict", "refit", "reset"};

constexpr std::size_t usual_models = 100;  // of a page that names no count
constexpr std::size_t most_models = 1000;
constexpr std::chrono::seconds shortest_refit_pause(1);  // of one stream

bool holds(const auto& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

Response no_such_address() {
  return error_response(
      404, "there is nothing at this address: /, /api/v1/streams, /metrics, /healthz and /readyz are known");
}

/// Nothing: the method fits.
std::optional<Response> wrong_method(const Request& request, bool writes) {
  const bool fits = writes ? request.method == "POST" : request.method == "GET" || request.method == "HEAD";
  if (fits) return std::nullopt;
  Response answer = error_response(405, writes ? "this address takes POST" : "this address takes GET");
  answer.headers.emplace_back("Allow", writes ? "POST" : "GET, HEAD");
  return answer;
}

bool says_json(const Request& request) {
  const std::string* type = request.header("content-type");
  return type != nullptr && type->substr(0, type->find(';')) == "application/json";
}

Response no_fit_yet(const StreamView& stream) {
  return error_response(
      409, fmt::format("stream {} has no fit yet: ask again when more rows have come", stream.name));
}

}  // namespace

Site::Site(DaemonView& daemon, Access access)
    : daemon_(daemon), access_(std::move(access)), page_(live_page()) {}

Response Site::answer(const Request& request) {
  try {
    if (std::optional<Response> refusal = access_.refusal(request, request.path == "/"))
      return *std::move(refusal);
    return routed(request);
  } catch (const std::exception& problem) {
    return error_response(500,
                          fmt::format("the daemon could not answer: {}; please report this", problem.what()));
  }
}

Response Site::routed(const Request& request) {
  const std::string_view path = request.path;
  const bool fixed = path == "/" || path == "/metrics" || path == "/healthz" || path == "/readyz" ||
                     path == streams_path || path == influx_path;
  if (fixed) {
    if (std::optional<Response> refusal = wrong_method(request, false)) return *std::move(refusal);
  }
  if (path == "/") return page_;
  if (path == "/healthz") return health_response(daemon_.health());
  if (path == "/readyz") return health_response(daemon_.ready());
  if (path == "/metrics")
    return response_of(metrics_text(daemon_, http_), "text/plain; version=0.0.4; charset=utf-8");
  if (path == influx_path)
    return response_of(influx_text(daemon_, std::chrono::system_clock::now()), "text/plain; charset=utf-8");
  if (path == streams_path) {
    const std::optional<StreamPage> page = page_in(request.query);
    if (!page) return error_response(400, "ask for a page as ?from=100&count=50");
    return response_of(streams_json(daemon_, std::chrono::system_clock::now(), *page));
  }
  if (path.starts_with(streams_path) && path[streams_path.size()] == '/')
    return stream_route(request, path.substr(streams_path.size() + 1));
  return no_such_address();
}

/// `rest`: "NAME" or "NAME/leaf".
Response Site::stream_route(const Request& request, std::string_view rest) {
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  const std::string name(rest.substr(0, slash));
  const bool has_leaf = slash < rest.size();
  const std::string_view leaf = has_leaf ? rest.substr(slash + 1) : "";
  const bool writes = holds(writable_leaves, leaf);
  if ((has_leaf && leaf.empty()) || !(writes || holds(readable_leaves, leaf))) return no_such_address();
  if (std::optional<Response> refusal = wrong_method(request, writes)) return *std::move(refusal);
  const std::shared_ptr<const StreamView> stream = daemon_.find(name);
  return stream == nullptr ? unknown_stream(name) : stream_answer(request, *stream, leaf);
}

Response Site::stream_answer(const Request& request, const StreamView& stream, std::string_view leaf) {
  if (leaf.empty()) return response_of(stream_json(stream));
  if (leaf == "models") return models(request, stream);
  if (leaf == "refit") return refit(stream);
  if (leaf == "reset") return reset(request, stream);
  if (leaf == "forecast") {
    if (!says_json(request))
      return error_response(415, "send the question with Content-Type: application/json");
    return forecast_response(stream, request.body);
  }
  if (leaf == "predict") {
    if (!says_json(request)) return error_response(415, "send rows with Content-Type: application/json");
    return predict_response(stream, request.body);
  }
  if (stream.fit == nullptr) return no_fit_yet(stream);
  if (leaf == "model") return response_of(to_json(stream.fit->model.report) + "\n");
  return {.body = leaf == "data" ? drawn(stream).data : drawn(stream).history};
}

Response Site::unknown_stream(const std::string& name) const {
  std::vector<std::string> known;
  for (const auto& stream : daemon_.streams()) known.push_back(stream->name);
  const std::string near = nearest_name(name, known);
  const std::string guess = near.empty() ? "" : fmt::format("; did you mean {}?", near);
  return error_response(404,
                        fmt::format("/api/v1/streams lists the streams, and this is none of them{}", guess));
}

Response Site::models(const Request& request, const StreamView& stream) const {
  const std::optional<StreamPage> page = page_in(request.query);
  if (!page) return error_response(400, "ask for a page as ?from=100&count=50");
  const bool says_count = page->count != StreamPage{}.count;
  const std::size_t count = says_count ? std::min(page->count, most_models) : usual_models;
  const std::optional<FleetPage> fleet = daemon_.models(stream.name, page->from, count);
  if (!fleet)
    return error_response(404,
                          "this stream has one model for all its rows: group gives it one for each sensor");
  return response_of(models_json(stream, *fleet));
}

Response Site::refit(const StreamView& stream) {
  const auto now = std::chrono::steady_clock::now();
  auto& last = refits_asked_.try_emplace(stream.name, now - shortest_refit_pause).first->second;
  if (now - last < shortest_refit_pause) {
    Response answer = error_response(429, "one was asked for within this second: ask again after it");
    answer.headers.emplace_back("Retry-After", "1");
    return answer;
  }
  last = now;
  const Done done = daemon_.request_refit(stream.name);
  if (!done) return error_response(409, done.refusal().text);
  const Json json{{"stream", stream.name}, {"requested", true}};
  return response_of(json.dump() + "\n", "application/json", 202);
}

/// {"sensor":"NAME"}: its sequence numbers so far are forgotten.
Response Site::reset(const Request& request, const StreamView& stream) {
  if (!says_json(request)) return error_response(415, "send the sensor with Content-Type: application/json");
  const std::optional<Json> json = shallow_json(request.body);
  if (!json || !json->is_object() || !json->contains("sensor") || !(*json)["sensor"].is_string())
    return error_response(400, R"(send {"sensor":"NAME"})");
  const std::string sensor = (*json)["sensor"];
  const Done done = daemon_.request_reset(stream.name, sensor);
  if (!done) return error_response(409, done.refusal().text);
  const Json answer{{"stream", stream.name}, {"sensor", sensor}, {"requested", true}};
  return response_of(answer.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n", "application/json",
                     202);
}

const Site::Drawn& Site::drawn(const StreamView& stream) {
  Drawn& drawn = drawn_[stream.name];
  if (drawn.fit == stream.fit) return drawn;
  PageInput input;
  input.models.push_back(stream.fit->model);
  input.version = daemon_.figures().version;
  const std::string data = page_data(input);
  const Json history{{"stream", stream.name},
                     {"features", stream.fit->model.report.features},
                     {"fits", Json::parse(data)["models"][0]["history"]}};
  drawn = {stream.fit, std::make_shared<const std::string>(data),
           std::make_shared<const std::string>(history.dump() + "\n")};
  std::erase_if(drawn_, [&](const auto& entry) {
    return entry.first != stream.name && daemon_.find(entry.first) == nullptr;
  });
  return drawn_[stream.name];
}

}  // namespace mixstream::web
