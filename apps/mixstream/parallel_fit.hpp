// A file read in parts at the same time, each part into a branch of one estimator.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "fit_session.hpp"
#include "input/input.hpp"
#include "refusals.hpp"

namespace mixstream {

struct ParallelPlan {
  std::string path;
  InputSettings input;
  RowPlan rows;
  RefusalPolicy policy;
  ByteRange range;             ///< what is left of the file, up to its end
  std::uint64_t position = 0;  ///< of the first row left, in the stream
  std::size_t threads = 1;
};

/// What the parts said, in the order of the file.
struct ParallelOutcome {
  std::vector<RefusedWords> refused;  ///< the first of each part, a fatal one last
  std::string failure;                ///< reading broke here; what came before was absorbed
  std::uint64_t end = 0;              ///< where the stream stands behind the last row read
};

/// Called a few times a second with the rows and bytes of all parts so far.
using ParallelProgress = std::function<void(std::uint64_t rows, std::uint64_t bytes)>;

/// Absorbs the range, whose rows are counted first: a row's position is its number. The parts are branches of
/// the estimator (its pilot must be fixed) and are added in file order, so the result depends on the file and
/// the number of threads alone; the sample not even on that. Parts behind a fatal row or a broken one are
/// left out. Ends early when a signal asks for it.
ParallelOutcome absorb_in_parallel(Estimator& estimator, const ParallelPlan& plan,
                                   const ParallelProgress& progress);

}  // namespace mixstream
