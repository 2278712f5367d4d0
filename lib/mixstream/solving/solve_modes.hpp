// The parts of a solve that belong to rows in order: likely laws to begin at, and a polish of modes as a
// report. For solve.cpp.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/core/layout.hpp"
#include "mixstream/modes/mode_polish.hpp"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/report/report.hpp"
#include "mixstream/rows/pilot.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// The distinct optima of EM on the sample that the starts and random ones lead to, likeliest first, at most
/// three. Everything in pilot coordinates. Under NoiseModel::known every start carries the known variances.
/// Allocates; EM from some ten starts.
std::vector<Mixture> likely_laws(const MomentTensor& tensor, const RowTable& sample,
                                 std::vector<Mixture> starts, std::size_t component_count, NoiseModel noise,
                                 std::uint64_t seed);

/// What a fit of rows in order says in the words of a mixture, pilot coordinates: weights are the chain's
/// stationary ones, or the mean of the gate's over the sample; noise variances those of a single row.
struct ModeAnswer {
  Mixture mixture;
  DenseMatrix covariance;  ///< of its theta (likelihood/parameters.hpp)
};
ModeAnswer answer_of(const ModeFit& fit, const ModeShape& shape, const RowTable& sample);

/// Fills the report's parts about modes and noise; `order`: the laws as reported (relabelled).
void describe_modes(const ModeFit& fit, const ModeShape& shape, std::span<const std::size_t> order,
                    const Layout& layout, const Pilot& pilot, Report& report);

/// Variance of batch sums over what the scores promise, beyond which something remembers that the model does
/// not. Every square is held against the information of its own batch, so for a right model the mean of `dof`
/// squares is an F of `dof` and endlessly many degrees of freedom. The limit is that F at the error rate of
/// all tests (limits::rejected_right_fits), times the 1.25 that rounding may make of a right model.
double largest_dispersion(const ModeFit& fit) noexcept;

}  // namespace mixstream
