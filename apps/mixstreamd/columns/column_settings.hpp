// A row's columns from several topics: which, and how old a value may be.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace mixstream {

struct ColumnTopic {
  std::string column;
  std::string filter;  ///< its + levels name the sensor
  friend bool operator==(const ColumnTopic&, const ColumnTopic&) = default;
};

struct ColumnSettings {
  std::vector<ColumnTopic> topics;  ///< empty: a message holds whole rows
  std::string trigger;              ///< the column whose values make rows
  double tolerance = 10.0;          ///< seconds that another column's value may be older than the row
  friend bool operator==(const ColumnSettings&, const ColumnSettings&) = default;
};

/// Names of the fields of a message that is an object.
struct ValueFields {
  std::string value = "value";
  std::string time;
  std::string sequence;
  std::string epoch;
};

}  // namespace mixstream
