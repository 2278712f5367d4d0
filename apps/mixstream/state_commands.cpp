#include "state_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "exit_codes.hpp"
#include "group_summary.hpp"
#include "mixstream/moments/state_file.hpp"
#include "mixstream/regression/identifiability.hpp"
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
  const Outcome<Bytes> bytes = read_file(path);
  if (!bytes) return bytes.refusal();
  if (holds_groups(bytes.value()))
    return Refusal{Reason::bad_settings, "'" + path + "' holds a model for each group, the others one"};
  return decode(path, bytes.value(), options);
}

/// The file of groups at a path; nothing: it holds one state.
Outcome<std::optional<GroupFile>> load_groups(const std::string& path) {
  const Outcome<Bytes> bytes = read_file(path);
  if (!bytes) return bytes.refusal();
  if (!holds_groups(bytes.value())) return std::optional<GroupFile>{};
  Outcome<GroupFile> groups = GroupFile::decode(bytes.value());
  if (!groups) return at(path, groups.refusal());
  return std::optional(std::move(groups).value());
}

/// Adds the groups of one file to another's, each to its own.
Verdict add_groups(GroupFile& all, const GroupFile& more, const std::string& path, MergeAs as) {
  if (all.column != more.column)
    return Refusal{Reason::cannot_merge,
                   "'" + path + "': its groups are those of another column, " + more.column};
  for (const auto& [group, bytes] : more.states) {
    const auto found = all.states.find(group);
    if (found == all.states.end()) {
      all.states.emplace(group, bytes);
      continue;
    }
    Outcome<Estimator> one = decode(path, found->second);
    if (!one) return one.refusal();
    const Outcome<Estimator> other = decode(path, bytes);
    if (!other) return other.refusal();
    if (const Verdict merged = one.value().merge(other.value(), as); !merged)
      return at(path + ": " + group, merged.refusal());
    found->second = one.value().encode();
  }
  return std::monostate{};
}

nlohmann::ordered_json group_list(const GroupFile& groups, const std::string& path) {
  nlohmann::ordered_json json{{"schema", 1}, {"group_column", groups.column}};
  json["groups"] = nlohmann::ordered_json::array();
  for (const auto& [group, bytes] : groups.states) {
    const Outcome<Estimator> one = decode(path, bytes);
    json["groups"].push_back(
        {{"group", group}, {"rows", one ? one.value().state().row_count() : 0}, {"bytes", bytes.size()}});
  }
  return json;
}

std::string group_list_text(const nlohmann::ordered_json& json) {
  std::string out = fmt::format("{} of {}\n", counted(json["groups"].size(), "group"),
                                json["group_column"].get<std::string>());
  for (const auto& one : json["groups"])
    out += fmt::format("  {:<20} {}\n", one["group"].get<std::string>(),
                       counted(one["rows"].get<std::uint64_t>(), "row"));
  return out;
}

/// Wrong words, or a file that cannot be used.
int code_of(const Refusal& refusal) {
  return refusal.reason == Reason::bad_settings ? exit_usage : exit_data;
}

std::string memory_words(const Memory& memory) {
  switch (memory.kind) {
    case Memory::Kind::everything:
      return "everything";
    case Memory::Kind::half_life_rows:
      return fmt::format("half-life of {:g} rows", memory.length);
    case Memory::Kind::half_life_seconds:
      return fmt::format("half-life of {:g} seconds", memory.length);
    case Memory::Kind::window_rows:
      return fmt::format("window of {:g} rows in {} panes", memory.length, memory.panes);
    case Memory::Kind::three_parts:
      return "everything, in three data sets";
  }
  return "unknown";
}

