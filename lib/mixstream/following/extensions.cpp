#include "mixstream/following/extensions.hpp"

#include <algorithm>
#include <utility>

namespace mixstream {
namespace {

constexpr std::size_t most_extensions = 4;

/// Adds the part that a doubt asks for; false where it asks for none, or for one that is there.
bool extend(ModeShape& shape, const Doubt& doubt, ModelChoice choice, const Layout& layout) {
  const ModeShape before = shape;
  const bool may_choose = choice.modes && shape.component_count > 1;
  switch (doubt.kind) {
    case DoubtKind::persistence:
      if (!may_choose) break;
      shape.modes = Modes::persistent;
      shape.gate.clear();
      break;
    case DoubtKind::gate:
      if (!may_choose || shape.modes == Modes::gated || !layout.has_constant()) break;
      shape.modes = Modes::gated;
      shape.gate = whole_gate(shape.feature_count, layout);
      break;
    case DoubtKind::unequal_noise:
      if (choice.noise && shape.component_count > 1 && shape.noise == NoiseModel::shared)
        shape.noise = NoiseModel::per_component;
      break;
    case DoubtKind::tails:
      if (choice.noise && doubt.size > 0.0) shape.noise_shape.tails = true;
      break;
    case DoubtKind::memory:
      if (choice.noise) shape.noise_shape.memory = true;
      break;
    default:
      break;
  }
  return !(shape == before);
}

/// On few rows laws that last pass for noise that remembers, which ties a row to the row before as well, and
/// for a gate over a column that wanders: which of them it is, the trial says.
constexpr std::pair<DoubtKind, DoubtKind> alike[] = {{DoubtKind::persistence, DoubtKind::memory},
                                                     {DoubtKind::persistence, DoubtKind::gate}};

/// The raised doubts, strongest first, each with those that it may be instead.
struct Asked {
  Doubt doubt;
  DoubtKind because;
};
std::vector<Asked> asked_for(std::span<const Doubt> doubts) {
  std::vector<Asked> asked;
  for (const Doubt& doubt : doubts) {
    if (!doubt.raised) continue;
    asked.push_back({doubt, doubt.kind});
    const auto ask_instead = [&](DoubtKind kind) {
      asked.push_back({doubt, doubt.kind});
      asked.back().doubt.kind = kind;
    };
    for (const auto& [one, other] : alike) {
      if (doubt.kind == one) ask_instead(other);
      if (doubt.kind == other) ask_instead(one);
    }
  }
  return asked;
}

}  // namespace

std::vector<std::size_t> whole_gate(std::size_t feature_count, const Layout& layout) {
  std::vector<std::size_t> gate;
  if (layout.has_constant()) gate.push_back(static_cast<std::size_t>(layout.constant_feature));
  for (std::size_t feature = 0; feature < feature_count; ++feature) {
    if (static_cast<int>(feature) != layout.constant_feature) gate.push_back(feature);
  }
  return gate;
}

std::vector<ModelExtension> extensions_of(const ModeShape& now, std::span<const Doubt> doubts,
                                          ModelChoice choice, const Layout& layout) {
  std::vector<ModelExtension> larger;
  const auto is_there = [&](const ModeShape& shape) {
    return std::ranges::find(larger, shape, &ModelExtension::shape) != larger.end();
  };
  ModeShape together = now;
  for (const Asked& asked : asked_for(doubts)) {
    if (larger.size() == most_extensions) break;
    ModeShape alone = now;
    if (!extend(alone, asked.doubt, choice, layout) || is_there(alone)) continue;
    larger.push_back({alone, asked.because});
    // Who chooses the law is chosen once: as the strongest asks.
    if (alone.modes == now.modes || together.modes == now.modes)
      extend(together, asked.doubt, choice, layout);
  }
  if (larger.size() > 1 && !is_there(together)) larger.push_back({together, larger.front().because});
  return larger;
}

}  // namespace mixstream
