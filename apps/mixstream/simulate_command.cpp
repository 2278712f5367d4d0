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

/// Numbers by rows, as a list of lists.
nlohmann::ordered_json rows_json(std::vector<double> numbers, std::size_t rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  const std::size_t width = numbers.size() / rows;
  for (std::size_t i = 0; i < rows; ++i) {
    const auto begin = numbers.begin() + static_cast<std::ptrdiff_t>(i * width);
    json.push_back(std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(width)));
  }
  return json;
}

/// What rows in order add to the truth: only what was asked for.
void add_order(nlohmann::ordered_json& json, const Simulation& simulation,
               const SimulationSettings& settings) {
  const std::size_t k = simulation.truth().component_count();
  if (settings.stay) json["transitions"] = rows_json(simulation.transitions(), k);
  if (settings.noise_memory != 0.0) json["noise_memory"] = settings.noise_memory;
  if (settings.tails > 0.0) json["degrees_of_freedom"] = settings.tails;
  if (settings.gate) {
    std::vector<double> gamma = simulation.gate_coefficients();
    gamma.resize(k * settings.gate->feature_count());  // the last law's are zero
    json["gate"] = {{"features", settings.gate->names()}, {"coefficients", rows_json(std::move(gamma), k)}};
  }
}

nlohmann::ordered_json truth_json(const Simulation& simulation, const SimulationSettings& settings) {
  const Mixture& truth = simulation.truth();
  const FeatureMap& map = settings.map;
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
  add_order(json, simulation, settings);
  return json;
}

/// Collects rows and writes them in large pieces. False when stdout takes no more.
class RowWriter {
 public:
  RowWriter(const std::string& format, const std::vector<std::string>& columns, bool with_sensor)
      : format_(format), columns_(columns), with_sensor_(with_sensor) {
    if (format_ != "csv") return;
    if (with_sensor_) text_ += "sensor,";
    for (const std::string& column : columns_) text_ += csv_field(column, ',') + ",";
    text_ += "y\n";
  }

