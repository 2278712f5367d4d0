// Boost.Accumulators feature: E[phi_p], phi_p = cvec(x^(p)), for p = 1 .. 6: the noise offsets of the
// regressions.
#pragma once

#include "mixstream/moments/features/row_moments.hpp"

namespace mixstream {
namespace tag {

template <int P>
struct mean_monomials : boost::accumulators::depends_on<row_moments> {
  static_assert(P >= 1 && P <= 6, "x^(p) lies in the order-6 tensor for p = 1 .. 6");
  using impl = boost::mpl::always<mixstream::impl::moment_view_impl<0, P, 0>>;
};

}  // namespace tag

/// E[phi_p] of an accumulator set, N(d, p) x 1, in the coordinates of its moments.
template <int P>
inline const boost::accumulators::extractor<tag::mean_monomials<P>> mean_monomials = {};

}  // namespace mixstream
