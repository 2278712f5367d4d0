// The C interface of feature maps: a thin coat over FeatureMap and LagMemory that lets no exception out.
#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "mixstream/mixstream.h"
#include "mixstream/rows/feature_map.hpp"

struct mixstream_map {
  explicit mixstream_map(mixstream::FeatureMap parsed)
      : map(std::move(parsed)), memory(map), inputs(map.input_count()) {}

  mixstream::FeatureMap map;
  mixstream::LagMemory memory;
  std::vector<double> inputs;  // of the row in hand: columns, then lags
};

namespace {

using namespace mixstream;

mixstream_map* refused(mixstream_status code, std::string_view words, mixstream_status* status, char* text,
                       std::size_t text_size) noexcept {
  if (status != nullptr) *status = code;
  if (text != nullptr && text_size > 0) {
    const std::size_t length = std::min(words.size(), text_size - 1);
    std::copy_n(words.data(), length, text);
    text[length] = '\0';
  }
  return nullptr;
}

}  // namespace

mixstream_map* mixstream_map_create(const char* features, const char* const* columns, size_t column_count,
                                    mixstream_status* status, char* text, size_t text_size) {
  const bool sound =
      features != nullptr && (columns == nullptr || std::none_of(columns, columns + column_count,
                                                                 [](const char* c) { return c == nullptr; }));
  if (!sound)
    return refused(MIXSTREAM_BAD_ARGUMENT, "the features or a column is NULL", status, text, text_size);
  try {
    Outcome<FeatureMap> map =
        columns == nullptr
            ? FeatureMap::parse(features)
            : FeatureMap::parse(features, std::vector<std::string>(columns, columns + column_count));
    if (!map) return refused(MIXSTREAM_BAD_SETTINGS, map.refusal().text, status, text, text_size);
    auto* const made = new mixstream_map(std::move(map).value());
    if (status != nullptr) *status = MIXSTREAM_OK;
    return made;
  } catch (const std::bad_alloc&) {
    return refused(MIXSTREAM_OUT_OF_MEMORY, "the system has no memory left", status, text, text_size);
  } catch (const std::exception& error) {
    return refused(MIXSTREAM_INTERNAL, error.what(), status, text, text_size);
  }
}

void mixstream_map_destroy(mixstream_map* map) {
  delete map;
}

size_t mixstream_map_feature_count(const mixstream_map* map) {
  return map == nullptr ? 0 : map->map.feature_count();
}

size_t mixstream_map_column_count(const mixstream_map* map) {
  return map == nullptr ? 0 : map->map.columns().size();
}

int32_t mixstream_map_constant(const mixstream_map* map) {
  return map == nullptr ? -1 : map->map.constant_feature();
}

const char* mixstream_map_feature(const mixstream_map* map, size_t feature) {
  return feature < mixstream_map_feature_count(map) ? map->map.names()[feature].c_str() : nullptr;
}

const char* mixstream_map_column(const mixstream_map* map, size_t column) {
  return column < mixstream_map_column_count(map) ? map->map.columns()[column].c_str() : nullptr;
}

mixstream_status mixstream_map_row(mixstream_map* map, const double* values, size_t column_count,
                                   double* features, size_t feature_count) {
  if (map == nullptr || values == nullptr || features == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  if (column_count != map->map.columns().size() || feature_count != map->map.feature_count())
    return MIXSTREAM_WRONG_WIDTH;
  std::copy_n(values, column_count, map->inputs.begin());
  const bool reaches = map->memory.fill(map->inputs);
  if (map->map.evaluate(map->inputs, {features, feature_count}) < 0) return MIXSTREAM_OK;
  return reaches ? MIXSTREAM_UNDEFINED_FEATURE : MIXSTREAM_NO_EARLIER_ROW;
}

mixstream_status mixstream_map_rows(mixstream_map* map, const mixstream_block* columns, double* features) {
  const bool sound = map != nullptr && columns != nullptr && columns->size == sizeof *columns &&
                     (columns->row_count == 0 || (columns->features != nullptr && features != nullptr));
  if (!sound) return MIXSTREAM_BAD_ARGUMENT;
  if (columns->feature_count != map->map.columns().size()) return MIXSTREAM_WRONG_WIDTH;
  const std::size_t width = map->map.feature_count();
  for (std::size_t i = 0; i < columns->row_count; ++i) {
    const double* row = columns->features + static_cast<std::ptrdiff_t>(i) * columns->row_stride;
    for (std::size_t j = 0; j < columns->feature_count; ++j)
      map->inputs[j] = row[static_cast<std::ptrdiff_t>(j) * columns->feature_stride];
    map->memory.fill(map->inputs);  // a lag that finds nothing is NaN
    map->map.evaluate(map->inputs, {features + i * width, width});
  }
  return MIXSTREAM_OK;
}

void mixstream_map_gap(mixstream_map* map) {
  if (map != nullptr) map->memory.gap();
}

double mixstream_map_code(const mixstream_map* map, size_t column, const char* text) {
  const bool known = text != nullptr && column < mixstream_map_column_count(map) && map->map.is_text(column);
  return known ? map->map.code_of(column, text) : std::numeric_limits<double>::quiet_NaN();
}
