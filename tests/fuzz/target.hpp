// What every fuzz target defines, and what both drivers (libFuzzer and the replay of the corpora) call.
#pragma once

#include <cstdlib>
#include <string_view>

/// Runs the target on one input; aborts through require() where a promise is broken.
void fuzz(std::string_view bytes);

/// Also in release builds, unlike assert.
inline void require(bool promise) {
  if (!promise) std::abort();
}
