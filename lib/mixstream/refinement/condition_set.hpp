// Which moments are matched: for every power of y, up to which degree in x.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "mixstream/core/layout.hpp"

namespace mixstream {

inline constexpr int highest_response_power = 5;

/// For every power q of y: the largest degree of the monomials in x that it is multiplied with.
struct ConditionSet {
  std::array<int, highest_response_power> degrees = {3, 3, 3, 2, 1};  ///< the whole order-6 tensor

  int degree(int power) const noexcept { return degrees[static_cast<std::size_t>(power - 1)]; }
  /// "order6", "q<=3", or these with the degrees, such as "order6 degrees 2-2-2-2-1".
  std::string name(int highest_power) const;
  /// How many conditions, for that many variables beside y (the constant included).
  std::size_t count(std::size_t variables) const;
  friend bool operator==(const ConditionSet&, const ConditionSet&) = default;
};

/// The richest set with at most `largest` conditions; the poorest one when none is small enough.
ConditionSet choose_conditions(const Layout& layout, std::size_t largest);

}  // namespace mixstream