nlohmann::ordered_json inspection(const Estimator& estimator, std::size_t bytes) {
  const MomentState& state = estimator.state();
  const std::vector<std::string>& names = estimator.settings().solve.feature_names;
  const Identifiability found = diagnose(state.moments(), nullptr, names);
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["rows"] = state.row_count();
  json["refused"] = nlohmann::ordered_json::object();
  for (const auto& [reason, count] : estimator.refused()) json["refused"][reason] = count;
  json["effective_rows"] = state.moments().effective_rows;
  json["features"] = names;
  json["response"] = state.settings().response;
  json["k"] = estimator.settings().solve.component_count;
  json["memory"] = memory_words(state.settings().memory);
  json["rows_by_magnitude"] = state.bin_rows();
  json["sample_rows"] = state.sample().rows.size();
  json["bytes"] = bytes;
  json["spectral"] = found.spectral;
  json["identifiability"] = nlohmann::ordered_json::array();
  for (const PowerDiagnosis& power : found.powers) {
    nlohmann::ordered_json one{{"degree", power.degree}, {"unknowns", power.unknowns}, {"rank", power.rank}};
    one["smallest_eigenvalue"] =
        power.smallest_eigenvalue ? nlohmann::ordered_json(*power.smallest_eigenvalue) : nullptr;
    one["condition"] = power.condition ? nlohmann::ordered_json(*power.condition) : nullptr;
    one["dependent"] = describe(power.dependences);
    json["identifiability"].push_back(one);
  }
  return json;
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
  if (const Verdict writable = check_writable(output); !writable)
    return fail_with(exit_data, writable.refusal().text);
  const MergeAs as = independent ? MergeAs::independent_streams : MergeAs::one_stream;
  Outcome<std::optional<GroupFile>> groups = load_groups(files[0]);
  if (!groups) return fail_with(exit_data, groups.refusal().text);
  if (groups.value()) return merge_groups(std::move(*groups.value()), as);
  Outcome<Estimator> merged = load(files[0]);
  if (!merged) return fail_with(exit_data, merged.refusal().text);
  for (std::size_t i = 1; i < files.size(); ++i) {
    const Outcome<Estimator> more = load(files[i]);
    if (!more) return fail_with(exit_data, more.refusal().text);
    if (const Verdict verdict = merged.value().merge(more.value(), as); !verdict) {
      return fail_with(exit_data, at(files[i], verdict.refusal()).text);
    }
  }
  if (const Verdict verdict = write_file(output, merged.value().encode()); !verdict) {
    return fail_with(exit_data, verdict.refusal().text);
  }
  return exit_fitted;
}

int MergeCommand::merge_groups(GroupFile all, MergeAs as) const {
  for (std::size_t i = 1; i < files.size(); ++i) {
    const Outcome<std::optional<GroupFile>> more = load_groups(files[i]);
    if (!more) return fail_with(exit_data, more.refusal().text);
    if (!more.value())
      return fail_with(exit_data, "'" + files[i] + "' holds one model, the others one for each group");
    if (const Verdict added = add_groups(all, *more.value(), files[i], as); !added)
      return fail_with(exit_data, added.refusal().text);
  }
  const Verdict written = write_file(output, all.encode());
  return written ? exit_fitted : fail_with(exit_data, written.refusal().text);
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
  const Outcome<Bytes> bytes = read_file(file);
  if (!bytes) return fail_with(exit_data, bytes.refusal().text);
  FitOutput out(output.format(), false);
  if (holds_groups(bytes.value())) {
    const Outcome<GroupFile> groups = GroupFile::decode(bytes.value());
    if (!groups) return fail_with(exit_data, at(file, groups.refusal()).text);
    const nlohmann::ordered_json list = group_list(groups.value(), file);
    return out.write(out.json() ? list.dump() + "\n" : group_list_text(list)) || out.closed() ? exit_fitted
                                                                                              : exit_data;
  }
  const Outcome<Estimator> estimator = load(file);
  if (!estimator) return fail_with(exit_data, estimator.refusal().text);
  if (moments) {
    const bool written = out.write(csv ? moments_csv(estimator.value()) : moments_json(estimator.value()));
    return written || out.closed() ? exit_fitted : exit_data;
  }
  const nlohmann::ordered_json found = inspection(estimator.value(), bytes.value().size());
  const bool written = out.write(out.json() ? found.dump() + "\n" : inspection_text(found));
  return written || out.closed() ? exit_fitted : exit_data;
}

void RefitCommand::add_to(CLI::App& command) {
  command.add_option("file", file, "A saved state")->required();
  solve.add_to(command);
  output.add_to(command);
  command.footer(
      "Solves again from a saved state, without the rows: with the state's own settings, or those given.\n\n"
      "Examples:\n"
      "  mixstream refit demand.mix\n"
      "  mixstream refit demand.mix -k 3 --noise per-component\n"
      "  for k in 1 2 3 4; do mixstream refit demand.mix -k $k --json; done | jq '[.k, .bic, .status]'");
}

int RefitCommand::refit_groups(const GroupFile& groups) const {
  FitOutput out(output.format(), colour_wanted(output.colour), output.explain);
  std::vector<Report> reports;
  for (const auto& [group, bytes] : groups.states) {
    const Outcome<Estimator> estimator = decode(file, bytes, solve);
    if (!estimator) return fail_with(code_of(estimator.refusal()), estimator.refusal().text);
    reports.push_back(estimator.value().fit());
    reports.back().final = true;
    reports.back().group = group;
    if (!out.write(reports.back())) return out.closed() ? exit_fitted : exit_data;
  }
  if (!output.quiet) {
    for (const std::string& line : summary_of_groups(reports)) complain(line);
  }
  const bool fitted =
      std::ranges::none_of(reports, [](const Report& report) { return report.components.empty(); });
  return fitted ? exit_fitted : exit_not_identifiable;
}

int RefitCommand::run() const {
  const Outcome<std::optional<GroupFile>> groups = load_groups(file);
  if (!groups) return fail_with(exit_data, groups.refusal().text);
  if (groups.value()) return refit_groups(*groups.value());
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
