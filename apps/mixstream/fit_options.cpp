#include "fit_options.hpp"
#include "words.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>

namespace mixstream {
namespace {

Refusal refuse(std::string text) {
  return {Reason::bad_settings, std::move(text)};
}

constexpr const char* how_to_solve = "How to solve";

void add_paper_options(SolveOptions& options, CLI::App& command) {
  command.add_option("--noise-third", options.noise_third, "E[eps^3] for --method paper; default: 0")
      ->group(how_to_solve);
  command
      .add_option("--lambda2", options.lambda2, "c of lambda_2 = c/sqrt(n) for --method paper; default: 1e-5")
      ->check(number_from(0.0, true))
      ->group(how_to_solve);
  command
      .add_option("--lambda3", options.lambda3, "c of lambda_3 = c/sqrt(n) for --method paper; default: 1e-3")
      ->check(number_from(0.0, true))
      ->group(how_to_solve);
  command
      .add_option(
          "--lambda", options.lambda,
          "--method paper: given (default, by --lambda2 and --lambda3), or theory (what Theorem 1 asks,\n"
          "with the laws of the default method plugged in)")
      ->check(CLI::IsMember({"given", "theory"}))
      ->group(how_to_solve);
  command
      .add_option(
          "--objective", options.objective,
          "--method paper: printed (default, the squared loss of the paper's text), or published (the\n"
          "unsquared loss and M2 >= 0 of its authors' programs, which made its tables)")
      ->check(CLI::IsMember({"printed", "published"}))
      ->group(how_to_solve);
  command
      .add_flag("--allow-singular", options.allow_singular,
                "--method paper: let the nuclear norm choose where features are dependent")
      ->group(how_to_solve);
}

}  // namespace

void SolveOptions::add_to(CLI::App& command) {
  command
      .add_option(
          "-k,--components", components,
          "Number of laws: 1 to 32, or auto (chosen by the sample's BIC); default: 2, or that of the state")
      ->group(how_to_solve);
  command
      .add_option("--method", method, "default (moments, refinement, polish), paper (Spectral Experts) or em")
      ->check(CLI::IsMember({"default", "paper", "em"}))
      ->group(how_to_solve);
  command
      .add_option("--polish", polish,
                  "What brings the fit to maximum-likelihood accuracy, row by row: scoring (default),\n"
                  "stepwise-em, or off (faster; the fit is what the moments say)")
      ->check(CLI::IsMember({"scoring", "stepwise-em", "off"}))
      ->group(how_to_solve);
  command
      .add_option("--modes", modes,
                  "Who chooses the law of a row: auto (default; independent until the rows ask for more),\n"
                  "independent (chance, anew for each row), persistent (a law holds for a while: rows in\n"
                  "order) or gated (the features choose)")
      ->check(CLI::IsMember({"auto", "independent", "persistent", "gated"}))
      ->group(how_to_solve);
  command
      .add_option("--gate", gate,
                  "Features that choose the law with --modes gated, such as 1,temperature;\n"
                  "default: all features of -x")
      ->group(how_to_solve);
  command
      .add_option("--noise", noise,
                  "What the noise is like: auto (default; shared until the rows ask for more), or a list:\n"
                  "shared or per-law variance; tails (Student t); memory (a part of the noise of the row\n"
                  "before stays). Such as per-law,tails")
      ->group(how_to_solve);
  command
      .add_option("--tolerance", tolerance,
                  "Noise sds by which what the model lacks may move the laws before a fit is called poor\n"
                  "instead of approximate; default: 0.1")
      ->check(number_from(0.0, false))
      ->group(how_to_solve);
  command.add_option("--noise-variance", noise_variance, "The noise variance, where it is known")
      ->check(number_from(0.0, false))
      ->group(how_to_solve);
  add_paper_options(*this, command);
  command
      .add_option("--guard", guard,
                  "auto (default): a thin bin of outliers may stay out of the fit; off: every row counts")
      ->check(CLI::IsMember({"auto", "off"}))
      ->group(how_to_solve);
  command.add_option("--seed", seed, "Seed of sample and random starts: the same seed, the same answer")
      ->group(how_to_solve);
}

void OutputOptions::add_to(CLI::App& command) {
  constexpr const char* showing = "What is shown";
  auto* as_json = command.add_flag("--json", json, "JSON lines even on a terminal")->group(showing);
  command.add_flag("--table", table, "A table even in a pipe")->excludes(as_json)->group(showing);
  command.add_option("--color", colour, "Colours: auto, always, never (NO_COLOR is respected)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->group(showing);
  command
      .add_flag("--explain", explain, "In the table: how the fit came about (stage, J, what is identified)")
      ->group(showing);
  command.add_flag("-q,--quiet", quiet, "No progress, no warnings")->group(showing);
}

void InputOptions::add_to(CLI::App& command) {
  constexpr const char* reading = "How rows are read (gzip and zstd are recognised by themselves)";
  command
      .add_option("--format", format, "auto, csv, tsv, ndjson, f64 or f32 (little-endian rows, with --width)")
      ->check(CLI::IsMember({"auto", "csv", "tsv", "ndjson", "f64", "f32"}))
      ->group(reading);
  command.add_option("--delimiter", delimiter, "One character between fields; default: found by itself")
      ->group(reading);
  command.add_flag("--no-header", no_header, "The first line is a row: columns are c1, c2, ...")
      ->group(reading);
  command
      .add_option("--header-line", header_line,
                  "The line where the table begins, with the names; default: found by itself")
      ->transform(whole_number())
      ->group(reading);
  command
      .add_option(
          "--comment", comment,
          "Lines between rows that begin with this character are passed over; default: none (above the "
          "header: #)")
      ->type_name("CHARACTER")
      ->group(reading);
  command.add_option("--decimal", decimal, "The decimal sign, a point (default) or a comma: --decimal ,")
      ->type_name("CHARACTER")
      ->group(reading);
  command
      .add_option("--thousands", thousands,
                  "What stands between groups of three digits: one of , . ' _ and a blank; default: nothing")
      ->type_name("CHARACTER")
      ->group(reading);
  command
      .add_option("--na-values", missing_words,
                  "Words for a missing value beside NA, N/A, NaN, null, none and nothing, such as -,?,err")
      ->type_name("WORD,...")
      ->group(reading);
  command.add_option("--width", width, "Numbers in a raw row (f64, f32), named c1, c2, ...")
      ->check(CLI::PositiveNumber)
      ->group(reading);
  command.add_option("--max-line", max_line, "Bytes of the longest line that is read; default: 1048576")
      ->transform(whole_number())
      ->group(reading);
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
  if (comment.size() > 1) return refuse("--comment takes one character");
  if (!comment.empty()) settings.comment = comment[0];
  Outcome<NumberRules> rules = number_rules();
  if (!rules) return rules.refusal();
  settings.numbers = std::move(rules).value();
  settings.header_line = header_line;
  settings.header = !no_header;
  settings.raw_width = width;
  settings.max_line = max_line;
  return settings;
}

std::string InputOptions::as_words() const {
  std::string words;
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words += fmt::format(" {} '{}'", option, value);
  };
  if (format != "auto") words += " --format " + format;
  add("--delimiter", delimiter);
  if (header_line > 0) words += fmt::format(" --header-line {}", header_line);
  if (no_header) words += " --no-header";
  add("--comment", comment);
  add("--decimal", decimal);
  add("--thousands", thousands);
  add("--na-values", missing_words);
  if (width > 0) words += fmt::format(" --width {}", width);
  return words;
}

Outcome<NumberRules> InputOptions::number_rules() const {
  NumberRules rules;
  if (!decimal.empty() && decimal != "." && decimal != ",") return refuse("--decimal takes . or ,");
  if (thousands.size() > 1 || std::string(",.'_ ").find(thousands) == std::string::npos)
    return refuse("--thousands takes one of , . ' _ and a blank");
  if (!decimal.empty()) rules.decimal = decimal[0];
  if (!thousands.empty()) rules.thousands = thousands[0];
  if (rules.decimal == rules.thousands)
    return refuse(fmt::format("--decimal {0} and --thousands {0} contradict each other", rules.decimal));
  for (std::size_t at = 0; at <= missing_words.size() && !missing_words.empty();) {
    const std::size_t end = std::min(missing_words.find(',', at), missing_words.size());
    rules.missing.push_back(missing_words.substr(at, end - at));
    at = end + 1;
  }
  return rules;
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
