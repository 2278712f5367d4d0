// The files of a job, cut into shares for the ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fit_session.hpp"
#include "mixstream/core/bytes.hpp"

namespace mixstream {

struct WorkFile {
  std::string path;
  bool compressed = false;
  std::uint64_t size = 0;  ///< bytes on disk
};

/// Rows of one file that begin in a range. Of a compressed file the offsets are those of its contents, and
/// the range goes to its end.
struct Segment {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};

  std::uint64_t file = 0;
  ByteRange range;
  /// Of the first row in the stream, or unknown; of a compressed file, whose rows are counted from its first,
  /// that of the first row of all.
  std::uint64_t position = unknown;

  friend bool operator==(const Segment&, const Segment&) = default;
};

/// What one rank reads, in order.
using Share = std::vector<Segment>;

/// All there is to read.
struct Work {
  std::vector<WorkFile> files;
  std::vector<Share> shares;             ///< by rank
  std::uint64_t end = Segment::unknown;  ///< where the stream stands behind all of it
};

/// Gives every rank a share of about as many bytes, in the order of the stream: plain files are cut anywhere
/// (a reader finds the row to begin with), compressed ones stay whole. The same list and number of ranks, the
/// same shares.
std::vector<Share> share_out(const std::vector<WorkFile>& files, const Share& all, std::size_t ranks);

/// Gives every segment its position, from those that are known and the rows of each, as ranks counted them;
/// and the work its end, unless it is known.
void place(Work& work, const std::vector<std::vector<std::uint64_t>>& rows);

void put(ByteWriter& out, const Work& work);
Work take_work(ByteReader& in);  ///< of bytes that put wrote; else in.ok() is false
void put(ByteWriter& out, const Share& share);
Share take_share(ByteReader& in);

}  // namespace mixstream
