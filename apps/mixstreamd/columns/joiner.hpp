// Rows out of values that come on topics of their own. A value of the trigger's column makes a row: with it,
// of every other column of that sensor, the newest value that was not newer than it and had come before it.
//
// What a row holds is a function of the messages in their order, times of arrival included: replayed from the
// journal they make the same rows as when they came.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "column_settings.hpp"
#include "mixstream/core/bytes.hpp"
#include "value_reader.hpp"

namespace mixstream {

/// What a message came to. Views hold until the next take.
struct Joined {
  const char* refused = nullptr;     ///< why there is no row, by a stable name; null: no fault
  std::span<const std::byte> row{};  ///< doubles in the order of Joiner::columns(); empty: no row
  std::string_view sensor{};
};

class Joiner {
 public:
  static constexpr std::size_t kept_values = 8;  ///< of a column of a sensor, the newest by their times

  /// `most_sensors`, `clock_tolerance`: as for rows.
  Joiner(ColumnSettings settings, const ValueFields& fields, std::size_t most_sensors,
         double clock_tolerance);

  /// The numbers of a row, in order: the columns, then time, sequence and epoch as far as they have names.
  static std::vector<std::string> columns(const ColumnSettings& settings, const ValueFields& fields);

  /// Takes the message of a topic. Allocates for new sensors, and little.
  Joined take(std::string_view topic, std::span<const std::byte> payload, double arrival);

  std::size_t sensor_count() const noexcept { return sensors_.size(); }
  Bytes encode() const;  ///< equal joiners have equal bytes
  /// Of encode(), into a joiner that nothing was taken into. False: the bytes are damaged.
  bool restore(std::span<const std::byte> bytes);

 private:
  struct Value {
    double time = 0.0;
    double value = 0.0;
  };
  using Values = std::vector<Value>;   // by time, at most kept_values
  using Sensor = std::vector<Values>;  // by column

  static void keep(Values& values, Value value);
  Joined make_row(const Sensor& sensor, const ReadValue& read, double time);

  ColumnSettings settings_;
  std::size_t trigger_ = 0;
  std::vector<bool> named_;  // time, sequence, epoch
  std::size_t most_sensors_;
  double clock_tolerance_;
  ValueReader reader_;
  std::map<std::string, Sensor, std::less<>> sensors_;
  std::string name_;         // of the sensor at hand
  std::vector<double> row_;  // at hand
};

/// The levels of a topic that a filter's + stand for, with / between them.
std::string wildcards_of(std::string_view filter, std::string_view topic);

}  // namespace mixstream
