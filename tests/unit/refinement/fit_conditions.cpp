#include "mixstream/refinement/fit_conditions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "mixstream/likelihood/parameters.hpp"
#include "support/moments_of.hpp"

using namespace mixstream;

namespace {

/// One golden file of the numpy reference: named lists of numbers.
struct Golden {
  std::size_t d = 0, k = 0, rows = 0, sample_rows = 0;
  int constant = -1;
  NoiseModel noise = NoiseModel::shared;
  std::map<std::string, std::vector<double>> lists;
};

Golden read_golden(const std::filesystem::path& path) {
  Golden golden;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name == "shape") {
      std::string noise;
      words >> golden.d >> golden.k >> golden.rows >> golden.sample_rows >> golden.constant >> noise;
      golden.noise = noise == "shared" ? NoiseModel::shared : NoiseModel::per_component;
      continue;
    }
    double number = 0.0;
    while (words >> number) golden.lists[name].push_back(number);
  }
  return golden;
}

RowTable rows_of(const Golden& golden, std::size_t count) {
  RowTable table{golden.d, {}, {}, {}};
  for (std::size_t i = 0; i < count; ++i) {
    const std::span<const double> x{golden.lists.at("features").data() + i * golden.d, golden.d};
    table.add({x, golden.lists.at("responses")[i]});
  }
  return table;
}

double largest_difference(const std::vector<double>& ours, const std::vector<double>& theirs) {
  double largest = 0.0;
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    largest = std::max(largest, std::abs(ours[i] - theirs[i]) / std::max(1.0, std::abs(theirs[i])));
  }
  return largest;
}

}  // namespace

TEST_CASE("refinement agrees with the numpy reference from the same start") {
  const char* folder = std::getenv("MIXSTREAM_GOLDEN");
  REQUIRE_MESSAGE(folder != nullptr, "MIXSTREAM_GOLDEN must name tests/golden");
  int files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(folder) / "refinement")) {
    CAPTURE(entry.path().filename().string());
    const Golden golden = read_golden(entry.path());
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
    ++files;
  }
  CHECK(files == 6);
}
