// mixstream predict: rows in, the same rows with component, probabilities and expected y out.
#pragma once

#include "fit_options.hpp"

namespace CLI {
class App;
}

namespace mixstream {

struct PredictCommand {
  std::string model;
  InputOptions input;
  std::string response;
  bool no_response = false;
  std::string group;
  double level = 0.95;
  std::vector<std::string> files;

  void add_to(CLI::App& command);
  int run() const;
};

}  // namespace mixstream
