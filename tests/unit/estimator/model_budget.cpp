#include "mixstream/estimator/model_budget.hpp"

#include <doctest/doctest.h>

using namespace mixstream;

namespace {

EstimatorSettings plane(int features) {
  EstimatorSettings settings;
  settings.state.layout = {features, 0};
  settings.solve.component_count = 2;
  return settings;
}

}  // namespace

TEST_CASE("the sample is as large as the budget lets it be, and no larger than usual") {
  EstimatorSettings settings = plane(4);
  const std::uint64_t usual = model_bytes(settings).value();
  CHECK(sample_rows_within(settings, usual).value() == sized_state(settings).reservoir_rows);
  CHECK(sample_rows_within(settings, 100 * usual).value() == sized_state(settings).reservoir_rows);
  std::size_t before = 0;
  for (std::uint64_t kib = 330; kib < usual >> 10; kib += 20) {
    const Outcome<std::size_t> rows = sample_rows_within(settings, kib << 10);
    REQUIRE(rows);
    CHECK(rows.value() > before);
    before = rows.value();
    settings.state.reservoir_rows = rows.value();
    CHECK(model_bytes(settings).value() <= kib << 10);
    settings.state.reservoir_rows = rows.value() + 20;
    CHECK(model_bytes(settings).value() > kib << 10);
    settings.state.reservoir_rows = 0;
  }
}

TEST_CASE("a budget for fewer than 250 rows is refused with the least one; a sample that is named stays") {
  EstimatorSettings settings = plane(4);
  const Outcome<std::size_t> refused = sample_rows_within(settings, 1024);
  REQUIRE_FALSE(refused);
  CHECK(refused.refusal().text.find("KiB") != std::string::npos);
  settings.state.reservoir_rows = 77;
  CHECK(sample_rows_within(settings, 1024).value() == 77);
}
