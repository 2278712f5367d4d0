// How long re-solves take, from Boost's own accumulators. They neither merge nor outlive the daemon:
// telemetry.
#pragma once

#include <array>
#include <boost/accumulators/accumulators.hpp>
#include <boost/accumulators/statistics/p_square_quantile.hpp>
#include <boost/accumulators/statistics/rolling_mean.hpp>
#include <boost/accumulators/statistics/stats.hpp>

namespace mixstream {

class SolveTimes {
 public:
  static constexpr std::size_t recent_solves = 32;

  void add(double seconds) {
    recent_(seconds);
    for (Quantile& quantile : quantiles_) quantile(seconds);
    ++count_;
  }

  /// All are zero before the first solve.
  double recent_mean() const {  ///< of the last 32
    return count_ == 0 ? 0.0 : boost::accumulators::rolling_mean(recent_);
  }
  double median() const { return quantile(0); }
  double p99() const { return quantile(1); }

 private:
  using Recent = boost::accumulators::accumulator_set<
      double, boost::accumulators::stats<boost::accumulators::tag::rolling_mean>>;
  using Quantile = boost::accumulators::accumulator_set<
      double, boost::accumulators::stats<boost::accumulators::tag::p_square_quantile>>;

  double quantile(std::size_t which) const {
    return count_ == 0 ? 0.0 : boost::accumulators::p_square_quantile(quantiles_[which]);
  }

  Recent recent_{boost::accumulators::tag::rolling_window::window_size = recent_solves};
  std::array<Quantile, 2> quantiles_{Quantile(boost::accumulators::quantile_probability = 0.5),
                                     Quantile(boost::accumulators::quantile_probability = 0.99)};
  std::size_t count_ = 0;
};

}  // namespace mixstream
