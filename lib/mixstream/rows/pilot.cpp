#include "mixstream/rows/pilot.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/core/yield_point.hpp"

namespace mixstream {
namespace {

/// The power of two nearest on the logarithmic scale, between the bounds; 1 for zero.
double power_of_two_near(double value) {
  if (value == 0.0) return 1.0;
  return std::clamp(std::exp2(std::round(std::log2(value))), smallest_scale, largest_scale);
}

/// A typical distance from zero: the 95th percentile, or the largest where most are zero; never so small that
/// the largest would lie beyond the bound on variables.
double typical_size(std::span<double> distances) {
  const double typical = quantile(distances, 0.95);
  const double largest = *std::ranges::max_element(distances);
  return typical > 0.0 ? std::max(typical, 2.0 * largest / largest_variable) : largest;
}

}  // namespace

double quantile(std::span<double> numbers, double share) noexcept {
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(numbers.size() - 1) + 0.5);
  std::ranges::nth_element(numbers, numbers.begin() + static_cast<std::ptrdiff_t>(rank));
  return numbers[rank];
}

Pilot Pilot::identity(int variables) {
  return {std::vector<double>(static_cast<std::size_t>(variables), 0.0),
          std::vector<double>(static_cast<std::size_t>(variables), 1.0)};
}

bool is_sound(const Pilot& pilot, const Layout& layout) noexcept {
  const auto m = static_cast<std::size_t>(layout.variables());
  if (pilot.scale.size() != m || pilot.shift.size() != m) return false;
  const auto usable_scale = [](double scale) {
    int exponent = 0;
    return scale >= smallest_scale && scale <= largest_scale && std::frexp(scale, &exponent) == 0.5;
  };
  const auto usable_shift = [&](double shift) {
    return std::abs(shift) <= 2.0 * largest_magnitude && (layout.has_constant() || shift == 0.0);
  };
  return pilot.scale[0] == 1.0 && pilot.shift[0] == 0.0 && std::ranges::all_of(pilot.scale, usable_scale) &&
         std::ranges::all_of(pilot.shift, usable_shift);
}

Pilot pilot_from(const RowTable& rows, const Layout& layout) {
  Pilot pilot = Pilot::identity(layout.variables());
  std::vector<double> scratch(rows.size());
  find_pilot(rows, layout, scratch, pilot);
  return pilot;
}

void find_pilot(const RowTable& rows, const Layout& layout, std::span<double> scratch,
                Pilot& pilot) noexcept {
  if (rows.size() == 0) return;
  const std::span<double> column = scratch.first(rows.size());
  const auto settle = [&](std::size_t variable) {
    const double centre = layout.has_constant() ? quantile(column, 0.5) : 0.0;
    for (double& value : column) value = std::abs(value - centre);
    double size = typical_size(column);
    if (size <= 0.0) size = std::abs(centre);  // a variable that never changes
    pilot.scale[variable] = power_of_two_near(size);
    pilot.shift[variable] = pilot.scale[variable] * std::round(centre / pilot.scale[variable]);
  };
  for (int feature = 0; feature < layout.feature_count; ++feature) {
    if (feature == layout.constant_feature) continue;
    for (std::size_t i = 0; i < rows.size(); ++i)
      column[i] = rows.row(i).features[static_cast<std::size_t>(feature)];
    settle(static_cast<std::size_t>(layout.variable_of(feature)));
  }
  std::ranges::copy(rows.responses, column.begin());
  settle(static_cast<std::size_t>(layout.response()));
}

void to_pilot(const Row& row, const Layout& layout, const Pilot& pilot,
              std::span<double> variables) noexcept {
  variables[0] = 1.0;
  for (int feature = 0; feature < layout.feature_count; ++feature) {
    const auto variable = static_cast<std::size_t>(layout.variable_of(feature));
    if (variable == 0) continue;
    variables[variable] =
        (row.features[static_cast<std::size_t>(feature)] - pilot.shift[variable]) / pilot.scale[variable];
  }
  const auto response = static_cast<std::size_t>(layout.response());
  variables[response] = (row.response - pilot.shift[response]) / pilot.scale[response];
}

RowTable to_pilot(const RowTable& rows, const Layout& layout, const Pilot& pilot) {
  RowTable result = rows;
  std::vector<double> z(static_cast<std::size_t>(layout.variables()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i % 512 == 0) yield_point();
    to_pilot(rows.row(i), layout, pilot, z);
    for (int feature = 0; feature < layout.feature_count; ++feature) {
      result.features[i * rows.feature_count + static_cast<std::size_t>(feature)] =
          z[static_cast<std::size_t>(layout.variable_of(feature))];
    }
    result.responses[i] = z.back();
  }
  return result;
}

// With y' = (y - a_y)/s_y and x'_j = (x_j - a_j)/s_j, the law y = b_0 + sum b_j x_j becomes
// y' = (b_0 - a_y + sum b_j a_j)/s_y + sum (b_j s_j / s_y) x'_j, and noise variances divide by s_y^2.
Mixture to_pilot(const Mixture& mixture, const Layout& layout, const Pilot& pilot) {
  Mixture result = mixture;
  const double response_scale = pilot.scale.back();
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    double intercept = -pilot.shift.back();
    for (int feature = 0; feature < layout.feature_count; ++feature) {
      const auto at = static_cast<std::size_t>(feature);
      const auto variable = static_cast<std::size_t>(layout.variable_of(feature));
      intercept += mixture.law(h)[at] * (variable == 0 ? 1.0 : pilot.shift[variable]);
      result.law(h)[at] = mixture.law(h)[at] * pilot.scale[variable] / response_scale;
    }
    if (layout.has_constant())
      result.law(h)[static_cast<std::size_t>(layout.constant_feature)] = intercept / response_scale;
    result.noise_variances[h] = mixture.noise_variances[h] / (response_scale * response_scale);
  }
  return result;
}

Mixture to_raw(const Mixture& mixture, const Layout& layout, const Pilot& pilot) {
  Mixture result = mixture;
  const double response_scale = pilot.scale.back();
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    double intercept = pilot.shift.back();
    for (int feature = 0; feature < layout.feature_count; ++feature) {
      const auto at = static_cast<std::size_t>(feature);
      const auto variable = static_cast<std::size_t>(layout.variable_of(feature));
      const double slope = mixture.law(h)[at] * response_scale / pilot.scale[variable];
      intercept += variable == 0 ? slope : -slope * pilot.shift[variable];
      result.law(h)[at] = slope;
    }
    if (layout.has_constant()) result.law(h)[static_cast<std::size_t>(layout.constant_feature)] = intercept;
    result.noise_variances[h] = mixture.noise_variances[h] * response_scale * response_scale;
  }
  return result;
}

}  // namespace mixstream
