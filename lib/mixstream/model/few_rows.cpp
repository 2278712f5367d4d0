#include "mixstream/model/few_rows.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace mixstream {
namespace {

constexpr std::uint32_t largest_width = 63;

}  // namespace

std::size_t FewRows::Shape::numbers() const noexcept {
  return feature_count + 1 - (constant_feature >= 0 ? 1 : 0) + (weighs ? 1 : 0) + (has_time ? 1 : 0) +
         (has_sensor ? 1 : 0);
}

FewRows::FewRows(std::size_t feature_count, int constant_feature, std::uint64_t source)
    : shape_{feature_count, constant_feature}, runs_{{0, source}} {}

std::size_t FewRows::bytes() const noexcept {
  return numbers_.capacity() * sizeof(double) + positions_.capacity() * sizeof(std::uint64_t) +
         runs_.capacity() * sizeof(Run) + sizeof *this;
}

void FewRows::begin_run(std::uint64_t source) {
  if (runs_.back().first_row == rows())
    runs_.back().source = source;
  else
    runs_.push_back({rows(), source});
}

bool FewRows::has_room_for(const Row& row) const noexcept {
  return (shape_.weighs || row.weight == 1.0) && (shape_.has_time || row.time == 0.0) &&
         (shape_.has_sensor || row.sensor == 0);
}

/// Rows kept so far have a weight of 1, the time 0 and the sensor 0.
void FewRows::widen_for(const Row& row) {
  FewRows wider(shape_.feature_count, shape_.constant_feature, 0);
  wider.shape_.weighs = shape_.weighs || row.weight != 1.0;
  wider.shape_.has_time = shape_.has_time || row.time != 0.0;
  wider.shape_.has_sensor = shape_.has_sensor || row.sensor != 0;
  wider.numbers_.reserve((rows() + 1) * wider.shape_.numbers());
  each_row([&](std::size_t, const Row& kept) { wider.write(kept); });
  shape_ = wider.shape_;
  numbers_ = std::move(wider.numbers_);
}

void FewRows::write(const Row& row) {
  for (std::size_t f = 0; f < shape_.feature_count; ++f) {
    if (static_cast<int>(f) != shape_.constant_feature) numbers_.push_back(row.features[f]);
  }
  numbers_.push_back(row.response);
  if (shape_.weighs) numbers_.push_back(row.weight);
  if (shape_.has_time) numbers_.push_back(row.time);
  if (shape_.has_sensor) numbers_.push_back(std::bit_cast<double>(row.sensor));
}

void FewRows::add(const Row& row, std::uint64_t position) {
  if (!has_room_for(row)) widen_for(row);
  if (positions_.size() == positions_.capacity()) {
    const std::size_t room = rows() + std::max<std::size_t>(rows() / 8, 16);
    positions_.reserve(room);
    numbers_.reserve(room * shape_.numbers());
  }
  write(row);
  positions_.push_back(position);
}

template <class Visit>
void FewRows::each_row(Visit visit) const {
  std::vector<double> features(shape_.feature_count, 1.0);
  const double* at = numbers_.data();
  for (std::size_t i = 0; i < rows(); ++i) {
    for (std::size_t f = 0; f < shape_.feature_count; ++f) {
      if (static_cast<int>(f) != shape_.constant_feature) features[f] = *at++;
    }
    Row row{features, *at++};
    if (shape_.weighs) row.weight = *at++;
    if (shape_.has_time) row.time = *at++;
    if (shape_.has_sensor) row.sensor = std::bit_cast<std::uint64_t>(*at++);
    visit(i, row);
  }
}

bool FewRows::has_features_of(const Layout& layout) const noexcept {
  return static_cast<int>(shape_.feature_count) == layout.feature_count &&
         shape_.constant_feature == layout.constant_feature;
}

