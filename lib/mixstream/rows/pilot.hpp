// The pilot: a shift and a power-of-two scale for every variable of z, fixed from the first block of rows.
//
// z'_j = (z_j - shift_j) / scale_j keeps sixth powers near one, so that sums of them keep their digits.
// Shifts are whole multiples of the scale, and exist only where x holds a constant: then a shifted model is
// again a linear model. Variable 0 is the constant and is never changed.
#pragma once

#include <span>
#include <vector>

#include "mixstream/core/layout.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/rows/row.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

struct Pilot {
  std::vector<double> shift;  ///< one per variable of z
  std::vector<double> scale;  ///< one per variable of z, powers of two

  static Pilot identity(int variables);
  friend bool operator==(const Pilot&, const Pilot&) = default;
};

/// Bounds that keep every power of a scale finite, and every row of the first block inside the state.
inline constexpr double smallest_scale = 0x1p-160;
inline constexpr double largest_scale = 0x1p160;
inline constexpr double largest_variable = 1e40;  ///< of |z'_j|; rows beyond it are refused

/// Whether a pilot may be used: powers of two between the bounds as scales; finite shifts, none without a
/// constant in x; variable 0 left alone. No throw, no allocation.
bool is_sound(const Pilot& pilot, const Layout& layout) noexcept;

/// Shift = median, scale = the 95th percentile of the distance to it, both rounded as said above. A few gross
/// outliers in the block do not move them, and bounded features such as t^7 stay near one. The scale is
/// raised where some row would else lie beyond largest_variable. Allocates; cost n per variable.
Pilot pilot_from(const RowTable& rows, const Layout& layout);

/// The same into a pilot of layout.variables() entries, with scratch for rows.size() numbers. No throw, no
/// allocation.
void find_pilot(const RowTable& rows, const Layout& layout, std::span<double> scratch, Pilot& pilot) noexcept;

/// The number below which `share` of them lie; puts them into another order. At least one number. No throw,
/// no allocation; cost n.
double quantile(std::span<double> numbers, double share) noexcept;

/// z of a row in pilot coordinates, into `variables` (layout.variables() of them). No throw, no allocation.
void to_pilot(const Row& row, const Layout& layout, const Pilot& pilot, std::span<double> variables) noexcept;

/// The rows in pilot coordinates, as rows of the same layout.
RowTable to_pilot(const RowTable& rows, const Layout& layout, const Pilot& pilot);

/// The same mixture in raw coordinates, given in pilot coordinates; and back.
Mixture to_raw(const Mixture& mixture, const Layout& layout, const Pilot& pilot);
Mixture to_pilot(const Mixture& mixture, const Layout& layout, const Pilot& pilot);

}  // namespace mixstream
