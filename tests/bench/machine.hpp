// What one core of this machine can do at most.
#pragma once

namespace bench {

/// Runs about a millisecond of independent multiply-adds in registers; returns how many (counting lanes).
double run_multiply_adds();

/// Reads a buffer far larger than the caches once; returns its bytes.
double read_memory();

}  // namespace bench
