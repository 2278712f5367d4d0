#include "mixstream/c_interface/shared.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "mixstream/moments/moment_tables.hpp"

namespace mixstream::c_interface {

void say(char* text, std::size_t size, std::string_view words) noexcept {
  if (text == nullptr || size == 0) return;
  const std::size_t length = std::min(words.size(), size - 1);
  std::memcpy(text, words.data(), length);
  text[length] = '\0';
}

mixstream_status status_of(Reason reason) noexcept {
  switch (reason) {
    case Reason::cannot_merge:
    case Reason::wrong_shape:
      return MIXSTREAM_CANNOT_MERGE;
    case Reason::bad_snapshot:
      return MIXSTREAM_BAD_SNAPSHOT;
    case Reason::unknown_version:
      return MIXSTREAM_UNKNOWN_VERSION;
    case Reason::too_large:
      return MIXSTREAM_TOO_LARGE;
    case Reason::too_few_rows:
      return MIXSTREAM_TOO_FEW_ROWS;
    case Reason::not_identifiable:
      return MIXSTREAM_NOT_IDENTIFIABLE;
    case Reason::numerical:
      return MIXSTREAM_CANNOT_MERGE;
    default:
      return MIXSTREAM_BAD_SETTINGS;
  }
}

mixstream_status status_of(FitStatus status) noexcept {
  switch (status) {
    case FitStatus::ok:
      return MIXSTREAM_OK;
    case FitStatus::poor_fit:
      return MIXSTREAM_POOR_FIT;
    case FitStatus::not_identifiable:
      return MIXSTREAM_NOT_IDENTIFIABLE;
    case FitStatus::too_few_rows:
      return MIXSTREAM_TOO_FEW_ROWS;
    case FitStatus::lost_component:
      return MIXSTREAM_LOST_COMPONENT;
    case FitStatus::approximate:
      return MIXSTREAM_APPROXIMATE;
  }
  return MIXSTREAM_POOR_FIT;
}

mixstream_status copy_moments(const MomentTensor& moments, mixstream_moment moment, int degree,
                              double* values, std::size_t capacity, std::size_t& needed) {
  const bool known = moment == MIXSTREAM_SIGMA || moment == MIXSTREAM_CROSS || moment == MIXSTREAM_MEAN;
  if (!known || degree < 1 || degree > 3) return MIXSTREAM_BAD_ARGUMENT;
  const MomentTables tables = moment_tables(moments);
  const DegreeMoments& of_degree = tables.degrees[static_cast<std::size_t>(degree - 1)];
  const std::vector<double>& found = moment == MIXSTREAM_SIGMA   ? of_degree.covariance.values
                                     : moment == MIXSTREAM_CROSS ? of_degree.cross
                                                                 : of_degree.mean;
  needed = found.size();
  if (values == nullptr || capacity < found.size()) return MIXSTREAM_TOO_LARGE;
  std::ranges::copy(found, values);
  return MIXSTREAM_OK;
}

}  // namespace mixstream::c_interface
