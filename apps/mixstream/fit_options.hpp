// The options that fit and refit share, and what they mean to the library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "input/input.hpp"
#include "mixstream/estimator.hpp"
#include "output.hpp"

namespace CLI {
class App;
}

namespace mixstream {

/// How to solve: for fit and refit. What is not given stays as the saved state had it.
struct SolveOptions {
  std::optional<std::string> components;
  std::optional<std::string> method;
  std::optional<std::string> noise;
  std::optional<std::string> modes;
  std::optional<std::string> gate;  ///< feature names, resolved by resolve_gate once the map is known
  std::optional<double> noise_variance;
  std::optional<double> noise_third;
  std::optional<double> lambda2;
  std::optional<double> lambda3;
  std::optional<std::string> objective;
  std::optional<std::string> lambda;
  bool allow_singular = false;
  std::optional<std::string> polish;
  std::optional<std::string> guard;
  std::optional<std::uint64_t> seed;

  void add_to(CLI::App& command);
  /// The library's settings, or what is wrong with the words. `base`: a saved state's, or the defaults.
  Outcome<SolveSettings> settings(const SolveSettings& base = {}) const;
  /// Turns --gate's names into features of the map. Refuses a name that is none, with what to do.
  Verdict resolve_gate(const std::vector<std::string>& features, SolveSettings& solve) const;

 private:
  Verdict read_components(SolveSettings& solve) const;
  Verdict read_noise(SolveSettings& solve) const;
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
