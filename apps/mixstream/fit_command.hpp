// mixstream fit: rows from stdin or files, fits on stdout.
#pragma once

#include <CLI/CLI.hpp>

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
  std::string group;
  std::size_t most_groups = 1000;
  std::vector<std::string> files;
  std::uint64_t every = 0;
  std::string interval;
  std::string half_life;
  std::string window;
  std::string load;
  std::string save;
  std::string report;
  std::string missing = "skip";
  bool strict = false;
  std::size_t sample_rows = 5000;
  std::uint64_t memory = 1024;  // MiB

  void add_to(CLI::App& command);
  int run() const;
};

}  // namespace mixstream
