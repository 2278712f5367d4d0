// A made-up daemon behind the real HTTP server, for tests and screenshots. Prints its address, then obeys
// words on stdin: change (another regime), stale, ill, well, quit.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <iostream>
#include <optional>
#include <thread>

#include "mixstream/estimator.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/rows/simulation.hpp"
#include "mixstreamd/web/server.hpp"
#include "support/fake_daemon.hpp"

using namespace mixstream;
using namespace std::chrono_literals;

namespace {

/// A stream that is simulated and fitted as it goes.
class LiveStream {
 public:
  LiveStream(const std::string& name, const std::string& map, std::size_t k, std::vector<double> laws,
             std::vector<double> weights, std::optional<double> stay = {})
      : map_(FeatureMap::parse(map).value()),
        simulation_({.map = map_,
                     .component_count = k,
                     .weights = std::move(weights),
                     .noise_variances = {0.02},
                     .coefficients = std::move(laws),
                     .seed = 5,
                     .stay = stay}),
        estimator_(Estimator::create(settings(k, stay ? Modes::persistent : Modes::independent)).value()) {
    view_.name = name;
    view_.source = "MQTT plant/+/" + name;
    view_.feature_map = map;
    view_.response = "y";
    view_.component_count = k;
  }

  void change(std::vector<double> laws) {
    Mixture truth = simulation_.truth();
    truth.coefficients = std::move(laws);
    simulation_.set_truth(truth);
  }

  void absorb(std::size_t rows, double per_second) {
    for (std::size_t i = 0; i < rows; ++i) {
      estimator_.absorb(simulation_.next());
      if (estimator_.fit_is_due()) fit();
    }
    view_.rows.folded = estimator_.state().row_count();
    view_.rows.refused = {{"not_a_number", view_.rows.folded / 5000}, {"ragged", view_.rows.folded / 40000}};
    view_.rows.duplicate = view_.rows.folded / 2000;
    view_.rows.in = view_.rows.folded + view_.rows.duplicate + view_.rows.refused_total();
    view_.rows_per_second = per_second;
    view_.last_row = std::chrono::system_clock::now();
    ModesNow modes;
    if (estimator_.describe_modes(modes)) view_.modes = modes;
    view_.journal_bytes = view_.rows.in % 100000 * 40;
    view_.snapshot = *view_.last_row - 20s;
  }

  StreamView& view() { return view_; }

 private:
  EstimatorSettings settings(std::size_t k, Modes modes) const {
    EstimatorSettings settings;
    settings.state.layout = {static_cast<int>(map_.feature_count()), map_.constant_feature()};
    settings.state.feature_map = map_.text();
    settings.state.response = "y";
    if (modes == Modes::independent) settings.state.memory = {Memory::Kind::window_rows, 40000.0};
    settings.solve.modes = modes;
    settings.solve.component_count = k;
    settings.solve.feature_names = map_.names();
    settings.every = 5000;
    return settings;
  }

  void fit() {
    FitView fit;
    if (view_.fit != nullptr) fit.model.history = view_.fit->model.history;
    fit.model.report = estimator_.scheduled_fit();
    fit.model.history.add(fit.model.report);
    fit.model.sample = estimator_.state().sample();
    fit.model.map = map_;
    fit.time = std::chrono::system_clock::now();
    ++view_.refits;
    view_.solve_seconds += fit.model.report.solve_seconds;
    raise_alarms(fit.model.report, fit.time);
    view_.fit = std::make_shared<const FitView>(std::move(fit));
  }

  void raise_alarms(const Report& report, WallTime now) {
    for (const DriftEvent& event : report.drift) {
      if (event.row <= last_drift_) continue;
      last_drift_ = event.row;
      view_.alarms.insert(
          view_.alarms.begin(),
          {now, event.row, "drift",
           "Recent rows disagree with the laws by " + std::to_string(std::lround(event.deviations)) +
               " standard deviations: the regime may have changed. Look at the plots; the window lets "
               "the fit follow.",
           true});
    }
  }

