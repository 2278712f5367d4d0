// Makes rows of a message out of numbered fields, whatever the format they came in.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "input/number.hpp"
#include "payload/payload.hpp"

namespace mixstream {

/// What a field of a row is good for.
struct FieldUse {
  int slot = -1;        ///< of its number, or -1
  bool sensor = false;  ///< it names the sensor
  bool text = false;    ///< its number is the code of a text: put_text() instead of put()

  bool any() const noexcept { return slot >= 0 || sensor; }
};

class RowBuilder {
 public:
  explicit RowBuilder(const PayloadSettings& settings);

  /// Every field that is good for something, each once.
  const std::vector<std::string>& names() const noexcept { return names_; }
  FieldUse use_of(std::string_view name) const noexcept;
  bool is_required(int slot) const noexcept { return static_cast<std::size_t>(slot) < required_; }

  void start(double arrival);
  /// The next row begins: its fields are those shared by the message, or missing.
  void begin_row();
  /// What was put since begin_row() is shared by the rows that follow; the sequence number counts up with
  /// them.
  void share();

  void put(int slot, const ParsedNumber& number, std::string_view text);
  void put_text(int slot, std::string_view text);                      ///< an empty one is missing
  void put_sensor(std::string_view name) noexcept { sensor_ = name; }  ///< lives as long as the payload
  void put_sensor(std::string&& name);                                 ///< is kept here
  /// The row is refused; the first fault of a row is the one that is told.
  void fault(RowFault fault, std::string_view column = {}, std::string_view excerpt = {}) noexcept;

  void end_row();
  /// A row of which not even the fields can be told apart.
  void refuse_row(RowFault fault, std::string_view excerpt);

  std::span<const PayloadRow> finish() noexcept;

 private:
  struct Fault {
    RowFault kind = RowFault::none;
    std::string_view column{};
    Excerpt excerpt{};
  };

  void find_features(PayloadRow& row);
  void read_identity(PayloadRow& row);
  bool read_whole_number(int slot, std::uint64_t& number);
  void require_all();
  double optional(int slot, double otherwise) const noexcept;

  FeatureMap map_;
  std::vector<std::string> names_;  // slots first: the map's columns, the response, the optional numbers
  std::string sensor_name_;
  std::size_t required_ = 0;
  int response_slot_ = -1;
  int epoch_slot_ = -1;
  int sequence_slot_ = -1;
  int time_slot_ = -1;
  int weight_slot_ = -1;

  double arrival_ = 0.0;
  std::vector<double> shared_;   // by slot; NaN: missing
  std::vector<double> numbers_;  // of the row at hand
  std::string_view shared_sensor_;
  std::string_view sensor_;
  Fault shared_fault_;
  Fault fault_;  // of the row at hand
  std::vector<PayloadRow> rows_;
  std::size_t next_index_ = 0;
  bool last_was_no_row_ = false;
  std::vector<double> features_;  // of all rows
  std::string undefined_words_;   // of the message's first row with a feature that has no value
  std::deque<std::string> kept_;  // names that do not stand in the payload as they are
};

}  // namespace mixstream
