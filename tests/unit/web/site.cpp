#include "mixstreamd/web/site.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "mixstream/report/fitted_laws.hpp"
#include "mixstream/report/json.hpp"
#include "mixstream/rows/row.hpp"
#include "support/fake_daemon.hpp"

using namespace mixstream;
using namespace mixstream::web;
using Json = nlohmann::json;

namespace {

struct Fixture {
  FakeDaemon daemon;
  Site site{daemon, Access()};

  Fixture() {
    daemon.set(fitted_stream("pump"));
    daemon.set(empty_stream("valve"));
  }
  Response get(const std::string& path, const std::string& query = "") { return ask("GET", path, query); }
  Response ask(const std::string& method, const std::string& path, const std::string& query = "") {
    return site.answer({.method = method, .path = path, .query = query, .headers = {{"host", "localhost"}}});
  }
  Response forecast(const std::string& body, const std::string& type = "application/json") {
    return site.answer({.method = "POST",
                        .path = "/api/v1/streams/pump/forecast",
                        .headers = {{"host", "localhost"}, {"content-type", type}},
                        .body = body});
  }
  /// Two sensors, the second spoke last.
  void follow_modes() {
    StreamView stream = *daemon.find("pump");
    stream.modes = ModesNow{Modes::persistent,
                            {2, 2, {0.9, 0.1, 0.2, 0.8}},
                            {sensor_number("east"), sensor_number("west")},
                            {1.0, 0.0, 0.25, 0.75},
                            1};
    daemon.set(stream);
  }
  Response predict(const std::string& body, const std::string& type = "application/json") {
    return site.answer({.method = "POST",
                        .path = "/api/v1/streams/pump/predict",
                        .headers = {{"host", "localhost"}, {"content-type", type}},
                        .body = body});
  }
};

Json json_of(const Response& response) {
  REQUIRE(response.body != nullptr);
  return Json::parse(*response.body);
}

std::string text_of(const Response& response) {
  return json_of(response)["text"];
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "the list tells of every stream what matters") {
  const Json list = json_of(get("/api/v1/streams"));
  CHECK(list["schema"] == 1);
  REQUIRE(list["streams"].size() == 2);
  const Json& pump = list["streams"][0];
  CHECK(pump["name"] == "pump");
  CHECK(pump["rows"]["in"] == 1010);
  CHECK(pump["rows"]["refused"] == Json{{"not_a_number", 3}, {"wrong_shape", 1}});
  CHECK(pump["rows"]["per_second"] == 250.5);
  CHECK(pump["fit"]["status"] == "ok");
  CHECK(pump["alarms"][0]["words"] == "recent rows disagree with older ones");
  CHECK(pump["alarms"][0]["active"] == true);
  CHECK(list["streams"][1]["fit"].is_null());
  CHECK(json_of(get("/api/v1/streams/pump")) == pump);
}

TEST_CASE_FIXTURE(Fixture, "the list comes in pages, which say where they begin and how many there are") {
  for (int i = 0; i < 48; ++i) daemon.set(empty_stream("s" + std::to_string(i)));
  const auto names = [&](const std::string& query) {
    const Json list = json_of(get("/api/v1/streams", query));
    CHECK(list["total"] == 50);
    std::vector<std::string> found{std::to_string(list["from"].get<int>())};
    for (const Json& stream : list["streams"]) found.push_back(stream["name"]);
    return found;
  };
  using Names = std::vector<std::string>;
  CHECK(names("").size() == 51);
  CHECK(names("from=0&count=2") == Names{"0", "pump", "valve"});
  CHECK(names("count=1&from=2") == Names{"2", "s0"});
  CHECK(names("from=49") == Names{"49", "s47"});
  CHECK(names("from=49&count=18446744073709551615") == Names{"49", "s47"});
  CHECK(names("from=50") == Names{"50"});
  CHECK(names("from=900") == Names{"50"});
  CHECK(names("count=0") == Names{"0"});
  for (const char* const query : {"from=-1", "from=", "from", "count=2x", "page=3", "from=1e3", "&",
                                  "from=18446744073709551616", "from=1;count=2"}) {
    INFO(query);
    CHECK(get("/api/v1/streams", query).status == 400);
  }
}

TEST_CASE_FIXTURE(Fixture, "the groups of a stream come in pages, with what should be known of them") {
  daemon.set_models(*daemon.find("pump"), made_fleet(1200));
  const std::string address = "/api/v1/streams/pump/models";
  const Json page = json_of(get(address, "from=2&count=2"));
  CHECK(page["total"] == 1200);
  CHECK(page["from"] == 2);
  CHECK(page["stream"] == "pump");
  REQUIRE(page["models"].size() == 2);
  const Json& third = page["models"][0];
  CHECK(third["name"] == "pump-03");
  CHECK(third["departs"] == true);
  CHECK(third["silent"] == true);
  CHECK(third["drifts"] == false);
  CHECK(third["departure"] == Json{{"deviations", 25.0}, {"size", 2.9}, {"law", 1}});
  CHECK(third["laws"][1]["coefficients"] == Json{-1.0, 0.5});
  CHECK(third["mode"] == 0);
  CHECK(page["fleet"]["departing"] == Json{{"count", 1}, {"names", {"pump-03"}}});
  CHECK(page["fleet"]["in_mode"] == Json{600, 600});
  CHECK(json_of(get(address))["models"].size() == 100);
  CHECK(json_of(get(address, "count=100000"))["models"].size() == 1000);
  CHECK(json_of(get(address, "from=5000"))["models"].empty());
  CHECK(get(address, "from=x").status == 400);
  CHECK(get("/api/v1/streams/valve/models").status == 404);
  CHECK(text_of(get("/api/v1/streams/valve/models")).find("group") != std::string::npos);
  CHECK(ask("POST", address).status == 405);
  CHECK(json_of(get("/api/v1/streams/pump"))["fleet"]["models"] == 1200);
  CHECK(json_of(get("/api/v1/streams/valve"))["fleet"].is_null());
}

TEST_CASE_FIXTURE(Fixture, "a group that was not looked at yet, or has an odd name, comes out as text") {
  FleetPage fleet = made_fleet(1);
  fleet.models[0] = GroupView{};
  fleet.models[0].name = "\"\xff<b>";
  daemon.set_models(*daemon.find("pump"), fleet);
  const Json group = json_of(get("/api/v1/streams/pump/models"))["models"][0];
  CHECK(group["status"].is_null());
  CHECK(group["mode"].is_null());
  CHECK(group["drift"].is_null());
  CHECK(group["laws"].empty());
}

TEST_CASE_FIXTURE(Fixture, "the model is what the tool prints, so that the tool can read it") {
  const Response model = get("/api/v1/streams/pump/model");
  CHECK(*model.body == to_json(daemon.find("pump")->fit->model.report) + "\n");
  const Outcome<FittedLaws> laws = laws_from_json(*model.body);
  REQUIRE(laws);
  CHECK(laws.value().mixture == daemon.find("pump")->fit->model.report.mixture());
}

TEST_CASE_FIXTURE(Fixture, "data and history follow the fit and are made once for all") {
  const Response data = get("/api/v1/streams/pump/data");
  CHECK(json_of(data)["models"][0]["sample"]["y"].size() == 40);
  CHECK(get("/api/v1/streams/pump/data").body == data.body);
  CHECK(json_of(get("/api/v1/streams/pump/history"))["fits"].size() == 1);
  StreamView stream = *daemon.find("pump");
  FitView next = *stream.fit;
  next.model.history.add(next.model.report);
  next.model.report.rows = 2000;
  stream.fit = std::make_shared<const FitView>(next);
  daemon.set(stream);
  CHECK(get("/api/v1/streams/pump/data").body != data.body);
  const Json fits = json_of(get("/api/v1/streams/pump/history"))["fits"];
  REQUIRE(fits.size() == 2);
  CHECK(fits[1]["rows"] == 2000);
}

TEST_CASE_FIXTURE(Fixture, "what has no fit yet says so") {
  for (const std::string leaf : {"model", "data", "history"})
    CHECK(get("/api/v1/streams/valve/" + leaf).status == 409);
  CHECK(site.answer({.method = "POST",
                     .path = "/api/v1/streams/valve/predict",
                     .headers = {{"content-type", "application/json"}},
                     .body = R"({"rows":[]})"})
            .status == 409);
}

TEST_CASE_FIXTURE(Fixture, "other addresses and other methods are refused with what to do") {
  for (const std::string path :
       {"/index.html", "/api", "/api/v1", "/api/v1/streams/", "/api/v1/streamsx", "/api/v1/streams/pump/",
        "/api/v1/streams/pump/model/", "/api/v1/streams/../../etc/passwd", "/../etc/passwd", "//",
        "/api/v1/streams/%70ump", "/metrics/", "/api/v1/streams/pump/model/x"})
    CHECK_MESSAGE(get(path).status == 404, path);
  CHECK(text_of(get("/api/v1/streams/pumo/model")).find("did you mean pump?") != std::string::npos);
  for (const std::string path :
       {"/", "/metrics", "/healthz", "/readyz", "/api/v1/streams", "/api/v1/streams/pump/model"}) {
    const Response refused = ask("POST", path);
    CHECK(refused.status == 405);
    CHECK(refused.headers == std::vector<std::pair<std::string, std::string>>{{"Allow", "GET, HEAD"}});
    CHECK(ask("HEAD", path).status == 200);
    CHECK(ask("DELETE", path).status == 405);
  }
  CHECK(get("/api/v1/streams/pump/refit").status == 405);
  CHECK(get("/api/v1/streams/pump/predict").status == 405);
}

TEST_CASE_FIXTURE(Fixture, "health is told with its words") {
  CHECK(get("/healthz").status == 200);
  CHECK(get("/readyz").status == 200);
  daemon.set_health({false, "the disk is full: make room"}, {false, "loading"});
  CHECK(get("/healthz").status == 503);
  CHECK(json_of(get("/healthz"))["words"] == "the disk is full: make room");
  CHECK(get("/readyz").status == 503);
}

TEST_CASE_FIXTURE(Fixture, "a refit is asked for, not waited for") {
  CHECK(ask("POST", "/api/v1/streams/pump/refit").status == 202);
  CHECK(daemon.refits_asked() == std::vector<std::string>{"pump"});
  CHECK(ask("POST", "/api/v1/streams/pump/refit").status == 429);  // within the same second
  CHECK(daemon.refits_asked().size() == 1);
  CHECK(ask("POST", "/api/v1/streams/valve/refit").status == 409);
  CHECK(ask("POST", "/api/v1/streams/none/refit").status == 404);
}

TEST_CASE_FIXTURE(Fixture, "predictions follow the laws") {
  const Json answer =
      json_of(predict(R"({"rows":[{"t":0.5,"y":2.02,"other":"x"},{"t":0.5},{"t":1,"y":null}],"level":0.5})"));
  CHECK(answer["fit_rows"] == 1000);
  CHECK(answer["level"] == 0.5);
  const Json& rows = answer["predictions"];
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["component"] == 1);  // y = 1 + 2 t says 2, the other -0.75
  CHECK(rows[0]["probabilities"][0].get<double>() > 0.999);
  CHECK(rows[0]["expected"].get<double>() == doctest::Approx(2.0));
  CHECK(rows[1]["component"] == 2);
  CHECK(rows[1]["probabilities"] == Json{0.25, 0.75});
  CHECK(rows[1]["expected"].get<double>() == doctest::Approx(0.25 * 2.0 - 0.75 * 0.75));
  CHECK(rows[1]["low"].get<double>() < -0.75);
  CHECK(rows[2]["expected"].get<double>() == doctest::Approx(0.25 * 3.0 - 0.75 * 0.5));
}

