// Boost.Accumulators feature: the number of rows that would tell as much. A weight of 2 is two rows: sum w,
// and where rows fade by g (sum w g)^2 / sum w g^2.
#pragma once

#include "mixstream/moments/features/row_moments.hpp"

namespace mixstream {
namespace impl {

inline double effective_rows_of(const MomentTensor& tensor) noexcept {
  return tensor.effective_rows;
}
inline double effective_rows_of(const RowMoments& moments) noexcept {
  const double weight = moments.weight();
  return moments.weight_squares > 0.0 ? weight * weight / moments.weight_squares : 0.0;
}

struct effective_rows_impl : boost::accumulators::accumulator_base {
  using result_type = double;

  explicit effective_rows_impl(boost::accumulators::dont_care) {}

  template <class Arguments>
  result_type result(const Arguments& arguments) const {
    return effective_rows_of(row_moments(arguments));
  }
};

}  // namespace impl

namespace tag {
struct effective_rows : boost::accumulators::depends_on<row_moments> {
  using impl = boost::mpl::always<mixstream::impl::effective_rows_impl>;
};
}  // namespace tag

inline const boost::accumulators::extractor<tag::effective_rows> effective_rows = {};

}  // namespace mixstream
