#include "mixstream/doubts/doubt.hpp"

namespace mixstream {

const char* name_of(DoubtKind kind) noexcept {
  switch (kind) {
    case DoubtKind::missing_term:
      return "missing_term";
    case DoubtKind::missing_term_of_one_law:
      return "missing_term_of_one_law";
    case DoubtKind::gate:
      return "gate";
    case DoubtKind::persistence:
      return "persistence";
    case DoubtKind::unequal_noise:
      return "unequal_noise";
    case DoubtKind::growing_noise:
      return "growing_noise";
    case DoubtKind::skewed_noise:
      return "skewed_noise";
    case DoubtKind::tails:
      return "tails";
    case DoubtKind::memory:
      return "memory";
    case DoubtKind::stuck:
      return "stuck";
    case DoubtKind::rounding:
      return "rounding";
    case DoubtKind::too_many_laws:
      return "too_many_laws";
    case DoubtKind::too_few_laws:
      return "too_few_laws";
    case DoubtKind::delay:
      return "delay";
  }
  return "unknown";
}

}  // namespace mixstream
