// The snapshot decoder behind its checksum. What it accepts must be a working state: encodes back to the same
// bytes, takes rows, and hands out finite numbers only.
#include <cmath>

#include "fuzz/target.hpp"
#include "mixstream/moments/codec.hpp"

using namespace mixstream;

namespace {

void require_finite(const MomentState& state) {
  const MomentTensor moments = state.moments();
  for (const double sum : moments.sums()) require(std::isfinite(sum));
  require(std::isfinite(moments.effective_rows));
  const Sample sample = state.sample();
  for (const double weight : sample.rows.weights) require(std::isfinite(weight));
}

}  // namespace

void fuzz(std::string_view bytes) {
  Outcome<Snapshot> decoded =
      decode(std::as_bytes(std::span(bytes)), {.memory_budget = 1 << 20, .trust_checksum = false});
  if (!decoded) {
    require(!decoded.refusal().text.empty());
    return;
  }
  MomentState& state = decoded.value().state;
  const Bytes again = encode(state, decoded.value().guests);
  const Outcome<Snapshot> twice = decode(again);
  require(twice && twice.value().state.settings().layout == state.settings().layout);
  require(encode(twice.value().state, twice.value().guests) == again);
  require_finite(state);
  const std::vector<double> features(static_cast<std::size_t>(state.settings().layout.feature_count), 1.0);
  for (int i = 0; i < 70; ++i) state.absorb({features, 0.5 * i, 2.0, 1.0 * i});
  require_finite(state);
}
