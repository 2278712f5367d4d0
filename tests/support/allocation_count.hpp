// How often the program has asked for memory: for tests that a call allocates nothing. The source beside it
// replaces the global operator new.
#pragma once

#include <cstddef>

namespace mixstream {

std::size_t allocation_count() noexcept;

}  // namespace mixstream
