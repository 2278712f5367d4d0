// What the paper's evaluation ran, and what it printed.
//
// The authors named their data sets b-degree-k: all monomials of b variables up to a degree, of which a sieve
// keeps one only if no product of kept ones makes it dependent. The d of the paper's tables is not the number
// of features: (1,4,k) has three, (2,5,k) four.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/streams.hpp"

namespace experiments {

struct Published {
  double mean = 0.0;
  double deviation = 0.0;
};

/// One row of a table: (b, d, k) as the paper counts, and its three columns where they belong to the row.
struct PaperRow {
  std::string label;
  Setting setting;
  std::optional<Published> spectral;
  std::optional<Published> em;
  std::optional<Published> spectral_em;
  /// "printed"; "comment": the paper's source holds the row commented out; "runs": printed figures do not
  /// belong to the row, these are of the authors' own runs; "ours": a further row on a map of ours.
  std::string source;
  std::string note;  ///< what a reader must know to compare; empty: nothing

  std::size_t feature_count() const;
};

/// Table 1, the rows that its source holds commented out, and further ones on maps of ours.
std::vector<PaperRow> first_table();

/// Table 2: the same with [-.5,-.25] and [.25,.5] of every base variable never seen.
std::vector<PaperRow> second_table();

/// Two laws on 1,t,t^4,t^7, a map of ours: what the rivals are held against.
Setting rival_setting();

/// The histogram's setting, b = 1, d = 4, k = 3 on the map that the paper's text names, 1,t,t^4,t^7.
Setting histogram_setting();

/// The learning curves' b = 1, degree 8, k = 3: 1,t,t^4,t^7.
Setting learning_setting(bool cut);

/// Three laws on 1,t,t^2,t^4,t^7, features that lie close together: a map of ours for the same curves.
Setting close_setting(bool cut);

}  // namespace experiments
