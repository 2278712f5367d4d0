#include "mixstream/report/page_view.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "mixstream/likelihood/likelihood.hpp"

namespace mixstream {
namespace {

constexpr std::size_t residual_bins = 48;

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(std::lround(at))];
}

double median(std::vector<double> values) {
  if (values.empty()) return 0.0;
  std::ranges::sort(values);
  return quantile(values, 0.5);
}

double product(std::span<const double> one, std::span<const double> two) {
  return std::inner_product(one.begin(), one.end(), two.begin(), 0.0);
}

std::vector<double> feature_values(const RowTable& rows, std::size_t feature) {
  std::vector<double> values(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) values[i] = rows.row(i).features[feature];
  return values;
}

/// For each column the feature that is the column itself; nothing when some column has none.
std::optional<std::vector<std::size_t>> features_of_columns(const FeatureMap& map) {
  std::vector<std::size_t> features;
  for (const std::string& column : map.columns()) {
    const Outcome<FeatureMap> alone = FeatureMap::plain({column});
    if (!alone) return {};
    const auto found = std::ranges::find(map.names(), alone.value().names().back());
    if (found == map.names().end()) return {};
    features.push_back(static_cast<std::size_t>(found - map.names().begin()));
  }
  return features;
}

std::vector<double> evenly(ViewRange range, std::size_t steps) {
  std::vector<double> grid(steps + 1);
  for (std::size_t i = 0; i <= steps; ++i)
    grid[i] = range.low + (range.high - range.low) * static_cast<double>(i) / static_cast<double>(steps);
  return grid;
}

/// The axes of a map whose columns are all known.
class ColumnAxes {
 public:
  ColumnAxes(const FeatureMap& map, const RowTable& rows, const std::vector<std::size_t>& features)
      : map_(map), rows_(rows), features_(features), x_(map.feature_count()) {
    for (const std::size_t feature : features) medians_.push_back(median(feature_values(rows, feature)));
  }

  ViewAxis axis(std::size_t column, RowShares& shares, std::span<const std::size_t> components,
                std::size_t steps) {
    const Mixture& mixture = shares.mixture();
    ViewAxis axis;
    axis.name = map_.columns()[column];
    axis.values = feature_values(rows_, features_[column]);
    for (std::size_t other = 0; other < medians_.size(); ++other) {
      if (other != column) axis.held.emplace_back(map_.columns()[other], medians_[other]);
    }
    if (mixture.component_count() == 0) return axis;
    axis.grid = evenly(view_of(axis.values), steps);
    axis.laws.resize(mixture.component_count());
    for (const double value : axis.grid) {
      const std::span<const double> x = features_at(column, value);
      for (std::size_t h = 0; h < axis.laws.size(); ++h) axis.laws[h].push_back(product(mixture.law(h), x));
      const std::span<const double> weights = shares.weights_at(x);
      axis.gate.resize(weights.size());
      for (std::size_t h = 0; h < weights.size(); ++h) axis.gate[h].push_back(weights[h]);
    }
    if (!axis.held.empty()) axis.adjusted = adjusted(column, mixture, components);
    return axis;
  }

 private:
  std::span<const double> features_at(std::size_t column, double value) {
    std::vector<double>& values = columns_;
    values = medians_;
    values[column] = value;
    map_.evaluate(values, x_);
    return x_;
  }

  /// The row's residual, put on its law's curve.
  std::vector<double> adjusted(std::size_t column, const Mixture& mixture,
                               std::span<const std::size_t> components) {
    std::vector<double> moved(rows_.size());
    for (std::size_t i = 0; i < moved.size(); ++i) {
      const Row row = rows_.row(i);
      const std::span<const double> law = mixture.law(components[i]);
      const std::span<const double> x = features_at(column, row.features[features_[column]]);
      moved[i] = row.response - product(law, row.features) + product(law, x);
    }
    return moved;
  }

  const FeatureMap& map_;
  const RowTable& rows_;
  const std::vector<std::size_t>& features_;
  std::vector<double> medians_;
  std::vector<double> columns_;
  std::vector<double> x_;
};

ViewAxis fitted_axis(const RowTable& rows, const Mixture& mixture, std::span<const std::size_t> components) {
  ViewAxis axis;
  axis.kind = ViewAxis::Kind::fitted;
  for (std::size_t i = 0; i < rows.size(); ++i)
    axis.values.push_back(product(mixture.law(components[i]), rows.row(i).features));
  axis.grid = evenly(view_of(axis.values), 1);
  axis.laws.assign(mixture.component_count(), axis.grid);
  return axis;
}

