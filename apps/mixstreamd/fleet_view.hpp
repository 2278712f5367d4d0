// The models of a stream's groups, as the HTTP pages see them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/verdict/status.hpp"

namespace mixstream {

/// How far rows pull laws away (likelihood/law_shift.hpp).
struct LawReading {
  double deviations = 0.0;    ///< standard deviations
  double size = 0.0;          ///< noise sd, of the law that moved most
  std::size_t component = 0;  ///< that law

  friend bool operator==(const LawReading&, const LawReading&) = default;
};

/// One group's model, as its last look found it.
struct GroupView {
  std::string name;
  std::uint64_t rows = 0;
  std::chrono::system_clock::time_point last_row{};
  bool grown = false;               ///< its rows have become moments
  std::optional<FitStatus> status;  ///< of its newest fit; nothing: it was not looked at yet
  std::uint64_t fit_rows = 0;       ///< that its laws were fitted to
  Mixture laws;  ///< the last that could be used, in the order of the fleet's; no components: none yet
  std::optional<std::size_t> mode;  ///< the fleet's law that its newest row obeys most likely
  double mode_probability = 0.0;
  std::optional<LawReading> drift;      ///< newest rows against its own laws
  std::optional<LawReading> departure;  ///< newest rows against the fleet's laws
  bool drifts = false;
  bool departs = false;
  bool silent = false;
};

struct FleetSummary {
  static constexpr std::size_t most_names = 20;
  /// Of groups of which something should be known.
  struct Named {
    std::uint64_t count = 0;
    std::vector<std::string> names;  ///< the first ones by name
    friend bool operator==(const Named&, const Named&) = default;
  };
  std::uint64_t models = 0;
  std::uint64_t grown = 0;
  std::uint64_t looked = 0;  ///< of them were looked at since the daemon began
  Named drifting;
  Named departing;
  Named silent;
  std::vector<std::uint64_t> in_mode;  ///< groups by the fleet's law
};

/// Some of the groups, by name.
struct FleetPage {
  FleetSummary summary;
  std::size_t from = 0;
  std::vector<GroupView> models;
};

}  // namespace mixstream
