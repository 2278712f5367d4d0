// mixstream simulate: rows with a known truth on stdout.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mixstream/outcome.hpp"
#include "mixstream/rows/simulation.hpp"

namespace CLI {
class App;
}

namespace mixstream {

struct SimulateCommand {
  std::size_t components = 2;
  std::uint64_t rows = 10000;
  std::string features = "1,t";
  std::vector<double> noise{0.1};
  std::vector<double> weights;
  std::vector<double> coefficients;
  std::uint64_t seed = 1;
  std::string truth;
  std::string format = "csv";
  bool normal = false;
  bool cut = false;
  std::uint64_t change_at = 0;

  void add_to(CLI::App& command);
  int run() const;

 private:
  Outcome<SimulationSettings> settings() const;
};

}  // namespace mixstream
