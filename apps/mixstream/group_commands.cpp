#include "group_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "exit_codes.hpp"
#include "group_file.hpp"
#include "group_summary.hpp"
#include "make_in_turn.hpp"
#include "mixstream/report/counted.hpp"
#include "output.hpp"

namespace mixstream {
namespace {

/// A file of groups, with the settings by which its models are read.
struct OpenGroups {
  std::string path;
  GroupReader reader;
  Estimator empty;  ///< without rows

  Outcome<GroupModel> read(const GroupEntry& entry) {
    Outcome<GroupModel> model = reader.read(entry, empty.settings());
    if (model) return model;
    return Refusal{model.refusal().reason,
                   fmt::format("'{}': group \"{}\": {}", path, entry.group, model.refusal().text)};
  }

  /// The group's estimator, whatever was kept of it.
  Estimator estimator_of(GroupModel model) const {
    if (auto* estimator = std::get_if<Estimator>(&model)) return std::move(*estimator);
    Estimator estimator = empty;
    std::get<FewRows>(model).pour_into(estimator);
    return estimator;
  }
};

Outcome<OpenGroups> open_groups(const std::string& path, const SolveOptions& options = {}) {
  const auto at = [&](const Refusal& refusal) {
    return Refusal{refusal.reason, "'" + path + "': " + refusal.text};
  };
  Outcome<GroupReader> reader = GroupReader::open(path);
  if (!reader) return at(reader.refusal());
  const Outcome<SolveSettings> saved = Estimator::saved_solve_settings(reader.value().empty());
  if (!saved) return at(saved.refusal());
  Outcome<SolveSettings> solve = options.settings(saved.value());
  if (!solve) return solve.refusal();
  EstimatorSettings settings;
  settings.solve = std::move(solve).value();
  settings.state.memory_budget = ~std::uint64_t{0} >> 1;
  Outcome<Estimator> empty = Estimator::decode(reader.value().empty(), settings);
  if (!empty) return at(empty.refusal());
  return OpenGroups{path, std::move(reader).value(), std::move(empty).value()};
}

Outcome<std::vector<OpenGroups>> open_all(const std::vector<std::string>& paths) {
  std::vector<OpenGroups> all;
  for (const std::string& path : paths) {
    if (!holds_groups(path))
      return Refusal{Reason::cannot_merge, "'" + path + "' holds one model, the others one for each group"};
    Outcome<OpenGroups> one = open_groups(path);
    if (!one) return one.refusal();
    all.push_back(std::move(one).value());
    const std::string& column = all.back().reader.column();
    if (all.front().reader.column() != column)
      return Refusal{Reason::cannot_merge,
                     "'" + path + "': its groups are those of another column, " + column};
  }
  return all;
}

/// Of the same features, response and memory; the stream goes on behind the rows of all.
Outcome<Estimator> merged_empty(const std::vector<OpenGroups>& all, MergeAs as) {
  Estimator merged = all.front().empty;
  std::uint64_t next = merged.state().next_position();
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (const Done done = merged.merge(all[i].empty, as); !done)
      return Refusal{done.refusal().reason, "'" + all[i].path + "': " + done.refusal().text};
    next = std::max(next, all[i].empty.state().next_position());
  }
  merged.go_on_at({next});
  return merged;
}

/// Rows stay rows while they are few.
Outcome<GroupModel> merged(const OpenGroups& first, GroupModel one, GroupModel other, MergeAs as) {
  auto* rows = std::get_if<FewRows>(&one);
  auto* more = std::get_if<FewRows>(&other);
  if (rows != nullptr && more != nullptr && rows->append(*more)) return one;
  Estimator sum = first.estimator_of(std::move(one));
  if (more != nullptr) {
    more->pour_into(sum);
    return GroupModel(std::move(sum));
  }
  if (const Done done = sum.merge(std::get<Estimator>(other), as); !done) return done.refusal();
  return GroupModel(std::move(sum));
}

/// Where a group's models stand: in which of the files.
using Places = std::map<std::string, std::vector<std::pair<std::size_t, const GroupEntry*>>>;

Places places_in(const std::vector<OpenGroups>& all) {
  Places places;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const GroupEntry& entry : all[i].reader.entries()) places[entry.group].emplace_back(i, &entry);
  }
  return places;
}

