// Rank 0: runs the fit command, with rows from all ranks.
#pragma once

#include "mpi_command.hpp"
#include "orders.hpp"

namespace mixstream {

/// Leads the other ranks, which follow. The exit code.
int lead(Ranks& ranks, const MpiCommand& command, const PartSettings& settings);

}  // namespace mixstream
