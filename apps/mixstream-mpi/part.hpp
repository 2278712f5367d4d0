// What one rank does: it reads its share into a branch of the leader's estimator, round by round.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mixstream/core/bytes.hpp"
#include "refusals.hpp"
#include "work.hpp"

namespace mixstream {

/// What the words of the command mean to every rank.
struct PartSettings {
  RefusalPolicy policy;
  InputSettings input;
  std::string weight;           ///< column, or empty
  std::string time;             ///< column, or empty
  std::string sensor;           ///< column, or empty
  std::uint64_t memory_budget;  ///< bytes
};

/// How far a rank may read before it reports.
struct RoundLimits {
  std::uint64_t rows = ~std::uint64_t{0};   ///< accepted ones
  std::uint64_t bytes = ~std::uint64_t{0};  ///< of rows, decompressed
};

struct RefusedInFile {
  std::uint64_t file = 0;
  RefusedWords refused;
};

/// How a rank stands after a round.
struct PartReport {
  std::uint64_t rows = 0;              ///< accepted, in the branch
  std::uint64_t bytes = 0;             ///< read into the branch
  bool done = false;                   ///< with its share
  int signal = 0;                      ///< that asked this rank to end, or 0
  double busy_seconds = 0;             ///< processor time of all rounds so far
  std::vector<RefusedInFile> refused;  ///< the first of the round, a fatal one last
  std::string failure;                 ///< what ended the reading, with the file, or empty

  Bytes encode() const;
  static PartReport decode(const Bytes& bytes);
};

class Part final : public RefusalListener {
 public:
  explicit Part(PartSettings settings) : RefusalListener(settings.policy), settings_(std::move(settings)) {}

  /// The files and this rank's share of them.
  void take_work(Work work, std::size_t rank, std::uint64_t source);

  /// The rows of each segment of the share; 0 of one that cannot be read, which reading will tell.
  std::vector<std::uint64_t> count() const;

  /// Begins anew with an empty branch, from its bytes.
  Done begin_branch(std::span<const std::byte> bytes);

  /// Reads up to the limits. Which row is the last depends on the rows alone, not on how the bytes came;
  /// after a signal it ends sooner.
  PartReport read(const RoundLimits& limits);

  const Estimator& branch() const { return session_->estimator(); }
  Share left() const;  ///< of the share: what a resumed job would read

  bool fitted(const Report&) override { return true; }  // none falls due in a branch

 private:
  void tell(const RefusedWords& refused) override;
  bool goes_on(const RoundLimits& limits) const;
  bool open_segment();
  InputSettings settings_of(const Segment& segment) const;
  void close_segment();
  bool batch_is_over() const noexcept { return row_ == batch_.rows && refused_row_ == batch_.refused.size(); }
  bool next_batch();
  void skip_rows_before(std::uint64_t offset);
  void absorb(std::uint64_t most_rows, std::uint64_t most_bytes);
  void fail(const std::string& text);

  PartSettings settings_;
  Work work_;
  Share share_;
  std::size_t segment_ = 0;  // of the share, being read
  std::uint64_t source_ = 0;
  std::optional<FitSession> session_;
  std::unique_ptr<RowReader> reader_;
  std::string path_;
  Batch batch_;
  std::size_t row_ = 0;          // of the batch, next to absorb
  std::size_t refused_row_ = 0;  // of its refused ones
  std::uint64_t rows_done_ = 0;  // of the reader, refused ones too
  std::uint64_t offset_ = 0;     // no row of the segment that begins before it is left
  std::vector<RefusedRow> refused_rows_;
  PartReport report_;
  bool fatal_ = false;
};

}  // namespace mixstream
