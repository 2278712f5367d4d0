// Magnitude bins of rows.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mixstream {

/// A row is filed by its largest variable in pilot units: up to 4, 16, 256, and beyond. The bulk of any
/// stream that is like its first block lies in bin 0; gross outliers get tensors of their own.
inline constexpr std::size_t bin_count = 4;
inline constexpr std::array<double, bin_count - 1> bin_limits{4.0, 16.0, 256.0};

inline std::uint8_t bin_of(double largest) noexcept {
  return static_cast<std::uint8_t>((largest > bin_limits[0]) + (largest > bin_limits[1]) +
                                   (largest > bin_limits[2]));
}

/// Which magnitude bins are meant.
using BinMask = std::array<bool, bin_count>;
inline constexpr BinMask all_bins{true, true, true, true};

}  // namespace mixstream
