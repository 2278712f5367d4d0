#include "payload/row_builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mixstream {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();
constexpr double sequence_end = 0x1p53;
constexpr std::size_t most_kept = 65536;  // rows: room for more is given back

RowFault fault_of(NumberKind kind) noexcept {
  return kind == NumberKind::missing    ? RowFault::missing_value
         : kind == NumberKind::infinite ? RowFault::infinite
                                        : RowFault::not_a_number;
}

}  // namespace

RowBuilder::RowBuilder(const PayloadSettings& settings)
    : map_(settings.map), names_(settings.map.columns()), sensor_name_(settings.sensor) {
  const auto slot_of = [&](const std::string& name) {
    if (name.empty()) return -1;
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) return static_cast<int>(found - names_.begin());
    names_.push_back(name);
    return static_cast<int>(names_.size()) - 1;
  };
  response_slot_ = slot_of(settings.response);
  required_ = names_.size();
  epoch_slot_ = slot_of(settings.epoch);
  sequence_slot_ = slot_of(settings.sequence);
  time_slot_ = slot_of(settings.time);
  weight_slot_ = slot_of(settings.weight);
  shared_.assign(names_.size(), missing);
  numbers_.assign(names_.size(), missing);
  if (!sensor_name_.empty() && std::ranges::find(names_, sensor_name_) == names_.end())
    names_.push_back(sensor_name_);
}

FieldUse RowBuilder::use_of(std::string_view name) const noexcept {
  const auto slots_end = names_.begin() + static_cast<std::ptrdiff_t>(numbers_.size());
  const auto found = std::find(names_.begin(), slots_end, name);
  const int slot = found == slots_end ? -1 : static_cast<int>(found - names_.begin());
  return {slot, !sensor_name_.empty() && name == sensor_name_,
          slot >= 0 && map_.is_text(static_cast<std::size_t>(slot))};
}

void RowBuilder::start(double arrival) {
  arrival_ = arrival;
  next_index_ = 0;
  rows_.clear();
  features_.clear();
  if (rows_.capacity() > most_kept) std::vector<PayloadRow>().swap(rows_);
  if (features_.capacity() > most_kept * 16) std::vector<double>().swap(features_);
  kept_.clear();
  undefined_words_.clear();
  std::ranges::fill(shared_, missing);
  shared_sensor_ = {};
  shared_fault_.kind = RowFault::none;
}

void RowBuilder::begin_row() {
  std::ranges::copy(shared_, numbers_.begin());
  sensor_ = shared_sensor_;
  fault_.kind = RowFault::none;
  last_was_no_row_ = false;
  if (shared_fault_.kind != RowFault::none) fault_ = shared_fault_;
}

void RowBuilder::share() {
  std::ranges::copy(numbers_, shared_.begin());
  shared_sensor_ = sensor_;
  shared_fault_ = fault_;
}

void RowBuilder::put(int slot, const ParsedNumber& number, std::string_view text) {
  const auto at = static_cast<std::size_t>(slot);
  if (number.kind == NumberKind::number) {
    numbers_[at] = number.value;
  } else if (number.kind == NumberKind::missing && !is_required(slot)) {
    numbers_[at] = missing;
  } else {
    fault(fault_of(number.kind), names_[at], text);
  }
}

void RowBuilder::put_text(int slot, std::string_view text) {
  const auto at = static_cast<std::size_t>(slot);
  if (text.empty()) return fault(RowFault::missing_value, names_[at], text);
  numbers_[at] = map_.code_of(at, text);
}

void RowBuilder::put_sensor(std::string&& name) {
  sensor_ = kept_.emplace_back(std::move(name));
}

void RowBuilder::fault(RowFault fault, std::string_view column, std::string_view excerpt) noexcept {
  if (fault_.kind == RowFault::none) fault_ = {fault, column, excerpt};
}

void RowBuilder::end_row() {
  PayloadRow row;
  row.index = next_index_++;
  read_identity(row);
  require_all();
  if (fault_.kind == RowFault::none) {
    find_features(row);
  } else {
    row.fault = fault_.kind;
    row.column = fault_.column;
    row.excerpt = fault_.excerpt;
  }
  rows_.push_back(row);
  if (sequence_slot_ >= 0) shared_[static_cast<std::size_t>(sequence_slot_)] += 1.0;  // NaN stays NaN
}

/// The features of a row whose numbers are all there. Where one has no value the row is refused.
void RowBuilder::find_features(PayloadRow& row) {
  features_.resize(features_.size() + map_.feature_count());
  const std::span<double> features = std::span(features_).last(map_.feature_count());
  const int undefined = map_.evaluate(numbers_, features);
  if (undefined < 0) {
    row.row = {features, numbers_[static_cast<std::size_t>(response_slot_)], optional(weight_slot_, 1.0),
               optional(time_slot_, arrival_)};
    return;
  }
  if (undefined_words_.empty()) {
    undefined_words_ = map_.fault_words(undefined, numbers_);
    row.words = undefined_words_;
  }
  row.fault = RowFault::not_a_number;
  row.undefined = true;
  features_.resize(features_.size() - map_.feature_count());
}

/// Sensor, epoch and sequence number, as far as they are sound: a refused row that comes again is a
/// duplicate.
void RowBuilder::read_identity(PayloadRow& row) {
  if (sensor_.size() > longest_sensor) return fault(RowFault::bad_sensor, sensor_name_, sensor_);
  row.sensor = sensor_;
  const bool has_sequence =
      sequence_slot_ >= 0 && !std::isnan(numbers_[static_cast<std::size_t>(sequence_slot_)]);
  if (!has_sequence || fault_.kind == RowFault::bad_sensor) return;
  row.numbered = read_whole_number(epoch_slot_, row.epoch) && read_whole_number(sequence_slot_, row.sequence);
}

bool RowBuilder::read_whole_number(int slot, std::uint64_t& number) {
  if (slot < 0) return true;
  const auto at = static_cast<std::size_t>(slot);
  const double value = numbers_[at];
  if (std::isnan(value)) return true;
  if (value >= 0.0 && value < sequence_end && std::trunc(value) == value) {
    number = static_cast<std::uint64_t>(value);
    return true;
  }
  fault(RowFault::bad_sequence, names_[at]);
  return false;
}

void RowBuilder::require_all() {
  for (std::size_t slot = 0; slot < required_; ++slot) {
    if (std::isnan(numbers_[slot])) fault(RowFault::missing_key, names_[slot]);
  }
}

double RowBuilder::optional(int slot, double otherwise) const noexcept {
  if (slot < 0) return otherwise;
  const double value = numbers_[static_cast<std::size_t>(slot)];
  return std::isnan(value) ? otherwise : value;
}

void RowBuilder::refuse_row(RowFault fault, std::string_view excerpt) {
  const bool repeats = !rows_.empty() && next_index_ > 0 && last_was_no_row_ && rows_.back().fault == fault;
  ++next_index_;
  if (repeats) {
    ++rows_.back().repeats;
    return;
  }
  last_was_no_row_ = true;
  PayloadRow row;
  row.index = next_index_ - 1;
  row.fault = fault;
  row.excerpt = excerpt;
  rows_.push_back(row);
}

std::span<const PayloadRow> RowBuilder::finish() noexcept {
  const std::size_t d = map_.feature_count();
  const double* features = features_.data();  // it may have moved while it grew
  for (PayloadRow& row : rows_) {
    if (row.fault != RowFault::none) continue;
    row.row.features = {features, d};
    features += d;
  }
  return rows_;
}

}  // namespace mixstream
