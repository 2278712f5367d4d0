#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "mixstream/moments/state_file.hpp"
#include "store/files.hpp"
#include "stored_stream.hpp"

namespace mixstream {
namespace {

constexpr int most_tries = 10;

Done copy_file(const std::string& from, const std::string& to, std::size_t most = ~std::size_t{0}) {
  const Outcome<Bytes> bytes = read_file(from);
  if (!bytes) return bytes.refusal();
  return write_file(to, std::span(bytes.value()).first(std::min(most, bytes.value().size())));
}

/// The snapshots that are sound and the segments that lead on from the older one; of the last segment what
/// was sound when it was looked at.
Done copy_stream(const Recovery& recovery, const std::string& folder, const std::string& target) {
  for (const std::uint64_t generation : recovery.generations) {
    const std::string name = "/" + numbered_name(snapshot_kind, generation);
    if (Done copied = copy_file(folder + name, target + name); !copied) return copied;
  }
  for (const Segment& segment : recovery.segments) {
    const std::string name = "/" + numbered_name("journal", segment.header.first_record);
    if (Done copied = copy_file(folder + name, target + name, segment.sound_length); !copied) return copied;
  }
  if (recovery.segments.empty()) return std::monostate{};
  const std::string note = numbered_name("journal", recovery.segments.back().header.first_record) + "\n";
  return write_file(target + "/lock", std::as_bytes(std::span(note)));
}

void empty(const std::string& folder) {
  const Outcome<std::vector<std::string>> names = names_in(folder);
  if (!names) return;
  for (const std::string& name : names.value()) {
    std::string path = folder;
    static_cast<void>(remove_file(path.append("/").append(name)));
  }
}

/// Copies what lies there now, and reads the copy again.
Done back_up_once(const StreamConfig& config, const std::string& folder, const std::string& target) {
  const Outcome<StoredStream> stored = read_stored(config, folder);
  if (!stored) return stored.refusal();
  if (Done copied = copy_stream(stored.value().recovery, folder, target); !copied) return copied;
  const Outcome<StoredStream> again = read_stored(config, target);
  if (!again) return again.refusal();
  if (again.value().fold.counts() == stored.value().fold.counts()) return std::monostate{};
  return Refusal{Reason::bad_snapshot,
                 "the copy in '" + target + "' holds other rows than the stream: try again"};
}

}  // namespace

Done back_up(const StreamConfig& config, const std::string& folder, const std::string& target) {
  if (::mkdir(target.c_str(), 0700) != 0)
    return Refusal{Reason::input_output, "cannot make the folder '" + target + "': " + std::strerror(errno)};
  for (int attempt = 1;; ++attempt) {
    Done done = back_up_once(config, folder, target);
    if (done || attempt == most_tries) return done;
    empty(target);  // the daemon deleted a file between our look and our copy
  }
}

}  // namespace mixstream
