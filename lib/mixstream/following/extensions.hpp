// Which larger models the doubts about a fit call for.
#pragma once

#include <span>
#include <vector>

#include "mixstream/core/layout.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/doubts/doubt.hpp"
#include "mixstream/modes/model.hpp"

namespace mixstream {

/// A larger model, and the raised doubt that calls for it: of all together, the strongest.
struct ModelExtension {
  ModeShape shape;
  DoubtKind because = DoubtKind::missing_term;
};

/// The models that the raised doubts ask for, strongest first: each extension of `now` by itself, at most
/// four, and all of them together. Beside laws that last, noise that remembers and a gate are asked for, and
/// the other way round; a gate and laws that last may follow each other. Only parts that may be chosen; a
/// gate needs a constant among the features. Allocates.
std::vector<ModelExtension> extensions_of(const ModeShape& now, std::span<const Doubt> doubts,
                                          ModelChoice choice, const Layout& layout);

/// The gate over every feature, the constant first. Allocates.
std::vector<std::size_t> whole_gate(std::size_t feature_count, const Layout& layout);

}  // namespace mixstream
