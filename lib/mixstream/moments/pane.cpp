#include "mixstream/moments/pane.hpp"

#include <algorithm>
#include <cmath>

namespace mixstream {

Pane::Pane(const BlockKernel& kernel, std::size_t reservoir_rows, const Layout& layout)
    : reservoir(reservoir_rows, static_cast<std::size_t>(layout.feature_count)) {
  for (MomentSet& bin : bins) held_moments(bin) = RowMoments(kernel, layout);
}

void Pane::flush(const BlockKernel& kernel, double* workspace) noexcept {
  for (MomentSet& bin : bins) held_moments(bin).fold(kernel, workspace);
}

void Pane::scale(double factor) noexcept {
  for (MomentSet& bin : bins) held_moments(bin).scale(factor);
  reservoir.scale_weights(factor);
}

void Pane::add(const Pane& other, double factor) noexcept {
  for (std::size_t b = 0; b < bin_count; ++b) moments(b).add(other.moments(b), factor);
  reservoir.merge(other.reservoir, factor);
}

void Pane::clear() noexcept {
  for (MomentSet& bin : bins) held_moments(bin).clear();
  reservoir.clear();
}

void Pane::change_coordinates(const Packing& packing, const Pilot& from, const Pilot& to) {
  for (MomentSet& bin : bins) {
    RowMoments& held = held_moments(bin);
    if (held.rows == 0) continue;
    mixstream::change_coordinates(held.sums, packing, from, to);
    mixstream::change_coordinates(held.compensation, packing, from, to);
  }
}

bool Pane::finite() const noexcept {
  const auto sound = [](double value) { return std::isfinite(value); };
  return std::ranges::all_of(bins, [&](const MomentSet& bin) {
    const RowMoments& held = row_moments(bin);
    return sound(held.weight_squares) && std::ranges::all_of(held.sums, sound) &&
           std::ranges::all_of(held.compensation, sound);
  });
}

bool operator==(const Pane& one, const Pane& two) {
  for (std::size_t b = 0; b < bin_count; ++b) {
    if (!(one.moments(b) == two.moments(b))) return false;
  }
  return one.reservoir == two.reservoir;
}

}  // namespace mixstream
