#include "mixstream/following/trials.hpp"

#include <doctest/doctest.h>

using namespace mixstream;

namespace {

ModePolishState entrant(Modes modes, bool memory, double log_likelihood) {
  ModeShape shape{2, 2, modes, {}, NoiseModel::shared, {}};
  shape.noise_shape.memory = memory;
  Mixture laws = empty_mixture(2, 2);
  laws.weights = {0.5, 0.5};
  laws.coefficients = {1.0, 2.0, -1.0, 0.5};
  laws.noise_variances = {0.1, 0.1};
  ModePolishState state = ModePolish(model_from(laws, shape), shape, {}).state();
  state.log_likelihood = log_likelihood;
  return state;
}

/// What wins against the plain model, when the largest model is met before the one it holds.
std::size_t winner(double both, double memory) {
  const TrialState state{{entrant(Modes::independent, false, 0.0), entrant(Modes::persistent, true, both),
                          entrant(Modes::independent, true, memory)},
                         {0.0, 0.0, 0.0},
                         4096,
                         {"", "persistence", "memory"}};
  return Trial::restore(state).value().best();
}

}  // namespace

TEST_CASE("a larger model wins a trial only where it predicts better beyond doubt") {
  CHECK(winner(4.0, 4.0) == 0);
  CHECK(winner(4.0, 6.0) == 2);
  CHECK(winner(10.0, 6.0) == 2);  // the largest is a little better than the one it holds
  CHECK(winner(12.0, 6.0) == 1);
  CHECK(winner(100.0, -50.0) == 1);
  CHECK(winner(-1.0, -2.0) == 0);
}
