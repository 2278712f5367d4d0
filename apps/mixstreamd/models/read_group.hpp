// The keys of models per sensor.
#pragma once

#include "../config/config.hpp"
#include "../config/table_reader.hpp"

namespace mixstream {

/// Behind all other keys of a stream, which must not contradict these.
void read_group(TableReader& in, StreamConfig& stream);

/// Of "topic:2" the level, whatever filter the stream has; 0: the text says something else. `key`: refused
/// under this name where the level is no number, or no level that every message of the stream has.
std::size_t read_topic_level(TableReader& in, const char* key, const std::string& text,
                             const std::string& filter);

}  // namespace mixstream
