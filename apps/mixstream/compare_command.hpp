// mixstream compare: a fit beside the truth it was simulated from, or beside another fit.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace mixstream {

struct CompareCommand {
  std::string model;
  std::string truth;

  void add_to(CLI::App& command);
  int run() const;
};

}  // namespace mixstream
