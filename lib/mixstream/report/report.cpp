#include "mixstream/report/report.hpp"

#include <algorithm>

namespace mixstream {

const char* name_of(Modes modes) noexcept {
  switch (modes) {
    case Modes::independent:
      return "independent";
    case Modes::persistent:
      return "persistent";
    case Modes::gated:
      return "gated";
  }
  return "";
}

const char* name_of(FitMethod method) noexcept {
  switch (method) {
    case FitMethod::standard:
      return "default";
    case FitMethod::paper:
      return "paper";
    case FitMethod::em:
      return "em";
  }
  return "unknown";
}

const char* name_of(FitStage stage) noexcept {
  switch (stage) {
    case FitStage::none:
      return "none";
    case FitStage::spectral:
      return "spectral";
    case FitStage::refined:
      return "refined";
    case FitStage::polished:
      return "polished";
    case FitStage::em:
      return "em";
  }
  return "unknown";
}

const char* name_of(FitStatus status) noexcept {
  switch (status) {
    case FitStatus::ok:
      return "ok";
    case FitStatus::poor_fit:
      return "poor_fit";
    case FitStatus::not_identifiable:
      return "not_identifiable";
    case FitStatus::too_few_rows:
      return "too_few_rows";
    case FitStatus::lost_component:
      return "lost_component";
    case FitStatus::approximate:
      return "approximate";
  }
  return "unknown";
}

Mixture Report::mixture() const {
  const std::size_t d = components.empty() ? features.size() : components.front().coefficients.size();
  Mixture mixture = empty_mixture(components.size(), d);  // features may have no names
  for (std::size_t h = 0; h < components.size(); ++h) {
    mixture.weights[h] = components[h].weight;
    mixture.noise_variances[h] = components[h].noise_variance;
    std::ranges::copy(components[h].coefficients, mixture.law(h).begin());
  }
  return mixture;
}

std::string count_reason(const Report& report) {
  const auto least = std::ranges::min_element(report.candidates, {}, &Candidate::bic);
  if (least == report.candidates.end() || least->chosen) return {};
  return "k = " + std::to_string(least->component_count) +
         " has the least BIC, but the moments of these rows do not determine so many laws";
}

}  // namespace mixstream
