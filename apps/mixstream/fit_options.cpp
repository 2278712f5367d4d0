#include "fit_options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>

namespace mixstream {
namespace {

Refusal refuse(std::string text) {
  return {Reason::bad_settings, std::move(text)};
}

}  // namespace

void SolveOptions::add_to(CLI::App& command) {
  command.add_option("-k,--components", components,
                     "Number of laws: 1 to 32, or auto (chosen by the sample's BIC)");
  command
      .add_option("--method", method,
                  "default (moments, refinement, polish), paper (Spectral Experts as published) or em")
      ->check(CLI::IsMember({"default", "paper", "em"}));
  command.add_option("--noise", noise, "Noise variance: shared by all laws, or per-component")
      ->check(CLI::IsMember({"shared", "per-component"}));
  command.add_option("--noise-variance", noise_variance, "The noise variance, where it is known")
      ->check(CLI::PositiveNumber);
  command.add_option("--noise-third", noise_third, "E[eps^3] for --method paper");
  command.add_option("--lambda2", lambda2, "c of lambda_2 = c/sqrt(n) for --method paper")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--lambda3", lambda3, "c of lambda_3 = c/sqrt(n) for --method paper")
      ->check(CLI::NonNegativeNumber);
  command.add_flag("--allow-singular", allow_singular,
                   "--method paper: let the nuclear norm choose where features are dependent");
  command
      .add_option("--guard", guard,
                  "auto: a thin bin of outliers may stay out of the fit; off: every row counts")
      ->check(CLI::IsMember({"auto", "off"}));
  command.add_option("--seed", seed, "Seed of sample and random starts: the same seed, the same answer");
}

Outcome<SolveSettings> SolveOptions::settings() const {
  SolveSettings solve;
  if (components == "auto") {
    solve.component_count = 0;
  } else {
    const auto [end, error] =
        std::from_chars(components.data(), components.data() + components.size(), solve.component_count);
    if (error != std::errc() || end != components.data() + components.size() || solve.component_count < 1) {
      return refuse("-k takes a whole number from 1 to 32, or auto; not '" + components + "'");
    }
  }
  static const std::map<std::string, FitMethod> methods{
      {"default", FitMethod::standard}, {"paper", FitMethod::paper}, {"em", FitMethod::em}};
  solve.method = methods.at(method);
  solve.noise = noise == "shared" ? NoiseModel::shared : NoiseModel::per_component;
  if (noise_variance > 0.0) {
    if (solve.noise == NoiseModel::per_component)
      return refuse("--noise-variance and --noise per-component contradict each other");
    solve.noise = NoiseModel::known;
    solve.noise_variance = noise_variance;
  }
  solve.noise_third = noise_third;
  solve.second_penalty = lambda2;
  solve.third_penalty = lambda3;
  solve.allow_singular = allow_singular;
  solve.guard = guard == "auto";
  solve.seed = seed;
  return solve;
}

void OutputOptions::add_to(CLI::App& command) {
  auto* as_json = command.add_flag("--json", json, "JSON lines even on a terminal");
  command.add_flag("--table", table, "A table even in a pipe")->excludes(as_json);
  command.add_option("--color", colour, "Colours: auto, always, never (NO_COLOR is respected)")
      ->check(CLI::IsMember({"auto", "always", "never"}));
  command.add_flag("-q,--quiet", quiet, "No progress, no warnings");
}

void InputOptions::add_to(CLI::App& command) {
  command
      .add_option("--format", format, "auto, csv, tsv, ndjson, f64 or f32 (little-endian rows, with --width)")
      ->check(CLI::IsMember({"auto", "csv", "tsv", "ndjson", "f64", "f32"}));
  command.add_option("--delimiter", delimiter, "One character between fields; default: found by itself");
  command.add_flag("--no-header", no_header, "The first line is a row: columns are c1, c2, ...");
  command.add_option("--width", width, "Numbers in a raw row (f64, f32), named c1, c2, ...");
  command.add_option("--max-line", max_line, "Bytes of the longest line that is read");
}

Outcome<InputSettings> InputOptions::settings() const {
  static const std::map<std::string, Format> formats{{"auto", Format::detect}, {"csv", Format::csv},
                                                     {"tsv", Format::csv},     {"ndjson", Format::ndjson},
                                                     {"f64", Format::f64},     {"f32", Format::f32}};
  InputSettings settings;
  settings.format = formats.at(format);
  if (format == "tsv") settings.delimiter = '\t';
  if (!delimiter.empty()) {
    if (delimiter != "\\t" && delimiter.size() != 1)
      return refuse("--delimiter takes one character (or \\t)");
    settings.delimiter = delimiter == "\\t" ? '\t' : delimiter[0];
  }
  settings.header = !no_header;
  settings.raw_width = width;
  settings.max_line = max_line;
  return settings;
}

Outcome<Length> parse_length(const std::string& text, const std::string& option) {
  Length length;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, length.value);
  static const std::map<std::string, double> units{
      {"", 1.0}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}};
  const auto unit = units.find(std::string(at, end));
  if (error != std::errc() || unit == units.end() || !(length.value > 0.0)) {
    return refuse(fmt::format("{} takes a number of rows, or a time such as 90s, 10m, 2h or 1d; not '{}'",
                              option, text));
  }
  length.seconds = !unit->first.empty();
  length.value *= unit->second;
  return length;
}

}  // namespace mixstream
