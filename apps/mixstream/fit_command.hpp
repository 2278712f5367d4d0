// mixstream fit: rows from stdin or files, fits on stdout.
#pragma once

#include "fit_options.hpp"
#include "fit_session.hpp"

namespace mixstream {

struct FitCommand {
  SolveOptions solve;
  OutputOptions output;
  InputOptions input;
  std::string response;
  std::string features;
  std::string weight;
  std::string time;
  std::string sensor;
  std::string gap;
  std::string group;
  std::size_t most_groups = 10000;
  std::vector<std::string> files;
  std::uint64_t every = 0;
  std::string interval;
  std::string half_life;
  std::string window;
  std::string split;
  std::string load;
  std::string save;
  std::string report;
  std::string missing = "skip";
  bool strict = false;
  bool unordered = false;
  std::optional<std::size_t> sample_rows;
  std::uint64_t memory = 1024;                // MiB
  std::optional<std::uint64_t> model_memory;  // KiB
  std::size_t threads = 1;

  void add_to(CLI::App& command);
  int run() const;

  /// What the words mean; refused with a sentence when they contradict each other. `base`: the settings of a
  /// loaded state, or the defaults.
  Outcome<EstimatorSettings> settings(const EstimatorSettings& base) const;
  Outcome<double> interval_seconds() const;  ///< 0: none

 private:
  void add_output_options(CLI::App& command);
  void add_memory_options(CLI::App& command);
  Outcome<Memory> memory_of_past(const Memory& base) const;
  Done check_words() const;
};

}  // namespace mixstream
