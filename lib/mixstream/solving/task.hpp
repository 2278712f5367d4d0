// One solve at work: what is read of the state once, and the solution that grows. For .cpp files of this
// folder only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "mixstream/refinement/standard_errors.hpp"
#include "mixstream/solving/solve.hpp"
#include "mixstream/tensor/spectral.hpp"

namespace mixstream {
struct BinnedMoments;
}

namespace mixstream::solving {

struct Task {
  Task(const MomentState& state, const SolveSettings& settings, const SolveMemory& memory);

  const MomentState& state;
  SolveSettings settings;  ///< with the number of laws, once it is chosen
  const Mixture* last;     ///< raw: start and labels
  const PolishDriver* polish;
  const PaperStart* paper;
  Layout layout;
  MomentTensor tensor;
  Sample sample;  ///< raw
  std::optional<ModeDriver>
      young_modes;  ///< a copy, while the pilot is not fixed: brought to its coordinates
  SpectralWorkspace workspace;
  Solution solution;
  Evidence evidence;

  Report& report() noexcept { return solution.report; }
  std::size_t feature_count() const noexcept { return static_cast<std::size_t>(layout.feature_count); }
  bool sample_is_stream() const noexcept { return sample.rows.size() == state.row_count(); }
  double pilot_noise() const;  ///< the known noise variance in pilot coordinates
  Mixture in_pilot(const Mixture& raw) const { return to_pilot(raw, layout, tensor.pilot()); }
  Mixture in_raw(const Mixture& pilot) const { return to_raw(pilot, layout, tensor.pilot()); }
  SpectralSettings spectral_settings() const;
  /// Rows in order, in pilot coordinates; nothing where none are held.
  const ModeDriver* modes() const noexcept {
    if (young_modes) return &*young_modes;
    return polish != nullptr ? polish->modes() : nullptr;
  }
  bool follows_modes() const;  ///< rows in order or other noise: the polish of modes is the model
  ModeShape shape() const;     ///< of the model: the settings', or what the rows chose

  /// No fit can be made: why, and what to do.
  void refuse(const Refusal& refusal);
};

/// The ways to laws. Each leaves mixture and report in the task's solution, and its evidence; throws what
/// numerics throw.
void follow_paper(Task& task);    ///< the paper's estimator, as it stands
void run_em(Task& task);          ///< EM on the sample
void fit_one_law(Task& task);     ///< k = 1: least squares of all rows
void refine_moments(Task& task);  ///< the default: moments, then likelihood
/// k = auto: the number of laws of least BIC, and where to begin with it. False: refused.
bool choose_components(Task& task, const BinnedMoments& binned, std::vector<Mixture>& starts);
void choose_model(Task& task);  ///< the larger model that doubts call for, where the held rows choose it
void follow_modes(Task& task);  ///< rows in order, other noise

/// The rank-k start of the moments, in pilot coordinates; none where they give none.
std::vector<Mixture> spectral_starts(Task& task);

/// Takes a mixture in raw coordinates as the answer, with the last fit's labels, or those of a first fit.
void take(Task& task, const Mixture& mixture, const MixtureErrors* errors);
void take(Task& task, const Mixture& mixture, const MixtureErrors* errors,
          std::span<const std::size_t> order);

/// Looks for what the model lacks, on the rows that are held.
void look_for_doubts(Task& task);

/// Status, findings and words of the evidence as it stands: the one way to a status, beside the paper's.
void pass_judgement(Task& task);

/// Completes the evidence with what concerns the laws shown, and passes judgement.
void conclude(Task& task);

}  // namespace mixstream::solving
