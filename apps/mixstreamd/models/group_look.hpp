// A look at one group's model: its laws, whether its newest rows still obey them, and the fleet's.
#pragma once

#include <cstdint>
#include <optional>

#include "../fleet_view.hpp"
#include "group_models.hpp"

namespace mixstream {

/// Laws, and how many rows they are known from.
struct KnownLaws {
  Mixture laws;
  double rows = 0.0;
};

struct GroupLook {
  std::uint64_t rows = 0;
  FitStatus status = FitStatus::too_few_rows;
  std::optional<KnownLaws> laws;  ///< of this fit, where it can be used; in the order of the fleet's
  std::optional<std::size_t> mode;
  double mode_probability = 0.0;
  std::optional<LawReading> drift;
  std::optional<LawReading> departure;
};

/// Any thread. `fleet`: of the stream's own model; `before`: the group's last laws, for where it has no new
/// ones. Nothing: there are none. Solves, so it may throw what a solve throws.
GroupLook look_at(GroupCopy copy, const EstimatorSettings& settings, const std::optional<KnownLaws>& fleet,
                  const std::optional<KnownLaws>& before);

}  // namespace mixstream
