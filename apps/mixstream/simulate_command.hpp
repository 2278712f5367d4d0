// mixstream simulate: rows with a known truth on stdout.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstream/core/outcome.hpp"
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
  std::optional<double> stay;
  double wander = 0.0;
  double noise_memory = 0.0;
  std::optional<double> tails;
  std::string gate;
  std::vector<double> gate_coefficients;
  double round_to = 0.0;
  std::uint64_t sensors = 1;

  void add_to(CLI::App& command);
  int run() const;

 private:
  void add_order_to(CLI::App& command);
  Outcome<SimulationSettings> settings() const;
  Done read_order(SimulationSettings& settings) const;
  Done read_gate(SimulationSettings& settings) const;
};

}  // namespace mixstream
