#include "mixstream/likelihood/matching.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "mixstream/core/random.hpp"

using namespace mixstream;

namespace {

double total_distance(const Mixture& a, const Mixture& b, const std::vector<std::size_t>& order) {
  double sum = 0.0;
  for (std::size_t h = 0; h < order.size(); ++h) {
    for (std::size_t j = 0; j < a.feature_count; ++j) {
      const double gap = a.law(h)[j] - b.law(order[h])[j];
      sum += gap * gap;
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("the matching is the best of all labellings") {
  Random random(8);
  for (std::size_t k = 1; k <= 6; ++k) {
    for (int repetition = 0; repetition < 20; ++repetition) {
      Mixture a = empty_mixture(k, 2);
      Mixture b = empty_mixture(k, 2);
      for (double& value : a.coefficients) value = random.normal();
      for (double& value : b.coefficients) value = random.normal();
      std::vector<std::size_t> order(k);
      std::iota(order.begin(), order.end(), std::size_t{0});
      double least = total_distance(a, b, order);
      while (std::ranges::next_permutation(order).found) least = std::min(least, total_distance(a, b, order));
      std::vector<std::size_t> matching = matching_order(a, b);
      CHECK(total_distance(a, b, matching) == doctest::Approx(least));
      std::ranges::sort(matching);
      CHECK(std::ranges::adjacent_find(matching) == matching.end());
    }
  }
}

TEST_CASE("a relabelled mixture is matched back") {
  const Mixture mixture{1, {0.2, 0.3, 0.5}, {-1.0, 0.0, 4.0}, {0.1, 0.2, 0.3}};
  const std::vector<std::size_t> order{2, 0, 1};
  const Mixture moved = relabelled(mixture, order);
  CHECK(relabelled(moved, matching_order(mixture, moved)) == mixture);
}
