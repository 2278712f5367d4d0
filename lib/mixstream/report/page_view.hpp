// What the page draws of a model and its sample, as plain numbers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/report/fitted_laws.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

struct ViewRange {
  double low = 0.0;
  double high = 1.0;
};

/// The range that shows the values: all of them, but the bulk only where a few lie far out. Never empty.
ViewRange view_of(std::vector<double> values);

/// One choice of what stands on the horizontal axis of the data's plot; y stands on the vertical one.
struct ViewAxis {
  enum class Kind {
    column,   ///< a column of the input: laws are curves, other columns held at their medians
    feature,  ///< a feature; columns cannot be told from it, so there are no curves
    fitted,   ///< beta_h . x of the row's own law: laws are the diagonal
  };
  Kind kind = Kind::column;
  std::string name;
  std::vector<double> values;  ///< one for each row
  std::vector<double>
      adjusted;  ///< y moved along the row's own law to the medians; empty when nothing is held
  std::vector<std::pair<std::string, double>> held;  ///< other columns and their medians
  std::vector<double> grid;
  std::vector<std::vector<double>> laws;  ///< beta_h . x over the grid
  std::vector<std::vector<double>> gate;  ///< the laws' weights over the grid, where features choose them
};

/// P(h | x, y) of a row, where the features choose the weights by those.
class RowShares {
 public:
  /// `gated`: what the report says of a gate, or null; it must outlive this.
  RowShares(Mixture mixture, const FittedLaws* gated = nullptr)
      : mixture_(std::move(mixture)), gated_(gated) {}
  const Mixture& mixture() const noexcept { return mixture_; }
  /// No throw, no allocation.
  void find(const Row& row, std::span<double> probabilities) noexcept;
  /// The weights at these features; empty without a gate. No throw, no allocation.
  std::span<const double> weights_at(std::span<const double> features) noexcept;

 private:
  Mixture mixture_;
  const FittedLaws* gated_;
};

/// The axes that make sense for the map. The sample holds features, so a column is known where it is a
/// feature itself; only when all columns are known are they axes, else the features. With laws, `fitted` is
/// the last axis. `components`: the law of each row.
std::vector<ViewAxis> axes_of(const FeatureMap& map, const RowTable& rows, RowShares shares,
                              std::span<const std::size_t> components, std::size_t grid_steps = 160);

/// Residuals of one law. Each row counts with its P(h | x, y), so that for a right fit the histogram is the
/// noise's own density, also where laws cross.
struct ResidualHistogram {
  double half_width = 0.0;      ///< bins cover [-half_width, half_width]
  std::vector<double> density;  ///< of each bin; empty where the noise is zero or no row belongs to the law
  double outside = 0.0;         ///< share beyond the bins
  double rows = 0.0;            ///< sum of P(h | x, y)
};

std::vector<ResidualHistogram> residual_histograms(const RowTable& rows, RowShares shares);

}  // namespace mixstream