TEST_CASE_FIXTURE(Fixture, "questions that cannot be answered are refused by row and column") {
  CHECK(predict(R"({"rows":[{"t":1}]})", "text/plain").status == 415);
  CHECK(predict(R"({"rows":[{"t":1}]})", "application/json; charset=utf-8").status == 200);
  for (const std::string body :
       {"", "[", "[]", "{}", R"({"rows":1})", R"({"rows":[1]})", R"({"rows":[{"t":"1"}]})",
        R"({"rows":[{"t":1,"y":"x"}]})", R"({"rows":[{"t":1e999}]})", R"({"rows":[{"t":1}],"level":2})",
        R"({"rows":[{"t":1}],"level":"x"})", "\xff\xfe", R"({"rows":[{"t":1e308,"y":1}]})"})
    CHECK_MESSAGE(predict(body).status == 400, body);
  CHECK(text_of(predict(R"({"rows":[{"t":1},{"T":1}]})")).find("row 2 has no number in column t") == 0);
  CHECK(predict("{\"rows\":" + std::string(60000, '[')).status == 400);
}

TEST_CASE_FIXTURE(Fixture, "a prediction needs a value of every feature, and says which has none") {
  StreamView stream = *daemon.find("pump");
  FitView fit = *stream.fit;
  fit.model.map = FeatureMap::parse("1,log(t)").value();
  stream.fit = std::make_shared<const FitView>(fit);
  daemon.set(stream);
  CHECK(predict(R"({"rows":[{"t":1}]})").status == 200);
  CHECK(predict(R"({"rows":[{"t":1},{"t":-2}]})").status == 400);
  CHECK(text_of(predict(R"({"rows":[{"t":1},{"t":-2}]})")) ==
        "row 2 has no value of log(t): t is -2, and only positive numbers have a log");
  fit.model.map = FeatureMap::parse(R"(1,mode{"1","3"})").value();
  stream.fit = std::make_shared<const FitView>(fit);
  daemon.set(stream);
  const auto expected = [&](const std::string& row) {
    return json_of(predict(R"({"rows":[)" + row + "]}"))["predictions"][0]["expected"];
  };
  CHECK(expected(R"({"mode":"3"})") != expected(R"({"mode":"1"})"));
  CHECK(expected(R"({"mode":3})") == expected(R"({"mode":"3"})"));
  CHECK(expected(R"({"mode":3.0})") == expected(R"({"mode":"3"})"));
  CHECK(text_of(predict(R"({"rows":[{"mode":null}]})")) == "row 1 has no text in column mode");
  CHECK(text_of(predict(R"({"rows":[{"mode":"2"}]})")).find("row 1 has no value of mode==\"3\"") == 0);
}

