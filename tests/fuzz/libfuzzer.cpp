#include <cstddef>
#include <cstdint>

#include "fuzz/target.hpp"

/// A quarantine for the memory of a few executions, not of 256 MB, and short stacks of allocations: more
/// executions a second.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "quarantine_size_mb=8:malloc_context_size=4";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
