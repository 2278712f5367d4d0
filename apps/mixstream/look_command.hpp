// mixstream look: what a file holds, and the call that fits it.
#pragma once

#include "fit_options.hpp"

namespace mixstream {

struct LookCommand {
  InputOptions input;
  bool json = false;
  std::vector<std::string> files;

  void add_to(CLI::App& command);
  int run() const;
};

}  // namespace mixstream
