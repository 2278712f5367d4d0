// mixstream merge, inspect and refit: work on saved states, without the rows.
#pragma once

#include "fit_options.hpp"

namespace CLI {
class App;
}

namespace mixstream {

struct MergeCommand {
  std::vector<std::string> files;
  std::string output;
  bool independent = false;

  void add_to(CLI::App& command);
  int run() const;
};

struct InspectCommand {
  std::string file;
  bool moments = false;
  bool csv = false;
  OutputOptions output;

  void add_to(CLI::App& command);
  int run() const;
};

struct RefitCommand {
  std::string file;
  std::size_t threads = 1;  ///< of a file of groups
  SolveOptions solve;
  OutputOptions output;

  void add_to(CLI::App& command);
  int run() const;
};

}  // namespace mixstream
