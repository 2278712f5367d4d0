// The options that fit and refit share, and what they mean to the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "input/input.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/solving/solve_words.hpp"
#include "output.hpp"

namespace CLI {
class App;
}

namespace mixstream {

/// How to solve: for fit and refit. What is not given stays as the saved state had it.
struct SolveOptions : SolveWords {
  void add_to(CLI::App& command);
};

/// What stdout shows, and how.
struct OutputOptions {
  bool json = false;
  bool table = false;
  std::string colour = "auto";
  bool quiet = false;
  bool explain = false;

  void add_to(CLI::App& command);
  OutputFormat format() const {
    return json ? OutputFormat::json : table ? OutputFormat::table : OutputFormat::automatic;
  }
};

/// How rows are read.
struct InputOptions {
  std::string format = "auto";
  std::string delimiter;
  bool no_header = false;
  std::uint64_t header_line = 0;
  std::string comment;
  std::string decimal;
  std::string thousands;
  std::string missing_words;
  std::size_t width = 0;
  std::size_t max_line = 1 << 20;

  void add_to(CLI::App& command);
  Outcome<InputSettings> settings() const;
  std::string as_words() const;  ///< the options given, as they are written, a blank before each

 private:
  Outcome<NumberRules> number_rules() const;
};

/// "50000" rows or "90s", "10m", "2h", "1d": a number and whether it is in seconds.
struct Length {
  double value = 0.0;
  bool seconds = false;
};
Outcome<Length> parse_length(const std::string& text, const std::string& option);

}  // namespace mixstream
