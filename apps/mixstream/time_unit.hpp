// Times of rows in seconds, whatever their unit.
#pragma once

#include <cmath>

namespace mixstream {

/// Seconds, milliseconds, micro- or nanoseconds: the first time of a stream says which, for no clock shows a
/// year beyond 5138.
class TimeUnit {
 public:
  double in_seconds(double time) noexcept {
    constexpr double year_5138 = 1e11;
    if (unit_ == 0.0) {
      unit_ = 1.0;
      for (double size = std::abs(time); size >= year_5138; size /= 1e3) unit_ *= 1e-3;
    }
    return time * unit_;
  }

 private:
  double unit_ = 0.0;
};

}  // namespace mixstream
