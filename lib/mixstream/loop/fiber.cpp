#include "mixstream/loop/fiber.hpp"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <utility>

#include "mixstream/core/yield_point.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace mixstream {
namespace {

using Clock = std::chrono::steady_clock;

/// What is known of the stretches of work that begin at one yield point.
struct Site {
  const char* file = nullptr;
  unsigned line = 0;
  Clock::duration stretch{-1};  // the longest of late, which fades; below 0: not known yet
};

constexpr std::size_t sites_kept = 128;
constexpr Clock::duration feared = std::chrono::milliseconds(50);  // the longest stretch seen took 15

}  // namespace

struct Fiber::Content final : Yielder {
  ucontext_t caller{};
  ucontext_t inner{};
  std::byte* stack = nullptr;
  std::size_t stack_bytes = 0;
  std::size_t guard_bytes = 0;
  std::function<void()> work;
  bool running = false;
  Clock::time_point slice_end;
  Clock::time_point last_pass;
  std::array<Site, sites_kept> sites{};  // the first is the beginning, the last shared by all beyond
  std::size_t site_count = 1;
  std::size_t last_site = 0;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  const void* caller_stack = nullptr;
  std::size_t caller_bytes = 0;
#elif defined(__SANITIZE_THREAD__)
  void* caller_fiber = nullptr;
  void* inner_fiber = nullptr;
#endif

  /// Leaves where the stretch that begins here would end beyond the budget, as far as is known of it. One
  /// never met before is feared to take long: with a short budget it begins a slice.
  void pass(YieldPlace where) override {
    const Clock::time_point now = Clock::now();
    Clock::duration& known = sites[last_site].stretch;
    known = std::max(now - last_pass, known - known / 64);
    last_pass = now;
    last_site = site_of(where);
    const Clock::duration next = sites[last_site].stretch;
    if (now + (next < Clock::duration::zero() ? feared : next) >= slice_end) leave();
  }

  std::size_t site_of(YieldPlace where) {
    for (std::size_t i = 1; i < site_count; ++i) {
      if (sites[i].file == where.file && sites[i].line == where.line) return i;
    }
    if (site_count == sites_kept) return sites_kept - 1;
    sites[site_count] = {where.file, where.line};
    return site_count++;
  }

  void leave();
  void enter();
  static void begin_inner(unsigned high, unsigned low);
};

void Fiber::Content::enter() {
  Yielder* const outer = std::exchange(present_yielder, this);
#if defined(__SANITIZE_ADDRESS__)
  void* outer_fake = nullptr;
  __sanitizer_start_switch_fiber(&outer_fake, stack + guard_bytes, stack_bytes);
#elif defined(__SANITIZE_THREAD__)
  caller_fiber = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(inner_fiber, 0);
#endif
  swapcontext(&caller, &inner);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(outer_fake, nullptr, nullptr);
#endif
  present_yielder = outer;
}

void Fiber::Content::leave() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(running ? &fake_stack : nullptr, caller_stack, caller_bytes);
#elif defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(caller_fiber, 0);
#endif
  swapcontext(&inner, &caller);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, &caller_stack, &caller_bytes);
#endif
  last_pass = Clock::now();
}

void Fiber::Content::begin_inner(unsigned high, unsigned low) {  // makecontext hands over ints only
  const auto address = static_cast<std::uintptr_t>((static_cast<std::uint64_t>(high) << 32) | low);
  auto* const self = reinterpret_cast<Content*>(address);  // NOLINT(performance-no-int-to-ptr)
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &self->caller_stack, &self->caller_bytes);
#endif
  self->work();
  self->running = false;
  self->leave();  // never comes back
}

Fiber::Fiber(std::size_t stack_bytes) : content_(std::make_unique<Content>()) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  content_->guard_bytes = page;
  content_->stack_bytes = (std::max<std::size_t>(stack_bytes, 16 * page) + page - 1) / page * page;
  void* const memory = ::mmap(nullptr, page + content_->stack_bytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  content_->stack = static_cast<std::byte*>(memory);
  if (::mprotect(memory, page, PROT_NONE) != 0) {
    ::munmap(memory, page + content_->stack_bytes);
    throw std::bad_alloc();
  }
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  if (content_->inner_fiber != nullptr) __tsan_destroy_fiber(content_->inner_fiber);
#endif
  ::munmap(content_->stack, content_->guard_bytes + content_->stack_bytes);
}

bool Fiber::running() const noexcept {
  return content_->running;
}

void Fiber::begin(std::function<void()> work) {
  if (content_->running) throw std::logic_error("a fiber does one computation at a time");
  Content& self = *content_;
  self.work = std::move(work);
  if (getcontext(&self.inner) != 0) throw std::runtime_error("this system has no contexts");
  self.inner.uc_stack.ss_sp = self.stack + self.guard_bytes;
  self.inner.uc_stack.ss_size = self.stack_bytes;
  self.inner.uc_link = nullptr;
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&self));
  makecontext(&self.inner, reinterpret_cast<void (*)()>(&Content::begin_inner), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
  self.last_site = 0;
  self.running = true;
#if defined(__SANITIZE_THREAD__)
  if (self.inner_fiber != nullptr) __tsan_destroy_fiber(self.inner_fiber);
  self.inner_fiber = __tsan_create_fiber(0);
#endif
}

bool Fiber::run(std::chrono::nanoseconds budget) {
  if (!content_->running) return true;
  content_->last_pass = Clock::now();
  content_->slice_end = content_->last_pass + budget;
  content_->enter();
  return !content_->running;
}

}  // namespace mixstream
