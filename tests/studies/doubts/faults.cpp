#include "faults.hpp"

#include <cmath>
#include <functional>

namespace doubts_study {

using mixstream::DoubtKind;

std::vector<RightKind> right_kinds() {
  std::vector<RightKind> kinds;
  const auto add = [&](const char* name, const std::function<void(Recipe&)>& change) {
    kinds.push_back({name, {}});
    change(kinds.back().recipe);
  };
  add("independent", [](Recipe&) {});
  add("persistent", [](Recipe& r) {
    r.between_changes = 20.0;
    r.modes = mixstream::Modes::persistent;
  });
  add("gated", [](Recipe& r) {
    r.gate = 2.0;
    r.modes = mixstream::Modes::gated;
  });
  add("student", [](Recipe& r) {
    r.freedom = 5.0;
    r.tails = true;
  });
  add("wandering", [](Recipe& r) { r.wander = 0.98; });
  add("rounded", [](Recipe& r) { r.step = 0.3; });
  add("few-levels", [](Recipe& r) { r.levels = 4; });
  add("squares", [](Recipe& r) { r.normal_column = true; });
  return kinds;
}

std::vector<Fault> all_faults() {
  std::vector<Fault> faults;
  // Raw units: power = 100 + 10 y, flow = 20 + 5 u, head = 3 + 0.5 v, noise 5.
  const auto add = [&](const char* name, std::vector<double> strengths, std::vector<DoubtKind> kinds,
                       std::string term, const std::function<void(Recipe&, double)>& plant,
                       const std::function<double(double)>& size) {
    for (std::size_t i = 0; i < strengths.size(); ++i) {
      Fault fault{name, static_cast<int>(i) + 1, {}, kinds, term, size(strengths[i])};
      fault.recipe.rows = 200000;
      plant(fault.recipe, strengths[i]);
      faults.push_back(std::move(fault));
    }
  };
  const auto itself = [](double s) { return s; };
  const auto unknown = [](double) { return 0.0; };
  add(
      "curvature", {0.4, 1, 3}, {DoubtKind::missing_term}, "flow^2", [](Recipe& r, double s) { r.curve = s; },
      [](double s) { return 5.0 * s / 25.0; });
  add(
      "curvature-of-one", {0.4, 1, 3}, {DoubtKind::missing_term_of_one_law}, "flow^2",
      [](Recipe& r, double s) { r.curve_of_one = s; }, [](double s) { return 5.0 * s / 25.0; });
  add(
      "product", {0.4, 1, 3}, {DoubtKind::missing_term}, "flow*head",
      [](Recipe& r, double s) { r.product = s; }, [](double s) { return 5.0 * s / 2.5; });
  add(
      "gate", {0.7, 1.5, 4}, {DoubtKind::gate}, "flow", [](Recipe& r, double s) { r.gate = s; },
      [](double s) { return 2.0 * s / 5.0; });
  add(
      "dwell", {2, 10, 100}, {DoubtKind::persistence}, "", [](Recipe& r, double s) { r.between_changes = s; },
      itself);
  add(
      "unequal", {1.3, 2, 4}, {DoubtKind::unequal_noise}, "", [](Recipe& r, double s) { r.ratio = s; },
      itself);
  add(
      "growing", {0.3, 1, 2}, {DoubtKind::growing_noise}, "flow", [](Recipe& r, double s) { r.growth = s; },
      [](double s) { return 0.5 * s / 5.0; });
  add(
      "student", {10, 5, 3}, {DoubtKind::tails}, "", [](Recipe& r, double s) { r.freedom = s; },
      [](double s) { return 1.0 / s; });
  add(
      "skewed", {16, 4, 1}, {DoubtKind::skewed_noise}, "", [](Recipe& r, double s) { r.gamma_shape = s; },
      [](double s) { return 2.0 / std::sqrt(s); });
  add(
      "memory", {0.2, 0.5, 0.9}, {DoubtKind::memory}, "", [](Recipe& r, double s) { r.memory = s; }, itself);
  add(
      "outliers", {0.001, 0.003, 0.01}, {DoubtKind::tails}, "", [](Recipe& r, double s) { r.outliers = s; },
      unknown);
  add(
      "stuck", {0.005, 0.02, 0.1}, {DoubtKind::stuck}, "", [](Recipe& r, double s) { r.stuck = s; }, itself);
  add(
      "rounding", {0.5, 2, 4}, {DoubtKind::rounding}, "", [](Recipe& r, double s) { r.step = s; },
      [](double s) { return 5.0 * s; });
  add(
      "too-few", {2, 3, 5}, {DoubtKind::too_few_laws}, "",
      [](Recipe& r, double s) {
        r.leave_one_out = true;
        r.near = s;
      },
      [](double) { return 0.25; });  // the weight of the law that is left out
  add(
      "too-many", {1, 2, 3}, {DoubtKind::too_many_laws}, "",
      [](Recipe& r, double s) {
        r.one_too_many = true;
        r.laws = 2;
        r.apart = 2.0 + s;
      },
      unknown);
  add(
      "rare-law", {4, 6, 10}, {DoubtKind::too_few_laws}, "",
      [](Recipe& r, double s) {
        r.rare = 0.02;
        r.rare_apart = s;
      },
      [](double) { return 0.02; });
  add(
      "delay", {0.1, 0.5, 0.9}, {DoubtKind::delay}, "",
      [](Recipe& r, double s) {
        r.late = true;
        r.wander = s;
      },
      [](double) { return 1.0; });
  return faults;
}

}  // namespace doubts_study
