// How long something took, in buckets that Prometheus reads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mixstream {

/// One thread at a time; copyable. No throw, no allocation.
class Histogram {
 public:
  /// Seconds; what is longer than the last has a bucket of its own.
  static constexpr std::array<double, 13> bounds{0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1,
                                                 0.3,    1.0,    3.0,   10.0,  30.0, 100.0};

  void add(double seconds) noexcept {
    std::size_t bucket = 0;
    while (bucket < bounds.size() && seconds > bounds[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += seconds;
  }

  /// So many took no longer than bounds[bucket]; the last: all.
  std::uint64_t up_to(std::size_t bucket) const noexcept {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i <= bucket && i < counts_.size(); ++i) total += counts_[i];
    return total;
  }
  std::uint64_t count() const noexcept { return up_to(bounds.size()); }
  double sum() const noexcept { return sum_; }

 private:
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  double sum_ = 0.0;
};

}  // namespace mixstream
