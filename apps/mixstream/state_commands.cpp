#include "state_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "exit_codes.hpp"
#include "group_commands.hpp"
#include "group_file.hpp"
#include "mixstream/estimator/inspection.hpp"
#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/state_file.hpp"
#include "mixstream/report/counted.hpp"
#include "moments_output.hpp"
#include "output.hpp"
#include "words.hpp"

namespace mixstream {
namespace {

Refusal at(const std::string& path, const Refusal& refusal) {
  return {refusal.reason, "'" + path + "': " + refusal.text};
}

/// The estimator as it was saved, but for what the options change.
Outcome<Estimator> decode(const std::string& path, const Bytes& bytes, const SolveOptions& options = {}) {
  Outcome<SolveSettings> saved = Estimator::saved_solve_settings(bytes);
  if (!saved) return at(path, saved.refusal());
  Outcome<SolveSettings> solve = options.settings(saved.value());
  if (!solve) return solve.refusal();
  EstimatorSettings settings;
  settings.solve = std::move(solve).value();
  settings.state.memory_budget = ~std::uint64_t{0} >> 1;
  Outcome<Estimator> estimator = Estimator::decode(bytes, settings);
  if (!estimator) return at(path, estimator.refusal());
  return estimator;
}

Outcome<Estimator> load(const std::string& path, const SolveOptions& options = {}) {
  if (holds_groups(path))
    return Refusal{Reason::bad_settings, "'" + path + "' holds a model for each group, the others one"};
  const Outcome<Bytes> bytes = read_file(path);
  if (!bytes) return bytes.refusal();
  return decode(path, bytes.value(), options);
}

/// Wrong words, or a file that cannot be used.
int code_of(const Refusal& refusal) {
  return refusal.reason == Reason::bad_settings ? exit_usage : exit_data;
}

std::string inspection_text(const nlohmann::ordered_json& json) {
  std::string features;
  for (const auto& name : json["features"])
    features += (features.empty() ? "" : " + ") + name.get<std::string>();
  std::string out = fmt::format("{} ~ {}\n", json["response"].get<std::string>(), features);
  out += fmt::format("rows            {} (effective {:.0f})\n", json["rows"].get<std::uint64_t>(),
                     json["effective_rows"].get<double>());
  for (const auto& [reason, count] : json["refused"].items())
    out += fmt::format("refused         {} {}\n", count.get<std::uint64_t>(), reason);
  out += fmt::format("memory          {}\n", json["memory"].get<std::string>());
  const auto bins = json["rows_by_magnitude"].get<std::vector<std::uint64_t>>();
  out += fmt::format("by magnitude    {} up to 4, {} up to 16, {} up to 256, {} beyond (in pilot units)\n",
                     bins[0], bins[1], bins[2], bins[3]);
  out += fmt::format("sample          {} rows\nsize            {} bytes\n",
                     json["sample_rows"].get<std::uint64_t>(), json["bytes"].get<std::uint64_t>());
  for (const auto& power : json["identifiability"]) {
    const bool regular = power["rank"] == power["unknowns"];
    out += fmt::format("Sigma_{}         rank {} of {}", power["degree"].get<int>(), power["rank"].get<int>(),
                       power["unknowns"].get<int>());
    if (regular && !power["condition"].is_null())
      out += fmt::format(", condition {:.3g}", power["condition"].get<double>());
    if (!regular) out += ", dependent: " + power["dependent"].get<std::string>();
    out += "\n";
  }
  out += json["spectral"].get<bool>()
             ? "The paper's spectral estimator is identified.\n"
             : "The paper's spectral estimator is not identified; refinement may still be.\n";
  return out;
}

/// The first path that names the same file as one before it; none: empty.
std::string named_twice(const std::vector<std::string>& files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code absent;  // told when it is read
      if (std::filesystem::equivalent(files[i], files[j], absent)) return files[i];
    }
  }
  return {};
}

}  // namespace

void MergeCommand::add_to(CLI::App& command) {
  command.add_option("files", files, "States to merge, in this order")->required();
  command.add_option("-o,--output", output, "File for the merged state")->type_name("FILE")->required();
  command.add_flag("--independent", independent,
                   "The states are separate streams: each one's present counts as now");
  command.footer(
      "Adds the rows of any number of states made with the same -y, -x and memory. A polish adds up only "
      "where "
      "states\n"
      "share a pilot; else the merged state is solved from its moments, and polished again as rows come.\n\n"
      "Examples:\n"
      "  mixstream merge monday.mix tuesday.mix -o both.mix && mixstream refit both.mix\n"
      "  parallel mixstream fit -q -k 2 -y y {} --save {.}.mix ::: part*.csv; mixstream merge part*.mix -o "
      "all.mix");
}

