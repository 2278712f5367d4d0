#include "mixstream/report/history.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace mixstream {
namespace {

constexpr std::uint32_t last_status = static_cast<std::uint32_t>(FitStatus::approximate);

void put(ByteWriter& out, const std::optional<double>& value) {
  out.put(static_cast<std::uint32_t>(value.has_value()));
  out.put(value.value_or(0.0));
}

void put(ByteWriter& out, const std::vector<double>& values) {
  out.put(static_cast<std::uint64_t>(values.size()));
  out.put(std::span<const double>(values));
}

void put(ByteWriter& out, const HistoryPoint& point) {
  out.put(point.rows);
  out.put(static_cast<std::uint32_t>(point.status));
  put(out, point.j_per_dof);
  out.put(static_cast<std::uint64_t>(point.components.size()));
  for (const ComponentReport& component : point.components) {
    out.put(component.weight);
    put(out, component.weight_error);
    put(out, component.coefficients);
    put(out, component.coefficient_errors);
    out.put(component.noise_variance);
    put(out, component.noise_variance_error);
  }
}

double take_finite(ByteReader& in) {
  const double value = in.take_double();
  if (!std::isfinite(value)) in.fail();
  return value;
}

std::optional<double> take_optional(ByteReader& in) {
  const auto there = in.take<std::uint32_t>();
  const double value = take_finite(in);
  if (there > 1) in.fail();
  return there == 1 ? std::optional(value) : std::nullopt;
}

std::vector<double> take_numbers(ByteReader& in) {
  const auto count = in.take<std::uint64_t>();
  if (count > in.left() / sizeof(double)) in.fail();
  if (!in.ok()) return {};
  std::vector<double> values(count);
  in.take(values);
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) in.fail();
  return values;
}

HistoryPoint take_point(ByteReader& in) {
  HistoryPoint point;
  point.rows = in.take<std::uint64_t>();
  const auto status = in.take<std::uint32_t>();
  if (status > last_status) in.fail();
  point.status = static_cast<FitStatus>(std::min(status, last_status));
  point.j_per_dof = take_optional(in);
  const auto components = in.take<std::uint64_t>();
  for (std::uint64_t i = 0; in.ok() && i < components; ++i) {
    ComponentReport& component = point.components.emplace_back();
    component.weight = take_finite(in);
    component.weight_error = take_optional(in);
    component.coefficients = take_numbers(in);
    component.coefficient_errors = take_numbers(in);
    component.noise_variance = take_finite(in);
    component.noise_variance_error = take_optional(in);
  }
  return point;
}

}  // namespace

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

Bytes FitHistory::encode() const {
  ByteWriter out;
  out.put(stride_);
  out.put(passed_);
  out.put(static_cast<std::uint64_t>(points_.size()));
  for (const HistoryPoint& point : points_) put(out, point);
  return std::move(out).take();
}

Outcome<FitHistory> FitHistory::decode(std::span<const std::byte> bytes, std::size_t capacity) {
  ByteReader in(bytes);
  FitHistory history(capacity);
  history.stride_ = in.take<std::uint64_t>();
  history.passed_ = in.take<std::uint64_t>();
  const auto points = in.take<std::uint64_t>();
  if (points > history.capacity_ || history.passed_ >= history.stride_) in.fail();
  for (std::uint64_t i = 0; in.ok() && i < points; ++i) history.points_.push_back(take_point(in));
  if (!in.ok() || !in.at_end()) return Refusal{Reason::bad_snapshot, "the history of fits is damaged"};
  return history;
}

}  // namespace mixstream