TEST_CASE_FIXTURE(Fixture, "answers carry what keeps a browser safe") {
  const std::string head = head_of(get("/api/v1/streams"), true);
  for (const std::string line :
       {"Cache-Control: no-store", "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
        "Content-Security-Policy: default-src 'none'", "Cross-Origin-Resource-Policy: same-origin",
        "Connection: keep-alive", "Content-Type: application/json"})
    CHECK_MESSAGE(head.find(line + "") != std::string::npos, line);
  const std::string page = head_of(get("/"), false);
  CHECK(page.find("Connection: close") != std::string::npos);
  CHECK(page.find("Content-Type: text/html") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "names from outside come out as text") {
  const std::string hostile = "</script>\"\\\n\xff";
  StreamView stream = fitted_stream("pump");
  stream.source = hostile;
  stream.alarms = {{{}, 1, hostile, hostile, true}};
  daemon.set(stream);
  CHECK(json_of(get("/api/v1/streams"))["streams"][0]["source"].get<std::string>().starts_with(
      "</script>\"\\\n"));
  const std::string metrics = *get("/metrics").body;
  CHECK(metrics.find("kind=\"</script>\\\"\\\\\\n\xff\"") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "the lines for InfluxDB escape names and hold nothing that is not finite") {
  StreamView stream = fitted_stream("pump");
  auto fit = std::make_shared<FitView>(*stream.fit);
  fit->model.report.features[1] = "a=b, c\\";
  fit->model.report.components[0].coefficients[0] = NAN;
  fit->model.report.log_likelihood = INFINITY;
  fit->time = WallTime(std::chrono::seconds(7));
  stream.fit = fit;
  daemon.set(stream);
  const std::string text = *get("/api/v1/influx").body;
  CHECK(text.find("mixstream_coefficient,stream=pump,law=1,feature=a\\=b\\,\\ c\\  value=") !=
        std::string::npos);
  CHECK(text.find("mixstream_coefficient,stream=pump,law=2,feature=1 value=") != std::string::npos);
  CHECK(text.find("mixstream_coefficient,stream=pump,law=1,feature=1 ") == std::string::npos);
  CHECK(text.find(" 7000000000\n") != std::string::npos);
  CHECK(text.find("nan") == std::string::npos);
  CHECK(text.find("inf") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "the metrics count what the view counts, and hold nothing that is not finite") {
  StreamView stream = fitted_stream("pump");
  stream.rows_per_second = NAN;
  stream.solve_seconds = INFINITY;
  daemon.set(stream);
  site.count({.status = 404});
  site.count({.status = 404});
  const std::string text = *get("/metrics").body;
  for (const std::string line :
       {"mixstream_rows_in_total{stream=\"pump\"} 1010\n",
        "mixstream_rows_folded_total{stream=\"valve\"} 0\n",
        "mixstream_rows_refused_total{stream=\"pump\",reason=\"not_a_number\"} 3\n",
        "mixstream_component_weight{stream=\"pump\",component=\"1\"} 0.25\n",
        "mixstream_component_coefficient{stream=\"pump\",component=\"2\",feature=\"t\"} 0.5\n",
        "mixstream_alarms_active{stream=\"pump\",kind=\"drift\"} 1\n",
        "mixstream_alarms_active{stream=\"pump\",kind=\"gap\"} 0\n", "mixstream_healthy 1\n",
        "mixstream_http_requests_total{code=\"404\"} 2\n", "mixstream_build_info{version=\"0.1.0\"} 1\n"})
    CHECK_MESSAGE(text.find("\n" + line) != std::string::npos, line);
  CHECK(text.find("} nan") == std::string::npos);
  CHECK(text.find("} inf") == std::string::npos);
  CHECK(text.find("process_resident_memory_bytes ") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a forecast says which mode holds, how long, and what comes") {
  CHECK(forecast("{}").status == 409);  // its rows are independent
  follow_modes();
  const Json newest = json_of(forecast(R"({"ahead":[0,1]})"));
  CHECK(newest["component"] == 2);
  CHECK(newest["probabilities"] == Json{0.25, 0.75});
  CHECK(newest["rows_left"].get<double>() == doctest::Approx(0.25 * 10 + 0.75 * 5));
  CHECK(newest["forecast"][0]["probabilities"] == Json{0.25, 0.75});
  CHECK(newest["forecast"][1]["ahead"] == 1);
  CHECK(newest["forecast"][1]["probabilities"][0].get<double>() == doctest::Approx(0.25 * 0.9 + 0.75 * 0.2));
  const Json east = json_of(forecast(R"({"sensor":"east","ahead":1000000})"));
  CHECK(east["component"] == 1);
  CHECK(east["forecast"][0]["probabilities"][0].get<double>() == doctest::Approx(2.0 / 3.0));
  CHECK(json_of(forecast("{}"))["forecast"][0]["ahead"] == 1);
}

TEST_CASE_FIXTURE(Fixture, "a forecast that cannot be made says why") {
  follow_modes();
  CHECK(forecast("{}", "text/plain").status == 415);
  for (const std::string body : {"", "[]", R"({"ahead":-1})", R"({"ahead":1.5})", R"({"ahead":1000001})",
                                 R"({"ahead":["1"]})", R"({"sensor":7})"})
    CHECK_MESSAGE(forecast(body).status == 400, body);
  std::string many = R"({"ahead":[1)";
  for (int i = 0; i < 64; ++i) many += ",1";
  CHECK(forecast(many + "]}").status == 400);
  CHECK(forecast(R"({"sensor":"north"})").status == 409);
  CHECK(get("/api/v1/streams/pump/forecast").status == 405);
}
