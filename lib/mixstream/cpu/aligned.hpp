// Memory for vectors of numbers: starts on a cache line, and in huge pages where it is large.
#pragma once

#include <cstddef>
#include <vector>

namespace mixstream {

/// Memory that starts on a cache line; from 2 MiB on, on a huge page, and the system is asked for such pages
/// where it has them: sums of 25 variables fill more small ones than a processor can keep track of. Throws
/// std::bad_alloc.
void* allocate_aligned(std::size_t bytes);
void release_aligned(void* memory, std::size_t bytes) noexcept;  ///< `bytes` as it was allocated

template <class T>
struct CacheLineAllocator {
  using value_type = T;

  CacheLineAllocator() = default;
  template <class U>
  explicit(false) CacheLineAllocator(const CacheLineAllocator<U>&) noexcept {}

  T* allocate(std::size_t count) { return static_cast<T*>(allocate_aligned(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept { release_aligned(memory, count * sizeof(T)); }
  bool operator==(const CacheLineAllocator&) const = default;
};
using AlignedDoubles = std::vector<double, CacheLineAllocator<double>>;

}  // namespace mixstream
