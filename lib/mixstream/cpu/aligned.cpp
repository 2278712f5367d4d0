#include "mixstream/cpu/aligned.hpp"

#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mixstream {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

constexpr std::align_val_t alignment_of(std::size_t bytes) noexcept {
  return std::align_val_t{bytes >= huge_page ? huge_page : cache_line};
}

}  // namespace

void* allocate_aligned(std::size_t bytes) {
  void* const memory = ::operator new(bytes, alignment_of(bytes));
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // whole pages only; where the system has none to give, small ones do as well
  if (bytes >= huge_page) (void)madvise(memory, bytes / huge_page * huge_page, MADV_HUGEPAGE);
#endif
  return memory;
}

void release_aligned(void* memory, std::size_t bytes) noexcept {
  ::operator delete(memory, alignment_of(bytes));
}

}  // namespace mixstream