  bool write(std::span<const double> columns, const Row& row) {
    const double response = row.response;
    if (format_ == "csv") {
      if (with_sensor_) fmt::format_to(std::back_inserter(text_), "{},", row.sensor);
      for (const double value : columns) fmt::format_to(std::back_inserter(text_), "{},", value);
      fmt::format_to(std::back_inserter(text_), "{}\n", response);
    } else if (format_ == "ndjson") {
      text_ += '{';
      if (with_sensor_) fmt::format_to(std::back_inserter(text_), "\"sensor\":{},", row.sensor);
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
  bool with_sensor_;
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
  add_order_to(command);
  command.footer(
      "Examples:\n"
      "  mixstream simulate -k 3 -n 5e5 -x 1,t,t^4,t^7 --noise 0.1 --seed 7 --truth truth.json > rows.csv\n"
      "      the paper's curves, and what is true of them\n"
      "  mixstream simulate -k 2 -x 1,t -n 1e4 --coefficients 0,1,0,-1 --weights 3,1 | mixstream fit -k 2\n"
      "      y = t three times as often as y = -t\n"
      "  mixstream simulate -k 2 -x 1,u,v -n 1e6 --change-at 5e5 | mixstream fit -k 2 --half-life 5e4 "
      "--every "
      "1e5\n"
      "      new laws half-way\n"
      "  mixstream simulate -k 3 -x 1,flow --stay 0.99 --wander 0.99 --noise-memory 0.7 --sensors 4\n"
      "      four pumps that stay in a mode for 100 rows, a load that wanders, noise that remembers\n"
      "  mixstream simulate -k 2 -x 1,t --gate 1,t --gate-coefficients 0,-8\n"
      "      the first law below t = 0, the second above");
}

void SimulateCommand::add_order_to(CLI::App& command) {
  command.add_option("--stay", stay, "Laws last: this share of rows keep the law of the row before");
  command.add_option("--wander", wander,
                     "Columns wander: AR(1) with this coefficient, the same values as without");
  command.add_option("--noise-memory", noise_memory,
                     "Noise remembers: AR(1) with this coefficient, the same variance");
  command.add_option("--tails", tails,
                     "Noise has tails: Student t with so many degrees of freedom, the same variance");
  command.add_option("--gate", gate,
                     "Columns choose the law: weights are softmax(gamma_h . w), w such as 1,t");
  command
      .add_option("--gate-coefficients", gate_coefficients,
                  "gamma of all laws but the last, one after the other; default: drawn from N(0, 9)")
      ->delimiter(',');
  command.add_option("--round", round_to, "Round y to multiples of this");
  command.add_option("--sensors", sensors, "So many sources, in turn a row each, in a column 'sensor'")
      ->transform(whole_number());
}

Done SimulateCommand::read_order(SimulationSettings& settings) const {
  const auto refuse = [](std::string text) { return Refusal{Reason::bad_settings, std::move(text)}; };
  const std::vector<double> weights_of =
      settings.weights.empty() ? std::vector<double>(components, 1.0 / static_cast<double>(components))
                               : settings.weights;
  const double chance = stay_by_chance(weights_of);
  if (stay && !gate.empty())
    return refuse("--stay and --gate both say who chooses the law: give one of them");
  if (stay && !(*stay >= chance - 1e-6 && *stay <= 1.0))
    return refuse(fmt::format("--stay is between {:.6g}, where every row draws its law anew, and 1", chance));
  if (!(std::abs(wander) < 1.0)) return refuse("--wander is between -1 and 1");
  if (!(std::abs(noise_memory) < 1.0)) return refuse("--noise-memory is between -1 and 1");
  if (tails && !(*tails > 2.0 && std::isfinite(*tails)))
    return refuse("--tails is above 2, where the noise has a variance");
  if (!(round_to >= 0.0 && std::isfinite(round_to))) return refuse("--round takes a positive number");
  if (sensors < 1 || sensors > 1000000) return refuse("--sensors is between 1 and 1000000");
  if (sensors > 1 && format == "f64")
    return refuse("--sensors needs a column with a name: --format csv or ndjson");
  const std::vector<std::string>& columns = settings.map.columns();
  if (sensors > 1 && std::ranges::find(columns, "sensor") != columns.end())
    return refuse("sensor is the name of the source: call the column in -x something else");
  if (stay) settings.stay = std::max(*stay, chance);
  settings.wander = wander;
  settings.noise_memory = noise_memory;
  settings.tails = tails.value_or(0.0);
  settings.round_to = round_to;
  settings.sensors = sensors;
  return read_gate(settings);
}

Done SimulateCommand::read_gate(SimulationSettings& settings) const {
  const auto refuse = [](std::string text) { return Refusal{Reason::bad_settings, std::move(text)}; };
  if (gate.empty() && !gate_coefficients.empty()) return refuse("--gate-coefficients needs --gate");
  if (gate.empty()) return std::monostate{};
  if (!weights.empty()) return refuse("--gate makes the weights: leave --weights out");
  Outcome<FeatureMap> map = FeatureMap::parse(gate, settings.map.columns());
  if (!map) return map.refusal();
  const std::size_t needed = (components - 1) * map.value().feature_count();
  if (!gate_coefficients.empty() && gate_coefficients.size() != needed)
    return refuse(fmt::format("{} laws and {} gate features need {} gate coefficients", components,
                              map.value().feature_count(), needed));
  settings.gate = std::move(map).value();
  settings.gate_coefficients = gate_coefficients;
  return std::monostate{};
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
  if (const Done done = read_order(settings); !done) return done.refusal();
  return settings;
}

int SimulateCommand::run() const {
  Outcome<SimulationSettings> outcome = settings();
  if (!outcome) return fail_with(exit_usage, outcome.refusal().text);
  SimulationSettings simulated = std::move(outcome).value();
  watch_signals();
  Simulation simulation(simulated);
  if (!truth.empty()) {
    const std::string json = truth_json(simulation, simulated).dump() + "\n";
    if (const Done done = write_file(truth, std::as_bytes(std::span(json))); !done)
      return fail_with(exit_data, done.refusal().text);
  }
  RowWriter writer(format, simulated.map.columns(), sensors > 1);
  for (std::uint64_t i = 0; i < rows && end_requested() == 0; ++i) {
    if (change_at > 0 && i == change_at) {
      simulated.seed = seed + 1;
      simulated.coefficients.reset();
      simulation.set_truth(Simulation(simulated).truth());
    }
    const Row row = simulation.next();
    if (!writer.write(simulation.columns(), row)) return writer.closed() ? exit_fitted : exit_data;
  }
  if (!writer.flush() && !writer.closed()) return exit_data;
  return exit_code_of_signal();
}

}  // namespace mixstream
