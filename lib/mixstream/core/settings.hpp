// Every knob that a user turns, with default, unit and bounds. Knobs that only a stage turns stand in that
// stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstream/core/layout.hpp"

namespace mixstream {

/// What is assumed of the noise variances s2_h.
enum class NoiseModel {
  shared,         ///< one s2 for all components, estimated
  per_component,  ///< s2_h for each component, estimated
  known,          ///< given and not touched
};

/// Who chooses the law that makes a row.
enum class Modes : std::uint8_t {
  independent,  ///< chance, anew for every row, with the same weights
  persistent,   ///< a Markov chain: a law holds for a while, then another takes over
  gated,        ///< the row's own features: weights are softmax(gamma_h . w)
};
const char* name_of(Modes modes) noexcept;  ///< "independent", "persistent" or "gated"

/// What else is assumed of the noise, beside its variances.
struct NoiseShape {
  bool tails = false;   ///< Student t instead of Gaussian, degrees of freedom estimated
  bool memory = false;  ///< AR(1): a share rho of the noise of the row before stays

  friend bool operator==(const NoiseShape&, const NoiseShape&) = default;
};

/// Which parts of the model the rows may choose: it begins without them.
struct ModelChoice {
  bool modes = false;  ///< who chooses the law
  bool noise = false;  ///< variances of each law's own, tails, memory

  bool any() const noexcept { return modes || noise; }
  friend bool operator==(const ModelChoice&, const ModelChoice&) = default;
};

/// How much of the past counts.
struct Memory {
  /// three_parts: everything, each row in one of three data sets by turns, as the paper's Algorithm 1 wants.
  enum class Kind { everything, half_life_rows, half_life_seconds, window_rows, three_parts };
  Kind kind = Kind::everything;
  double length = 0.0;  ///< half-life in rows or seconds (1e-9 to 1e15), or a whole number of rows as window
  int panes = 16;       ///< of a window, which is exact to one pane; 2 to 1024, and at most one a row

  bool forgets() const noexcept { return kind == Kind::half_life_rows || kind == Kind::half_life_seconds; }
  friend bool operator==(const Memory&, const Memory&) = default;
};

/// Of a state of moments.
struct StateSettings {
  Layout layout;                   ///< number of features and which is the constant
  std::string feature_map;         ///< text of the map that makes the features; must be equal to merge
  std::string response;            ///< name of the response column; must be equal to merge
  Memory memory;                   ///< how much of the past counts
  std::size_t reservoir_rows = 0;  ///< R, at most 10,000,000; 0: 5,000, or what the estimator's model needs
  std::size_t pilot_rows = 256;    ///< rows of the first block, which fixes the pilot; 1 to 65,536
  std::uint64_t seed = 1;          ///< of the sample
  std::uint64_t memory_budget = 1ULL << 30;  ///< bytes that the state and two copies of it may take
  friend bool operator==(const StateSettings&, const StateSettings&) = default;
};

/// What the rows of two states are to each other.
enum class MergeAs {
  one_stream,  ///< parts of one stream; a half-life in rows or a window cannot say which row is older
  independent_streams,  ///< each state's own present counts as now
};

/// How laws are found.
enum class FitMethod { standard, paper, em };
const char* name_of(FitMethod method) noexcept;  ///< "default", "paper" or "em"; a name of the JSON contract

/// How a fit is brought to the likelihood's optimum while rows pass.
enum class PolishKind : std::uint8_t {
  off,
  scoring,      ///< the anchored polish: merges, forgets, gives error bars
  stepwise_em,  ///< stepwise EM's path is reported; the scoring goes on beside it, as guard, for error bars
                ///< and drift. Only with a memory of everything; a merge begins the path anew
};

/// What paper_estimate minimises: the squared loss that the paper prints; or the root of it that its authors'
/// programs took, with M2 positive semidefinite, which made the published tables.
enum class PaperObjective : std::uint8_t { printed, published };

/// lambda_p = c_p / sqrt(n); or twice the operator norm of X*(eta_p) / n, the condition behind Theorem 1,
/// with laws plugged in that tell eta, and for the root that over 2 |eta_p|_2.
enum class PaperPenalty : std::uint8_t { given, theory };

/// Share of the noise's sd by which laws may be moved by what is missing, and still be of use.
inline constexpr double usual_tolerance = 0.1;

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
  double tolerance = usual_tolerance;       ///< noise sd that laws may be off by, and still be of use
  std::vector<std::string> feature_names;

  friend bool operator==(const SolveSettings&, const SolveSettings&) = default;
};

/// How much a solve says: everything; or the fit and its verdict, for fits that only the polish asks for.
enum class SolveDetail : std::uint8_t { everything, fit };

/// When the polish is begun and checked, in rows.
struct PolishPlan {
  std::uint64_t first_check = 5000;  ///< rows; then twice and 4 times as many, then at every fourfold;
                                     ///< in doubt or tentative at every twofold
  std::uint64_t move_every = 12500;  ///< rows; the anchor moves at the end of the block of 64 that reaches it

  friend bool operator==(const PolishPlan&, const PolishPlan&) = default;
};

/// Rows in order: how many sensors are followed, and how long a silence ends a chain.
struct ChainSettings {
  std::size_t most_chains = 64;  ///< sensors followed at once
  double gap_seconds = 0.0;  ///< a longer silence of a sensor, or a clock that runs back, begins its chain
                             ///< anew; 0: only rows are counted, not time

  friend bool operator==(const ChainSettings&, const ChainSettings&) = default;
};

/// Drift by the moments.
struct MomentDriftSettings {
  double limit = 6.0;                ///< standard deviations that make an event
  std::uint64_t fewest_rows = 5000;  ///< since the fit, before they are judged
  /// J/dof that a right fit shows with weights from half the sample: above this, as with Gaussian features,
  /// the weights are too rough to judge recent rows by, and the moments say nothing of drift
  double largest_expected_ratio = 1.5;

  friend bool operator==(const MomentDriftSettings&, const MomentDriftSettings&) = default;
};

struct EstimatorSettings {
  StateSettings state;
  SolveSettings solve;
  PolishPlan polish;
  MomentDriftSettings drift;
  ChainSettings chains;     ///< of rows in order: how many sensors, and how long a silence ends a chain
  std::uint64_t every = 0;  ///< rows between scheduled fits beside those that the polish needs; 0: only those
};

}  // namespace mixstream