/// Adds the row's share to the histograms; what lies beyond them is counted outside.
void add_residuals(const Mixture& mixture, const Row& row, std::span<const double> probabilities,
                   std::vector<ResidualHistogram>& histograms) {
  for (std::size_t h = 0; h < histograms.size(); ++h) {
    ResidualHistogram& histogram = histograms[h];
    const double share = row.weight * probabilities[h];
    const double residual = row.response - product(mixture.law(h), row.features);
    const double place = (residual / histogram.half_width + 1.0) / 2.0 * residual_bins;
    histogram.rows += share;
    if (place >= 0.0 && place < static_cast<double>(residual_bins))
      histogram.density[static_cast<std::size_t>(place)] += share;
    else
      histogram.outside += share;
  }
}

std::vector<ResidualHistogram> histograms_within(double deviations, const RowTable& rows, RowShares& shares) {
  const Mixture& mixture = shares.mixture();
  std::vector<ResidualHistogram> histograms(mixture.component_count());
  for (std::size_t h = 0; h < histograms.size(); ++h) {
    histograms[h].half_width = deviations * std::sqrt(mixture.noise_variances[h]);
    histograms[h].density.resize(residual_bins);
  }
  std::vector<double> probabilities(histograms.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    shares.find(rows.row(i), probabilities);
    add_residuals(mixture, rows.row(i), probabilities, histograms);
  }
  for (ResidualHistogram& histogram : histograms) {
    const double bin_width = 2.0 * histogram.half_width / residual_bins;
    const double unit = histogram.rows * bin_width;
    if (histogram.rows > 0.0) histogram.outside /= histogram.rows;
    if (!(unit > 0.0)) histogram.density.clear();
    for (double& density : histogram.density) density /= unit;
  }
  return histograms;
}

}  // namespace

ViewRange view_of(std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {};
  std::ranges::sort(values);
  double low = values.front();
  double high = values.back();
  const double bulk = quantile(values, 0.99) - quantile(values, 0.01);
  if (bulk > 0.0 && high - low > 4.0 * bulk) {
    low = std::max(low, quantile(values, 0.01) - bulk / 2.0);
    high = std::min(high, quantile(values, 0.99) + bulk / 2.0);
  }
  if (low < high) return {low, high};
  const double around = low == 0.0 ? 1.0 : std::abs(low) / 2.0;
  return {low - around, low + around};
}

void RowShares::find(const Row& row, std::span<double> probabilities) noexcept {
  if (gated_ != nullptr) open_gate(*gated_->model, gated_->shape, row.features, mixture_.weights);
  responsibilities(mixture_, row, probabilities);
}

std::span<const double> RowShares::weights_at(std::span<const double> features) noexcept {
  if (gated_ == nullptr) return {};
  open_gate(*gated_->model, gated_->shape, features, mixture_.weights);
  return mixture_.weights;
}

std::vector<ViewAxis> axes_of(const FeatureMap& map, const RowTable& rows, RowShares shares,
                              std::span<const std::size_t> components, std::size_t grid_steps) {
  const Mixture& mixture = shares.mixture();
  std::vector<ViewAxis> axes;
  if (const auto features = features_of_columns(map)) {
    ColumnAxes columns(map, rows, *features);
    for (std::size_t column = 0; column < features->size(); ++column)
      axes.push_back(columns.axis(column, shares, components, grid_steps));
  } else {
    for (std::size_t f = 0; f < map.feature_count(); ++f) {
      if (static_cast<int>(f) == map.constant_feature()) continue;
      axes.push_back({ViewAxis::Kind::feature, map.names()[f], feature_values(rows, f), {}, {}, {}, {}, {}});
    }
  }
  if (mixture.component_count() > 0) axes.push_back(fitted_axis(rows, mixture, components));
  return axes;
}

std::vector<ResidualHistogram> residual_histograms(const RowTable& rows, RowShares shares) {
  double deviations = 4.0;
  std::vector<ResidualHistogram> histograms = histograms_within(deviations, rows, shares);
  const auto too_narrow = [](const ResidualHistogram& histogram) { return histogram.outside > 0.02; };
  while (deviations < 64.0 && std::ranges::any_of(histograms, too_narrow))
    histograms = histograms_within(deviations *= 2.0, rows, shares);
  return histograms;
}

}  // namespace mixstream
