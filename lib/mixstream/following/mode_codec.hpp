// A mode driver's state as bytes, for the estimator's section of a snapshot.
#pragma once

#include "mixstream/core/bytes.hpp"
#include "mixstream/following/mode_driver.hpp"

namespace mixstream {

void put(ByteWriter& out, const ModeDriverState& driver);

/// What put wrote; the reader fails on anything else. Sizes are bounded by the bytes that are left; whether
/// the parts fit together is judged by ModeDriver::restore.
ModeDriverState take_mode_driver(ByteReader& in);

}  // namespace mixstream
