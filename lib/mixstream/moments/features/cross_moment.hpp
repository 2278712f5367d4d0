// Boost.Accumulators feature: c_p = E[y^p phi_p], phi_p = cvec(x^(p)), for p = 1, 2, 3.
#pragma once

#include "mixstream/moments/features/row_moments.hpp"

namespace mixstream {
namespace tag {

template <int P>
struct cross_moment : boost::accumulators::depends_on<row_moments> {
  static_assert(P >= 1 && P <= 3, "y^p x^(p) lies in the order-6 tensor for p = 1, 2, 3");
  using impl = boost::mpl::always<mixstream::impl::moment_view_impl<P, P, 0>>;
};

}  // namespace tag

/// c_p of an accumulator set, N(d, p) x 1, in the coordinates of its moments.
template <int P>
inline const boost::accumulators::extractor<tag::cross_moment<P>> cross_moment = {};

}  // namespace mixstream
