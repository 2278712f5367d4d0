#include <doctest/doctest.h>
#include <boost/accumulators/accumulators.hpp>

#include <cmath>
#include <random>

#include "dense_oracle.hpp"
#include "mixstream/moments/features/collapsed_covariance.hpp"
#include "mixstream/moments/features/cross_moment.hpp"
#include "mixstream/moments/features/effective_rows.hpp"
#include "mixstream/moments/features/mean_power.hpp"

using namespace mixstream;
namespace accumulators = boost::accumulators;

using Set = accumulators::accumulator_set<
    Row, accumulators::features<tag::row_moments, tag::collapsed_covariance<1>, tag::collapsed_covariance<2>,
                                tag::collapsed_covariance<3>, tag::cross_moment<1>, tag::cross_moment<2>,
                                tag::cross_moment<3>, tag::mean_power<2>, tag::mean_power<3>,
                                tag::effective_rows>>;

namespace {

void check_all(const Set& set, const oracle::Rows& rows) {
  oracle::check(collapsed_covariance<1>(set), rows, 0, 1, 1);
  oracle::check(collapsed_covariance<2>(set), rows, 0, 2, 2);
  oracle::check(collapsed_covariance<3>(set), rows, 0, 3, 3);
  oracle::check(cross_moment<1>(set), rows, 1, 1, 0);
  oracle::check(cross_moment<2>(set), rows, 2, 2, 0);
  oracle::check(cross_moment<3>(set), rows, 3, 3, 0);
  oracle::check(mean_power<2>(set), rows, 0, 2, 0);
  oracle::check(mean_power<3>(set), rows, 0, 3, 0);
  double total = 0.0;
  double squares = 0.0;
  for (const double w : rows.weights) {
    total += w;
    squares += w * w;
  }
  CHECK(effective_rows(set) == doctest::Approx(total * total / squares).epsilon(1e-12));
}

}  // namespace

TEST_CASE("every extractor equals the brute-force sum over dense tensors") {
  for (int d = 1; d <= 6; ++d) {
    for (const int constant : {-1, 0, d - 1}) {
      for (const int count :
           {40, 700}) {  // inside the first block, and with a fixed pilot and a partial block
        const oracle::Rows rows =
            oracle::random_rows(d, constant, count, static_cast<unsigned>(d + 10 * count));
        StateSettings settings;
        settings.layout = {d, constant};
        settings.reservoir_rows = 8;
        Set set(state_settings = settings);
        for (std::size_t i = 0; i < rows.weights.size(); ++i)
          set(Row{rows.features[i], rows.responses[i], rows.weights[i]});
        check_all(set, rows);
      }
    }
  }
}

TEST_CASE("forgetting gives old rows the weight that their age deserves") {
  const double half_life = 50.0;
  oracle::Rows rows = oracle::random_rows(3, 0, 9000, 7);  // 180 half-lives: the growth is renormalised
  StateSettings settings;
  settings.layout = {3, 0};
  settings.reservoir_rows = 8;
  settings.memory = {Memory::Kind::half_life_rows, half_life};
  Set by_rows(state_settings = settings);
  settings.memory = {Memory::Kind::half_life_seconds, 4.0 * half_life};
  Set by_seconds(state_settings = settings);
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {
    by_rows(Row{rows.features[i], rows.responses[i], rows.weights[i]});
    by_seconds(Row{rows.features[i], rows.responses[i], rows.weights[i], 1e9 + 4.0 * static_cast<double>(i)});
    rows.weights[i] *= std::exp2((static_cast<double>(i) - 8999.0) / half_life);
  }
  check_all(by_rows, rows);
  check_all(by_seconds, rows);
}

TEST_CASE("two accumulator sets merge, and the count survives") {
  oracle::Rows rows = oracle::random_rows(2, 0, 900, 3);
  StateSettings settings;
  settings.layout = {2, 0};
  settings.reservoir_rows = 8;
  Set one(state_settings = settings);
  Set two(state_settings = settings);
  for (std::size_t i = 0; i < 900; ++i)
    (i < 300 ? one : two)(Row{rows.features[i], rows.responses[i], rows.weights[i]});
  REQUIRE(merge(one, two));
  CHECK(row_moments(one).row_count() == 900);
  check_all(one, rows);
}

TEST_CASE("settings that are refused say why at construction") {
  StateSettings settings;
  CHECK_THROWS_WITH(Set(state_settings = settings), doctest::Contains("at least one feature"));
}