  FeatureMap map_;
  Simulation simulation_;
  Estimator estimator_;
  StreamView view_;
  std::uint64_t last_drift_ = 0;
};

StreamView unconnected() {
  StreamView stream = empty_stream("boiler");
  stream.source = "MQTT plant/+/boiler";
  stream.source_connected = false;
  stream.health = {
      false,
      "The broker mqtts://broker.plant:8883 has not answered for 12 minutes; rows wait there. Check "
      "the network and the broker."};
  return stream;
}

}  // namespace

int main(int count, char** arguments) {
  CLI::App app("a made-up daemon");
  WebSettings settings;
  settings.port = 0;
  std::size_t rows_per_second = 4000;
  std::size_t rows_before = 60000;
  std::size_t more_streams = 0;
  std::int64_t request_ms = settings.request_time.count();
  std::int64_t idle_ms = settings.idle_time.count();
  app.add_option("--address", settings.address);
  app.add_option("--port", settings.port);
  app.add_option("--token-file", settings.token_file);
  app.add_option("--certificate", settings.certificate_file);
  app.add_option("--key", settings.key_file);
  app.add_option("--host-name", settings.host_names);
  app.add_option("--connections", settings.most_connections);
  app.add_option("--request-ms", request_ms);
  app.add_option("--idle-ms", idle_ms);
  app.add_option("--rows-per-second", rows_per_second);
  app.add_option("--rows-before", rows_before);
  app.add_option("--more-streams", more_streams);
  CLI11_PARSE(app, count, arguments);
  settings.request_time = std::chrono::milliseconds(request_ms);
  settings.idle_time = std::chrono::milliseconds(idle_ms);

  FakeDaemon daemon;
  LiveStream pump("pump", "1,t,t^2", 2, {0.5, 1.5, -1.0, -0.8, -1.0, 0.6}, {0.6, 0.4});
  LiveStream valve("valve", "1,u,v", 3, {0.0, 1.0, 1.0, 2.0, -1.0, 0.5, -2.0, 0.5, -1.5}, {0.5, 0.3, 0.2});
  LiveStream furnace("furnace", "1,t", 3, {1.0, 0.8, -0.6, 1.2, -1.4, -0.7}, {0.5, 0.3, 0.2}, 0.99);
  pump.absorb(rows_before, 0.0);
  furnace.absorb(rows_before / 2, 5.0);
  valve.absorb(rows_before / 2, 12.5);
  daemon.set(pump.view());
  daemon.set(valve.view());
  daemon.set(unconnected());
  daemon.set(furnace.view());
  for (std::size_t i = 0; i < more_streams; ++i) daemon.set(empty_stream("more-" + std::to_string(i)));
  daemon.set_models(pump.view(), made_fleet(60));
  pump.view().fleet = daemon.find("pump")->fleet;
  const Outcome<std::unique_ptr<WebServer>> server = WebServer::start(settings, daemon);
  if (!server) {
    std::cerr << server.refusal().text << "\n";
    return 1;
  }
  std::cout << server.value()->url() << std::endl;

  std::atomic<bool> ended = false;
  std::atomic<bool> changed = false;
  std::atomic<bool> stale = false;
  std::thread feeder([&] {
    for (bool followed = false; !ended; std::this_thread::sleep_for(100ms)) {
      if (changed && !followed) pump.change({1.4, -0.6, 0.9, -0.8, -1.0, 0.6});
      followed = changed;
      pump.view().stale = stale;
      pump.view().stale_words =
          stale ? "The last solve did not converge; the laws shown are those before it." : "";
      pump.absorb(rows_per_second / 10, static_cast<double>(rows_per_second));
      daemon.set(pump.view());
    }
  });
  for (std::string word; word != "quit" && std::getline(std::cin, word);) {
    if (word == "change") changed = true;
    if (word == "stale") stale = true;
    if (word == "ill")
      daemon.set_health(
          {false, "The journal cannot be written (no space left on device): free space on the disk."});
    if (word == "well") daemon.set_health({});
    std::cout << "done " << word << std::endl;
  }
  ended = true;
  feeder.join();
}
