#include "mixstream/refinement/fit_conditions.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/likelihood/parameters.hpp"
#include "support/golden.hpp"
#include "support/moments_of.hpp"

using namespace mixstream;

namespace {

RowTable rows_of(const Golden& golden, std::size_t count) {
  RowTable table{golden.d, {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const double> x{golden.lists.at("features").data() + i * golden.d, golden.d};
    table.add({x, golden.lists.at("responses")[i]});
  }
  return table;
}

}  // namespace

TEST_CASE("refinement agrees with the numpy reference from the same start") {
  const std::vector<std::filesystem::path> files = golden_files("refinement");
  for (const std::filesystem::path& path : files) {
    CAPTURE(path.string());
    const Golden golden = read_golden(path);
    const Layout layout{static_cast<int>(golden.d), golden.constant};
    const MomentTensor tensor =
        moments_of(rows_of(golden, golden.rows), layout, Pilot::identity(layout.variables()));
    const Conditions conditions(tensor, rows_of(golden, golden.sample_rows), ConditionSet{});
    const Mixture start{golden.d, golden.lists.at("start_weights"), golden.lists.at("start_coefficients"),
                        golden.lists.at("start_variances")};
    const auto fit =
        fit_conditions(conditions, start, {.noise = golden.noise, .early_gain = 0.0, .settled_below = 0.0});
    REQUIRE(fit);
    const std::vector<double>& summary = golden.lists.at("summary");
    CHECK(largest_difference(to_parameters(fit.value().mixture, golden.noise),
                             golden.lists.at("parameters")) < 1e-6);
    CHECK(largest_difference(fit.value().standard_errors, golden.lists.at("standard_errors")) < 1e-6);
    CHECK(fit.value().distance == doctest::Approx(summary[0]).epsilon(1e-6));
    CHECK(fit.value().dof == static_cast<std::size_t>(summary[1]));
    CHECK(fit.value().expected_ratio == doctest::Approx(summary[2]).epsilon(1e-6));
  }
  CHECK(files.size() == 6);
}
