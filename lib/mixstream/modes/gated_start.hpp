// Where gated modes begin: laws of slices of the rows along a feature of the gate.
//
// A mixture's laws are those of rows that any law may have made. Where a feature chooses, they may lie far
// from the laws that each hold on their own side of it, and scoring from there ends in another optimum. So
// the rows held are cut into k slices of equal size along each feature of the gate, every slice has its own
// law, and the gate turns from one to the next at the cuts.
#pragma once

#include <vector>

#include "mixstream/modes/model.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// A start for each feature of the gate beside its first, the constant; none where a slice has too few rows
/// for a law. `rows`: pilot coordinates. Allocates; n d^2 / 2 products a feature and a sort.
std::vector<ModeModel> sliced_starts(const ModeShape& shape, const RowTable& rows);

}  // namespace mixstream
