// Secrets come from files that nobody else can read: never from arguments, the environment or the
// configuration.
#pragma once

#include <string>

#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// The file's content without white space at its end. Refuses a file that is missing, empty, longer than
/// 4096 bytes, not a regular file, or open to group or others, and says what to do; never shows its content.
Outcome<std::string> read_secret_file(const std::string& path);

/// Where "credential:NAME" of a configuration lies, which the service manager hands over; other texts as they
/// are.
std::string secret_path(const std::string& text);

/// The same check for a file that a library reads itself, such as a private key.
Done check_secret_file(const std::string& path);

}  // namespace mixstream
