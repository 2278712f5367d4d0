// Boost.Accumulators feature: the moment state of the rows. All other features here read it.
//
//   accumulator_set<Row, features<tag::row_moments, tag::collapsed_covariance<2>>> set(state_settings =
//   settings); set(row); DenseMatrix sigma2 = collapsed_covariance<2>(set);
//
// The sample is a row view, which carries its own weight. Boost's own `count` does not survive a merge: ask
// `row_moments(set).row_count()`. Merge through `merge(set, other)`.
#pragma once

#include <boost/accumulators/framework/accumulator_base.hpp>
#include <boost/accumulators/framework/accumulator_set.hpp>
#include <boost/accumulators/framework/depends_on.hpp>
#include <boost/accumulators/framework/extractor.hpp>
#include <boost/accumulators/framework/features.hpp>
#include <boost/accumulators/framework/parameters/sample.hpp>
#include <boost/mpl/always.hpp>
#include <boost/parameter/keyword.hpp>
#include <stdexcept>

#include "mixstream/moments/state.hpp"

namespace mixstream {

BOOST_PARAMETER_KEYWORD(tag, state_settings)  // hands the settings to an accumulator set

namespace impl {

struct row_moments_impl : boost::accumulators::accumulator_base {
  using result_type = const MomentState&;

  /// Throws std::invalid_argument with the refusal's text when the settings are refused.
  template <class Arguments>
  explicit row_moments_impl(const Arguments& arguments) : state(create(arguments[state_settings])) {}

  template <class Arguments>
  void operator()(const Arguments& arguments) noexcept {
    state.absorb(arguments[boost::accumulators::sample]);
  }

  result_type result(boost::accumulators::dont_care) const { return state; }

  MomentState state;

 private:
  static MomentState create(const StateSettings& settings) {
    Outcome<MomentState> created = MomentState::create(settings);
    if (!created) throw std::invalid_argument(created.refusal().text);
    return std::move(created).value();
  }
};

}  // namespace impl

namespace tag {
struct row_moments : boost::accumulators::depends_on<> {
  using impl = boost::mpl::always<mixstream::impl::row_moments_impl>;
};
}  // namespace tag

inline const boost::accumulators::extractor<tag::row_moments> row_moments = {};

/// Adds the rows of another set. Checks first, changes after.
template <class Set>
Verdict merge(Set& set, const Set& other, MergeAs as = MergeAs::one_stream) {
  return boost::accumulators::find_accumulator<tag::row_moments>(set).state.merge(row_moments(other), as);
}

namespace impl {

/// A feature that reads one view of the tensor: E[y^Power phi_Left phi_Right'] in raw coordinates.
template <int Power, int Left, int Right>
struct moment_view_impl : boost::accumulators::accumulator_base {
  using result_type = DenseMatrix;

  explicit moment_view_impl(boost::accumulators::dont_care) {}

  template <class Arguments>
  result_type result(const Arguments& arguments) const {
    return row_moments(arguments).moments().in_raw_coordinates().view(Power, Left, Right);
  }
};

}  // namespace impl
}  // namespace mixstream
