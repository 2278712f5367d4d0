// What a stream keeps on disk, so that no row is lost or counted twice: a journal of what came, and two
// generations of snapshots of what became of it.
//
//   auto opened = Store::open({.folder = "state/pump"});        // locks, checks, reads; or says why not
//   if (!opened) return opened.refusal();                       // never silently empty
//   Store& store = *opened.value();
//   restore(store.recovered().snapshot);                        // nothing: a new stream
//   store.replay([&](const Record& record) { return apply(record); });
//   ...
//   const auto number = store.append(message);                  // on the disk, or refused
//   if (number) { acknowledge(); apply(message); }
//   ...
//   PendingSnapshot pending = store.begin_snapshot(sections()); // the thread of the rows; no disk
//   store.write_snapshot(pending);                              // another thread; rows go on meanwhile
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstream/core/outcome.hpp"
#include "store/files.hpp"
#include "store/journal.hpp"
#include "store/snapshot.hpp"

namespace mixstream {

struct StoreSettings {
  std::string folder;                      ///< of this stream alone; made where it is missing
  std::uint64_t configuration = 0;         ///< fingerprint of what turns messages into rows: records that no
                                           ///< snapshot holds are only replayed under the one they came in
  std::uint64_t segment_bytes = 16 << 20;  ///< of a journal file
  bool reserves = false;                   ///< keeps room on the disk for the snapshots that make room
  std::size_t record_bytes =
      4 << 20;  ///< longest message with its header; a longer one is refused as too_large
};

/// What opening found.
struct Recovered {
  std::optional<StreamSnapshot> snapshot;  ///< the newest that is sound; nothing: replay from record 0
  std::uint64_t replay_from = 0;           ///< the first record that no snapshot holds
  std::uint64_t next_record = 0;
  std::size_t torn_bytes = 0;      ///< of a record that was being written at a crash, cut off
  std::vector<std::string> notes;  ///< what a person should know, in words: generations given up, tails cut
};

/// What begin_snapshot copied, for write_snapshot.
struct PendingSnapshot {
  std::uint64_t covers = 0;
  std::vector<Section> sections;
};

struct StoreHealth {
  bool ok = true;
  std::string why;  ///< when not: what failed
};

struct StoreFigures {
  std::uint64_t journal_bytes = 0;
  std::size_t segments = 0;
  std::uint64_t appended = 0;          ///< records, by this process
  std::uint64_t refused = 0;           ///< appends that the disk refused
  std::uint64_t snapshots = 0;         ///< written by this process
  std::uint64_t snapshots_failed = 0;  ///< tried in vain
};

/// One thread appends, replays and begins snapshots; one (the same or another) writes them; any asks for
/// health and figures.
class Store {
 public:
  /// Blocks for reading everything. Refuses a folder that another process holds (input_output), and one whose
  /// content is damaged, foreign, incomplete or of another version (bad_snapshot, unknown_version) or of
  /// another configuration (bad_settings); nothing is changed then. A disk that takes no writes is no reason
  /// to refuse: health() tells.
  static Outcome<std::unique_ptr<Store>> open(StoreSettings settings);

  const Recovered& recovered() const noexcept { return recovered_; }
  /// Forgets the recovered snapshot's sections, once they have been restored.
  void release_recovered() { recovered_.snapshot.reset(); }

  /// Hands the records behind the recovered snapshot to `take`, in order; stops at its first refusal.
  Done replay(const std::function<Done(const Record&)>& take) const;

  /// Puts records into the journal, together, and waits for the disk; the number of the first. Refused as
  /// input_output: none counts, the source must not acknowledge any, and health() is bad until an append
  /// works again. Refused as too_large: nothing happened. No throw beyond memory.
  Outcome<std::uint64_t> append(std::span<const Content> contents);
  Outcome<std::uint64_t> append(const Content& content) { return append({&content, 1}); }

  /// Sections of a stream that has seen every record appended so far. Does not touch the disk.
  PendingSnapshot begin_snapshot(std::vector<Section> sections);
  /// Writes the file, then deletes what both generations can do without. After a refusal the old generations
  /// stand and the journal still covers them: begin another one later.
  Done write_snapshot(const PendingSnapshot& pending);

  /// For a disk that is full: gives up the room that was kept for this, around a write_snapshot in the same
  /// thread; append nothing in between (is_on_reserve, any thread). restore_reserve takes the room again if
  /// it can.
  void use_reserve();
  void restore_reserve();
  bool is_on_reserve() const;
  /// No room is kept from now on; the next start makes its own. The thread of write_snapshot.
  void end_reserves() noexcept { settings_.reserves = false; }
  /// After such a snapshot, while nobody appends: reads it back, begins a segment, and gives up the older
  /// generation with the journal that only it needs.
  Done keep_only(const PendingSnapshot& pending);

  StoreHealth health() const;
  StoreFigures figures() const;

 private:
  Store(StoreSettings settings, Descriptor lock, Recovered recovered, std::uint64_t identity,
        std::vector<Segment> segments, std::vector<std::uint64_t> generations);
  void note_segment();
  void remove_what_is_not_needed();
  void remove_others();
  void reserve();
  std::string reserve_path() const { return settings_.folder + "/reserve"; }

  StoreSettings settings_;
  Descriptor lock_;
  std::optional<std::uint64_t> noted_segment_;  // in the lock file: the last that was begun
  Recovered recovered_;
  Journal journal_;
  std::vector<std::uint64_t> generations_;  // what the sound snapshots cover, newest first, at most two
  mutable std::mutex mutex_;                // for what follows
  std::string append_trouble_;              // empty: the last append worked
  std::string snapshot_trouble_;
  bool is_on_reserve_ = false;
  std::size_t reserved_ = 0;        // bytes; these two are known to write_snapshot's thread alone
  std::size_t snapshot_bytes_ = 0;  // of the last one
  StoreFigures figures_;
};

}  // namespace mixstream
