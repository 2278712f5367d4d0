// Which vector instructions the kernels may use on this processor.
#pragma once

namespace mixstream {

/// From the plainest to the widest; a processor that runs one runs those before it.
enum class InstructionSet { plain, sse2, avx2, avx512 };

/// The widest set this processor and its operating system run. The environment variable
/// MIXSTREAM_INSTRUCTION_SET (plain, sse2, avx2, avx512) can lower it, never raise it. No throw.
InstructionSet best_instruction_set() noexcept;

/// Whether this program on this processor can run the set. No throw, no allocation.
bool supported(InstructionSet set) noexcept;

/// "plain", "sse2", "avx2" or "avx512".
const char* name_of(InstructionSet set) noexcept;

}  // namespace mixstream
