// Reading on a thread of its own, so that parsing overlaps with what is done with the rows.
#pragma once

#include <memory>

#include "input/input.hpp"

namespace mixstream {

struct ReadAheadSettings {
  std::size_t batch_rows = 1024;       ///< most rows of one batch, as the reader was told
  std::size_t width = 1;               ///< numbers of a row
  std::size_t most_bytes = 8U << 20U;  ///< of rows read ahead: so much is parsed while a fit is made
  void (*wake)() = nullptr;            ///< makes a waiting next() of the reader return
};

/// The same batches in the same order, read ahead by another thread. The thread starts when large batches
/// have come for a while and there is a second processor: a slow or short input is read as before. Not for a
/// selection with text or lines, whose bytes the reader would overwrite. `wake` is called when the result is
/// destroyed while the reader may wait.
std::unique_ptr<RowReader> read_ahead(std::unique_ptr<RowReader> reader, const ReadAheadSettings& settings);

}  // namespace mixstream
