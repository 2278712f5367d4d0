#include "mixstream/cpu/instruction_set.hpp"

#include <array>
#include <cstdlib>
#include <cstring>

namespace mixstream {
namespace {

constexpr std::array widest_first{InstructionSet::avx512, InstructionSet::avx2, InstructionSet::sse2,
                                  InstructionSet::plain};

/// The set that MIXSTREAM_INSTRUCTION_SET names; the widest when unset or unknown.
InstructionSet allowed() noexcept {
  const char* wish = std::getenv("MIXSTREAM_INSTRUCTION_SET");
  for (const InstructionSet set : widest_first) {
    if (wish != nullptr && std::strcmp(wish, name_of(set)) == 0) return set;
  }
  return InstructionSet::avx512;
}

}  // namespace

InstructionSet best_instruction_set() noexcept {
  const InstructionSet limit = allowed();
  for (const InstructionSet set : widest_first) {
    if (set <= limit && supported(set)) return set;
  }
  return InstructionSet::plain;
}

bool supported(InstructionSet set) noexcept {
#if defined(__x86_64__)
  // These ask both the processor and whether the operating system saves the wide registers.
  __builtin_cpu_init();
  switch (set) {
    case InstructionSet::avx512:
      return __builtin_cpu_supports("avx512f") != 0;
    case InstructionSet::avx2:
      return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
    default:
      return true;
  }
#else
  return set == InstructionSet::plain;
#endif
}

const char* name_of(InstructionSet set) noexcept {
  switch (set) {
    case InstructionSet::avx512:
      return "avx512";
    case InstructionSet::avx2:
      return "avx2";
    case InstructionSet::sse2:
      return "sse2";
    default:
      return "plain";
  }
}

}  // namespace mixstream
