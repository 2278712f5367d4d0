// A state in every phase of its life, with rows to go on with.
#pragma once

#include <string>
#include <vector>

#include "support/streams.hpp"

namespace states {

struct Phase {
  std::string name;
  mixstream::MomentState state;
  streams::Stream more;  ///< 400 rows that follow
};

inline const std::vector<mixstream::Memory>& every_memory() {
  using Kind = mixstream::Memory::Kind;
  static const std::vector<mixstream::Memory> all{{},
                                                  {Kind::half_life_rows, 0.9},
                                                  {Kind::half_life_rows, 40.0},
                                                  {Kind::half_life_seconds, 25.0},
                                                  {Kind::window_rows, 100.0, 8}};
  return all;
}

/// Rows of ordinary size with a few for the tail bins.
inline streams::Stream stream_with_tails(std::size_t rows, unsigned seed, double first_time) {
  streams::Stream stream = streams::random_stream(rows, seed, {.first_time = first_time});
  for (std::size_t i = 40; i < rows; i += 23)
    stream.responses[i] *= std::pow(12.0, 1.0 + static_cast<double>(i % 4));
  return stream;
}

/// Empty, inside the first block, just before and after its end, with partial blocks, after many blocks; and
/// what copies and merges make of them. The first block has 32 rows.
inline std::vector<Phase> every_phase() {
  std::vector<Phase> phases;
  for (const mixstream::Memory& memory : every_memory()) {
    const std::string kind =
        "memory " + std::to_string(static_cast<int>(memory.kind)) + " of " + std::to_string(memory.length);
    for (const std::size_t rows : {0U, 1U, 31U, 32U, 33U, 95U, 96U, 700U}) {
      const streams::Stream all = stream_with_tails(rows + 400, 70, 1e6);
      streams::Stream more{all.layout, {}, {}, {}, {}};
      for (std::size_t i = rows; i < all.size(); ++i)
        more.add(all.features[i], all.responses[i], all.weights[i], all.times[i]);
      mixstream::StateSettings settings = streams::settings_for(all);
      settings.memory = memory;
      mixstream::MomentState state = streams::make_state(settings);
      streams::absorb(state, all, 0, rows);
      mixstream::MomentState assigned = streams::make_state({.layout = {1, -1}, .pilot_rows = 1});
      assigned = state;
      mixstream::MomentState merged = state;
      mixstream::MomentState other = streams::make_state(settings);
      other.begin_source(5);
      const streams::Stream theirs = streams::random_stream(rows / 2, 71, {.centre = 2.0, .first_time = 1e6});
      for (std::size_t i = 0; i < theirs.size(); ++i) other.absorb(theirs.row(i));
      if (!merged.merge(other, mixstream::MergeAs::independent_streams)) FAIL("states do not merge");
      const std::string name = kind + ", " + std::to_string(rows) + " rows";
      phases.push_back({name, state, more});
      phases.push_back({name + ", assigned", assigned, more});
      phases.push_back({name + ", merged", merged, more});
    }
  }
  return phases;
}

}  // namespace states
