// What the options of several commands share. The only header that brings CLI11, for .cpp files that add
// options.
#pragma once

#include <CLI/CLI.hpp>

namespace mixstream {

/// A whole number that may be written as 50000, 5e4 or 50_000.
CLI::Validator whole_number();

}  // namespace mixstream
