// One observation, as a view: nothing is copied, nothing is owned.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace mixstream {

struct Row {
  std::span<const double> features;  ///< x, constant included where the feature map has one
  double response = 0.0;             ///< y
  double weight = 1.0;               ///< w > 0; a row of weight 2 counts as two rows
  double time = 0.0;  ///< seconds on the row's own clock; used only with a half-life in seconds
};

/// What became of a row. Everything but `accepted` leaves the state untouched and is counted by reason.
enum class RowVerdict : std::uint8_t {
  accepted,
  wrong_width,    ///< number of features differs from the state's
  not_a_number,   ///< NaN in features, response, weight or time
  infinite,       ///< infinity in features, response, weight or time
  too_large,      ///< a magnitude whose sixth power would overflow
  bad_weight,     ///< weight zero or negative
  wrong_constant  ///< the feature declared constant is not 1
};
inline constexpr std::size_t row_verdict_count = 7;
using VerdictCounts = std::array<std::uint64_t, row_verdict_count>;

/// The stable name of a verdict, such as "not_a_number". No throw, no allocation.
const char* name_of(RowVerdict verdict) noexcept;

/// Judges a row before it touches any state. No throw, no allocation; d comparisons.
/// constant_feature: index of the feature that must be 1, or -1.
RowVerdict check(const Row& row, std::size_t feature_count, int constant_feature) noexcept;

}  // namespace mixstream
