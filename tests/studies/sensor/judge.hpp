// The tables of study-sensor, and whether its limits hold.
#pragma once

#include <string>
#include <vector>

#include "cell.hpp"
#include "kinds.hpp"

namespace sensor {

struct Limits {
  double to_chain = 1.05;         ///< median error over the batch maximum likelihood of the true model
  double to_chance = 1.0;         ///< over that of rows by chance ("i.i.d. EM")
  double to_chance_brief = 1.02;  ///< the same where laws last 3 rows or less: nothing is to be gained there
  double to_chance_few = 1.3;     ///< the same where fewer than 50 changes are expected: the only limit there
  double least_z = 0.8;           ///< of the root mean square of (estimate - truth) / standard error
  double largest_z = 1.25;
  double covered = 0.9;       ///< share of weights within two errors of the truth, where changes are few
  double right_ok = 0.98;     ///< share of right fits that are `ok`, all kinds pooled
  double changes_seen = 0.9;  ///< share of streams whose change raised drift
};

/// The loose limits of six short streams a kind.
Limits smoke_limits();

/// A kind and the cells of its streams.
struct Measured {
  Kind kind;
  std::vector<Cell> yardstick;  ///< none for streams that change
  std::vector<Cell> library;
};

/// Prints a line a kind, the pooled figures, and every limit that does not hold; returns how many those are.
int judged(const std::vector<Measured>& all, const Limits& limits);

/// Prints what the yardstick says of itself; returns how many of its fits did not reach their optimum.
int judged_yardstick(const std::vector<Measured>& all);

/// Prints the shares of rows given a wrong law; returns 1 where the filter is not much better than a row
/// alone.
int judged_labels(const std::vector<Cell>& cells);

}  // namespace sensor
