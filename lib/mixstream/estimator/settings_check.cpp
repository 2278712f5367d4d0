// The one check of an estimator's settings, and what follows from them.
#include <algorithm>
#include <cmath>

#include "mixstream/estimator/parts.hpp"
#include "mixstream/likelihood/parameters.hpp"

namespace mixstream {
namespace {

/// Rows after which the stream has forgotten all but a sixteenth of what it knew, as exactly as a window of
/// 16 panes does; 0 where it remembers everything, or where seconds decide.
std::uint64_t remembered_rows(const Memory& memory) noexcept {
  if (memory.kind == Memory::Kind::window_rows) return static_cast<std::uint64_t>(memory.length);
  if (memory.kind == Memory::Kind::half_life_rows) return static_cast<std::uint64_t>(4.0 * memory.length);
  return 0;
}

Refusal refuse(const char* text) {
  return {Reason::bad_settings, text};
}

bool is_positive(double value) noexcept {
  return std::isfinite(value) && value > 0.0;
}

}  // namespace

StateSettings sized_state(const EstimatorSettings& settings) {
  StateSettings state = settings.state;
  const std::size_t k = settings.solve.component_count;
  if (state.reservoir_rows == 0 && state.layout.feature_count > 0 && k > 0) {
    const auto d = static_cast<std::size_t>(state.layout.feature_count);
    state.reservoir_rows = sample_rows_for(k, parameter_count(k, d, settings.solve.noise));
  }
  return state;
}

Done check(const SolveSettings& solve, const StateSettings& state) {
  const auto d = static_cast<std::size_t>(std::max(state.layout.feature_count, 0));
  if (const Done done = check(solve, d); !done) return done;
  if (solve.polish == PolishKind::stepwise_em && state.memory.kind != Memory::Kind::everything) {
    return Refusal{Reason::bad_settings,
                   "stepwise EM cannot forget by a half-life or window: polish by scoring instead"};
  }
  const bool plain = shape_of(solve, state.layout).is_plain();
  if (!plain && state.memory.kind == Memory::Kind::window_rows) {
    return Refusal{Reason::bad_settings,
                   "modes, tails and memory do not go with a window: forget by a half-life instead"};
  }
  if (solve.modes == Modes::gated && !state.layout.has_constant()) {
    return Refusal{Reason::bad_settings, "gated modes need a constant among the features: add 1 to them"};
  }
  return std::monostate{};
}

ModelChoice choice_of(const SolveSettings& solve, const StateSettings& state) {
  const bool possible = solve.method == FitMethod::standard && solve.polish == PolishKind::scoring &&
                        state.memory.kind != Memory::Kind::window_rows;
  if (!possible) return {};
  const bool plain_noise =
      solve.noise == NoiseModel::shared && !solve.noise_shape.tails && !solve.noise_shape.memory;
  return {solve.choice.modes && solve.modes == Modes::independent, solve.choice.noise && plain_noise};
}

PolishDriverSettings polish_settings(const EstimatorSettings& settings) {
  PolishDriverSettings polish;
  const StateSettings& state = settings.state;
  const bool window = state.memory.kind == Memory::Kind::window_rows;
  polish.first_check = settings.polish.first_check;
  polish.scoring.move_every = settings.polish.move_every;
  polish.scoring.pane_count = window ? static_cast<std::size_t>(state.memory.panes) : 1;
  polish.memory_rows = remembered_rows(state.memory);
  polish.kind = settings.solve.polish;
  if (polish.kind == PolishKind::off || settings.solve.method != FitMethod::standard) return polish;
  ModeShape shape = shape_of(settings.solve, state.layout);
  const ModelChoice choice = choice_of(settings.solve, state);
  if (shape.is_plain() && !choice.any()) return polish;
  polish.modes.emplace();
  polish.modes->shape = std::move(shape);
  polish.modes->choice = choice;
  polish.modes->chains = settings.chains;
  if (state.reservoir_rows < usual_sample_rows)  // a model of little memory
    polish.modes->run_rows = state.reservoir_rows;
  return polish;
}

Done check(const EstimatorSettings& settings) {
  if (const Done done = check(settings.solve, settings.state); !done) return done;
  if (settings.polish.first_check == 0 || settings.polish.move_every == 0)
    return refuse("a polish needs a number of rows between checks, and one between moves");
  if (!is_positive(settings.drift.limit) || !(settings.drift.largest_expected_ratio >= 1.0))
    return refuse("drift by the moments needs a positive limit, and a ratio of one or more");
  if (settings.chains.most_chains == 0 || !std::isfinite(settings.chains.gap_seconds) ||
      settings.chains.gap_seconds < 0.0)
    return refuse("rows in order need one chain or more, and a gap of no or some seconds");
  return std::monostate{};
}

}  // namespace mixstream
