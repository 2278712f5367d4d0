#include "stored_stream.hpp"

#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "mixstream/moments/state_file.hpp"

namespace mixstream {
namespace {

constexpr int most_tries = 10;  // a daemon deletes old files every minute or so

Outcome<StoredStream> read_once(const StreamConfig& config, const std::string& folder) {
  const StoreSettings settings{.folder = folder, .configuration = fingerprint_of(config)};
  std::string note;
  if (const Outcome<Bytes> lock = read_file(folder + "/lock", 1 << 16))
    note.assign(reinterpret_cast<const char*>(lock.value().data()), lock.value().size());
  Outcome<Recovery> recovery = recover(settings, note);
  if (!recovery) return recovery.refusal();
  Recovered& recovered = recovery.value().recovered;
  Outcome<Fold> fold =
      recovered.snapshot ? Fold::restore(recovered.snapshot->sections, config) : Fold::create(config);
  if (!fold) return fold.refusal();
  recovered.snapshot.reset();
  std::uint64_t replayed = 0;
  if (!recovery.value().segments.empty()) {
    const Journal journal({.folder = folder}, recovery.value().segments.back().header.identity,
                          recovery.value().segments);
    const Done done = journal.replay(recovered.replay_from, [&](const Record& record) {
      ++replayed;
      return fold.value().take(record);
    });
    if (!done) return done.refusal();
  }
  return StoredStream{std::move(recovery).value(), std::move(fold).value(), replayed};
}

}  // namespace

Outcome<StoredStream> read_stored(const StreamConfig& config, const std::string& folder) {
  struct ::stat status {};
  if (::stat(folder.c_str(), &status) != 0)
    return Refusal{Reason::input_output, "there is nothing at '" + folder + "': the stream has never run"};
  for (int attempt = 1;; ++attempt) {
    Outcome<StoredStream> stored = read_once(config, folder);
    const bool may_be_moving = !stored && stored.refusal().reason != Reason::bad_settings;
    if (!may_be_moving || attempt == most_tries) return stored;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

std::string to_json(const StoredStream& stored, const std::string& name) {
  const FoldCounts counts = stored.fold.counts();
  const Deduplication& sensors = stored.fold.state().sensors();
  nlohmann::ordered_json json{{"stream", name},
                              {"sound", true},
                              {"rows", counts.rows},
                              {"folded", counts.folded},
                              {"duplicate", counts.duplicate},
                              {"refused", counts.refused},
                              {"gaps", sensors.opened_gaps()},
                              {"sensors", stored.fold.sensor_count()},
                              {"snapshots", stored.recovery.generations.size()},
                              {"segments", stored.recovery.segments.size()},
                              {"records_behind_snapshot", stored.replayed},
                              {"notes", stored.recovery.recovered.notes}};
  return json.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace mixstream
