// The journal of a stream: numbered records in segment files, each on the disk before its append returns.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"
#include "store/files.hpp"
#include "store/record.hpp"

namespace mixstream {

struct JournalSettings {
  std::string folder;
  std::uint64_t configuration = 0;         ///< fingerprint of what turns messages into rows
  std::uint64_t segment_bytes = 16 << 20;  ///< a segment that is longer is followed by the next
  std::size_t record_bytes = 4 << 20;      ///< a longer one is refused; what a fit feeds back does not count
};

/// A segment file, as it was found or made.
struct Segment {
  SegmentHeader header;
  std::uint64_t next_record = 0;  ///< behind its last sound one
  std::size_t sound_length = 0;   ///< bytes
};

/// What a folder's segments say.
struct FoundJournal {
  std::vector<Segment> segments;         ///< the newest without a hole between them, oldest first
  std::size_t torn_bytes = 0;            ///< behind the last sound record of the last segment
  std::optional<Refusal> broken_before;  ///< why nothing older than `segments` can be believed, if so
};

/// Appending, reading back and rotating: one thread at a time. remove_before, bytes and segment_count: any.
class Journal {
 public:
  /// Reads every segment among a folder's names and checks every record. Refuses when the newest segment
  /// holds damage other than a torn tail. Changes nothing.
  static Outcome<FoundJournal> inspect(const std::string& folder, const std::vector<std::string>& names);

  /// segments: from inspect(); none begins a journal with record 0. Touches no file.
  Journal(JournalSettings settings, std::uint64_t identity, std::vector<Segment> segments);

  /// Makes the journal ready for append: what the last run left at the end is written once more from what was
  /// read (its last sync may have failed unseen), and a new segment is begun. append() does this by itself
  /// when it must.
  Done prepare();

  /// Writes one record or several, which then share a write and a sync, and waits until the disk has them;
  /// the number of the first. After a refusal none of them counts (all may come back after a crash), and the
  /// next append begins a new segment. Allocates only for more bytes than ever before.
  Outcome<std::uint64_t> append(std::span<const Content> contents);

  /// The next append begins a new segment.
  void rotate() noexcept { rotate_ = true; }

  /// Hands every record from number `from` on to `take`, in order; stops at its first refusal.
  Done replay(std::uint64_t from, const std::function<Done(const Record&)>& take) const;

  /// Deletes the segment files, oldest first, whose records all stand before `record`; never the last.
  Done remove_before(std::uint64_t record);

  std::uint64_t next_record() const noexcept { return next_record_; }
  std::uint64_t identity() const noexcept { return identity_; }
  /// The first record of the segment that appends go to; nothing before there is one.
  std::optional<std::uint64_t> open_segment() const noexcept {
    if (!file_.is_open()) return std::nullopt;
    return last_->header.first_record;
  }
  std::uint64_t bytes() const;
  std::size_t segment_count() const;

 private:
  std::string path_of(const SegmentHeader& header) const;
  Done replay_segment(const Segment& segment, std::uint64_t from,
                      const std::function<Done(const Record&)>& take) const;
  Done rewrite_tail() const;
  Done begin_segment();

  JournalSettings settings_;
  std::uint64_t identity_;
  std::uint64_t next_record_ = 0;
  mutable std::mutex mutex_;     // held for looks at what follows only, never over a call to the disk
  std::vector<Segment> closed_;  // oldest first
  std::optional<Segment> last_;  // changed by the appending thread alone
  Descriptor file_;
  std::string file_path_;
  Bytes record_;
  bool tail_is_doubtful_ = false;  // the last segment is as a former run left it
  bool rotate_ = false;
};

/// "journal-00000000000000000042": the first record's number in twenty digits, so that names sort by it.
std::string numbered_name(const std::string& kind, std::uint64_t number);
/// The number in such a name; nothing if it is not one of this kind.
std::optional<std::uint64_t> number_in(const std::string& name, const std::string& kind);

}  // namespace mixstream
