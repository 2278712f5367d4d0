// What makes a stream's rows belong to models of their own.
#pragma once

#include <cstddef>
#include <string>

namespace mixstream {

struct GroupSettings {
  bool enabled = false;
  std::size_t level = 0;            ///< of the topic that names the group, from 1; 0: the row's sensor does
  std::size_t most_models = 10000;  ///< rows of further groups are refused
  double silent_after = 600.0;      ///< seconds without a row, after which a group is silent; 0: never
  double departs_by = 0.5;          ///< noise sd between a group's laws and the fleet's that are told

  friend bool operator==(const GroupSettings&, const GroupSettings&) = default;
};

}  // namespace mixstream
