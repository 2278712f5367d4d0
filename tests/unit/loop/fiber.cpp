#include "mixstream/loop/fiber.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "mixstream/core/yield_point.hpp"

using namespace mixstream;

TEST_CASE("a fiber comes back at yield points once its budget is used, and goes on where it was") {
  Fiber fiber(1U << 18);
  int rounds = 0;
  fiber.begin([&] {
    for (; rounds < 5; ++rounds) yield_point();
  });
  int slices = 1;
  while (!fiber.run(std::chrono::nanoseconds(0))) ++slices;
  CHECK(rounds == 5);
  CHECK(slices == 6);
  CHECK_FALSE(fiber.running());
}

TEST_CASE("a fiber with time to spare ends in one slice, and can begin again") {
  Fiber fiber(1U << 18);
  for (int run = 0; run < 3; ++run) {
    fiber.begin([] {
      for (int i = 0; i < 5; ++i) yield_point();
    });
    CHECK(fiber.run(std::chrono::hours(1)));
  }
}

TEST_CASE("an exception inside a fiber is caught inside it, across yield points") {
  Fiber fiber(1U << 18);
  std::string caught;
  fiber.begin([&] {
    try {
      yield_point();
      throw std::runtime_error("inside");
    } catch (const std::exception& error) {
      yield_point();
      caught = error.what();
    }
  });
  while (!fiber.run(std::chrono::nanoseconds(0)))
    CHECK_THROWS_AS(throw std::logic_error("outside"), std::logic_error);
  CHECK(caught == "inside");
}

TEST_CASE("outside a fiber a yield point passes by") {
  yield_point();
  CHECK(present_yielder == nullptr);
}
