// A polish of rows in order in other coordinates: x' = (x - shift) / scale, and so for y.
//
// theta' = L theta + l with an L that depends on the pilot alone, so scores go by L^-T, information by L^-T H
// L^-1, and nothing of what the rows said is lost.
#include <algorithm>
#include <cmath>

#include "mixstream/linalg/packed.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/modes/mode_polish.hpp"

namespace mixstream {
namespace {

/// L, or L^-1 where `back` is set.
struct Way {
  DenseMatrix laws;    ///< d x d, of the coefficients of one law
  DenseMatrix theta;   ///< P x P
  double y_scale = 1;  ///< of y
};

/// y' = (x . beta - shift) / scale in terms of x': each coefficient by its feature's scale, and what shifts
/// take from the features goes to the constant.
DenseMatrix map_of_law(const Layout& layout, const Pilot& pilot, bool back) {
  const auto d = static_cast<std::size_t>(layout.feature_count);
  DenseMatrix map{d, d, std::vector<double>(d * d)};
  const double y_scale = pilot.scale.back();
  for (std::size_t j = 0; j < d; ++j) {
    const auto variable = static_cast<std::size_t>(layout.variable_of(static_cast<int>(j)));
    const double scale = back ? y_scale / pilot.scale[variable] : pilot.scale[variable] / y_scale;
    map(j, j) = scale;
    if (variable == 0 || !layout.has_constant()) continue;
    map(static_cast<std::size_t>(layout.constant_feature), j) =
        back ? -pilot.shift[variable] * scale : pilot.shift[variable] / y_scale;
  }
  return map;
}

/// Whether gamma . w stays a gate of the same features.
bool keeps_gate(const ModeShape& shape, const Layout& layout, const Pilot& pilot) {
  const bool has_constant = std::ranges::any_of(
      shape.gate, [&](std::size_t at) { return static_cast<int>(at) == layout.constant_feature; });
  return has_constant || std::ranges::all_of(shape.gate, [&](std::size_t at) {
           return pilot.shift[static_cast<std::size_t>(layout.variable_of(static_cast<int>(at)))] == 0.0;
         });
}

Way way_of(const ModeShape& shape, const Layout& layout, const Pilot& pilot, bool back) {
  const std::size_t size = shape.parameters();
  const std::size_t d = shape.feature_count;
  Way way{
      map_of_law(layout, pilot, back), {size, size, std::vector<double>(size * size)}, pilot.scale.back()};
  for (std::size_t q = shape.who_at(); q < size; ++q) way.theta(q, q) = 1.0;
  for (std::size_t h = 0; h < shape.component_count; ++h) {
    for (std::size_t i = 0; i < d; ++i) std::copy_n(&way.laws.values[i * d], d, &way.theta(h * d + i, h * d));
  }
  const std::size_t width = shape.gate.size();
  const double y_scale = back ? 1.0 / way.y_scale : way.y_scale;  // a gate knows nothing of y
  for (std::size_t h = 0; width > 0 && h + 1 < shape.component_count; ++h) {
    for (std::size_t i = 0; i < width; ++i) {
      for (std::size_t j = 0; j < width; ++j)
        way.theta(shape.who_at() + h * width + i, shape.who_at() + h * width + j) =
            y_scale * way.laws(shape.gate[i], shape.gate[j]);
    }
  }
  return way;
}

void carry(ScoreSums& sums, const Way& back) {
  sums.information = congruent(sums.information, back.theta);
  sums.gradient = transposed_product(back.theta, sums.gradient);
}

}  // namespace

Done ModePolish::take_coordinates(const Layout& layout, const Pilot& pilot) {
  const ModeShape& shape = state_.shape;
  if (!keeps_gate(shape, layout, pilot))
    return Refusal{Reason::cannot_merge, "a gate without a constant belongs to the coordinates it has"};
  flush();
  rescale();
  const Way way = way_of(shape, layout, pilot, false);
  const Way back = way_of(shape, layout, pilot, true);
  const double log_scale = std::log(way.y_scale);
  carry(state_.sums, back);
  carry(state_.older, back);
  for (ScoreBatch& batch : state_.batches) {
    batch.score = transposed_product(back.theta, batch.score);
    batch.information = batch_in(groups_, batch.information, back.theta);
  }
  state_.parameters = product(way.theta, state_.parameters);
  for (std::size_t h = 0; layout.has_constant() && h < k(); ++h)
    state_.parameters[h * shape.feature_count + static_cast<std::size_t>(layout.constant_feature)] -=
        pilot.shift.back() / way.y_scale;
  for (std::size_t q = shape.variances_at(); q < shape.tails_at(); ++q)
    state_.parameters[q] -= 2.0 * log_scale;
  for (double& variance : state_.known_variances) variance /= way.y_scale * way.y_scale;
  state_.log_likelihood += static_cast<double>(state_.rows) * log_scale;
  std::ranges::fill(state_.chains, 0.0);
  model_.laws.noise_variances = state_.known_variances;
  from_parameters(state_.parameters, shape, model_);
  filter_.set_anchor(model_);
  return std::monostate{};
}

}  // namespace mixstream
