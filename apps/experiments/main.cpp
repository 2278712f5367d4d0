// experiments: every experiment of the paper's evaluation, rivals on the same rows, and real data. Only
// wires.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>
#include <fstream>

#include "experiments/cost.hpp"
#include "experiments/curves.hpp"
#include "experiments/measured.hpp"
#include "experiments/page.hpp"
#include "experiments/real.hpp"
#include "experiments/regimes.hpp"
#include "experiments/rivals.hpp"
#include "experiments/tables.hpp"
#include "experiments/variants.hpp"

using namespace experiments;

namespace {

struct Named {
  const char* name;
  const char* what;
  Json (*run)(Context&);
};

const Named all_experiments[] = {
    {"table1", "the paper's Table 1, and the rows its source holds commented out", run_first_table},
    {"table2", "the paper's Table 2: misspecified data", run_second_table},
    {"variants", "the paper's Spectral with one choice changed at a time", run_variants},
    {"histogram", "errors at b = 1, d = 4, k = 3: 17 instances, ten attempts each", run_histogram},
    {"curves", "fitted curves beside the data, and every optimum of EM", run_curves},
    {"learning-curve", "errors from 1e3 to 1e7 rows, well specified and not", run_learning_curve},
    {"noise", "noise variance from 0.01 to 0.4", run_noise},
    {"rivals", "flexmix, mixtools, EM and stepwise EM on the same rows", run_rivals},
    {"real", "real data from CRAN packages, what its laws mean and what the verdict says", run_real},
    {"regimes", "public sets in order or with known regimes: what the rows choose, and the verdict",
     run_regimes},
    {"cost", "what it costs against d, k and n, with exponents", run_cost},
};

struct Options {
  std::string experiment;
  bool quick = false;
  std::string json_file;
  std::string page_file;
  std::string folder;
  std::uint64_t seed = 130000;
  std::size_t instances = 0;
  std::string only;
  std::string columns = "all";
  std::string seed_from;
  bool stored = false;
};

void add_options(CLI::App& app, Options& options) {
  std::string known;
  for (const Named& experiment : all_experiments)
    known += fmt::format("\n  {:<16}{}", experiment.name, experiment.what);
  app.add_option("experiment", options.experiment, "One of these, or all:" + known)->required();
  app.add_flag("--quick", options.quick, "Small sizes: a smoke run of some minutes");
  app.add_option("--json", options.json_file, "Write the results here");
  app.add_option("--page", options.page_file, "Write a page with plots here");
  app.add_option("--resume", options.folder, "Folder of finished cells: read, and added to");
  app.add_flag("--stored", options.stored,
               "Tables and variants: run nothing, print what --resume holds of these seeds");
  app.add_option("--seed", options.seed, "Of the first instance; the others follow")->capture_default_str();
  app.add_option(
      "--seed-from", options.seed_from,
      "A text to take the first seed from instead, such as the hash of the commit under test: seeds "
      "that nobody chose");
  app.add_option("--columns", options.columns, "all, or paper: the paper's own columns, without our passes")
      ->check(CLI::IsMember({"all", "paper"}))
      ->capture_default_str();
  app.add_option("--instances", options.instances, "Instances a setting; 0: as the paper")
      ->capture_default_str();
  app.add_option("--only", options.only,
                 "Rows whose label holds this, such as \"(2,6,5)\" of a table, \"(1,5,3) 100000 rows\" of "
                 "learning curves, \"500000 rows\" of rivals");
}

Json run(const Options& options) {
  Store store(options.folder);
  Context context{store,
                  options.quick,
                  options.seed_from.empty() ? options.seed : seed_of(options.seed_from),
                  options.instances,
                  options.columns == "paper",
                  options.only,
                  options.stored};
  Json results;
  for (const Named& experiment : all_experiments) {
    if (options.experiment == "all" || options.experiment == experiment.name)
      results[experiment.name] = experiment.run(context);
  }
  return results;
}

void write(const Options& options, const Json& results) {
  const auto save = [](const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) throw std::runtime_error("cannot write " + path);
  };
  if (!options.json_file.empty()) save(options.json_file, results.dump(1) + "\n");
  if (options.page_file.empty()) return;
  const mixstream::Outcome<std::string> page = page_of(results);
  if (!page) throw std::runtime_error(page.refusal().text);
  save(options.page_file, page.value());
}

/// Claims that do not hold, told on stderr; their number.
std::size_t tell_broken(const Json& results) {
  std::size_t count = 0;
  for (const Json& result : results) {
    for (const Json& claim : result["broken"]) {
      fmt::print(stderr, "does not hold: {}\n", claim.get<std::string>());
      ++count;
    }
  }
  return count;
}

}  // namespace

/// Exit 0: all claims hold; 1: one does not, or an error; 2: usage.
int main(int count, char** words) {
  if (count > 1 && std::string(words[1]) == "measured") return be_measured(count, words);
  CLI::App app("Every experiment of the paper's evaluation, rivals on the same rows, and real data.");
  Options options;
  add_options(app, options);
  try {
    if (count > 1 && std::string(words[1]) == "rival") return be_rival(count, words);
    app.parse(count, words);
    const Json results = run(options);
    if (results.is_null()) {
      fmt::print(stderr, "experiments: there is no experiment '{}'\n", options.experiment);
      return 2;
    }
    write(options, results);
    return tell_broken(results) == 0 ? 0 : 1;
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "experiments: {}\n", error.what());
    return 1;
  }
}
