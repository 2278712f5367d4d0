// What the fits of one stream said, one after the other: bounded, however long the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/report/report.hpp"

namespace mixstream {

/// A fit without its diagnosis.
struct HistoryPoint {
  std::uint64_t rows = 0;
  FitStatus status = FitStatus::too_few_rows;
  std::vector<ComponentReport> components;  ///< empty when there was no fit
  std::optional<double> j_per_dof;
};

class FitHistory {
 public:
  explicit FitHistory(std::size_t capacity = 500) : capacity_(capacity < 2 ? 2 : capacity) {}

  /// Keeps the fit, unless the last one kept had as many rows. When the history is full, every other fit
  /// goes, and from then on only every other one is taken: what stays is spread as evenly as what came.
  void add(const Report& report);

  /// Everything as bytes; what decode() makes of them goes on as this one would.
  Bytes encode() const;
  /// Refuses bytes that encode() did not make, and more points than the capacity.
  static Outcome<FitHistory> decode(std::span<const std::byte> bytes, std::size_t capacity = 500);

  std::span<const HistoryPoint> points() const noexcept { return points_; }  ///< oldest first

 private:
  std::size_t capacity_;
  std::vector<HistoryPoint> points_;
  std::uint64_t stride_ = 1;  // of the fits that come, one is taken
  std::uint64_t passed_ = 0;  // since the last one taken
};

/// The point that a report makes.
HistoryPoint history_point(const Report& report);

}  // namespace mixstream
