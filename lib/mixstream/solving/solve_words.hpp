// How to solve, in the words of command lines and options: "persistent", "per-law,tails", k "auto".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "mixstream/solving/solve.hpp"

namespace mixstream {

/// What is not given stays as it was.
struct SolveWords {
  std::optional<std::string> components;  ///< a number, or "auto"
  std::optional<std::string> method;
  std::optional<std::string> noise;
  std::optional<std::string> modes;
  std::optional<std::string> gate;  ///< feature names between commas, resolved once the map is known
  std::optional<double> noise_variance;
  std::optional<double> tolerance;
  std::optional<double> noise_third;
  std::optional<double> lambda2;
  std::optional<double> lambda3;
  std::optional<std::string> objective;
  std::optional<std::string> lambda;
  bool allow_singular = false;
  std::optional<std::string> polish;
  std::optional<std::string> guard;
  std::optional<std::uint64_t> seed;
  std::string dashes = "--";  ///< before a word's name in a refusal

  /// The library's settings, or what is wrong with the words. `base`: a saved state's, or the defaults.
  Outcome<SolveSettings> settings(const SolveSettings& base = {}) const;
  /// Turns the gate's names into features of the map. Refuses a name that is none, with what to do.
  Done resolve_gate(const std::vector<std::string>& features, SolveSettings& solve) const;

 private:
  Done check_words() const;
  Done read_components(SolveSettings& solve) const;
  Done read_noise(SolveSettings& solve) const;
  std::string named(std::string_view word) const { return dashes + std::string(word); }
};

}  // namespace mixstream
