// Looks for doubts: holds a fit against the rows that are held and asks, for each way in which the model
// could be too small, whether these rows want it.
//
// Each look takes the score m of an extension at the fit, a number for every row that is zero in the mean
// when the model is right. Projected off the model's own scores s,
//
//   b = sum (m - C H^-1 s),   V = M - C H^-1 C',   T = b' V^-1 b  ~  chi-square,   V^-1 b the extension by
//   one step
//
// with H, C, M the sums of s s', m s', m m'. Scores are those given the past (modes/filter.hpp), so that they
// mean for rows in order what they mean for independent ones. Where the model lacks an order that the rows
// have (modes that persist, noise that remembers) a doubt about anything else must convince by sums over
// stretches of rows too (Hotelling).
//
// The fit must be a good optimum: doubts name what is missing at an optimum, not that it is the wrong one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mixstream/core/layout.hpp"
#include "mixstream/doubts/doubt.hpp"
#include "mixstream/modes/model.hpp"
#include "mixstream/modes/runs.hpp"
#include "mixstream/rows/pilot.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// The rows that are held, in pilot coordinates, and how to say things in the user's units.
struct DoubtRows {
  const RowTable* sample = nullptr;   ///< single rows of the whole stream; may be nothing
  const Runs* runs = nullptr;         ///< consecutive rows; nothing: what concerns order is not looked for
  std::uint64_t rows = 0;             ///< of the whole stream, counted
  const Layout* layout = nullptr;     ///< nothing: no constant is known, features are raw
  const Pilot* pilot = nullptr;       ///< nothing: rows are raw
  std::vector<std::string> features;  ///< names as FeatureMap::names() has them; empty: x0, x1 ...
  double effective_rows = 0.0;        ///< that the stream's weights make of them: its errors are those of so
                                      ///< many rows, and so are held rows that are all of it; 0: as many
  double sample_rows = 0.0;           ///< that the sample counts for; 0: as rows drawn from the stream do
};

struct DoubtSettings {
  double level = 0.004;         ///< share of right streams in which any doubt is raised
  std::size_t most_terms = 48;  ///< monomials looked for: of degree 2 first, squares before products
  std::size_t most_refits = 4;  ///< of raised doubts, strongest first: their size by a refit on the held rows
  bool few_laws = true;  ///< whether to look for a law too few: the dearest look, some EM on the sample
};

/// Every doubt that was looked for: the raised ones first, in the order in which they were taken (the
/// strongest, then the strongest after it ..), then the others by p. Model and rows in pilot coordinates; a
/// plain fit is model_from(mixture, shape). Allocates; about (P + M)^2 / 2 products a held row for M
/// extension scores, and for each refit some passes of the filter. Deterministic; calls yield_point(). Throws
/// std::invalid_argument for rows that do not fit the shape.
std::vector<Doubt> look_for_doubts(const ModeModel& model, const ModeShape& shape, const DoubtRows& rows,
                                   const DoubtSettings& settings = {});

}  // namespace mixstream
