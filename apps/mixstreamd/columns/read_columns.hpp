// The keys of a stream whose columns come on topics of their own.
#pragma once

#include "../config/config.hpp"
#include "../config/table_reader.hpp"

namespace mixstream {

/// Reads `[stream.columns]`, where `columns` is a table and not a list, before the source.
void read_column_topics(TableReader& in, StreamConfig& stream);
/// Behind the names of fields: what makes a row, and what a row then is.
void settle_columns(TableReader& in, StreamConfig& stream);

/// The fields of a message that holds one value, by the names that the stream's payload has for them.
ValueFields value_fields(const StreamConfig& stream);

}  // namespace mixstream
