// The accumulator sets of the library: rows are absorbed into a MomentSet, the regressions read a SettledSet.
// Only .cpp files include this.
#pragma once

#include "mixstream/moments/features/collapsed_covariance.hpp"
#include "mixstream/moments/features/cross_moment.hpp"
#include "mixstream/moments/features/effective_rows.hpp"
#include "mixstream/moments/features/mean_monomials.hpp"
#include "mixstream/moments/features/mixed_moment.hpp"
#include "mixstream/moments/features/row_moments.hpp"

namespace mixstream {

/// Everything the paper's three regressions need, read from one source.
template <class Source>
using MomentFeatures =
    boost::accumulators::features<Source, tag::collapsed_covariance<1>, tag::collapsed_covariance<2>,
                                  tag::collapsed_covariance<3>, tag::cross_moment<1>, tag::cross_moment<2>,
                                  tag::cross_moment<3>, tag::mean_monomials<1>, tag::mean_monomials<2>,
                                  tag::mean_monomials<3>, tag::effective_rows>;

using MomentSet = boost::accumulators::accumulator_set<PilotRow, MomentFeatures<tag::row_moments>>;

/// What a set holds, to fold, merge, scale or empty. No throw.
inline RowMoments& held_moments(MomentSet& set) noexcept {
  return boost::accumulators::find_accumulator<tag::row_moments>(set).moments;
}

/// The same features of a settled tensor, with the powers of y and the products that loss and noise ask for.
using SettledSet = boost::accumulators::accumulator_set<
    PilotRow,
    boost::accumulators::features<
        tag::settled_moments, tag::collapsed_covariance<1>, tag::collapsed_covariance<2>,
        tag::collapsed_covariance<3>, tag::cross_moment<1>, tag::cross_moment<2>, tag::cross_moment<3>,
        tag::mean_monomials<1>, tag::mean_monomials<2>, tag::mean_monomials<3>, tag::effective_rows,
        tag::mean_response<2>, tag::mean_response<3>, tag::mean_response<4>, tag::mean_response<6>,
        tag::mixed_moment<0, 3, 1>, tag::mixed_moment<3, 1, 0>>>;

/// What the regressions of e = y - M1 . x need beside that; a set takes at most 20 features.
using CentralSet = boost::accumulators::accumulator_set<
    PilotRow, boost::accumulators::features<tag::settled_moments, tag::mixed_moment<1, 2, 1>,
                                            tag::mixed_moment<1, 3, 0>, tag::mixed_moment<1, 3, 2>,
                                            tag::mixed_moment<2, 3, 1>>>;

}  // namespace mixstream
