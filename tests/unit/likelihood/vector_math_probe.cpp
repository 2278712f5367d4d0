// Compiled once per instruction set, like the kernels that use these functions.
#include "mixstream/likelihood/variants/vector_math.hpp"

namespace probe {

void MIXSTREAM_PROBE_EXP(double* values) noexcept {
  using namespace mixstream::variants;
  for (std::size_t i = 0; i < 8; i += vector_width) store(values + i, exponential(load(values + i)));
}

void MIXSTREAM_PROBE_LOG(double* values) noexcept {
  using namespace mixstream::variants;
  for (std::size_t i = 0; i < 8; i += vector_width) store(values + i, logarithm(load(values + i)));
}

}  // namespace probe
