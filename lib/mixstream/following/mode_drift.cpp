#include "mixstream/following/mode_drift.hpp"
#include "mixstream/linalg/packed.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/likelihood/score_kernel.hpp"

namespace mixstream {
namespace {

FadingScores empty_scores(const ModeShape& shape) {
  const std::size_t size = shape.parameters();
  return {std::vector<double>(size), std::vector<double>(packed_size(size))};
}

bool has_size(const FadingScores& scores, const ModeShape& shape) {
  const std::size_t size = shape.parameters();
  return scores.score.size() == size && scores.information.size() == packed_size(size);
}

/// Calls visit(q) for every parameter that scores judge: laws, noise and gate, not the ways between modes.
template <typename Visit>
void for_each_judged(const ModeShape& shape, Visit visit) {
  const bool ways = shape.modes == Modes::persistent;
  for (std::size_t q = 0; q < shape.parameters(); ++q) {
    if (ways && q == shape.who_at()) q = shape.variances_at();
    if (q < shape.parameters()) visit(q);
  }
}

std::size_t judged_count(const ModeShape& shape) {
  std::size_t count = 0;
  for_each_judged(shape, [&](std::size_t) { ++count; });
  return count;
}

/// What a packed matrix says of the judged, packed.
void add_judged(const ModeShape& shape, std::span<const double> packed, double factor,
                std::span<double> judged) noexcept {
  std::size_t at = 0;
  for_each_judged(shape, [&](std::size_t q) {
    for_each_judged(shape, [&](std::size_t p) {
      if (p <= q) judged[at++] += factor * packed[packed_index(q, p)];
    });
  });
}

void mix(std::span<double> into, double keep, std::span<const double> from, double share) noexcept {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = keep * into[i] + share * from[i];
}

}  // namespace

ModeDrift::ModeDrift(const ModeShape& shape, const ModeDriftSettings& settings)
    : shape_(shape),
      ways_(shape.component_count),
      solver_(judged_count(shape)),
      score_(solver_.size()),
      information_(packed_size(solver_.size())) {
  state_.settings = settings;
  state_.block = empty_scores(shape);
  state_.counts.resize(shape.component_count * shape.component_count);
  for (FadingScores& recent : state_.recent) recent = empty_scores(shape);
}

Outcome<ModeDrift> ModeDrift::restore(const ModeDriftState& state, const ModeShape& shape) {
  const std::size_t k = shape.component_count;
  const bool fits = has_size(state.block, shape) &&
                    std::ranges::all_of(state.recent, [&](const auto& r) { return has_size(r, shape); }) &&
                    state.counts.size() == k * k && TransitionWatch::is_sound(state.ways, k) &&
                    state.settings.block_rows >= ModePolish::block_rows && state.settings.limit > 0.0 &&
                    state.settings.change_limit > 0.0;
  if (!fits)
    return Refusal{Reason::bad_snapshot, "the drift detector in this state does not fit; refit without it"};
  ModeDrift drift(shape, state.settings);
  drift.state_ = state;
  drift.ways_.restore(state.ways);
  return drift;
}

ModeDriftState ModeDrift::state() const {
  ModeDriftState state = state_;
  state.ways = ways_.state();
  return state;
}

void ModeDrift::open_block() noexcept {
  state_.block_rows = 0;
  for (auto* list : {&state_.block.score, &state_.block.information, &state_.counts})
    std::ranges::fill(*list, 0.0);
  state_.block.weight = state_.block.weight_squares = 0.0;
}

std::optional<DriftEvent> ModeDrift::add(const ModePolish& polish) noexcept {
  const ModeBlock block = polish.last_block();
  FadingScores& open = state_.block;
  for (std::size_t q = 0; q < open.score.size(); ++q) open.score[q] += block.score[q];
  for (std::size_t at = 0; at < open.information.size(); ++at) open.information[at] += block.information[at];
  if (shape_.modes == Modes::persistent)
    add_transitions(shape_, polish.anchor().transitions, block.score, block.use, state_.counts);
  open.weight += block.weight;
  open.weight_squares += block.weight;
  state_.block_rows += ModePolish::block_rows;
  if (state_.block_rows < state_.settings.block_rows) return {};
  const std::optional<DriftEvent> event = judge(polish);
  open_block();
  return event;
}

/// recent = (1 - share) recent + share * block, variances with squared factors.
void ModeDrift::fade(FadingScores& recent, double share) noexcept {
  const double keep = 1.0 - share;
  const FadingScores& block = state_.block;
  mix(recent.score, keep, block.score, share);
  mix(recent.information, keep * keep, block.information, share * share);
  recent.weight = keep * recent.weight + share * block.weight;
  recent.weight_squares = keep * keep * recent.weight_squares + share * share * block.weight_squares;
}

/// Laws, noise and gate. A fading sum sees the anchor's error with its factors, not their squares: c times as
/// much as its V says, so H / c^2 takes the place of H.
ModeDrift::Reading ModeDrift::read_laws(const FadingScores& recent, const ModePolish& polish) noexcept {
  std::size_t at = 0;
  for_each_judged(shape_, [&](std::size_t q) { score_[at++] = recent.score[q]; });
  std::ranges::fill(information_, 0.0);
  add_judged(shape_, recent.information, 1.0, information_);
  const auto dof = static_cast<double>(solver_.factor(information_));
  double chi_square = solver_.inverse_form(score_);
  const double c = recent.weight / recent.weight_squares;
  add_judged(shape_, polish.state().sums.information, 1.0 / (c * c * polish.state().growth), information_);
  solver_.factor(information_);
  chi_square -= solver_.inverse_form(score_);
  return {chi_square, dof};
}

/// Takes the reading into the event where it is the worst so far, measured against its own limit. `rows`: as
/// many as a plain sum of the same relative error would hold.
void ModeDrift::weigh(const Reading& reading, double limit, double rows, DriftEvent& event) const noexcept {
  if (reading.dof == 0.0 || !(reading.chi_square > 0.0)) return;
  const double deviations =
      deviations_of_chi_square(reading.chi_square, reading.dof) * (state_.settings.limit / limit);
  if (!(deviations > event.deviations)) return;
  event.deviations = deviations;
  event.nats_per_row = 0.5 * (reading.chi_square - reading.dof) / rows;
}

std::optional<DriftEvent> ModeDrift::judge(const ModePolish& polish) noexcept {
  if (polish.rows() < state_.settings.settle_rows || !(state_.block.weight > 0.0)) return {};
  DriftEvent event{polish.rows(), DriftSign::scores};
  for (std::size_t i = 0; i < state_.recent.size(); ++i) {
    FadingScores& recent = state_.recent[i];
    fade(recent, ModeDriftState::fading[i]);
    weigh(read_laws(recent, polish), state_.settings.limit,
          recent.weight * recent.weight / recent.weight_squares, event);
  }
  ways_.add(state_.counts);
  const double of_laws = event.deviations;
  const TransitionWatch::Reading ways = ways_.likeliest_change(state_.settings.enough_changes);
  weigh({ways.chi_square, ways.dof}, state_.settings.change_limit, static_cast<double>(polish.rows()), event);
  state_.deviations = event.deviations;
  if (event.deviations < 0.5 * state_.settings.limit) state_.out = false;
  if (event.deviations <= state_.settings.limit || state_.out) return {};
  if (event.deviations > of_laws) ways_.forget_before(ways.stretches);
  state_.out = true;
  return event;
}

}  // namespace mixstream
