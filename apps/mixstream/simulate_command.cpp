#include "simulate_command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "exit_codes.hpp"
#include "mixstream/moments/state_file.hpp"
#include "mixstream/rows/simulation.hpp"
#include "output.hpp"
#include "signals.hpp"

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
    for (const std::string& column : columns_) text_ += column + ",";
    text_ += "y\n";
  }

  bool write(std::span<const double> columns, double response) {
    if (format_ == "csv") {
      for (const double value : columns) fmt::format_to(std::back_inserter(text_), "{},", value);
      fmt::format_to(std::back_inserter(text_), "{}\n", response);
    } else if (format_ == "ndjson") {
      text_ += '{';
      for (std::size_t i = 0; i < columns.size(); ++i) {
        fmt::format_to(std::back_inserter(text_), "\"{}\":{},", columns_[i], columns[i]);
      }
      fmt::format_to(std::back_inserter(text_), "\"y\":{}}}\n", response);
    } else {
      for (const double value : columns) append_raw(value);
      append_raw(response);
    }
    return text_.size() < (1U << 16) || flush();
  }

  bool flush() {
    const bool written =
        std::fwrite(text_.data(), 1, text_.size(), stdout) == text_.size() && std::fflush(stdout) == 0;
    text_.clear();
    return written;
  }

 private:
  void append_raw(double value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text_.append(bytes, sizeof value);
  }

  std::string format_;
  std::vector<std::string> columns_;
  std::string text_;
};

}  // namespace

void SimulateCommand::add_to(CLI::App& command) {
  command.add_option("-k,--components", components, "Number of laws")->check(CLI::Range(1, 32));
  command.add_option("-n,--rows", rows, "Number of rows");
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
  command.add_option("--truth", truth, "Write the true laws to this file, as JSON");
  command.add_option("--format", format, "csv, ndjson or f64")
      ->check(CLI::IsMember({"csv", "ndjson", "f64"}));
  command.add_flag("--normal", normal, "Columns standard normal instead of uniform");
  command.add_flag("--cut", cut, "Leave [-.5,-.25] and [.25,.5] out, as the paper's misspecified data do");
  command.add_option("--change-at", change_at, "Draw new laws at this row: a regime change");
  command.footer(
      "Example:\n  mixstream simulate -k 3 -n 500000 -x 1,t,t^4,t^7 --noise 0.1 --seed 7 --truth truth.json "
      "> rows.csv");
}

int SimulateCommand::run() const {
  const auto fail = [](int code, const std::string& text) {
    complain(text);
    return code;
  };
  Outcome<FeatureMap> map = FeatureMap::parse(features);
  if (!map) return fail(exit_usage, map.refusal().text);
  if (map.value().columns().empty()) return fail(exit_usage, "-x needs at least one column, such as 1,t");
  SimulationSettings settings;
  settings.map = map.value();
  settings.component_count = components;
  settings.noise_variances = noise;
  settings.normal_columns = normal;
  settings.cut = cut;
  settings.seed = seed;
  if (!coefficients.empty()) settings.coefficients = coefficients;
  if (!weights.empty()) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (const double weight : weights) settings.weights.push_back(weight / total);
  }
  const std::size_t d = map.value().feature_count();
  if ((!weights.empty() && weights.size() != components) ||
      (noise.size() != 1 && noise.size() != components) ||
      (!coefficients.empty() && coefficients.size() != components * d)) {
    return fail(
        exit_usage,
        fmt::format("{} laws of {} features need {} weights, 1 or {} noise variances and {} coefficients",
                    components, d, components, components, components * d));
  }
  watch_signals();
  Simulation simulation(settings);
  if (!truth.empty()) {
    const std::string json = truth_json(simulation.truth(), map.value()).dump() + "\n";
    if (const Verdict verdict = write_file(truth, std::as_bytes(std::span(json))); !verdict) {
      return fail(exit_data, verdict.refusal().text);
    }
  }
  RowWriter writer(format, map.value().columns());
  for (std::uint64_t i = 0; i < rows && end_requested() == 0; ++i) {
    if (change_at > 0 && i == change_at) {
      settings.seed = seed + 1;
      settings.coefficients.reset();
      simulation.set_truth(Simulation(settings).truth());
    }
    const Row row = simulation.next();
    if (!writer.write(simulation.columns(), row.response))
      return errno == EPIPE ? exit_fitted : fail(exit_data, "cannot write");
  }
  return writer.flush() || errno == EPIPE ? exit_fitted : fail(exit_data, "cannot write the rows");
}

}  // namespace mixstream
