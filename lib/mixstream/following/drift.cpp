#include "mixstream/following/drift.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mixstream/likelihood/chi_square.hpp"

namespace mixstream {
namespace {

bool sensible(const DriftSettings& settings) {
  return settings.block_rows >= ScoreKernel::block_rows &&
         settings.block_rows % ScoreKernel::block_rows == 0 && settings.fading > 0.0 &&
         settings.fading <= 1.0 && settings.lag_blocks > 0 && settings.past_blocks > 1 &&
         settings.past_fading >= 0.0 && settings.past_fading < 1.0 && settings.limit > 0.0;
}

DriftState beginning(std::size_t parameter_count, const DriftSettings& settings) {
  if (!sensible(settings)) throw std::invalid_argument("drift settings without meaning");
  DriftState state{settings};
  state.block_score.assign(parameter_count, 0.0);
  for (FadingBlocks& recent : state.recent) recent.score.assign(parameter_count, 0.0);
  state.lag.resize(settings.lag_blocks);
  return state;
}

void add_to(DensitySums& sums, const DensitySums& more) noexcept {
  sums.weight += more.weight;
  sums.weight_squares += more.weight_squares;
  sums.log_density += more.log_density;
  sums.log_density_squares += more.log_density_squares;
}

}  // namespace

const char* name_of(DriftSign sign) noexcept {
  if (sign == DriftSign::moments) return "moments";
  return sign == DriftSign::likelihood ? "likelihood" : "scores";
}

DriftDetector::DriftDetector(std::size_t parameter_count, const DriftSettings& settings)
    : DriftDetector(beginning(parameter_count, settings)) {}

DriftDetector::DriftDetector(DriftState state)
    : state_(std::move(state)),
      solver_(state_.block_score.size()),
      information_(packed_size(state_.block_score.size())) {}

Outcome<DriftDetector> DriftDetector::restore(const DriftState& state, std::size_t parameter_count) {
  const auto fits = [&](const FadingBlocks& recent) { return recent.score.size() == parameter_count; };
  if (!sensible(state.settings) || state.block_score.size() != parameter_count ||
      !std::ranges::all_of(state.recent, fits) || state.lag.size() != state.settings.lag_blocks)
    return Refusal{Reason::bad_snapshot, "the drift detector in this state does not fit; refit without it"};
  return DriftDetector(state);
}

std::optional<DriftEvent> DriftDetector::add(const AnchoredPolish& polish) noexcept {
  const BlockScores block = polish.last_block();
  add_to(state_.block, {block.weight, block.weight, block.log_density, block.log_density_squares});
  for (std::size_t i = 0; i < block.score.size(); ++i) state_.block_score[i] += block.score[i];
  state_.rows += ScoreKernel::block_rows;
  state_.block_rows += ScoreKernel::block_rows;
  if (state_.block_rows < state_.settings.block_rows) return {};
  const std::optional<DriftEvent> event = close_block(polish);
  state_.block_rows = 0;
  state_.block = {};
  std::ranges::fill(state_.block_score, 0.0);
  return event;
}

std::optional<DriftEvent> DriftDetector::close_block(const AnchoredPolish& polish) noexcept {
  if (polish.rows() < state_.settings.settle_rows || state_.block.weight <= 0.0) return {};
  const double anchor_weight = polish.row_information(information_);
  if (!(anchor_weight > 0.0)) return {};
  fade(state_.recent[0], 1.0, anchor_weight);
  fade(state_.recent[1], state_.settings.fading, anchor_weight);
  age_blocks();
  const std::optional<DriftEvent> by_likelihood = judge_likelihood();
  const std::optional<DriftEvent> by_scores = judge_scores(anchor_weight);
  return by_likelihood ? by_likelihood : by_scores;
}

/// recent = (1 - share) recent + share * block, and likewise for variances, with squared factors.
void DriftDetector::fade(FadingBlocks& recent, double share, double anchor_weight) noexcept {
  const double keep = 1.0 - share;
  const DensitySums& block = state_.block;
  for (std::size_t i = 0; i < recent.score.size(); ++i)
    recent.score[i] = keep * recent.score[i] + share * state_.block_score[i];
  const double variance = block.weight_squares + block.weight * block.weight / anchor_weight;
  recent.score_variance = keep * keep * recent.score_variance + share * share * variance;
  recent.log_density = keep * recent.log_density + share * block.log_density;
  recent.weight = keep * recent.weight + share * block.weight;
  recent.weight_squares = keep * keep * recent.weight_squares + share * share * block.weight_squares;
}

/// The block into the ring; the one it displaces becomes part of the past.
void DriftDetector::age_blocks() noexcept {
  DensitySums& place = state_.lag[static_cast<std::size_t>(state_.blocks % state_.lag.size())];
  if (state_.blocks >= state_.lag.size()) {
    const double keep = 1.0 - state_.settings.past_fading;
    state_.past.weight *= keep;
    state_.past.weight_squares *= keep * keep;
    state_.past.log_density *= keep;
    state_.past.log_density_squares *= keep;
    add_to(state_.past, place);
    ++state_.past_count;
  }
  place = state_.block;
  ++state_.blocks;
}

std::optional<DriftEvent> DriftDetector::judge_likelihood() noexcept {
  const DensitySums& past = state_.past;
  if (state_.past_count < state_.settings.past_blocks) return {};
  const double mean = past.log_density / past.weight;
  const double variance = past.log_density_squares / past.weight - mean * mean;
  DriftEvent event{state_.rows, DriftSign::likelihood};
  for (const FadingBlocks& recent : state_.recent) {
    const double lost = mean * recent.weight - recent.log_density;
    const double error =
        variance * (recent.weight_squares +
                    recent.weight * recent.weight * past.weight_squares / (past.weight * past.weight));
    if (!(error > 0.0)) continue;
    const double deviations = lost / std::sqrt(error);
    if (deviations > event.deviations) {
      event.deviations = deviations;
      event.nats_per_row = lost / recent.weight;
    }
  }
  state_.likelihood_deviations = event.deviations;
  if (event.deviations <= state_.settings.limit) return {};
  state_.past = {};  // what was usual is no longer
  state_.past_count = 0;
  state_.blocks = 0;
  return event;
}

std::optional<DriftEvent> DriftDetector::judge_scores(double anchor_weight) noexcept {
  if (solver_.factor(information_) == 0) return {};
  const auto dof = static_cast<double>(solver_.rank());
  DriftEvent event{state_.rows, DriftSign::scores};
  for (const FadingBlocks& recent : state_.recent) {
    // information_ is anchor_weight I_1
    const double chi_square = solver_.inverse_form(recent.score) * anchor_weight / recent.score_variance;
    const double deviations = deviations_of_chi_square(chi_square, dof);
    if (deviations > event.deviations) {
      event.deviations = deviations;
      event.nats_per_row = 0.5 * (chi_square - dof) * recent.score_variance / (recent.weight * recent.weight);
    }
  }
  state_.score_deviations = event.deviations;
  if (event.deviations < 0.5 * state_.settings.limit) state_.scores_out = false;
  if (event.deviations <= state_.settings.limit || state_.scores_out) return {};
  state_.scores_out = true;
  return event;
}

void DriftDetector::restart() noexcept {
  DriftState& state = state_;
  state.block_rows = 0;
  state.block = {};
  std::ranges::fill(state.block_score, 0.0);
  for (FadingBlocks& recent : state.recent) {
    std::ranges::fill(recent.score, 0.0);
    recent.score_variance = recent.log_density = recent.weight = recent.weight_squares = 0.0;
  }
  state.blocks = state.past_count = 0;
  state.past = {};
  state.scores_out = false;
  state.likelihood_deviations = state.score_deviations = 0.0;
}

}  // namespace mixstream
