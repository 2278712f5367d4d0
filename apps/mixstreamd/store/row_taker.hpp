// Who else takes the rows of a stream.
#pragma once

#include <string_view>

#include "mixstream/rows/row.hpp"

namespace mixstream {

/// What a row says of its place in a fleet.
struct RowName {
  std::string_view source;  ///< the message's topic, peer or file
  std::string_view sensor;
};

class RowTaker {
 public:
  virtual ~RowTaker() = default;
  /// Why this one could not take a row of such a name, as a stable word; null: it can.
  virtual const char* refusal(const RowName& name) const = 0;
  /// Takes a row that the stream's own estimator has taken.
  virtual void take(const RowName& name, const Row& row, double arrival) = 0;
};

}  // namespace mixstream