int MergeCommand::run() const {
  if (const std::string twice = named_twice(files); !twice.empty())
    return fail_with(exit_usage, "'" + twice + "' is given twice: its rows would count double");
  if (const Done writable = check_writable(output); !writable)
    return fail_with(exit_data, writable.refusal().text);
  const MergeAs as = independent ? MergeAs::independent_streams : MergeAs::one_stream;
  if (holds_groups(files[0])) return merge_group_files(files, output, as);
  Outcome<Estimator> merged = load(files[0]);
  if (!merged) return fail_with(exit_data, merged.refusal().text);
  for (std::size_t i = 1; i < files.size(); ++i) {
    const Outcome<Estimator> more = load(files[i]);
    if (!more) return fail_with(exit_data, more.refusal().text);
    if (const Done done = merged.value().merge(more.value(), as); !done) {
      return fail_with(exit_data, at(files[i], done.refusal()).text);
    }
  }
  if (const Done done = write_file(output, merged.value().encode()); !done) {
    return fail_with(exit_data, done.refusal().text);
  }
  return exit_fitted;
}

void InspectCommand::add_to(CLI::App& command) {
  command.add_option("file", file, "A saved state")->required();
  auto* tables = command.add_flag("--moments", moments,
                                  "The moments themselves, in raw coordinates: Sigma_1 to Sigma_3, cross "
                                  "moments and means, as JSON");
  command.add_flag("--csv", csv, "--moments as CSV, one number a line")->needs(tables);
  output.add_to(command);
  command.footer(
      "Shows rows, shape, memory, identifiability and conditioning of a saved state.\n\n"
      "Examples:\n"
      "  mixstream inspect demand.mix\n"
      "  mixstream inspect demand.mix --json | jq .rows\n"
      "  mixstream inspect demand.mix --moments | jq '.moments[0].sigma'\n"
      "  mixstream inspect demand.mix --moments --csv > moments.csv");
}

int InspectCommand::run() const {
  if (holds_groups(file)) return inspect_group_file(file, output);
  FitOutput out(output.format(), false);
  const Outcome<Bytes> bytes = read_file(file);
  if (!bytes) return fail_with(exit_data, bytes.refusal().text);
  const Outcome<Estimator> estimator = decode(file, bytes.value());
  if (!estimator) return fail_with(exit_data, estimator.refusal().text);
  if (moments) {
    const bool written = out.write(csv ? moments_csv(estimator.value()) : moments_json(estimator.value()));
    return written || out.closed() ? exit_fitted : exit_data;
  }
  const nlohmann::ordered_json found =
      nlohmann::ordered_json::parse(inspection_json(estimator.value(), bytes.value().size()));
  const bool written = out.write(out.json() ? found.dump() + "\n" : inspection_text(found));
  return written || out.closed() ? exit_fitted : exit_data;
}

void RefitCommand::add_to(CLI::App& command) {
  command.add_option("file", file, "A saved state")->required();
  command.add_option("--threads", threads, "Of a file of groups: solve so many at once")
      ->check(CLI::Range(1, 256));
  solve.add_to(command);
  output.add_to(command);
  command.footer(
      "Solves again from a saved state, without the rows: with the state's own settings, or those given.\n\n"
      "Examples:\n"
      "  mixstream refit demand.mix\n"
      "  mixstream refit demand.mix -k 3 --noise per-component\n"
      "  for k in 1 2 3 4; do mixstream refit demand.mix -k $k --json; done | jq '[.k, .bic, .status]'");
}

int RefitCommand::run() const {
  if (holds_groups(file)) return refit_group_file(file, solve, output, threads);
  const Outcome<Estimator> estimator = load(file, solve);
  if (!estimator) return fail_with(code_of(estimator.refusal()), estimator.refusal().text);
  Report report = estimator.value().fit();
  report.final = true;
  FitOutput out(output.format(), colour_wanted(output.colour), output.explain);
  if (!out.write(report)) return out.closed() ? exit_fitted : exit_data;
  if (report.components.empty() && !output.quiet) complain(report.words);
  return report.components.empty() ? exit_not_identifiable : exit_fitted;
}

}  // namespace mixstream
