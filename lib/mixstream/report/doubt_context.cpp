#include "mixstream/report/doubt_context.hpp"

#include <algorithm>
#include <cmath>

namespace mixstream {

DoubtContext context_of(const Report& report) {
  DoubtContext context{report.features, report.response.empty() ? "y" : report.response,
                       report.components.size()};
  if (report.components.empty()) return context;
  const auto quietest = std::ranges::min_element(report.components, {}, &ComponentReport::noise_variance);
  context.noise = std::sqrt(quietest->noise_variance);
  return context;
}

}  // namespace mixstream
