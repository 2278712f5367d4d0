// What the words of `mixstream fit` mean, and its help.
#include <fmt/format.h>

#include "fit_command.hpp"
#include "words.hpp"

namespace mixstream {
namespace {

Refusal refuse(std::string text) {
  return {Reason::bad_settings, std::move(text)};
}

}  // namespace

void FitCommand::add_to(CLI::App& command) {
  command.add_option("files", files, "Files to read, in order; none or -: standard input");
  command.add_option("-y,--response", response, "Column of the response; default: the last one of numbers")
      ->type_name("COLUMN");
  command.add_option("-x,--features", features,
                     "Features of columns, such as 1,t,t^4, u*v, 1/t, log(t), sqrt(t), max(0,t-18), "
                     "mode==\"eco\", machine (a "
                     "category), lag(t,3); names as they stand in the header, or between backquotes: "
                     "'1,`Flow (m3/h)`'; default: 1 and every "
                     "other column of numbers");
  command.add_option("--weight", weight, "Column with row weights")->type_name("COLUMN");
  command.add_option("--group", group, "One model for each value of this column")->type_name("COLUMN");
  command.add_option("--max-groups", most_groups, "Rows of further groups are refused; default: 10000")
      ->transform(whole_number())
      ->check(CLI::PositiveNumber);
  command.add_option("--na", missing, "A row with a missing value: skip (and count, default) or error")
      ->check(CLI::IsMember({"skip", "error"}));
  command.add_flag("--strict", strict, "Stop at the first row that cannot be used");
  command
      .add_option(
          "--threads", threads,
          "Read a plain file in so many parts at once; the same number, the same answer. With --group: fit "
          "so many groups at once")
      ->check(CLI::Range(1, 256));
  solve.add_to(command);
  add_output_options(command);
  add_memory_options(command);
  input.add_to(command);
  output.add_to(command);
  command.footer(
      "Examples:\n"
      "  mixstream simulate -k 2 -x 1,t,t^4 -n 1e5 | mixstream fit -k 2 -y y -x 1,t,t^4\n"
      "      two laws of y on 1, t and t^4, from a pipe\n"
      "  tail -n +1 -f pump.csv | mixstream fit -k 3 -y power -x 1,flow,flow^2 --every 1000\n"
      "      a fit as soon as another 1000 rows have come; kill -USR1 shows one now\n"
      "  mixstream fit -k 2 -y demand -x 1,temperature day*.csv.gz --save demand.mix\n"
      "      many files, one model; later: mixstream fit --load demand.mix more.csv --save demand.mix\n"
      "  mixstream fit -k 2 -y y --group sensor --half-life 1d --time seconds readings.ndjson\n"
      "      one model per sensor, each forgetting half of the past in a day\n\n"
      "Output: one JSON object a line (a table on a terminal); mixstream-fit(1) describes every field.\n"
      "Exit: 0 fitted (also poor_fit), 1 data or file error, 2 wrong words, 3 not identifiable or too few "
      "rows,\n"
      "4 fitted, but more than a tenth of the rows were refused, 130 and 143 after SIGINT and SIGTERM, with "
      "the final fit shown and the state saved.");
}

void FitCommand::add_output_options(CLI::App& command) {
  constexpr const char* when = "When fits are shown (always one at the end)";
  command.add_option("--every", every, "A fit every so many rows, as they arrive")
      ->transform(whole_number())
      ->group(when);
  command.add_option("--interval", interval, "A fit every so often if rows came, such as 10s")->group(when);
  command
      .add_option(
          "--report", report,
          "Write a page with plots to this file (HTML, self-contained); renewed with the fits of --every")
      ->type_name("FILE")
      ->group(when);
}

void FitCommand::add_memory_options(CLI::App& command) {
  constexpr const char* past = "The past";
  auto* fading =
      command.add_option("--half-life", half_life, "Forget: rows (50000) or time (10m, with --time)")
          ->group(past);
  command.add_option("--window", window, "Remember only the last so many rows")
      ->excludes(fading)
      ->group(past);
  command
      .add_option(
          "--split", split,
          "three: rows by turns into the three data sets of the paper's Algorithm 1, for --method paper;\n"
          "none (default): every row serves all of it")
      ->check(CLI::IsMember({"none", "three"}))
      ->excludes(fading)
      ->group(past);
  command
      .add_option("--time", time,
                  "Column with the row's time, for a half-life in time or --gap: ISO 8601, 01.05.2024 12:30, "
                  "05/01/2024 12:30 PM, or numbers in seconds")
      ->type_name("COLUMN")
      ->group(past);
  command
      .add_option("--sensor", sensor,
                  "Column that names the sensor of a row: modes and noise persist within a sensor")
      ->type_name("COLUMN")
      ->group(past);
  command
      .add_option("--gap", gap,
                  "A silence longer than this, such as 10s (with --time), begins a sensor's modes anew")
      ->group(past);
  command
      .add_flag("--unordered", unordered,
                "Rows have no order: what a row holds decides whether the sample has it, not its place")
      ->group(past);
  command.add_option("--load", load, "Go on from a saved state; -k, -y, -x default to the state's")
      ->type_name("FILE")
      ->group(past);
  command.add_option("--save", save, "Save the state to this file at the end")
      ->type_name("FILE")
      ->group(past);
  command.add_option("--sample", sample_rows, "Rows kept as a sample; default: 5000, more for many laws")
      ->transform(whole_number())
      ->group(past);
  command.add_option("--memory", memory, "MiB that all models together may take; default: 1024")
      ->transform(whole_number())
      ->group(past);
  command
      .add_option("--model-memory", model_memory,
                  "KiB that one model may take at rest: its sample is made smaller to fit, down to 250 rows")
      ->transform(whole_number())
      ->group(past);
}

Done FitCommand::check_words() const {
  if (!group.empty() && !sensor.empty())
    return refuse("--group and --sensor do not go together: each group is a stream of its own");
  if (unordered && !group.empty()) return refuse("--unordered is for one stream: leave out --group");
  if (!gap.empty() && time.empty()) return refuse("--gap needs --time COLUMN: the rows' own clock");
  if (memory < 1 || memory > (1ULL << 24)) return refuse("--memory takes 1 to 16777216 MiB");
  if (model_memory && sample_rows)
    return refuse("--model-memory chooses the sample's size: leave out --sample");
  if (sample_rows && (*sample_rows < 1 || *sample_rows > 10'000'000))
    return refuse("--sample takes 1 to 10000000 rows");
  if (threads == 1 || !group.empty()) return std::monostate{};
  if (every > 0)
    return refuse("--every asks for fits in the order of the rows: leave out --threads, or --every");
  if (!half_life.empty() || !window.empty() || split == "three")
    return refuse("--threads reads all parts of a file at once: it needs a memory of everything");
  return std::monostate{};
}

Outcome<double> FitCommand::interval_seconds() const {
  if (interval.empty()) return 0.0;
  const Outcome<Length> length = parse_length(interval, "--interval");
  if (!length) return length.refusal();
  if (!length.value().seconds) return refuse("--interval takes a time such as 10s");
  return length.value().value;
}

Outcome<Memory> FitCommand::memory_of_past(const Memory& base) const {
  Memory past = base;
  if (!half_life.empty()) {
    const Outcome<Length> length = parse_length(half_life, "--half-life");
    if (!length) return length.refusal();
    past.kind = length.value().seconds ? Memory::Kind::half_life_seconds : Memory::Kind::half_life_rows;
    past.length = length.value().value;
  }
  if (!window.empty()) {
    const Outcome<Length> length = parse_length(window, "--window");
    if (!length) return length.refusal();
    if (length.value().seconds) return refuse("--window takes a number of rows");
    past.kind = Memory::Kind::window_rows;
    past.length = length.value().value;
  }
  if (split == "three") {
    if (!window.empty()) return refuse("--split and --window do not go together");
    past.kind = Memory::Kind::three_parts;
  }
  if (past.kind == Memory::Kind::half_life_seconds && time.empty())
    return refuse("a half-life in time needs --time COLUMN: the rows' own clock, in seconds");
  if (threads > 1 && group.empty() && past.kind != Memory::Kind::everything)
    return refuse("--threads needs a state that remembers everything; this one forgets");
  return past;
}

Outcome<EstimatorSettings> FitCommand::settings(const EstimatorSettings& base) const {
  if (const Done done = check_words(); !done) return done.refusal();
  EstimatorSettings settings = base;
  Outcome<SolveSettings> solving = solve.settings(base.solve);
  if (!solving) return solving.refusal();
  settings.solve = std::move(solving).value();
  if (threads > 1 && (settings.solve.modes != Modes::independent || settings.solve.noise_shape.tails ||
                      settings.solve.noise_shape.memory))
    return refuse("rows in order are read by one thread: leave out --threads");
  const Outcome<Memory> past = memory_of_past(base.state.memory);
  if (!past) return past.refusal();
  settings.state.memory = past.value();
  if (!gap.empty()) {
    const Outcome<Length> length = parse_length(gap, "--gap");
    if (!length) return length.refusal();
    settings.chains.gap_seconds = length.value().value;
  }
  settings.every = every;
  settings.state.reservoir_rows = sample_rows.value_or(base.state.reservoir_rows);
  settings.state.seed = settings.solve.seed;
  settings.state.memory_budget = memory << 20;
  return settings;
}

}  // namespace mixstream
