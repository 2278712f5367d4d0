// How many laws: k by the sample's BIC, with J beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

struct ComponentCountSettings {
  NoiseModel noise = NoiseModel::shared;
  double known_noise_variance = 0.0;  ///< under NoiseModel::known, in the sample's coordinates
  std::size_t largest = 8;            ///< k that is tried
  int starts = 8;    ///< random ones for every k, beside the last k's optimum with one law more
  int patience = 2;  ///< stops after so many k without a better BIC
  std::size_t largest_condition_count = 750;
  std::uint64_t seed = 1;
};

struct ComponentCandidate {
  std::size_t component_count = 0;
  std::size_t parameters = 0;
  double mean_log_likelihood = 0.0;  ///< per row of the sample
  double bic = 0.0;                  ///< per row of the sample; less is better
  bool matched = false;              ///< whether moments could be matched: J says something
  double distance = 0.0;             ///< J of the moments matched from there
  std::size_t dof = 0;
  double p_value = 0.0;
  Mixture mixture;  ///< EM's optimum on the sample: a start for refine()
};

struct ComponentCount {
  std::size_t component_count = 0;  ///< of least BIC
  double rows = 0.0;                ///< that BIC counts, see rows_of_sample
  std::vector<ComponentCandidate> candidates;
};

/// EM on the sample for k = 1, 2, ..., from several starts each; least BIC wins. Tensor and sample in the
/// same coordinates. Refuses without rows. Cost: starts EM runs on the sample and one refinement for every k.
Outcome<ComponentCount> choose_component_count(const MomentTensor& tensor, const RowTable& sample,
                                               const ComponentCountSettings& settings = {});

}  // namespace mixstream
