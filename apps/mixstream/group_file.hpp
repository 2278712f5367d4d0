// The models of many groups in one file, one behind the other: only one of them is in memory at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/model/few_rows.hpp"
#include "mixstream/moments/state_file.hpp"

namespace mixstream {

/// A group's model: its rows while they are few, else its estimator.
using GroupModel = std::variant<FewRows, Estimator>;

/// What the index of a file says of a group.
struct GroupEntry {
  std::string group;
  bool as_rows = false;
  std::uint64_t rows = 0;
  std::uint64_t begin = 0;  ///< of its bytes in the file
  std::uint64_t size = 0;
  std::uint64_t checksum = 0;
};

class GroupWriter {
 public:
  /// `column`: whose values are the groups. `empty`: an estimator without rows; groups kept as rows are
  /// poured into such a one, and the stream goes on at its next position.
  static Outcome<GroupWriter> create(const std::string& path, const std::string& column,
                                     const Estimator& empty);

  /// Groups come in the order of their names.
  Done add(const std::string& group, const FewRows& rows);
  Done add(const std::string& group, const Estimator& estimator);
  /// The file takes its name.
  Done finish();

 private:
  explicit GroupWriter(FileWriter file) : file_(std::move(file)) {}
  Done write(std::span<const std::byte> bytes);
  Done add(GroupEntry entry, const Bytes& bytes);

  FileWriter file_;
  std::uint64_t at_ = 0;
  std::vector<GroupEntry> entries_;
};

class GroupReader {
 public:
  /// Reads what stands before and behind the models.
  static Outcome<GroupReader> open(const std::string& path);

  const std::string& column() const noexcept { return column_; }
  const std::vector<GroupEntry>& entries() const noexcept { return entries_; }
  /// An estimator without rows, as Estimator::encode wrote it.
  const Bytes& empty() const noexcept { return empty_; }
  /// As it was written. An estimator is decoded with these settings.
  Outcome<GroupModel> read(const GroupEntry& entry, const EstimatorSettings& settings);

 private:
  explicit GroupReader(FileReader file) : file_(std::move(file)) {}

  FileReader file_;
  std::string column_;
  Bytes empty_;
  std::vector<GroupEntry> entries_;
};

/// Whether a file begins as one of groups does; else it holds one state, or cannot be read. No throw.
bool holds_groups(const std::string& path);

}  // namespace mixstream
