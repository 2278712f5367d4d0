#include "experiments/rivals.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "experiments/em_runs.hpp"
#include "experiments/measured.hpp"
#include "experiments/paper.hpp"
#include "experiments/statistics.hpp"
#include "experiments/summary.hpp"

namespace experiments {
namespace {

struct Rival {
  const char* name;
  const char* settings;
  const char* rows_held;
  std::size_t most_rows;  // beyond, it takes longer than a reader would wait
  int restarts;
};

constexpr Rival rivals[] = {
    {"mixstream", "`mixstream fit --noise per-component`, whole program, one pass", "5,000", 100000000, 1},
    {"EM", "ours, compiled; 10 random starts, each settled on 20,000 rows, then on 500,000, then on all",
     "all", 100000000, 10},
    {"stepwise EM", "one pass from the likeliest of 10 EM fits on the first 20,000 rows", "20,000", 100000000,
     10},
    {"flexmix", "its own stopping rule (relative gain 1e-6), minprior 0, at most 1000 iterations", "all",
     1000000, 5},
    {"flexmix tight", "the same, relative gain 1e-9", "all", 500000, 5},
    {"mixtools", "regmixEM, gain of 1e-9 a row, at most 1000 iterations", "all", 100000, 1},
};

/// The rows of one instance in a file of doubles (t, y), removed at the end.
class RowFile {
 public:
  RowFile(const Setting& setting, std::size_t rows, std::uint64_t seed)
      : path_(std::filesystem::temp_directory_path() / fmt::format("mixstream-rivals-{}.f64", getpid())),
        simulation_(
            {.map = FeatureMap::parse(setting.map).value(), .component_count = setting.k, .seed = seed}) {
    std::ofstream file(path_, std::ios::binary);
    for (std::size_t i = 0; i < rows; ++i) {
      const Row row = simulation_.next();
      const double values[2] = {simulation_.columns()[0], row.response};
      file.write(reinterpret_cast<const char*>(values), sizeof values);
    }
    if (!file.flush()) throw std::runtime_error("cannot write " + path_.string());
  }
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;
  ~RowFile() { std::filesystem::remove(path_); }

  std::string path() const { return path_.string(); }
  const Mixture& truth() const { return simulation_.truth(); }

