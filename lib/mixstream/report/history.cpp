#include "mixstream/report/history.hpp"

#include <utility>

namespace mixstream {

HistoryPoint history_point(const Report& report) {
  HistoryPoint point{report.rows, report.status, report.components, {}};
  if (report.moment_test && report.moment_test->dof > 0)
    point.j_per_dof = report.moment_test->value / static_cast<double>(report.moment_test->dof);
  return point;
}

void FitHistory::add(const Report& report) {
  if (!points_.empty() && points_.back().rows == report.rows) return;
  if (!points_.empty() && ++passed_ < stride_) return;
  passed_ = 0;
  if (points_.size() == capacity_) {
    std::size_t kept = 0;
    for (std::size_t i = points_.size() % 2; i < points_.size(); i += 2)
      points_[kept++] = std::move(points_[i]);
    points_.resize(kept);
    stride_ *= 2;
  }
  points_.push_back(history_point(report));
}

}  // namespace mixstream
