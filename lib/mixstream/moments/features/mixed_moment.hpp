// Boost.Accumulators features: E[y^q], and E[y^q phi_l phi_r'] for any powers that the tensor holds.
#pragma once

#include "mixstream/moments/features/row_moments.hpp"

namespace mixstream {
namespace impl {

template <int Q>
struct mean_response_impl : boost::accumulators::accumulator_base {
  using result_type = double;

  explicit mean_response_impl(boost::accumulators::dont_care) {}

  template <class Arguments>
  result_type result(const Arguments& arguments) const {
    return view(row_moments(arguments), Q, 0, 0).values[0];
  }
};

}  // namespace impl

namespace tag {

template <int Q>
struct mean_response : boost::accumulators::depends_on<row_moments> {
  static_assert(Q >= 1 && Q <= 6, "y^q lies in the order-6 tensor for q = 1 .. 6");
  using impl = boost::mpl::always<mixstream::impl::mean_response_impl<Q>>;
};

template <int Q, int L, int R>
struct mixed_moment : boost::accumulators::depends_on<row_moments> {
  static_assert(Q >= 0 && L >= 0 && R >= 0 && Q + L + R <= 6, "beyond the order-6 tensor");
  using impl = boost::mpl::always<mixstream::impl::moment_view_impl<Q, L, R>>;
};

}  // namespace tag

/// E[y^q] of an accumulator set, in the coordinates of its moments.
template <int Q>
inline const boost::accumulators::extractor<tag::mean_response<Q>> mean_response = {};

/// E[y^q phi_l phi_r'], N(d, l) x N(d, r), likewise.
template <int Q, int L, int R>
inline const boost::accumulators::extractor<tag::mixed_moment<Q, L, R>> mixed_moment = {};

}  // namespace mixstream
