#include "mixstream/report/gate_words.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

namespace mixstream {

/// gamma_h . w is a line over the feature, and the heaviest law the highest line: from the least slope on,
/// the next law is the one whose line crosses first.
std::vector<std::string> takeovers(const ModesReport& modes) {
  std::vector<std::string> words;
  if (modes.kind != Modes::gated || modes.gate.size() != 2 || modes.gate[0] != "1") return words;
  const DenseMatrix& gamma = modes.gate_coefficients;
  std::size_t now = 0;
  for (std::size_t h = 1; h < gamma.rows; ++h) {
    const bool steeper_down = gamma(h, 1) < gamma(now, 1);
    if (steeper_down || (gamma(h, 1) == gamma(now, 1) && gamma(h, 0) > gamma(now, 0))) now = h;
  }
  for (std::size_t turns = 0; turns < gamma.rows; ++turns) {
    double first = INFINITY;
    std::size_t next = now;
    for (std::size_t h = 0; h < gamma.rows; ++h) {
      const double slope = gamma(h, 1) - gamma(now, 1);
      const double crossing = (gamma(now, 0) - gamma(h, 0)) / slope;
      if (!(slope > 0.0) || !(crossing < first)) continue;
      first = crossing;
      next = h;
    }
    if (next == now) break;
    words.push_back(fmt::format("law {} takes over above {} {:.3g}", next + 1, modes.gate[1], first));
    now = next;
  }
  return words;
}

}  // namespace mixstream
