// Which settings go together, and the model they ask for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mixstream/regression/systems.hpp"
#include "mixstream/solving/solve.hpp"

namespace mixstream {

ModeShape shape_of(const SolveSettings& settings, const Layout& layout) {
  const auto d = static_cast<std::size_t>(std::max(layout.feature_count, 0));
  ModeShape shape{settings.component_count, d, settings.modes, {}, settings.noise, settings.noise_shape};
  if (settings.component_count == 1) shape.modes = Modes::independent;
  if (shape.modes != Modes::gated) return shape;
  if (layout.has_constant()) shape.gate.push_back(static_cast<std::size_t>(layout.constant_feature));
  for (std::size_t feature = 0; feature < d; ++feature) {
    const bool asked =
        settings.gate.empty() || std::ranges::find(settings.gate, feature) != settings.gate.end();
    if (asked && static_cast<int>(feature) != layout.constant_feature) shape.gate.push_back(feature);
  }
  return shape;
}

Done check(const SolveSettings& settings, std::size_t feature_count) {
  const auto refuse = [](std::string text) { return Refusal{Reason::bad_settings, std::move(text)}; };
  if (settings.polish > PolishKind::stepwise_em) return refuse("there is no such polish");
  if (settings.modes > Modes::gated) return refuse("there are no such modes");
  const bool plain =
      settings.modes == Modes::independent && !settings.noise_shape.tails && !settings.noise_shape.memory;
  if (!plain && settings.component_count == 0)
    return refuse("k is chosen together with modes and noise: give k, or leave modes and noise to the rows");
  if (!plain && settings.method != FitMethod::standard)
    return refuse("modes, tails and memory belong to the default method");
  if (!plain && settings.polish != PolishKind::scoring)
    return refuse("modes, tails and memory are fitted by the polish of scores: it cannot be off");
  if (std::ranges::any_of(settings.gate, [&](std::size_t at) { return at >= feature_count; }))
    return refuse("a gate can only be made of features of the map");
  if (!settings.gate.empty() && settings.modes != Modes::gated)
    return refuse("a gate goes with gated modes, and only with them");
  if (settings.component_count > 32) return refuse("at most 32 components are supported");
  if (feature_count > static_cast<std::size_t>(largest_solved_dimension)) {
    return Refusal{
        Reason::too_large,
        fmt::format("solving is supported for at most {} features; {} would need a matrix of {} x {} "
                    "numbers for the third regression",
                    largest_solved_dimension, feature_count, *monomial_count(feature_count, 3),
                    *monomial_count(feature_count, 3))};
  }
  if (settings.noise_variance &&
      !(*settings.noise_variance > 0.0 && std::isfinite(*settings.noise_variance))) {
    return refuse("a known noise variance must be positive");
  }
  if (settings.noise_variance.has_value() != (settings.noise == NoiseModel::known)) {
    return refuse("a noise variance goes with known noise, and only with it");
  }
  if (settings.component_count == 0 && settings.method != FitMethod::standard) {
    return refuse("the number of components is chosen by the default method only: give k");
  }
  if (settings.component_count == 0 &&
      (settings.largest_component_count < 1 || settings.largest_component_count > 32)) {
    return refuse("k = auto tries 1 up to at most 32 components");
  }
  if (!(settings.second_penalty >= 0.0) || !(settings.third_penalty >= 0.0) ||
      !std::isfinite(settings.noise_third)) {
    return refuse("penalties must not be negative, and the third noise moment must be finite");
  }
  return std::monostate{};
}

}  // namespace mixstream