Done write_merged(std::vector<OpenGroups>& all, const std::string& output, MergeAs as) {
  const Outcome<Estimator> empty = merged_empty(all, as);
  if (!empty) return empty.refusal();
  Outcome<GroupWriter> writer = GroupWriter::create(output, all.front().reader.column(), empty.value());
  if (!writer) return writer.refusal();
  for (const auto& [group, places] : places_in(all)) {
    std::optional<GroupModel> sum;
    for (const auto& [file, entry] : places) {
      Outcome<GroupModel> model = all[file].read(*entry);
      if (!model) return model.refusal();
      if (sum) model = merged(all.front(), std::move(*sum), std::move(model).value(), as);
      if (!model)
        return Refusal{model.refusal().reason,
                       fmt::format("'{}': group \"{}\": {}", all[file].path, group, model.refusal().text)};
      sum = std::move(model).value();
    }
    const Done added = std::visit([&](const auto& model) { return writer.value().add(group, model); }, *sum);
    if (!added) return added.refusal();
  }
  return writer.value().finish();
}

/// Wrong words, or a file that cannot be used.
int code_of(const Refusal& refusal) {
  return refusal.reason == Reason::bad_settings ? exit_usage : exit_data;
}

}  // namespace

int merge_group_files(const std::vector<std::string>& files, const std::string& output, MergeAs as) {
  Outcome<std::vector<OpenGroups>> all = open_all(files);
  if (!all) return fail_with(exit_data, all.refusal().text);
  const Done written = write_merged(all.value(), output, as);
  return written ? exit_fitted : fail_with(exit_data, written.refusal().text);
}

int inspect_group_file(const std::string& file, const OutputOptions& output) {
  const Outcome<GroupReader> groups = GroupReader::open(file);
  if (!groups) return fail_with(exit_data, "'" + file + "': " + groups.refusal().text);
  const std::vector<GroupEntry>& entries = groups.value().entries();
  FitOutput out(output.format(), false);
  nlohmann::ordered_json json{{"schema", 1}, {"group_column", groups.value().column()}};
  json["groups"] = nlohmann::ordered_json::array();
  std::string text = fmt::format("{} of {}\n", counted(entries.size(), "group"), groups.value().column());
  for (const GroupEntry& entry : entries) {
    json["groups"].push_back({{"group", entry.group}, {"rows", entry.rows}, {"bytes", entry.size}});
    text += fmt::format("  {:<20} {}\n", entry.group, counted(entry.rows, "row"));
  }
  return out.write(out.json() ? json.dump() + "\n" : text) || out.closed() ? exit_fitted : exit_data;
}

int refit_group_file(const std::string& file, const SolveOptions& solve, const OutputOptions& output,
                     std::size_t threads) {
  Outcome<OpenGroups> groups = open_groups(file, solve);
  if (!groups) return fail_with(code_of(groups.refusal()), groups.refusal().text);
  FitOutput out(output.format(), colour_wanted(output.colour), output.explain);
  const std::vector<GroupEntry>& entries = groups.value().reader.entries();
  std::vector<Report> laws;
  int code = exit_fitted;
  std::mutex reading;
  make_in_turn(
      threads, entries.size(),
      [&](std::size_t i) -> Outcome<Report> {
        std::unique_lock lock(reading);
        Outcome<GroupModel> model = groups.value().read(entries[i]);
        lock.unlock();
        if (!model) return model.refusal();
        Report report = groups.value().estimator_of(std::move(model).value()).fit();
        report.final = true;
        report.group = entries[i].group;
        return report;
      },
      [&](Outcome<Report> report) {
        if (!report) {
          code = fail_with(exit_data, report.refusal().text);
        } else {
          laws.push_back(laws_of(report.value()));
          if (out.write(report.value())) return true;
          code = out.closed() ? exit_fitted : exit_data;
        }
        return false;
      });
  if (laws.size() < entries.size() || code != exit_fitted) return code;
  if (!output.quiet) {
    for (const std::string& line : summary_of_groups(laws)) complain(line);
  }
  const bool fitted =
      std::ranges::none_of(laws, [](const Report& report) { return report.components.empty(); });
  return fitted ? exit_fitted : exit_not_identifiable;
}

}  // namespace mixstream
