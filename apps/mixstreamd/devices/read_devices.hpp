// The keys of a stream whose messages are states of devices.
#pragma once

#include "../config/config.hpp"
#include "../config/table_reader.hpp"

namespace mixstream {

/// Reads them behind all that says what the model is, and refuses what does not go together with states.
void read_devices(TableReader& in, StreamConfig& stream);

}  // namespace mixstream
