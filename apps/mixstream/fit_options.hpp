// The options that fit and refit share, and what they mean to the library.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "input/input.hpp"
#include "mixstream/estimator.hpp"
#include "output.hpp"

namespace mixstream {

/// How to solve: for fit and refit.
struct SolveOptions {
  std::string components = "2";
  std::string method = "default";
  std::string noise = "shared";
  double noise_variance = 0.0;  // 0: not given
  double noise_third = 0.0;
  double lambda2 = 1e-5;
  double lambda3 = 1e-3;
  bool allow_singular = false;
  std::string guard = "auto";
  std::uint64_t seed = 1;

  void add_to(CLI::App& command);
  /// The library's settings, or what is wrong with the words.
  Outcome<SolveSettings> settings() const;
};

/// What stdout shows, and how.
struct OutputOptions {
  bool json = false;
  bool table = false;
  std::string colour = "auto";
  bool quiet = false;

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
  std::size_t width = 0;
  std::size_t max_line = 1 << 20;

  void add_to(CLI::App& command);
  Outcome<InputSettings> settings() const;
};

/// "50000" rows or "90s", "10m", "2h", "1d": a number and whether it is in seconds.
struct Length {
  double value = 0.0;
  bool seconds = false;
};
Outcome<Length> parse_length(const std::string& text, const std::string& option);

}  // namespace mixstream
