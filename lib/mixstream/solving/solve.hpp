// From a state to a report: the whole way right of the tensor. Sees every stage, never a row of the stream.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstream/core/settings.hpp"
#include "mixstream/following/polish_driver.hpp"
#include "mixstream/modes/model.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/report/report.hpp"
#include "mixstream/tensor/spectral.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {

/// The model that the settings ask for. Allocates the gate.
ModeShape shape_of(const SolveSettings& settings, const Layout& layout);

/// Refuses contradictory or impossible settings, with what to do.
Done check(const SolveSettings& settings, std::size_t feature_count);

/// What one solve leaves for the next: the start, and the labels.
struct Solution {
  Report report;
  std::optional<Mixture> mixture;     ///< raw coordinates, labels as reported
  std::optional<RefinedFit> refined;  ///< pilot coordinates
  ModeShape shape;                    ///< of the model
  std::optional<ModeModel> model;     ///< pilot coordinates: the laws shown, with who chooses and the noise
  RowTable sample;                    ///< pilot coordinates, of the bins that entered
  std::vector<Doubt> doubts;          ///< about the model in use
  std::vector<Mixture> laws;          ///< rows in order: the sample's likeliest, pilot coordinates
  std::uint32_t bins = 0;             ///< bit b: magnitude bin b entered
};

/// What a solve knows beside the state.
struct SolveMemory {
  const Mixture* last = nullptr;  ///< raw: to start from and to take labels from
  const PolishDriver* polish =
      nullptr;                        ///< its fit is reported instead of the refined one where it is better
  const PaperStart* paper = nullptr;  ///< what the paper's regressions of the last solve left
  std::uint64_t refused_rows = 0;     ///< beside the state's own, before they became rows
};

/// Solves. Never throws for data; never reports NaN.
Solution solve(const MomentState& state, const SolveSettings& settings, const SolveMemory& memory = {},
               SolveDetail detail = SolveDetail::everything);

}  // namespace mixstream
