// Where gated modes begin: laws of slices of the rows along a feature of the gate.
//
// A mixture's laws are those of rows that any law may have made. Where a feature chooses, they may lie far
// from the laws that each hold on their own side of it, and scoring from there ends in another optimum. So
// the rows held are cut into k slices of equal size along each feature of the gate, every slice has its own
// law, and the gate turns from one to the next at the cuts.
#pragma once

#include <span>
#include <vector>

#include "mixstream/modes/model.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// A start for each feature of the gate beside its first, the constant; none where a slice has too few rows
/// for a law. `rows`: pilot coordinates. Allocates; n d^2 / 2 products a feature and a sort.
std::vector<ModeModel> sliced_starts(const ModeShape& shape, const RowTable& rows);

/// What one step of scoring promises of opening a gate beside these laws, twice the gain in log-likelihood:
/// of the scores (r_h - pi_h) (w - mean w). It understates a steep gate. Allocates; ((k - 1) w)^2 / 2
/// products a row.
double promise_of_gate(const Mixture& laws, std::span<const std::size_t> gate, const RowTable& rows);

}  // namespace mixstream
