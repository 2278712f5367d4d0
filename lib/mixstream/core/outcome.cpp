#include "mixstream/core/outcome.hpp"

namespace mixstream {

const char* name_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::bad_settings:
      return "bad_settings";
    case Reason::bad_input:
      return "bad_input";
    case Reason::bad_feature_map:
      return "bad_feature_map";
    case Reason::wrong_shape:
      return "wrong_shape";
    case Reason::too_large:
      return "too_large";
    case Reason::cannot_merge:
      return "cannot_merge";
    case Reason::bad_snapshot:
      return "bad_snapshot";
    case Reason::unknown_version:
      return "unknown_version";
    case Reason::input_output:
      return "input_output";
    case Reason::too_few_rows:
      return "too_few_rows";
    case Reason::not_identifiable:
      return "not_identifiable";
    case Reason::numerical:
      return "numerical";
  }
  return "unknown";
}

}  // namespace mixstream
