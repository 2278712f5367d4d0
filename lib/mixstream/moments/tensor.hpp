// The settled moment tensor: sum of z^(6) over rows, as a value. All that a solver needs of the stream.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/core/layout.hpp"
#include "mixstream/monomials/packing.hpp"
#include "mixstream/rows/pilot.hpp"

namespace mixstream {

/// Which variables a collapsed power is taken over.
enum class Variables {
  features,  ///< x in the order of the feature map
  extended,  ///< (1, x without its constant): the variables of z but the response
};

/// cvec(v^(degree)) order: sorted index tuples, lexicographic; and the square roots of their multiplicities.
struct CollapsedPower {
  std::vector<std::vector<int>> tuples;
  std::vector<double> root_multiplicity;
};
CollapsedPower collapsed_power(int variables, int degree);

class MomentTensor {
 public:
  MomentTensor(Layout layout, Pilot pilot);

  const Layout& layout() const noexcept { return layout_; }
  const Pilot& pilot() const noexcept { return pilot_; }
  const Packing& packing() const noexcept { return packing_; }
  std::vector<double>& sums() noexcept { return sums_; }  ///< pivot order, see Packing
  const std::vector<double>& sums() const noexcept { return sums_; }
  double total_weight() const noexcept { return sums_[0]; }  ///< sum of 1^6

  /// The n of every statistical statement. A weight of 2 is two rows: sum w, and where rows fade by g
  /// (sum w g)^2 / sum w g^2.
  double effective_rows = 0.0;
  std::uint64_t row_count = 0;  ///< rows folded in, forgotten ones included

  /// E[y^power phi_left phi_right'], power + left + right <= 6, phi_p = cvec(v^(p)) with square-root
  /// multiplicities, in this tensor's coordinates. N(D, left) x N(D, right), D = number of chosen variables.
  /// Allocates the result; a few nanoseconds an entry.
  DenseMatrix view(int power, int left, int right, Variables variables = Variables::features) const;

  /// The same sums in other coordinates. Exact up to rounding; cost m * N(m, 6) * 7.
  MomentTensor in_coordinates(const Pilot& pilot) const;
  MomentTensor in_raw_coordinates() const { return in_coordinates(Pilot::identity(layout_.variables())); }

 private:
  Layout layout_;
  Pilot pilot_;
  Packing packing_;
  std::vector<double> sums_;
};

/// Rewrites sums (pivot order) from coordinates `from` to coordinates `to`, in place.
void change_coordinates(std::span<double> sums, const Packing& packing, const Pilot& from, const Pilot& to);

}  // namespace mixstream
