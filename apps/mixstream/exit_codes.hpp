// How the programs end. The numbers are a contract with scripts.
#pragma once

namespace mixstream {

inline constexpr int exit_fitted = 0;            ///< also when the verdict is poor_fit
inline constexpr int exit_data = 1;              ///< input, output or data error
inline constexpr int exit_usage = 2;             ///< the call's words are off
inline constexpr int exit_not_identifiable = 3;  ///< or too few rows; said in words
inline constexpr int exit_refused = 4;        ///< as fitted, but more than a tenth of the rows were refused
inline constexpr int exit_interrupted = 130;  ///< SIGINT, after the final fit
inline constexpr int exit_terminated = 143;   ///< SIGTERM, after the final fit

}  // namespace mixstream
