// What a fit says, as plain data. Text, JSON and the page are made from this and from nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mixstream/core/dense.hpp"
#include "mixstream/core/events.hpp"
#include "mixstream/core/identifiability.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/doubts/doubt.hpp"
#include "mixstream/verdict/status.hpp"

namespace mixstream {

enum class Finding : std::uint8_t;  // verdict/judge.hpp
struct SpectralFit;                 // tensor/spectral.hpp

enum class FitStage { none, spectral, refined, polished, em };

/// The stable names of the JSON contract: "default", "paper", "em"; "refined". No throw.
const char* name_of(FitStage stage) noexcept;

/// One hidden law, in raw coordinates.
struct ComponentReport {
  double weight = 0.0;                         ///< pi_h
  std::optional<double> weight_error;          ///< standard error, where the stage gives one
  std::vector<double> coefficients;            ///< beta_h
  std::vector<double> coefficient_errors;      ///< empty where the stage gives none
  double noise_variance = 0.0;                 ///< s2_h
  std::optional<double> noise_variance_error;  ///< nothing where it is known
};

/// Do the moments agree with the fit? J is about chi-square(dof) for a right one.
struct MomentTest {
  double value = 0.0;
  std::size_t dof = 0;
  double p_value = 0.0;
  double expected_ratio = 1.0;  ///< J/dof that a right fit shows with weights from this sample
  std::string conditions;       ///< which moments were matched
};

/// One row of the table behind `k = auto`.
struct Candidate {
  std::size_t component_count = 0;
  double log_likelihood = 0.0;      ///< mean per row, on the held rows
  double bic = 0.0;                 ///< per row, smaller is better
  std::optional<double> j_per_dof;  ///< where moments belong to the noise
  bool chosen = false;
  NoiseModel noise = NoiseModel::shared;  ///< that the rows prefer with so many laws
  NoiseShape noise_shape;
  double probability = 0.0;          ///< by BIC, all numbers of laws being as likely before
  Modes modes = Modes::independent;  ///< that the rows prefer with so many laws
};

/// How modes follow each other, or which law x chooses, where the model has a part for it.
struct ModesReport {
  Modes kind = Modes::persistent;
  DenseMatrix transitions;        ///< A: row i is where law i goes next; persistent only, as all below
  DenseMatrix transition_errors;  ///< standard errors of A
  std::vector<double> dwells;     ///< 1 / (1 - A_ii): rows that a mode lasts in the mean
  std::vector<double> dwell_errors;
  std::vector<double> seen_shares;  ///< of the rows, spent in each mode; the weights are the chain's
  std::vector<double> now;          ///< probabilities of the mode after the last row of the newest chain
  double changes = 0.0;             ///< changes of mode seen, expected given the rows
  std::uint64_t chains_cut = 0;     ///< places where a chain began anew inside the stream
  /// For pictures: see ModeTrace. Of gated modes, too.
  DenseMatrix strip;              ///< expected rows in each mode, by stretches of the stream: stretches x k
  std::vector<std::size_t> last;  ///< likeliest modes of the newest chain's last rows, oldest first
  DenseMatrix stays;              ///< that ended, by powers of two of their rows: k x lengths
  std::vector<std::string> gate;  ///< w; gated only, as all below
  DenseMatrix gate_coefficients;  ///< gamma: k x w, the last row zero
  DenseMatrix gate_errors;
};

/// What the fit assumes of modes and noise, and who chose it.
struct ModelReport {
  Modes modes = Modes::independent;
  NoiseModel noise = NoiseModel::shared;
  NoiseShape noise_shape;
  bool by_held_rows = false;        ///< the rows at hand chose it; no trial on further rows is over yet
  std::vector<ChosenModel> chosen;  ///< by trials, in their order
};

/// Counts of a whole stream that is divided into groups.
struct StreamCounts {
  std::uint64_t rows = 0;
  std::uint64_t groups = 0;
  std::vector<std::pair<std::string, std::uint64_t>> refused;  ///< before the row's group was known or made
};

struct Report {
  bool final = false;
  std::optional<std::string> group;    ///< of `--group`; nothing: one model for all rows
  std::optional<StreamCounts> stream;  ///< beside a group
  std::uint64_t rows = 0;
  std::vector<std::pair<std::string, std::uint64_t>> refused;  ///< by reason, only those that occurred
  double effective_rows = 0.0;
  std::size_t component_count = 0;  ///< k, asked for or chosen
  std::vector<std::string> features;
  std::string feature_map;  ///< its text, where it says more than the features' names: categories
  std::string response;
  std::vector<ComponentReport> components;  ///< empty when there is no fit
  std::string noise_source;                 ///< "known" or "estimated"
  FitMethod method = FitMethod::standard;
  FitStage stage = FitStage::none;
  FitStatus status = FitStatus::too_few_rows;
  std::optional<ModelReport> model;    ///< default method only
  std::vector<Doubt> doubts;           ///< all that was looked for: raised ones first, strongest first
  Misfit misfit;                       ///< how far that may have moved the laws
  double tolerance = usual_tolerance;  ///< in noise sd, between approximate and poor_fit
  std::vector<Finding> findings;       ///< behind the status, the one that decides first
  std::string words;                   ///< the verdict in one or two sentences: what is wrong and what to do
  std::uint64_t set_aside = 0;         ///< rows of tail bins that stayed out of the fit
  std::optional<double> log_likelihood;  ///< mean per row, on the sample
  std::optional<double> bic;             ///< per row, on the sample
  std::optional<MomentTest> moment_test;
  std::optional<ModesReport> modes;    ///< nothing where every row chooses anew
  std::optional<double> noise_memory;  ///< rho, where the noise remembers
  std::optional<double> noise_memory_error;
  std::optional<double> degrees_of_freedom;  ///< of the noise, where it has tails
  Identifiability identifiability;
  std::shared_ptr<const SpectralFit> spectral;  ///< regressions and warnings, where they were run
  std::vector<Candidate> candidates;            ///< of `k = auto`
  std::vector<DriftEvent> drift;
  double ingest_seconds = 0.0;
  double solve_seconds = 0.0;
  double look_seconds = 0.0;  ///< of these, looking for doubts
  int looks = 0;              ///< so many times: once, and once for each larger model that was taken

  /// The laws as a mixture, for predictions. Empty when there is no fit.
  Mixture mixture() const;
};

/// Why the chosen number of laws is not the one of the least BIC; empty where it is. Allocates.
std::string count_reason(const Report& report);

}  // namespace mixstream
