// What the paper's evaluation ran, and what it printed.
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

/// One row of a table of the paper: (b, d, k), and its three columns.
struct PaperRow {
  std::string label;
  Setting setting;
  std::optional<Published> spectral;
  std::optional<Published> em;
  std::optional<Published> spectral_em;
  std::string source;  ///< "printed", or "comment": a row that its source holds commented out
};

/// Table 1 and, of its source, the rows commented out. The 3-variable map lists 11 features where the row
/// says 10; the map of d = 5 lists four, u^5 is our addition.
std::vector<PaperRow> first_table();

/// Table 2: the same with [-.5,-.25] and [.25,.5] of every base variable never seen.
std::vector<PaperRow> second_table();

/// The histogram's setting, b = 1, d = 4, k = 3.
Setting histogram_setting();

/// The learning curves' b = 1, d = 5, k = 3. The source gives no map; 1,t,t^2,t^4,t^7 is our choice.
Setting learning_setting(bool cut);

}  // namespace experiments
