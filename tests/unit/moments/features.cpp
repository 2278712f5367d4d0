#include <doctest/doctest.h>
#include <boost/accumulators/accumulators.hpp>

#include <cmath>
#include <random>

#include "dense_oracle.hpp"
#include "mixstream/moments/features/moment_set.hpp"
#include "mixstream/moments/state.hpp"

using namespace mixstream;

namespace {

/// A weight w stands for w rows; each of them counts by its fading.
double effective(const oracle::Rows& rows, const std::vector<double>& fading) {
  double total = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {  // these weights hold the fading
    const double fade = fading.empty() ? 1.0 : fading[i];
    total += rows.weights[i];
    squares += rows.weights[i] * fade;
  }
  return total * total / squares;
}

template <class Set>
void check_all(const Set& set, const oracle::Rows& rows, const std::vector<double>& fading = {}) {
  oracle::check(collapsed_covariance<1>(set), rows, 0, 1, 1);
  oracle::check(collapsed_covariance<2>(set), rows, 0, 2, 2);
  oracle::check(collapsed_covariance<3>(set), rows, 0, 3, 3);
  oracle::check(cross_moment<1>(set), rows, 1, 1, 0);
  oracle::check(cross_moment<2>(set), rows, 2, 2, 0);
  oracle::check(cross_moment<3>(set), rows, 3, 3, 0);
  oracle::check(mean_monomials<1>(set), rows, 0, 1, 0);
  oracle::check(mean_monomials<2>(set), rows, 0, 2, 0);
  oracle::check(mean_monomials<3>(set), rows, 0, 3, 0);
  CHECK(effective_rows(set) == doctest::Approx(effective(rows, fading)).epsilon(1e-12));
}

Row row_of(const oracle::Rows& rows, std::size_t i) {
  return {rows.features[i], rows.responses[i], rows.weights[i]};
}

/// z of a row whose pilot is the identity: 1, the features without the constant, y.
std::vector<double> variables_of(const oracle::Rows& rows, std::size_t i, int constant) {
  std::vector<double> z{1.0};
  for (std::size_t f = 0; f < rows.features[i].size(); ++f)
    if (static_cast<int>(f) != constant) z.push_back(rows.features[i][f]);
  z.push_back(rows.responses[i]);
  return z;
}

}  // namespace

TEST_CASE("a set that absorbs rows gives every feature, rows of a partial block included") {
  for (int d = 1; d <= 5; ++d) {
    for (const int constant : {-1, 0, d - 1}) {
      const oracle::Rows rows = oracle::random_rows(d, constant, 700, static_cast<unsigned>(d));
      const Layout layout{d, constant};
      const BlockKernel kernel(layout.variables());
      AlignedDoubles workspace(kernel.workspace_size());
      MomentSet set;
      held_moments(set) = RowMoments(kernel, layout);
      for (std::size_t i = 0; i < rows.weights.size(); ++i) {
        set(PilotRow{variables_of(rows, i, constant).data(), rows.weights[i], rows.weights[i]});
        if (held_moments(set).pending.full()) held_moments(set).fold(kernel, workspace.data());
      }
      CHECK(row_moments(set).rows == 700);
      check_all(set, rows);
    }
  }
}

TEST_CASE(
    "a set that reads the state's moments gives the same, in raw coordinates once they were asked for") {
  for (int d = 1; d <= 6; ++d) {
    for (const int constant : {-1, 0, d - 1}) {
      for (const int count : {40, 700}) {  // inside the first block, and with a fixed pilot
        const oracle::Rows rows =
            oracle::random_rows(d, constant, count, static_cast<unsigned>(d + 10 * count));
        MomentState state = MomentState::create({.layout = {d, constant}, .reservoir_rows = 8}).value();
        for (std::size_t i = 0; i < rows.weights.size(); ++i) state.absorb(row_of(rows, i));
        const MomentTensor raw = state.moments().in_raw_coordinates();
        const SettledSet set((settled_tensor = raw));
        check_all(set, rows);
        CHECK(row_moments(set).row_count == rows.weights.size());
      }
    }
  }
}

TEST_CASE("the powers of y and mixed products are those of the rows") {
  const oracle::Rows rows = oracle::random_rows(3, 0, 500, 5);
  MomentState state = MomentState::create({.layout = {3, 0}, .reservoir_rows = 8}).value();
  for (std::size_t i = 0; i < rows.weights.size(); ++i) state.absorb(row_of(rows, i));
  const MomentTensor raw = state.moments().in_raw_coordinates();
  const SettledSet set((settled_tensor = raw));
  const CentralSet central((settled_tensor = raw));
  oracle::check(mixed_moment<0, 3, 1>(set), rows, 0, 3, 1);
  oracle::check(mixed_moment<3, 1, 0>(set), rows, 3, 1, 0);
  oracle::check(mixed_moment<1, 2, 1>(central), rows, 1, 2, 1);
  oracle::check(mixed_moment<1, 3, 2>(central), rows, 1, 3, 2);
  oracle::check(mixed_moment<2, 3, 1>(central), rows, 2, 3, 1);
  double total = 0.0;
  double sixth = 0.0;
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {
    total += rows.weights[i];
    sixth += rows.weights[i] * std::pow(rows.responses[i], 6);
  }
  CHECK(mean_response<6>(set) == doctest::Approx(sixth / total).epsilon(1e-11));
}

TEST_CASE("forgetting gives old rows the weight that their age deserves") {
  const double half_life = 50.0;
  oracle::Rows rows = oracle::random_rows(3, 0, 9000, 7);  // 180 half-lives: the growth is renormalised
  StateSettings settings{.layout = {3, 0}, .memory = {Memory::Kind::half_life_rows, half_life}};
  settings.reservoir_rows = 8;
  MomentState by_rows = MomentState::create(settings).value();
  settings.memory = {Memory::Kind::half_life_seconds, 4.0 * half_life};
  MomentState by_seconds = MomentState::create(settings).value();
  std::vector<double> fading;
  for (std::size_t i = 0; i < rows.weights.size(); ++i) {
    Row row = row_of(rows, i);
    by_rows.absorb(row);
    row.time = 1e9 + 4.0 * static_cast<double>(i);
    by_seconds.absorb(row);
    fading.push_back(std::exp2((static_cast<double>(i) - 8999.0) / half_life));
    rows.weights[i] *= fading.back();
  }
  for (const MomentState* state : {&by_rows, &by_seconds}) {
    const MomentTensor raw = state->moments().in_raw_coordinates();
    check_all(SettledSet((settled_tensor = raw)), rows, fading);
  }
}
