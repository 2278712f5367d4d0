// What the paper's estimator says of itself, as a status and words.
#pragma once

#include <string>

#include "mixstream/tensor/spectral.hpp"
#include "mixstream/verdict/status.hpp"

namespace mixstream {

struct PaperVerdict {
  FitStatus status = FitStatus::ok;
  std::string words;  ///< what is wrong, where something is, and what to do
};

/// Anything but ok as soon as the fit warns of a lost component, a singular regression, an iteration that did
/// not end, or something clamped. Allocates the words.
PaperVerdict paper_verdict(const SpectralFit& fit);

}  // namespace mixstream
