// Boost.Accumulators feature: Sigma_p = E[phi_p phi_p'], phi_p = cvec(x^(p)), for p = 1, 2, 3.
#pragma once

#include "mixstream/moments/features/row_moments.hpp"

namespace mixstream {
namespace tag {

template <int P>
struct collapsed_covariance : boost::accumulators::depends_on<row_moments> {
  static_assert(P >= 1 && P <= 3, "Sigma_p lies in the order-6 tensor for p = 1, 2, 3");
  using impl = boost::mpl::always<mixstream::impl::moment_view_impl<0, P, P>>;
};

}  // namespace tag

/// Sigma_p of an accumulator set, N(d, p) x N(d, p), in the coordinates of its moments.
template <int P>
inline const boost::accumulators::extractor<tag::collapsed_covariance<P>> collapsed_covariance = {};

}  // namespace mixstream
