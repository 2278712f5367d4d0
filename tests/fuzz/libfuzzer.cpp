#include <cstddef>
#include <cstdint>

#include "fuzz/target.hpp"

/// A quarantine of a few executions' memory, not of 256 MB that no cache holds, and short stacks of
/// allocations: up to three times as many executions a second.
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  return "quarantine_size_mb=8:malloc_context_size=4";
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
