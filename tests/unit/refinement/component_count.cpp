#include "mixstream/refinement/component_count.hpp"

#include <doctest/doctest.h>

#include "support/kept.hpp"

using namespace mixstream;
using namespace experiments;

TEST_CASE("BIC on the sample finds the number of laws, and J sees too few") {
  const std::vector<double> laws{1, 1, 0, 0.5, -1, 0.5, 1, 0, 0, -1, -1, 1};  // no two alike
  for (const std::size_t k : {1, 2, 3}) {
    CAPTURE(k);
    Setting setting{"square", "1,u,v,u^2*v^2", k};
    setting.coefficients.assign(laws.begin(), laws.begin() + static_cast<std::ptrdiff_t>(4 * k));
    const Drawn drawn = draw(setting, 30000, 60 + k);
    const Kept kept = keep(drawn, 2500);
    const auto choice = choose_component_count(kept.tensor, kept.sample, {.largest = 5});
    REQUIRE(choice);
    CHECK(choice.value().component_count == k);
    REQUIRE(choice.value().candidates.size() == std::min<std::size_t>(5, k + 2));
    for (const ComponentCandidate& candidate : choice.value().candidates) {
      CHECK(candidate.mixture.component_count() == candidate.component_count);
      CHECK(candidate.matched);
      if (candidate.component_count < k) CHECK(candidate.p_value < 1e-6);
    }
  }
}

TEST_CASE("choosing k refuses without rows") {
  const Drawn drawn = draw({"line", "1,t", 2}, 100, 70);
  const Kept kept = keep(drawn);
  CHECK(choose_component_count(kept.tensor, RowTable{2, {}, {}, {}}).refusal().reason ==
        Reason::too_few_rows);
  CHECK(choose_component_count(kept.tensor, kept.sample, {.largest = 0}).refusal().reason ==
        Reason::bad_settings);
}
