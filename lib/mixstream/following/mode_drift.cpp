#include "mixstream/following/mode_drift.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/likelihood/chi_square.hpp"
#include "mixstream/likelihood/score_kernel.hpp"

namespace mixstream {
namespace {

FadingScores empty_scores(const ModeShape& shape) {
  const std::size_t size = shape.parameters();
  const std::size_t cells = shape.component_count * shape.component_count;
  return {std::vector<double>(size), std::vector<double>(packed_size(size)), std::vector<double>(cells),
          std::vector<double>(cells)};
}

bool has_size(const FadingScores& scores, const ModeShape& shape) {
  const std::size_t size = shape.parameters();
  const std::size_t cells = shape.component_count * shape.component_count;
  return scores.score.size() == size && scores.information.size() == packed_size(size) &&
         scores.promised.size() == cells && scores.variance.size() == cells;
}

void mix(std::span<double> into, double keep, std::span<const double> from, double share) noexcept {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = keep * into[i] + share * from[i];
}

}  // namespace

ModeDrift::ModeDrift(const ModeShape& shape, const ModeDriftSettings& settings)
    : shape_(shape),
      solver_(shape.parameters()),
      score_(shape.parameters()),
      information_(packed_size(shape.parameters())) {
  state_.settings = settings;
  state_.block = empty_scores(shape);
  for (FadingScores& recent : state_.recent) recent = empty_scores(shape);
}

Outcome<ModeDrift> ModeDrift::restore(const ModeDriftState& state, const ModeShape& shape) {
  const bool fits = has_size(state.block, shape) &&
                    std::ranges::all_of(state.recent, [&](const auto& r) { return has_size(r, shape); }) &&
                    state.settings.block_rows >= ModePolish::block_rows && state.settings.limit > 0.0;
  if (!fits)
    return Refusal{Reason::bad_snapshot, "the drift detector in this state does not fit; refit without it"};
  ModeDrift drift(shape, state.settings);
  drift.state_ = state;
  return drift;
}

std::optional<DriftEvent> ModeDrift::add(const ModePolish& polish) noexcept {
  const ModeBlock block = polish.last_block();
  FadingScores& open = state_.block;
  for (std::size_t q = 0; q < open.score.size(); ++q) open.score[q] += block.score[q];
  for (std::size_t at = 0; at < open.information.size(); ++at) open.information[at] += block.information[at];
  const std::size_t k = shape_.component_count;
  for (std::size_t i = 0; i < k && shape_.modes == Modes::persistent; ++i) {
    for (std::size_t j = 0; j < k; ++j)
      open.promised[i * k + j] += polish.anchor().transitions(i, j) * block.use[i];
  }
  open.weight += block.weight;
  open.weight_squares += block.weight;
  state_.block_rows += ModePolish::block_rows;
  if (state_.block_rows < state_.settings.block_rows) return {};
  std::ranges::copy(open.promised, open.variance.begin());
  const std::optional<DriftEvent> event = judge(polish);
  state_.block_rows = 0;
  for (auto* list : {&open.score, &open.information, &open.promised, &open.variance})
    std::ranges::fill(*list, 0.0);
  open.weight = open.weight_squares = 0.0;
  return event;
}

/// recent = (1 - share) recent + share * block, variances with squared factors. `known`: rows that the anchor
/// was made of; it errs by what they leave unknown, and a block sees that error.
void ModeDrift::fade(FadingScores& recent, double share, double known) noexcept {
  const double keep = 1.0 - share;
  const FadingScores& block = state_.block;
  const double wider = share * share * (1.0 + block.weight / known);
  mix(recent.score, keep, block.score, share);
  mix(recent.promised, keep, block.promised, share);
  mix(recent.information, keep * keep, block.information, wider);
  mix(recent.variance, keep * keep, block.variance, wider);
  recent.weight = keep * recent.weight + share * block.weight;
  recent.weight_squares = keep * keep * recent.weight_squares + share * share * block.weight_squares;
}

/// Laws, noise and gate: S' V^-1 S, and its degrees of freedom.
ModeDrift::Reading ModeDrift::read_laws(const FadingScores& recent) noexcept {
  std::ranges::copy(recent.score, score_.begin());
  std::ranges::copy(recent.information, information_.begin());
  const bool persists = shape_.modes == Modes::persistent;
  for (std::size_t q = shape_.who_at(); q < shape_.variances_at() && persists; ++q) {
    score_[q] = 0.0;
    for (std::size_t p = 0; p <= q; ++p) information_[packed_index(q, p)] = 0.0;
    for (std::size_t p = q; p < score_.size(); ++p) information_[packed_index(p, q)] = 0.0;
  }
  const auto dof = static_cast<double>(solver_.factor(information_));
  return {solver_.inverse_form(score_), dof};
}

/// Changes of mode against those promised, where enough are: as many as a plain sum of the same relative
/// error would hold.
ModeDrift::Reading ModeDrift::read_changes(const FadingScores& recent) const noexcept {
  const std::size_t k = shape_.component_count;
  Reading reading;
  for (std::size_t i = 0; i < k && shape_.modes == Modes::persistent; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      const double promised = recent.promised[i * k + j];
      const double variance = recent.variance[i * k + j];
      if (j == i || !(variance > 0.0) || promised * promised / variance < state_.settings.enough_changes)
        continue;
      const double score = recent.score[shape_.cell(i, j)];
      reading.chi_square += score * score / variance;
      reading.dof += 1.0;
    }
  }
  return reading;
}

/// Takes the reading into the event where it is the worst so far, measured against its own limit.
void ModeDrift::weigh(const Reading& reading, double limit, const FadingScores& recent,
                      DriftEvent& event) const noexcept {
  if (reading.dof == 0.0) return;
  const double deviations =
      deviations_of_chi_square(reading.chi_square, reading.dof) * (state_.settings.limit / limit);
  if (!(deviations > event.deviations)) return;
  event.deviations = deviations;
  event.nats_per_row =
      0.5 * (reading.chi_square - reading.dof) * recent.weight_squares / (recent.weight * recent.weight);
}

std::optional<DriftEvent> ModeDrift::judge(const ModePolish& polish) noexcept {
  if (polish.rows() < state_.settings.settle_rows || !(state_.block.weight > 0.0)) return {};
  const double known = polish.state().sums.weight / polish.state().growth;
  for (std::size_t i = 0; i < state_.recent.size(); ++i)
    fade(state_.recent[i], ModeDriftState::fading[i], std::max(known, state_.block.weight));
  DriftEvent event{polish.rows(), DriftSign::scores};
  for (const FadingScores& recent : state_.recent) {
    weigh(read_laws(recent), state_.settings.limit, recent, event);
    weigh(read_changes(recent), state_.settings.change_limit, recent, event);
  }
  state_.deviations = event.deviations;
  if (event.deviations < 0.5 * state_.settings.limit) state_.out = false;
  if (event.deviations <= state_.settings.limit || state_.out) return {};
  state_.out = true;
  return event;
}

}  // namespace mixstream
