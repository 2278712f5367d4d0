// How far a fit may be used, in one word.
#pragma once

#include <cstdint>

namespace mixstream {

enum class FitStatus : std::uint8_t {
  ok,                ///< the rows agree with the model
  poor_fit,          ///< do not trust these laws: the findings say why and what to do
  not_identifiable,  ///< the features or the moments cannot tell the laws apart
  too_few_rows,      ///< not enough rows yet
  lost_component,    ///< fewer laws explain the rows as well
  approximate,       ///< the rows contradict the model, by less than the stated share of the noise
};

/// The stable name of the JSON contract, such as "poor_fit". No throw.
const char* name_of(FitStatus status) noexcept;

/// Whether laws of this status may be used: ok, or approximate with its size in mind. No throw.
constexpr bool is_usable(FitStatus status) noexcept {
  return status == FitStatus::ok || status == FitStatus::approximate;
}

/// How far the laws, or what they predict, may be off because of what is missing, in noise sd.
struct Misfit {
  double shift = 0.0;       ///< by the largest doubt that is raised: of laws or predictions, the larger
  double open = 0.0;        ///< the most that the held rows do not exclude
  double prediction = 0.0;  ///< of the predictions alone, by the largest doubt that is raised
};

}  // namespace mixstream
