// Boost.Accumulators features of the moments: where they come from.
//
// Two features stand for the same thing, so that every other one here can be read from either:
//   row_moments      owns block and tensor; rows in pilot coordinates are absorbed into it:
//                      MomentSet set;
//                      held_moments(set) = RowMoments(kernel, layout);   // the room for rows
//                      set(PilotRow{z, weight});
//   settled_moments  reads a tensor that was settled before, in that tensor's coordinates:
//                      SettledSet moments(settled_tensor = tensor);
//                      DenseMatrix sigma2 = collapsed_covariance<2>(moments);
// Extractors read the sums that they need where they are; those of a MomentSet add the rows that wait for a
// full block. Full blocks are folded, and sets merged, scaled and emptied, through held_moments(set). Boost's
// own `count` does not survive that.
#pragma once

#include <boost/accumulators/framework/accumulator_base.hpp>
#include <boost/accumulators/framework/accumulator_set.hpp>
#include <boost/accumulators/framework/depends_on.hpp>
#include <boost/accumulators/framework/extractor.hpp>
#include <boost/accumulators/framework/features.hpp>
#include <boost/accumulators/framework/parameters/sample.hpp>
#include <boost/mpl/always.hpp>
#include <boost/parameter/keyword.hpp>

#include "mixstream/moments/row_moments.hpp"

namespace mixstream {

BOOST_PARAMETER_KEYWORD(tag, settled_tensor)  // a MomentTensor, which must outlive the set

namespace impl {

struct row_moments_impl : boost::accumulators::accumulator_base {
  using result_type = const RowMoments&;

  /// Without room: Boost builds its accumulators twice and copies them, which would allocate twice, too.
  explicit row_moments_impl(boost::accumulators::dont_care) {}

  template <class Arguments>
  [[gnu::always_inline]] void operator()(const Arguments& arguments) noexcept {
    moments.take(arguments[boost::accumulators::sample]);
  }
  result_type result(boost::accumulators::dont_care) const noexcept { return moments; }

  RowMoments moments;
};

struct settled_moments_impl : boost::accumulators::accumulator_base {
  using result_type = const MomentTensor&;

  template <class Arguments>
  explicit settled_moments_impl(const Arguments& arguments) : tensor(&arguments[settled_tensor]) {}
  result_type result(boost::accumulators::dont_care) const noexcept { return *tensor; }

  const MomentTensor* tensor;
};

}  // namespace impl

namespace tag {
struct row_moments : boost::accumulators::depends_on<> {
  using impl = boost::mpl::always<mixstream::impl::row_moments_impl>;
};
struct settled_moments : boost::accumulators::depends_on<> {
  using impl = boost::mpl::always<mixstream::impl::settled_moments_impl>;
};
}  // namespace tag

inline const boost::accumulators::extractor<tag::row_moments> row_moments = {};

namespace impl {

/// A feature that reads one view of the tensor: E[y^Power phi_Left phi_Right'].
template <int Power, int Left, int Right>
struct moment_view_impl : boost::accumulators::accumulator_base {
  using result_type = DenseMatrix;

  explicit moment_view_impl(boost::accumulators::dont_care) {}

  template <class Arguments>
  result_type result(const Arguments& arguments) const {
    return view(row_moments(arguments), Power, Left, Right);
  }
};

}  // namespace impl
}  // namespace mixstream

/// Features that want row_moments take settled_moments for it.
template <>
struct boost::accumulators::feature_of<mixstream::tag::settled_moments>
    : boost::accumulators::feature_of<mixstream::tag::row_moments> {};
