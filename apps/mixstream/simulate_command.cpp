#include "simulate_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "exit_codes.hpp"
#include "fit_options.hpp"
#include "mixstream/moments/state_file.hpp"
#include "mixstream/rows/simulation.hpp"
#include "output.hpp"
#include "signals.hpp"
#include "words.hpp"

namespace mixstream {
namespace {

nlohmann::ordered_json truth_json(const Mixture& truth, const FeatureMap& map) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["k"] = truth.component_count();
  json["features"] = map.names();
  json["response"] = "y";
  json["components"] = nlohmann::ordered_json::array();
  for (std::size_t h = 0; h < truth.component_count(); ++h) {
    json["components"].push_back(
        {{"weight", truth.weights[h]},
         {"coefficients", std::vector<double>(truth.law(h).begin(), truth.law(h).end())},
         {"noise_variance", truth.noise_variances[h]}});
  }
  return json;
}

/// Collects rows and writes them in large pieces. False when stdout takes no more.
class RowWriter {
 public:
  RowWriter(const std::string& format, const std::vector<std::string>& columns)
      : format_(format), columns_(columns) {
    if (format_ != "csv") return;
    for (const std::string& column : columns_) text_ += csv_field(column, ',') + ",";
    text_ += "y\n";
  }

  bool write(std::span<const double> columns, double response) {
    if (format_ == "csv") {
      for (const double value : columns) fmt::format_to(std::back_inserter(text_), "{},", value);
      fmt::format_to(std::back_inserter(text_), "{}\n", response);
    } else if (format_ == "ndjson") {
      text_ += '{';
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::string key = nlohmann::json(columns_[i]).dump();
        fmt::format_to(std::back_inserter(text_), "{}:{},", key, columns[i]);
      }
      fmt::format_to(std::back_inserter(text_), "\"y\":{}}}\n", response);
    } else {
      for (const double value : columns) append_raw(value);
      append_raw(response);
    }
    return text_.size() < (1U << 16) || flush();
  }

  bool flush() {
    const bool written = output_.write(text_);
    text_.clear();
    return written;
  }
  bool closed() const noexcept { return output_.closed(); }  ///< nobody reads any more

 private:
  void append_raw(double value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
  }

  FitOutput output_{OutputFormat::json, false};
  std::string format_;
  std::vector<std::string> columns_;
  std::string text_;
};

}  // namespace

void SimulateCommand::add_to(CLI::App& command) {
  command.add_option("-k,--components", components, "Number of laws")->check(CLI::Range(1, 32));
  command.add_option("-n,--rows", rows, "Number of rows; default: 10000")->transform(whole_number());
  command.add_option("-x,--features", features,
                     "Features, such as 1,t,t^4,t^7; columns are drawn from [-1, 1]");
  command.add_option("--noise", noise, "Noise variance: one for all laws, or one each")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber);
  command.add_option("--weights", weights, "Weights of the laws; default: equal")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  command
      .add_option("--coefficients", coefficients,
                  "The laws, one after the other; default: drawn from N(0, 1)")
      ->delimiter(',');
  command.add_option("--seed", seed, "The same seed, the same rows");
  command.add_option("--truth", truth, "Write the true laws to this file, as JSON")->type_name("FILE");
  command.add_option("--format", format, "csv, ndjson or f64")
      ->check(CLI::IsMember({"csv", "ndjson", "f64"}));
  command.add_flag("--normal", normal, "Columns standard normal instead of uniform");
  command.add_flag("--cut", cut, "Leave [-.5,-.25] and [.25,.5] out, as the paper's misspecified data do");
  command.add_option("--change-at", change_at, "Draw new laws at this row: a regime change")
      ->transform(whole_number());
  command.footer(
      "Examples:\n"
      "  mixstream simulate -k 3 -n 5e5 -x 1,t,t^4,t^7 --noise 0.1 --seed 7 --truth truth.json > rows.csv\n"
      "      the paper's curves, and what is true of them\n"
      "  mixstream simulate -k 2 -x 1,t -n 1e4 --coefficients 0,1,0,-1 --weights 3,1 | mixstream fit -k 2\n"
      "      y = t three times as often as y = -t\n"
      "  mixstream simulate -k 2 -x 1,u,v -n 1e6 --change-at 5e5 | mixstream fit -k 2 --half-life 5e4 "
      "--every "
      "1e5\n"
      "      new laws half-way");
}

Outcome<SimulationSettings> SimulateCommand::settings() const {
  const auto refuse = [](std::string text) { return Refusal{Reason::bad_settings, std::move(text)}; };
  Outcome<FeatureMap> map = FeatureMap::parse(features);
  if (!map) return map.refusal();
  const std::vector<std::string>& columns = map.value().columns();
  if (!map.value().is_products())
    return refuse("simulate takes products of powers of columns, such as 1,t,t^4");
  if (columns.empty()) return refuse("-x needs at least one column, such as 1,t");
  if (std::ranges::find(columns, "y") != columns.end())
    return refuse("y is the name of the response: call the column in -x something else");
  if (!std::ranges::all_of(noise, [](double variance) { return std::isfinite(variance); }))
    return refuse("--noise takes finite variances");
  const std::size_t d = map.value().feature_count();
  if ((!weights.empty() && weights.size() != components) ||
      (noise.size() != 1 && noise.size() != components) ||
      (!coefficients.empty() && coefficients.size() != components * d)) {
    return refuse(
        fmt::format("{} laws of {} features need {} weights, 1 or {} noise variances and {} coefficients",
                    components, d, components, components, components * d));
  }
  SimulationSettings settings;
  settings.map = map.value();
  settings.component_count = components;
  settings.noise_variances = noise;
  settings.normal_columns = normal;
  settings.cut = cut;
  settings.seed = seed;
  if (!coefficients.empty()) settings.coefficients = coefficients;
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (const double weight : weights) settings.weights.push_back(weight / total);
  return settings;
}

int SimulateCommand::run() const {
  Outcome<SimulationSettings> outcome = settings();
  if (!outcome) return fail_with(exit_usage, outcome.refusal().text);
  SimulationSettings simulated = std::move(outcome).value();
  watch_signals();
  Simulation simulation(simulated);
  if (!truth.empty()) {
    const std::string json = truth_json(simulation.truth(), simulated.map).dump() + "\n";
    if (const Verdict verdict = write_file(truth, std::as_bytes(std::span(json))); !verdict)
      return fail_with(exit_data, verdict.refusal().text);
  }
  RowWriter writer(format, simulated.map.columns());
  for (std::uint64_t i = 0; i < rows && end_requested() == 0; ++i) {
    if (change_at > 0 && i == change_at) {
      simulated.seed = seed + 1;
      simulated.coefficients.reset();
      simulation.set_truth(Simulation(simulated).truth());
    }
    const Row row = simulation.next();
    if (!writer.write(simulation.columns(), row.response)) return writer.closed() ? exit_fitted : exit_data;
  }
  if (!writer.flush() && !writer.closed()) return exit_data;
  return exit_code_of_signal();
}

}  // namespace mixstream
