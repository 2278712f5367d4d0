// What the parts of the C interface share: statuses, words, and the wall that no exception passes. For .cpp
// files of the C interface only.
#pragma once

#include <cstddef>
#include <exception>
#include <new>
#include <string_view>

#include "mixstream/core/interrupt.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/mixstream.h"
#include "mixstream/moments/tensor.hpp"
#include "mixstream/verdict/status.hpp"

namespace mixstream::c_interface {

/// Cuts what does not fit. A null text: nobody asks.
void say(char* text, std::size_t size, std::string_view words) noexcept;

mixstream_status status_of(Reason reason) noexcept;
mixstream_status status_of(FitStatus status) noexcept;

/// Checks its arguments but for null pointers that must not be.
mixstream_status copy_moments(const MomentTensor& moments, mixstream_moment moment, int degree,
                              double* values, std::size_t capacity, std::size_t& needed);

/// Runs `work`, which gives a status; whatever it throws becomes one.
template <class Work>
mixstream_status guarded(Work work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return MIXSTREAM_OUT_OF_MEMORY;
  } catch (const Interrupted&) {
    return MIXSTREAM_INTERRUPTED;
  } catch (...) {
    return MIXSTREAM_INTERNAL;
  }
}

}  // namespace mixstream::c_interface
