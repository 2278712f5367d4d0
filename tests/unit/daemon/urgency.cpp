#include "urgency.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace mixstream;

namespace {

int nice_of_thread() {
  return ::getpriority(PRIO_PROCESS, 0);
}

}  // namespace

TEST_CASE("work in the background is ten steps less urgent, and nobody else is") {
  const int before = nice_of_thread();
  CHECK(in_background([] { return nice_of_thread(); }) == std::min(before + 10, 19));
  CHECK(nice_of_thread() == before);
}

TEST_CASE("what work in the background throws comes out") {
  CHECK_THROWS_AS(in_background([]() -> int { throw std::runtime_error("no"); }), std::runtime_error);
}

TEST_CASE("slices that are asked for change neither the policy nor the nice value") {
  const int before = nice_of_thread();
  const int policy = ::sched_getscheduler(0);
  in_background([&] {
    const int lowered = nice_of_thread();
    be_prompt();
    CHECK(nice_of_thread() == lowered);
    CHECK(::sched_getscheduler(0) == policy);
    return 0;
  });
  CHECK(nice_of_thread() == before);
}
