#include "store/recovery.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "mixstream/moments/state_file.hpp"

namespace mixstream {
namespace {

constexpr const char* what_to_do =
    "; restore the folder from a backup, or move it away to begin this stream anew";

Refusal incomplete(const std::string& folder, const std::string& what) {
  return {Reason::bad_snapshot, "'" + folder + "': " + what + what_to_do};
}

Outcome<StreamSnapshot> read_snapshot(const std::string& path, std::uint64_t number, std::uint64_t identity) {
  const Outcome<Bytes> bytes = read_file(path);
  if (!bytes) return bytes.refusal();
  Outcome<StreamSnapshot> snapshot = decode_stream_snapshot(bytes.value());
  if (!snapshot) return snapshot.refusal();
  if (snapshot.value().covers != number)
    return Refusal{Reason::bad_snapshot, "the snapshot covers other records than its name says"};
  if (snapshot.value().identity != identity)
    return Refusal{Reason::bad_snapshot, "the snapshot belongs to another journal"};
  return snapshot;
}

/// The snapshots of a folder, newest first: the sound ones, and what is wrong with the others before them.
class Generations {
 public:
  Generations(const std::string& folder, const std::vector<std::string>& names, std::uint64_t identity) {
    for (auto name = names.rbegin(); name != names.rend() && sound_.size() < 2; ++name) {
      const std::optional<std::uint64_t> number = number_in(*name, snapshot_kind);
      if (!number) continue;
      newest_number_ = std::max(newest_number_, *number);
      Outcome<StreamSnapshot> snapshot = read_snapshot(folder + "/" + *name, *number, identity);
      if (snapshot) {
        sound_.push_back(*number);
        if (sound_.size() == 1) newest_ = std::move(snapshot).value();
      } else {
        if (!refusal_) refusal_ = snapshot.refusal();
        if (sound_.empty()) notes_.push_back("'" + *name + "' is given up: " + snapshot.refusal().text);
      }
    }
  }

  std::uint64_t newest_number() const noexcept { return newest_number_; }  ///< sound or not, by name
  const std::vector<std::uint64_t>& sound() const noexcept { return sound_; }
  std::optional<StreamSnapshot>& newest() noexcept { return newest_; }
  const std::optional<Refusal>& refusal() const noexcept { return refusal_; }  ///< of the newest that is not
  std::vector<std::string>& notes() noexcept { return notes_; }

 private:
  std::uint64_t newest_number_ = 0;
  std::vector<std::uint64_t> sound_;
  std::optional<StreamSnapshot> newest_;
  std::optional<Refusal> refusal_;
  std::vector<std::string> notes_;
};

/// Whether the journal leads from record `from` to its end, and as far as every snapshot claims.
Done check_cover(const std::string& folder, const FoundJournal& journal, Generations& generations,
                 std::uint64_t from) {
  const std::uint64_t first = journal.segments.front().header.first_record;
  const std::uint64_t next = journal.segments.back().next_record;
  if (generations.newest_number() > next)
    return incomplete(folder, "a snapshot covers " + std::to_string(generations.newest_number()) +
                                  " records, but the journal ends at " + std::to_string(next));
  if (first <= from) return std::monostate{};
  std::string why = "the journal begins at record " + std::to_string(first) + ", and record " +
                    std::to_string(from) + " is needed";
  bool unreadable = false;  // by the disk's fault: another try may find everything sound
  for (const std::optional<Refusal>& refusal : {journal.broken_before, generations.refusal()}) {
    if (!refusal) continue;
    why += "; " + refusal->text;
    unreadable = unreadable || refusal->reason == Reason::input_output;
  }
  if (unreadable) return Refusal{Reason::input_output, "'" + folder + "': " + why};
  return incomplete(folder, why);
}

/// A message means rows only under the configuration it came in.
Done check_configuration(const FoundJournal& journal, std::uint64_t configuration, std::uint64_t from) {
  for (const Segment& segment : journal.segments) {
    const bool is_replayed = segment.next_record > std::max(from, segment.header.first_record);
    if (!is_replayed || segment.header.configuration == configuration) continue;
    return Refusal{Reason::bad_settings,
                   "records from " + std::to_string(std::max(from, segment.header.first_record)) +
                       " on came in under another configuration of this stream (payload, features or "
                       "response) and no snapshot holds them yet; run once with that configuration and stop "
                       "with SIGTERM, then change it"};
  }
  return std::monostate{};
}

}  // namespace

Outcome<Recovery> recover(const StoreSettings& settings, const std::string& note) {
  const std::string& folder = settings.folder;
  const Outcome<std::vector<std::string>> names = names_in(folder);
  if (!names) return names.refusal();
  Outcome<FoundJournal> inspected = Journal::inspect(folder, names.value());
  if (!inspected) return Refusal{inspected.refusal().reason, inspected.refusal().text + what_to_do};
  FoundJournal& journal = inspected.value();
  Recovery result;
  if (journal.segments.empty()) {
    result.is_new = note.empty() && std::ranges::none_of(names.value(), [](const std::string& name) {
                      return number_in(name, snapshot_kind).has_value();
                    });
    if (!result.is_new) return incomplete(folder, "the journal is missing");
    return result;
  }
  const std::uint64_t last_begun = number_in(note.substr(0, note.find('\n')), "journal").value_or(0);
  if (journal.segments.back().header.first_record < last_begun)
    return incomplete(folder, "the segment '" + numbered_name("journal", last_begun) + "' is missing");
  Generations generations(folder, names.value(), journal.segments.back().header.identity);
  const std::uint64_t from = generations.sound().empty() ? 0 : generations.sound().front();
  if (const Done done = check_cover(folder, journal, generations, from); !done) return done.refusal();
  if (const Done done = check_configuration(journal, settings.configuration, from); !done)
    return done.refusal();

  Recovered& recovered = result.recovered;
  recovered.notes = std::move(generations.notes());
  if (!recovered.notes.empty())
    recovered.notes.push_back("recovered from record " + std::to_string(from) + " on by the journal");
  if (journal.broken_before) recovered.notes.push_back("not needed, but: " + journal.broken_before->text);
  if (journal.torn_bytes > 0)
    recovered.notes.push_back(
        "cut off " + std::to_string(journal.torn_bytes) +
        " bytes of a record that was being written when the daemon or the machine died");
  recovered.snapshot = std::move(generations.newest());
  recovered.replay_from = from;
  recovered.next_record = journal.segments.back().next_record;
  recovered.torn_bytes = journal.torn_bytes;
  result.generations = generations.sound();
  result.segments = std::move(journal.segments);
  return result;
}

}  // namespace mixstream
