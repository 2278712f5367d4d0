// What the options of several commands share. The only header that brings CLI11, for .cpp files that add
// options.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace mixstream {

/// A whole number that may be written as 50000, 5e4 or 50_000.
CLI::Validator whole_number();

/// A number above `least`, or from it on.
CLI::Validator number_from(double least, bool itself);

/// What --help says of options, in plain words. Allocates.
std::shared_ptr<CLI::FormatterBase> plain_help();

}  // namespace mixstream
