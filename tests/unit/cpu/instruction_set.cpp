#include "mixstream/cpu/instruction_set.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

using namespace mixstream;

TEST_CASE("the best instruction set is supported, and the environment can only lower it") {
  unsetenv("MIXSTREAM_INSTRUCTION_SET");
  const InstructionSet best = best_instruction_set();
  CHECK(supported(best));
  CHECK(supported(InstructionSet::plain));
  for (const InstructionSet set :
       {InstructionSet::plain, InstructionSet::sse2, InstructionSet::avx2, InstructionSet::avx512}) {
    setenv("MIXSTREAM_INSTRUCTION_SET", name_of(set), 1);
    CHECK(best_instruction_set() <= set);
    CHECK(best_instruction_set() <= best);
    if (supported(set)) CHECK(best_instruction_set() == set);
    if (set > best) CHECK(best_instruction_set() == best);
  }
  setenv("MIXSTREAM_INSTRUCTION_SET", "no such set", 1);
  CHECK(best_instruction_set() == best);
  unsetenv("MIXSTREAM_INSTRUCTION_SET");
}

TEST_CASE("instruction sets have the names the environment variable takes") {
  CHECK(std::string(name_of(InstructionSet::plain)) == "plain");
  CHECK(std::string(name_of(InstructionSet::sse2)) == "sse2");
  CHECK(std::string(name_of(InstructionSet::avx2)) == "avx2");
  CHECK(std::string(name_of(InstructionSet::avx512)) == "avx512");
}
