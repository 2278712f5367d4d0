// A doubt: one named way in which a model could be too small, how sure the rows are of it, how large it is,
// and what it does to the laws. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace mixstream {

enum class DoubtKind : std::uint8_t {
  missing_term,             ///< a product of columns that every law lacks
  missing_term_of_one_law,  ///< that one law lacks
  gate,                     ///< a feature chooses among the laws
  persistence,              ///< a law holds for a while
  unequal_noise,            ///< laws differ in their noise
  growing_noise,            ///< the noise grows or falls along a column
  skewed_noise,             ///< the noise leans to one side
  tails,                    ///< large residuals are more frequent than Gaussian ones, or less
  memory,                   ///< the noise of a row keeps a share of that of the row before
  stuck,                    ///< the response repeats its value
  rounding,                 ///< the response is rounded more coarsely than its noise
  too_many_laws,            ///< two laws coincide, or one has no rows
  too_few_laws,             ///< a further law explains rows that these do not
  delay,                    ///< the response follows the features of the row before, or of the row after
};
inline constexpr std::size_t doubt_kind_count = 14;

/// The stable name of a kind, such as "missing_term". No throw, no allocation.
const char* name_of(DoubtKind kind) noexcept;

struct Doubt {
  DoubtKind kind = DoubtKind::missing_term;
  std::string term;  ///< missing terms: "u^2", "u*v"; gate, growing noise: what it follows; else empty
  std::optional<std::size_t> law;        ///< of one law; too_many_laws: one of the two
  std::optional<std::size_t> other_law;  ///< too_many_laws: the other; nothing: the law has no rows

  double statistic = 0.0;  ///< chi-square, or what stands for it (docs/method/doubts.md)
  std::size_t dof = 1;
  double p = 1.0;  ///< of the statistic if nothing were wrong; of facts (too many laws, rounding) 0 or 1
  double adjusted_p = 1.0;  ///< the same after the stronger doubts that are raised; that of a raised one is
                            ///< its own when it was raised
  bool raised = false;      ///< the rows leave no doubt about it, even among as many looks as were taken

  double size = 0.0;             ///< in the user's units: docs/method/doubts.md says what for each kind
  double shift = 0.0;            ///< largest move of a law, rms over rows, in noise standard deviations
  double prediction = 0.0;       ///< move of the expected response, rms over rows, in its sd about that
  double shift_in_errors = 0.0;  ///< largest move of a coefficient, in its standard errors over all rows
  double explained = 0.0;        ///< log-likelihood that the extension would gain, nats a row
  bool refitted = false;  ///< size, shift and explained are of a refit on the held rows, not of one step
};

}  // namespace mixstream
