// k = auto: BIC of each number of laws, under the noise and the modes that the rows prefer with it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/following/extensions.hpp"
#include "mixstream/modes/gated_start.hpp"
#include "mixstream/refinement/component_count.hpp"
#include "mixstream/refinement/outliers.hpp"
#include "mixstream/solving/solve_modes.hpp"
#include "mixstream/solving/task.hpp"

namespace mixstream::solving {
namespace {

/// What a number of laws is worth: a row, in raw units.
struct Score {
  Modes modes = Modes::independent;
  NoiseModel noise = NoiseModel::shared;
  NoiseShape shape;
  double log_likelihood = 0.0;
  double bic = std::numeric_limits<double>::infinity();
  double rows = 1.0;  ///< that it was taken on
};

/// Under the noise that was asked for, on the sample.
Score plain_score(const Task& task, const ComponentCandidate& candidate, double rows) {
  const double unit = std::log(task.tensor.pilot().scale.back());
  return {Modes::independent,
          task.settings.noise,
          {},
          candidate.mean_log_likelihood - unit,
          candidate.bic + 2.0 * unit,
          rows};
}

/// A model with one part more of those that the rows may choose; nothing where it has that, or may not.
using Part = std::optional<ModeShape> (*)(ModeShape shape, ModelChoice choice, const Layout& layout);
constexpr Part parts[] = {
    [](ModeShape shape, ModelChoice choice, const Layout&) -> std::optional<ModeShape> {
      if (!choice.noise || shape.component_count < 2 || shape.noise != NoiseModel::shared) return {};
      shape.noise = NoiseModel::per_component;
      return shape;
    },
    [](ModeShape shape, ModelChoice choice, const Layout&) -> std::optional<ModeShape> {
      if (!choice.noise || shape.noise_shape.tails) return {};
      shape.noise_shape.tails = true;
      return shape;
    },
    [](ModeShape shape, ModelChoice choice, const Layout&) -> std::optional<ModeShape> {
      if (!choice.modes || shape.component_count < 2 || shape.modes != Modes::independent) return {};
      shape.modes = Modes::persistent;
      return shape;
    },
    [](ModeShape shape, ModelChoice choice, const Layout& layout) -> std::optional<ModeShape> {
      if (!choice.modes || shape.component_count < 2 || !layout.has_constant()) return {};
      shape.modes = Modes::gated;  // in place of laws that last
      shape.gate = whole_gate(shape.feature_count, layout);
      return shape;
    },
    [](ModeShape shape, ModelChoice choice, const Layout&) -> std::optional<ModeShape> {
      if (!choice.noise || shape.noise_shape.memory) return {};
      shape.noise_shape.memory = true;
      return shape;
    },
};

/// A gate is settled, which takes long, where one step of scoring promises half of what BIC asks for it.
bool may_gain(const ModeShape& larger, const Mixture& laws, const RowTable& sample) {
  if (larger.modes != Modes::gated) return true;
  const auto more = static_cast<double>((larger.component_count - 1) * (larger.gate.size() - 1));
  return promise_of_gate(laws, larger.gate, sample) >
         0.5 * more * std::log(static_cast<double>(sample.size()));
}

/// On the held rows, whatever noise and modes they may choose: heavy tails, unequal variances, noise that
/// remembers and a column that chooses the law would pass for laws of their own. A part after the other, each
/// beside those that BIC took before. Nothing where no rows in order are held.
std::optional<Score> score_of(const Task& task, const ModeDriver& modes, const Mixture& laws) {
  const double unit = std::log(task.tensor.pilot().scale.back());
  ModeShape best_shape = shape_of(task.settings, task.layout);
  best_shape.component_count = laws.component_count();
  Score best;
  const auto consider = [&](const ModeShape& tried) {
    const auto held =
        modes.candidate(tried, std::span(&laws, 1), task.solution.sample, task.state.row_count());
    if (!held || !(held->bic / held->rows + 2.0 * unit < best.bic)) return;
    best = {tried.modes,
            tried.noise,
            tried.noise_shape,
            held->log_likelihood / held->rows - unit,
            held->bic / held->rows + 2.0 * unit,
            held->rows};
    best_shape = tried;
  };
  consider(best_shape);
  for (const Part part : parts) {
    yield_point();
    const std::optional<ModeShape> larger = part(best_shape, modes.settings().choice, task.layout);
    if (larger && may_gain(*larger, laws, task.solution.sample)) consider(*larger);
  }
  return std::isfinite(best.bic) ? std::optional(best) : std::nullopt;
}

/// One for each candidate, all of them taken in the same way, so that they can be compared.
std::vector<Score> scores_of(const Task& task, const ComponentCount& counts) {
  std::vector<Score> plain, under_any_noise;
  const ModeDriver* modes = task.modes();
  bool may_choose = modes != nullptr && modes->settings().choice.any() && modes->runs().size() > 0;
  for (const ComponentCandidate& candidate : counts.candidates) {
    yield_point();
    plain.push_back(plain_score(task, candidate, counts.rows));
    if (!may_choose) continue;
    const std::optional<Score> score = score_of(task, *modes, candidate.mixture);
    may_choose = score.has_value();
    if (score) under_any_noise.push_back(*score);
  }
  return may_choose ? under_any_noise : plain;
}

/// The largest number of laws that may win: the moments determine it, or they determine more.
std::size_t most_laws(const ComponentCount& counts) {
  std::size_t most = 0;
  for (const ComponentCandidate& candidate : counts.candidates) {
    if (candidate.matched) most = std::max(most, candidate.component_count);
  }
  return most > 0 ? most : counts.component_count;
}

/// Of each candidate, were all as likely before: exp(-n BIC / 2), scaled.
std::vector<double> probabilities_of(const std::vector<Score>& scores) {
  const double least = std::ranges::min(scores, {}, &Score::bic).bic;
  std::vector<double> result;
  double total = 0.0;
  for (const Score& score : scores) {
    result.push_back(std::exp(-0.5 * score.rows * (score.bic - least)));
    total += result.back();
  }
  for (double& probability : result) probability /= total;
  return result;
}

}  // namespace

/// The sample goes without its tail, which would pass for a law of its own.
bool choose_components(Task& task, const BinnedMoments& binned, std::vector<Mixture>& starts) {
  ComponentCountSettings choice;
  choice.noise = task.settings.noise;
  choice.known_noise_variance = task.pilot_noise();
  choice.largest = task.settings.largest_component_count;
  choice.seed = task.settings.seed;
  const bool thin_tail = binned.bins[0].total_weight() > 0.98 * task.tensor.total_weight();
  const int bins = task.settings.guard && thin_tail ? 1 : static_cast<int>(bin_count);
  const RowTable sample = sample_of_bins(binned, bins);
  const Outcome<ComponentCount> counts =
      choose_component_count(moments_of_bins(binned, bins), sample, choice);
  if (!counts) {
    task.refuse(counts.refusal());
    return false;
  }
  const auto& candidates = counts.value().candidates;
  const std::vector<Score> scores = scores_of(task, counts.value());
  const std::vector<double> probabilities = probabilities_of(scores);
  const std::size_t most = most_laws(counts.value());
  std::size_t best = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].component_count <= most && scores[i].bic < scores[best].bic) best = i;
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const ComponentCandidate& candidate = candidates[i];
    std::optional<double> ratio;
    const bool moments_apply = scores[i].modes == Modes::independent && scores[i].shape == NoiseShape{} &&
                               scores[i].noise == task.settings.noise;
    if (moments_apply && candidate.matched && candidate.dof > 0)
      ratio = candidate.distance / static_cast<double>(candidate.dof);
    task.report().candidates.push_back({candidate.component_count, scores[i].log_likelihood, scores[i].bic,
                                        ratio, i == best, scores[i].noise, scores[i].shape, probabilities[i],
                                        scores[i].modes});
  }
  task.settings.component_count = task.report().component_count = candidates[best].component_count;
  starts.push_back(candidates[best].mixture);
  return true;
}

}  // namespace mixstream::solving