bool FewRows::append(const FewRows& other) {
  const bool alike = shape_.feature_count == other.shape_.feature_count &&
                     shape_.constant_feature == other.shape_.constant_feature;
  if (!alike || rows() + other.rows() > most_rows) return false;
  const std::uint64_t own = source();
  std::size_t run = 0;
  other.each_row([&](std::size_t i, const Row& row) {
    if (run < other.runs_.size() && other.runs_[run].first_row == i) begin_run(other.runs_[run++].source);
    add(row, other.positions_[i]);
  });
  begin_run(own);
  for (const auto& [reason, count] : other.refused_) refused_[reason] += count;
  return true;
}

void FewRows::pour_into(Estimator& estimator) const {
  std::size_t run = 0;
  each_row([&](std::size_t i, const Row& row) {
    if (run < runs_.size() && runs_[run].first_row == i && run++ > 0) estimator.begin_chains();
    estimator.absorb(row, {positions_[i], runs_[run - 1].source});
  });
  if (rows() > 0 && run < runs_.size()) estimator.begin_chains();
  if (rows() > 0) estimator.go_on_at({positions_.back() + 1, source()});
  for (const auto& [reason, count] : refused_) {
    for (std::uint64_t i = 0; i < count; ++i) estimator.count_refused(reason);
  }
}

void FewRows::copy_last(std::size_t count, RowTable& into) const {
  const std::size_t first = rows() - std::min(count, rows());
  each_row([&](std::size_t i, const Row& row) {
    if (i >= first) into.add(row);
  });
}

void FewRows::encode(ByteWriter& out) const {
  out.put(static_cast<std::uint32_t>(shape_.feature_count));
  out.put(static_cast<std::uint32_t>(shape_.constant_feature + 1));
  out.put((shape_.weighs ? 1U : 0U) | (shape_.has_time ? 2U : 0U) | (shape_.has_sensor ? 4U : 0U));
  out.put(static_cast<std::uint32_t>(runs_.size()));
  for (const Run& run : runs_) {
    out.put(static_cast<std::uint64_t>(run.first_row));
    out.put(run.source);
  }
  out.put(static_cast<std::uint32_t>(refused_.size()));
  for (const auto& [reason, count] : refused_) {
    out.put_text(reason);
    out.put(count);
  }
  out.put(static_cast<std::uint64_t>(rows()));
  for (const std::uint64_t position : positions_) out.put(position);
  out.put(std::span<const double>(numbers_));
}

std::optional<FewRows> FewRows::decode(ByteReader& in) {
  FewRows kept(in.take<std::uint32_t>(), 0, 0);
  kept.shape_.constant_feature = static_cast<int>(in.take<std::uint32_t>()) - 1;
  const auto parts = in.take<std::uint32_t>();
  kept.shape_.weighs = (parts & 1U) != 0;
  kept.shape_.has_time = (parts & 2U) != 0;
  kept.shape_.has_sensor = (parts & 4U) != 0;
  const Shape& shape = kept.shape_;
  const bool sound = shape.feature_count >= 1 && shape.feature_count <= largest_width && parts < 8 &&
                     shape.constant_feature >= -1 &&
                     shape.constant_feature < static_cast<int>(shape.feature_count);
  const auto runs = in.take<std::uint32_t>();
  kept.runs_.clear();
  for (std::uint32_t i = 0; in.ok() && i < runs; ++i) {
    const auto first = in.take<std::uint64_t>();
    kept.runs_.push_back({static_cast<std::size_t>(first), in.take<std::uint64_t>()});
  }
  const auto reasons = in.take<std::uint32_t>();
  for (std::uint32_t i = 0; in.ok() && i < reasons; ++i) {
    const std::string reason = in.take_text();
    kept.refused_[reason] = in.take<std::uint64_t>();
  }
  const auto rows = in.take<std::uint64_t>();
  const bool fits = sound && in.ok() && !kept.runs_.empty() && kept.runs_[0].first_row == 0 &&
                    rows <= in.left() / sizeof(double) / (shape.numbers() + 1);
  if (!fits) return {};
  kept.positions_.reserve(rows);
  for (std::uint64_t i = 0; i < rows; ++i) kept.positions_.push_back(in.take<std::uint64_t>());
  kept.numbers_.resize(rows * shape.numbers());
  in.take(kept.numbers_);
  if (!in.ok()) return {};
  return kept;
}

}  // namespace mixstream
