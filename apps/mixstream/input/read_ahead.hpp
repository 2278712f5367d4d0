// Reading on a thread of its own, so that parsing overlaps with what is done with the rows.
#pragma once

#include <memory>

#include "input/input.hpp"

namespace mixstream {

/// The same batches in the same order, read up to four batches ahead by another thread. The thread starts
/// when full batches have come for a while and there is a second processor: a slow or short input is read as
/// before. Not for a selection with text or lines, whose bytes the reader would overwrite.
/// wake: makes a waiting next() of the reader return; called when the result is destroyed while it may wait.
std::unique_ptr<RowReader> read_ahead(std::unique_ptr<RowReader> reader, std::size_t batch_rows,
                                      void (*wake)());

}  // namespace mixstream
