// The few calls to the file system that the store makes beside write_file and read_file of the library. All
// of them go through these two places, so that tests can put a failing disk under them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "descriptor.hpp"
#include "mixstream/core/outcome.hpp"

namespace mixstream {

/// Makes the folder unless it is there, for its owner only, and syncs the folder around it.
Done make_folder(const std::string& path);

/// Refuses (bad_settings) a folder of another user, or one that others may write into.
Done check_owner(const std::string& path);

/// The names in a folder, sorted.
Outcome<std::vector<std::string>> names_in(const std::string& folder);

Done remove_file(const std::string& path);

/// Opens (and makes) the file and locks it against every other process until the descriptor closes.
Outcome<Descriptor> lock_file(const std::string& path);

/// The first bytes of a small file that is read and written in place, and their replacement. What is written
/// fits into one sector of the disk, so that it is old or new.
Outcome<std::string> read_note(const Descriptor& file, const std::string& path);
Done write_note(const Descriptor& file, std::string_view text, const std::string& path);

Outcome<Descriptor> open_for_append(const std::string& path);

/// Writes at the file's end and waits until the disk has it. After a refusal the file's tail is unknown and
/// the descriptor must not be used again: Linux forgets pages whose sync failed.
Done append_durably(const Descriptor& file, std::span<const std::byte> bytes, const std::string& path);

}  // namespace mixstream
