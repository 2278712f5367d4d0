// mixstream merge, inspect and refit: work on saved states, without the rows.
#pragma once

#include "fit_options.hpp"
#include "group_file.hpp"

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

 private:
  int merge_groups(GroupFile all, MergeAs as) const;
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
  SolveOptions solve;
  OutputOptions output;

  void add_to(CLI::App& command);
  int run() const;

 private:
  int refit_groups(const GroupFile& groups) const;
};

}  // namespace mixstream
