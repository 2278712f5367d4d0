// A daemon that says what the test told it to say.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mixstreamd/view.hpp"

namespace mixstream {

class FakeDaemon : public DaemonView {
 public:
  FakeDaemon() { figures_.version = "0.1.0"; }

  void set(const StreamView& stream) {
    const std::lock_guard lock(mutex_);
    for (auto& known : streams_) {
      if (known->name != stream.name) continue;
      known = std::make_shared<const StreamView>(stream);
      return;
    }
    streams_.push_back(std::make_shared<const StreamView>(stream));
  }
  void set_health(const Health& health, const Health& ready = {}) {
    const std::lock_guard lock(mutex_);
    health_ = health;
    ready_ = ready;
  }
  std::vector<std::string> refits_asked() const {
    const std::lock_guard lock(mutex_);
    return refits_asked_;
  }

  DaemonFigures figures() const override { return figures_; }
  std::vector<std::shared_ptr<const StreamView>> streams() const override {
    const std::lock_guard lock(mutex_);
    return streams_;
  }
  std::shared_ptr<const StreamView> find(const std::string& name) const override {
    for (const auto& stream : streams())
      if (stream->name == name) return stream;
    return nullptr;
  }
  /// `stream` gets these groups; its view the summary.
  void set_models(StreamView stream, const FleetPage& fleet) {
    stream.fleet = std::make_shared<const FleetSummary>(fleet.summary);
    set(stream);
    const std::lock_guard lock(mutex_);
    fleets_[stream.name] = fleet;
  }
  std::optional<FleetPage> models(const std::string& name, std::size_t from,
                                  std::size_t count) const override {
    const std::lock_guard lock(mutex_);
    const auto found = fleets_.find(name);
    if (found == fleets_.end()) return std::nullopt;
    FleetPage page = found->second;
    page.from = std::min(from, page.models.size());
    page.models.erase(page.models.begin(), page.models.begin() + static_cast<std::ptrdiff_t>(page.from));
    page.models.resize(std::min(count, page.models.size()));
    return page;
  }
  Done request_reset(const std::string& name, const std::string& sensor) override {
    const std::lock_guard lock(mutex_);
    resets_asked_.push_back(name + " " + sensor);
    return std::monostate{};
  }
  std::vector<std::string> resets_asked() const {
    const std::lock_guard lock(mutex_);
    return resets_asked_;
  }
  Done request_refit(const std::string& name) override {
    const auto stream = find(name);
    if (stream == nullptr || stream->rows.folded == 0)
      return Refusal{Reason::too_few_rows, "stream " + name + " has no rows yet"};
    const std::lock_guard lock(mutex_);
    refits_asked_.push_back(name);
    return std::monostate{};
  }
  Health health() const override {
    const std::lock_guard lock(mutex_);
    return health_;
  }
  Health ready() const override {
    const std::lock_guard lock(mutex_);
    return ready_;
  }

 private:
  mutable std::mutex mutex_;
  DaemonFigures figures_{.started = std::chrono::system_clock::now()};
  std::vector<std::shared_ptr<const StreamView>> streams_;
  std::map<std::string, FleetPage> fleets_;
  std::vector<std::string> refits_asked_;
  std::vector<std::string> resets_asked_;
  Health health_;
  Health ready_;
};

/// So many groups, all well but for the third, which departs and is silent.
inline FleetPage made_fleet(std::size_t count) {
  FleetPage fleet;
  fleet.summary.models = fleet.summary.looked = count;
  fleet.summary.in_mode = {0, 0};
  for (std::size_t i = 0; i < count; ++i) {
    GroupView group;
    group.name = "pump-" + std::string(i < 9 ? "0" : "") + std::to_string(i + 1);
    group.rows = group.fit_rows = 700 + 100 * i;
    group.last_row = std::chrono::system_clock::now();
    group.grown = group.rows > 1000;
    group.status = FitStatus::ok;
    group.laws = empty_mixture(2, 2);
    group.laws.weights = {0.25, 0.75};
    group.laws.coefficients = {1.0, 2.0, -1.0, 0.5};
    group.laws.noise_variances = {0.01, 0.01};
    group.mode = i % 2;
    group.mode_probability = 0.97;
    group.drift = LawReading{0.4, 0.03, 0};
    group.departure = LawReading{i == 2 ? 25.0 : -0.6, i == 2 ? 2.9 : 0.04, 1};
    group.departs = group.silent = i == 2;
    fleet.summary.grown += group.grown ? 1 : 0;
    ++fleet.summary.in_mode[*group.mode];
    if (group.departs) fleet.summary.departing = fleet.summary.silent = {1, {group.name}};
    fleet.models.push_back(std::move(group));
  }
  return fleet;
}

/// A stream without rows.
inline StreamView empty_stream(const std::string& name) {
  StreamView stream;
  stream.name = name;
  stream.source = "a test";
  stream.feature_map = "1,t";
  stream.response = "y";
  stream.component_count = 2;
  return stream;
}

/// Two lines over t: y = 1 + 2 t (a quarter of the rows) and y = -1 + t / 2, noise variance 0.01.
inline StreamView fitted_stream(const std::string& name) {
  const auto law = [](double weight, std::vector<double> coefficients) {
    ComponentReport component;
    component.weight = weight;
    component.weight_error = 0.01;
    component.coefficients = std::move(coefficients);
    component.coefficient_errors = {0.02, 0.03};
    component.noise_variance = 0.01;
    return component;
  };
  FitView fit;
  fit.time = std::chrono::system_clock::now();
  fit.model.map = FeatureMap::parse("1,t").value();
  Report& report = fit.model.report;
  report.rows = 1000;
  report.component_count = 2;
  report.features = fit.model.map.names();
  report.response = "y";
  report.components = {law(0.25, {1.0, 2.0}), law(0.75, {-1.0, 0.5})};
  report.status = FitStatus::ok;
  report.words = "the moments agree with this fit";
  fit.model.sample.rows.feature_count = 2;
  for (int i = 0; i < 40; ++i) {
    const double x[] = {1.0, i / 40.0};
    fit.model.sample.rows.add({x, i % 4 == 0 ? 1.0 + 2.0 * x[1] : -1.0 + 0.5 * x[1], 1.0});
  }
  StreamView stream = empty_stream(name);
  stream.rows = {
      .in = 1010, .folded = 1000, .duplicate = 6, .refused = {{"not_a_number", 3}, {"wrong_shape", 1}}};
  stream.rows_per_second = 250.5;
  stream.last_row = fit.time;
  stream.refits = 4;
  stream.solve_seconds = 0.25;
  stream.fit = std::make_shared<const FitView>(std::move(fit));
  stream.alarms = {{stream.fit->time, 900, "drift", "recent rows disagree with older ones", true},
                   {stream.fit->time, 500, "gap", "3 rows never came", false}};
  return stream;
}

}  // namespace mixstream
