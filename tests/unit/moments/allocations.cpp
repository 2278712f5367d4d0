// Counts allocations: absorb makes none, in any phase; a refusal comes before the first; bytes_needed bounds
// them all. operator new is replaced here, and malloc with it where no sanitizer stands in the way.
#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "mixstream/moments/codec.hpp"
#include "mixstream/moments/features/moment_set.hpp"
#include "mixstream/moments/state.hpp"
#include "support/states.hpp"
#include "support/streams.hpp"

namespace {

struct Count {
  std::size_t calls = 0;
  std::size_t bytes = 0;
  bool on = false;
};
thread_local Count count;

void note(std::size_t bytes) noexcept {
  if (!count.on) return;
  ++count.calls;
  count.bytes += bytes;
}

/// What `work` allocates, freed or not.
template <class Work>
Count allocations_of(Work work) {
  count = {0, 0, true};
  work();
  count.on = false;
  return count;
}

void* aligned(std::size_t size, std::size_t alignment) {
  void* memory = nullptr;
  note(size);
  const bool counting = count.on;
  count.on = false;  // once is enough
  const int failed = ::posix_memalign(&memory, alignment, size == 0 ? 1 : size);
  count.on = counting;
  if (failed != 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) {
  return aligned(size, alignof(std::max_align_t));
}
void* operator new[](std::size_t size) {
  return aligned(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t line) {
  return aligned(size, static_cast<std::size_t>(line));
}
void* operator new[](std::size_t size, std::align_val_t line) {
  return aligned(size, static_cast<std::size_t>(line));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t number, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* malloc(std::size_t size) {
  note(size);
  return __libc_malloc(size);
}
void* calloc(std::size_t number, std::size_t size) {
  note(number * size);
  return __libc_calloc(number, size);
}
void* realloc(void* memory, std::size_t size) {
  note(size);
  return __libc_realloc(memory, size);
}
}
#endif

using namespace mixstream;

TEST_CASE("the counter counts") {
  CHECK(allocations_of([] { delete new int(3); }).calls == 1);
  CHECK(allocations_of([] { AlignedDoubles(100); }).bytes == 800);
}

TEST_CASE("absorb allocates nothing in any phase, nor after a copy, an assignment, a merge or a decode") {
  static_assert(noexcept(std::declval<MomentState&>().absorb(std::declval<const Row&>())));
  for (const states::Phase& phase : states::every_phase()) {
    CAPTURE(phase.name);
    MomentState copied = phase.state;
    Outcome<Snapshot> decoded = decode(encode(phase.state));
    REQUIRE(decoded);
    MomentState moved = MomentState(phase.state);
    for (MomentState* state : {&copied, &decoded.value().state, &moved}) {
      const Count made = allocations_of([&] {
        for (std::size_t i = 0; i < phase.more.size(); ++i) state->absorb(phase.more.row(i));
      });
      CHECK(made.calls == 0);
      CHECK(state->row_count() >= phase.more.size());
    }
  }
}

TEST_CASE("refused rows allocate nothing either") {
  MomentState state = streams::make_state(streams::settings_for(streams::random_stream(0, 1)));
  const double x[2] = {2.0, 1e60};
  CHECK(allocations_of([&] {
          for (int i = 0; i < 100; ++i) state.absorb({{x, static_cast<std::size_t>(i % 3)}, 0.0});
        }).calls == 0);
}

TEST_CASE("64 variables are refused under the default budget before anything large is allocated") {
  StateSettings settings;
  settings.layout = {63, 0};
  std::string text;
  const Count made = allocations_of([&] {
    const Outcome<MomentState> created = MomentState::create(settings);
    if (!created) text = created.refusal().text;
  });
  CHECK(made.bytes < 2000);  // the text
  CHECK(text.find("64 variables") != std::string::npos);
  CHECK(text.find(std::to_string(bytes_needed([&] {
                                   StateSettings free = settings;
                                   free.memory_budget = ~0ULL;
                                   return free;
                                 }())
                                     .value())) != std::string::npos);
}

TEST_CASE("the bytes named bound what a state takes while another one is merged into it") {
  for (const bool same_pilot : {true, false}) {
    const StateSettings settings = {.layout = {7, 0}, .reservoir_rows = 100, .pilot_rows = 50};
    const auto filled = [&](double scale) {
      MomentState state = streams::make_state(settings);
      std::vector<double> x(7, 1.0);
      for (int i = 0; i < 300; ++i) {
        for (std::size_t j = 1; j < x.size(); ++j) x[j] = scale * std::sin(1.0 * i * static_cast<double>(j));
        state.absorb({x, scale * std::cos(1.0 * i)});
      }
      return state;
    };
    const MomentState other = filled(same_pilot ? 1.0 : 100.0);
    const Count made = allocations_of([&] {
      MomentState state = filled(1.0);
      CHECK(state.merge(other));
    });
    const std::uint64_t bound = bytes_needed(settings).value();
    CHECK(made.bytes <= bound);
    CHECK(made.bytes > bound / 2);  // and is no wild guess
  }
}

TEST_CASE("the bytes named bound the bytes taken by a state and its copy") {
  for (const int features : {1, 2, 5, 9, 14}) {
    for (const Memory memory : {Memory{}, Memory{Memory::Kind::window_rows, 40.0, 4}}) {
      for (const std::size_t rows : {std::size_t{1}, std::size_t{500}}) {
        StateSettings settings;
        settings.layout = {features, features - 2};
        settings.memory = memory;
        settings.reservoir_rows = rows;
        settings.pilot_rows = rows;
        const Count made = allocations_of([&] {
          const MomentState state = streams::make_state(settings);
          const MomentState copy = state;
        });
        const std::uint64_t bound = bytes_needed(settings).value();
        CAPTURE(features);
        CAPTURE(rows);
        CHECK(made.bytes <= bound);
        CHECK(made.bytes > bound / 4);  // and is no wild guess
      }
    }
  }
}

TEST_CASE("an extractor of a set copies no tensor, whether rows wait or not") {
  const Layout layout{16, 0};
  const BlockKernel kernel(layout.variables());
  AlignedDoubles workspace(kernel.workspace_size());
  MomentSet set;
  held_moments(set) = RowMoments(kernel, layout);
  const std::size_t tensor = sizeof(double) * row_moments(set).sums.size();
  REQUIRE(tensor > 500000);
  std::vector<double> z(static_cast<std::size_t>(layout.variables()), 0.5);
  z[0] = 1.0;
  for (int i = 0; i < 10; ++i) set(PilotRow{z.data()});
  for (const bool folded : {false, true}) {
    CAPTURE(folded);
    if (folded) held_moments(set).fold(kernel, workspace.data());
    double value = 0.0;
    const Count asked = allocations_of([&] { value = cross_moment<2>(set).values[0]; });
    CHECK(value == doctest::Approx(0.25));
    CHECK(asked.bytes < tensor / 10);
  }
}