 private:
  std::filesystem::path path_;
  Simulation simulation_;
};

std::vector<std::string> command_of(const Rival& rival, const std::string& file, std::size_t rows,
                                    std::uint64_t seed, int restarts) {
  const std::string name = rival.name;
  const std::string starts = std::to_string(restarts);
  if (name == "mixstream") {
    const auto tool =
        std::filesystem::path(own_path()).parent_path().parent_path() / "mixstream" / "mixstream";
    return {tool.string(),
            "fit",
            "-q",
            "-k",
            "2",
            "-x",
            "1,c1,c1^4,c1^7",
            "-y",
            "c2",
            "--format",
            "f64",
            "--width",
            "2",
            "--noise",
            "per-component",
            "--seed",
            std::to_string(seed),
            file};
  }
  if (name == "EM") return {own_path(), "rival", "em", file, "2", starts, std::to_string(seed)};
  if (name == "stepwise EM")
    return {own_path(), "rival", "stepwise", file, "2", starts, std::to_string(seed)};
  return {"Rscript",
          EXPERIMENTS_SCRIPTS "/rivals.R",
          name == "mixtools" ? "mixtools" : "flexmix",
          file,
          std::to_string(rows),
          "2",
          starts,
          std::to_string(seed),
          name == "flexmix" ? "0" : "1e-9"};
}

/// Laws that a fit line holds: ours in components, the others' in one list; empty where it failed.
std::vector<double> laws_of(const Json& line) {
  if (line.contains("laws")) return line["laws"];
  std::vector<double> laws;
  if (!line.contains("components")) return laws;
  for (const Json& component : line["components"]) {
    for (const Json& value : component["coefficients"]) laws.push_back(value);
  }
  return laws;
}

Json run_rival(const Rival& rival, const RowFile& file, std::size_t rows, std::uint64_t seed, int restarts) {
  setenv("OPENBLAS_NUM_THREADS", "1", 1);
  const Measured measured = run_measured(command_of(rival, file.path(), rows, seed, restarts));
  Json result{{"status", measured.status},
              {"program_seconds", measured.processor_seconds},
              {"peak_bytes", measured.peak_bytes},
              {"fits", Json::array()}};
  std::istringstream lines(measured.output);
  for (std::string text; std::getline(lines, text);) {
    const Json line = Json::parse(text, nullptr, false);
    if (line.is_discarded()) continue;
    const bool timed = line.contains("seconds") && line["seconds"].is_number();  // else: the whole program
    Json fit{{"seconds", timed ? line["seconds"].get<double>() : measured.processor_seconds},
             {"error", nullptr}};
    Mixture found = empty_mixture(2, 4);
    if (const std::vector<double> laws = laws_of(line); laws.size() == found.coefficients.size()) {
      found.coefficients = laws;
      fit["error"] = law_error(file.truth(), found);
    }
    if (line.contains("status")) fit["status"] = line["status"];
    if (line.contains("peak_before")) result["peak_before"] = line["peak_before"];
    result["fits"].push_back(std::move(fit));
  }
  return result;
}

double maximum_likelihood_error(const Setting& setting, const RowFile& file, std::size_t rows) {
  RowTable table{4, {}, {}, {}};
  table.reserve(rows);
  const FeatureMap map = FeatureMap::parse(setting.map).value();
  std::ifstream source(file.path(), std::ios::binary);
  std::vector<double> features(4);
  for (double row[2]; source.read(reinterpret_cast<char*>(row), sizeof row);) {
    map.evaluate({row, 1}, features);
    table.add({features, row[1]});
  }
  return law_error(file.truth(), EmRuns(table, NoiseModel::per_component).from_truth(file.truth()).mixture);
}

/// Fewer where one takes minutes.
int restarts_of(const Rival& rival, std::size_t rows, bool quick) {
  if (quick) return std::min(rival.restarts, rival.most_rows > 100000 ? 2 : 1);
  const bool compiled = rival.most_rows > 1000000;
  return compiled || rows < 500000 ? rival.restarts : rows < 1000000 ? 3 : 1;
}

/// One instance: every rival that can go so far.
Json run_rows(Context& context, std::size_t rows, std::uint64_t seed) {
  const Setting setting = rival_setting();
  const std::string name = fmt::format("rivals {} n={} seed={}", setting.map, rows, seed);
  std::optional<RowFile> file;
  const auto drawn = [&]() -> const RowFile& {
    if (!file) file.emplace(setting, rows, seed);
    return *file;
  };
  Json cell;
  for (const Rival& rival : rivals) {
    if (rows > rival.most_rows) continue;
    const int restarts = restarts_of(rival, rows, context.quick);
    cell[rival.name] = finished(context, fmt::format("{} {} x{}", name, rival.name, restarts),
                                [&] { return run_rival(rival, drawn(), rows, seed, restarts); });
  }
  cell["mle"] =
      finished(context, name + " MLE", [&] { return maximum_likelihood_error(setting, drawn(), rows); });
  return cell;
}

struct Tally {
  std::vector<double> ratios, seconds, program_seconds, peaks;
  int fits = 0, wrong = 0, failed = 0;
};

Tally tally_of(const std::vector<Json>& cells, const char* rival) {
  Tally tally;
  for (const Json& cell : cells) {
    if (!cell.contains(rival)) continue;
    const double mle = cell["mle"];
    for (const Json& fit : cell[rival]["fits"]) {
      ++tally.fits;
      tally.seconds.push_back(fit["seconds"]);
      if (fit["error"].is_null()) {
        ++tally.failed;
      } else if (is_wrong(fit["error"], mle)) {
        ++tally.wrong;
      } else {
        tally.ratios.push_back(fit["error"].get<double>() / mle);
      }
    }
    tally.peaks.push_back(cell[rival]["peak_bytes"]);
    tally.program_seconds.push_back(cell[rival]["program_seconds"]);
  }
  return tally;
}

Json summary_of(const Tally& tally) {
  Json summary{{"fits", tally.fits}, {"wrong", tally.wrong}, {"failed", tally.failed}};
  if (tally.fits == 0) return summary;
  if (!tally.ratios.empty()) summary["ratio"] = median(tally.ratios);
  summary["seconds"] = median(tally.seconds);
  summary["program_seconds"] = median(tally.program_seconds);
  summary["peak_megabytes"] = median(tally.peaks) / 1e6;
  return summary;
}

std::vector<std::string> line_of(std::size_t rows, const Rival& rival, const Json& summary) {
  return {fmt::format("{}", rows),
          rival.name,
          summary.contains("ratio") ? fmt::format("{:.2f}", summary["ratio"].get<double>()) : "-",
          fmt::format("{}/{}", summary["wrong"].get<int>() + summary["failed"].get<int>(),
                      summary["fits"].get<int>()),
          fmt::format("{:.3g}", summary["seconds"].get<double>()),
          fmt::format("{:.3g}", summary["program_seconds"].get<double>()),
          fmt::format("{:.0f}", summary["peak_megabytes"].get<double>()),
          rival.rows_held};
}

/// The goals against one restart of flexmix, told as they are found.
void compare(const Json& ours, const Json& theirs, std::size_t rows, Json& result) {
  const double times = theirs["seconds"].get<double>() / ours["program_seconds"].get<double>();
  const double memory = theirs["peak_megabytes"].get<double>() / ours["peak_megabytes"].get<double>();
  fmt::print(
      "Against one restart of flexmix at n = {}: {:.0f} times less processor time, {:.0f} times less "
      "memory.\n",
      rows, times, memory);
  result["against_flexmix"].push_back({{"rows", rows}, {"processor", times}, {"memory", memory}});
  if (rows != 500000) return;
  if (times < 50.0)
    result["broken"].push_back("rivals: not 50 times less processor time than one restart of flexmix");
  if (theirs.contains("ratio") && ours["ratio"].get<double>() > 1.05 * theirs["ratio"].get<double>())
    result["broken"].push_back("rivals: a larger error than flexmix");
  if (memory < 20.0) result["broken"].push_back("rivals: not 20 times less memory than flexmix");
}

}  // namespace

Json run_rivals(Context& context) {
  Json result{{"title", "Rivals"},
              {"rows", Json::array()},
              {"against_flexmix", Json::array()},
              {"broken", Json::array()}};
  std::vector<std::vector<std::string>> lines;
  for (const std::size_t rows : {10000, 100000, 500000, 1000000, 10000000}) {
    if (context.quick && rows > 10000) continue;
    if (!wanted(context, fmt::format("{} rows", rows))) continue;
    std::vector<Json> cells;
    std::size_t count = context.quick || rows > 1000000 ? 1 : 3;
    if (context.instances > 0) count = context.instances;
    for (std::size_t i = 0; i < count; ++i) cells.push_back(run_rows(context, rows, context.seed + i));
    Json group{{"rows", rows}, {"instances", count}};
    for (const Rival& rival : rivals) {
      const Json summary = summary_of(tally_of(cells, rival.name));
      if (summary["fits"] == 0) continue;
      group[rival.name] = summary;
      lines.push_back(line_of(rows, rival, summary));
    }
    result["rows"].push_back(std::move(group));
  }
  fmt::print("\nRivals at (1,4,2), the same rows, instances from seed {}:\n{}", context.seed,
             markdown({"rows", "rival", "error / MLE, right fits", "wrong or failed", "CPU s a fit",
                       "CPU s, whole program", "peak MB, whole program", "rows held"},
                      lines));
  for (const Rival& rival : rivals) fmt::print("- {}: {}\n", rival.name, rival.settings);
  for (const Json& group : result["rows"]) {
    if (group.contains("flexmix") && group.contains("mixstream"))
      compare(group["mixstream"], group["flexmix"], group["rows"], result);
  }
  return result;
}

}  // namespace experiments
