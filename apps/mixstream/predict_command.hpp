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
  std::string sensor;
  std::string time;
  std::string gap;
  bool smooth = false;
  unsigned ahead = 0;
  double level = 0.95;
  std::vector<std::string> files;

  void add_to(CLI::App& command);
  Done check_words() const;
  Outcome<double> gap_seconds() const;  ///< 0: none
  int run() const;
};

}  // namespace mixstream
