// What a fit that was made on a copy of an estimator gives back to it, and how it is stored meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/mixture.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/following/moment_drift.hpp"
#include "mixstream/following/polish_driver.hpp"
#include "mixstream/report/report.hpp"
#include "mixstream/tensor/spectral.hpp"

namespace mixstream {

/// What scheduled fits know of drift by the moments.
struct MomentWatch {
  std::optional<RememberedFit> fit;  ///< rows since are held against it
  std::vector<DriftEvent> events;    ///< the last 64

  friend bool operator==(const MomentWatch&, const MomentWatch&) = default;
};

/// What a scheduled fit leaves in the estimator: made on a copy, taken by the original, stored between the
/// two.
struct FitFeedback {
  std::optional<Mixture> fit;                ///< next start and labels, raw; nothing: the last one stays
  std::optional<PolishDriverState> polish;   ///< one that began, or began anew; nothing: it goes on
  std::optional<PolishSchedule> schedule{};  ///< nothing: the polish was not checked
  MomentWatch watch{};
  std::uint64_t next_every = 0;
  std::optional<PaperStart> paper{};  ///< method paper: where its next regressions begin

  Bytes encode() const;
  /// Refuses bytes that encode() did not make. What they say is judged by Estimator::take.
  static Outcome<FitFeedback> decode(std::span<const std::byte> bytes);

  friend bool operator==(const FitFeedback&, const FitFeedback&) = default;
};

struct ScheduledFit {
  Report report;
  FitFeedback feedback;
};

}  // namespace mixstream
