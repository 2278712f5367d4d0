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
#include "mixstream/verdict/limits.hpp"

namespace mixstream {

struct SolveSettings {
  std::size_t component_count = 2;  ///< k; 0: chosen by the sample's BIC among 1 .. largest_component_count
  std::size_t largest_component_count = 6;
  FitMethod method = FitMethod::standard;
  NoiseModel noise = NoiseModel::shared;
  Modes modes = Modes::independent;      ///< who chooses the law
  std::vector<std::size_t> gate;         ///< gated only: the features that choose; empty: all of them
  NoiseShape noise_shape;                ///< tails, memory
  ModelChoice choice;                    ///< what of modes and noise the rows may choose
  std::optional<double> noise_variance;  ///< E[eps^2] where it is known: then noise is NoiseModel::known
  double noise_third = 0.0;              ///< E[eps^3]; paper only
  double second_penalty = 1e-5;          ///< c_2, lambda_2 = c_2 / sqrt(n); paper only
  double third_penalty = 1e-3;           ///< c_3, lambda_3 = c_3 / sqrt(n); paper only
  PaperObjective objective = PaperObjective::printed;  ///< paper only
  PaperPenalty penalty = PaperPenalty::given;          ///< paper only
  bool allow_singular = false;              ///< paper only: the nuclear norm picks where Sigma_p is singular
  bool guard = true;                        ///< a thin tail bin may stay out of the fit
  PolishKind polish = PolishKind::scoring;  ///< of every row; not for FitMethod::paper
  int em_starts = 10;                       ///< em only: random starts
  std::uint64_t seed = 1;                   ///< of random starts
  double tolerance = limits::usual_tolerance;  ///< noise sd that laws may be off by, and still be of use
  std::vector<std::string> feature_names;

  friend bool operator==(const SolveSettings&, const SolveSettings&) = default;
};

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

/// How much a solve says: everything; or the fit and its verdict, for fits that only the polish asks for.
enum class SolveDetail : std::uint8_t { everything, fit };

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
