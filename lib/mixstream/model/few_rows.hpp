// The rows of a model while they are few: less than a state of moments would take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstream/core/bytes.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// Memory grows with the rows, by an eighth at a time. Weights, times and sensors are kept from the first row
/// on that has one.
class FewRows {
 public:
  static constexpr std::size_t most_rows = 1000;

  FewRows(std::size_t feature_count, int constant_feature, std::uint64_t source);

  std::size_t rows() const noexcept { return positions_.size(); }
  bool full() const noexcept { return rows() >= most_rows; }
  std::size_t bytes() const noexcept;  ///< held
  std::uint64_t source() const noexcept { return runs_.back().source; }
  /// Rows that follow come from this source; those of before and these are no neighbours in time.
  void begin_run(std::uint64_t source);
  void count_refused(const std::string& reason, std::optional<std::uint64_t> /*sensor*/ = {}) {
    ++refused_[reason];
  }

  std::span<const std::uint64_t> positions() const noexcept { return positions_; }
  /// Keeps a row that check() accepts.
  void add(const Row& row, std::uint64_t position);
  const std::map<std::string, std::uint64_t>& refused() const noexcept { return refused_; }
  bool has_features_of(const Layout& layout) const noexcept;
  /// Takes up the other's rows behind its own, and its counts; rows that follow are of its own source again.
  /// False, and nothing is changed: of other features, or too many rows.
  bool append(const FewRows& other);
  /// Absorbs what was kept, in its order and at its positions: the estimator is as if it had seen the rows.
  void pour_into(Estimator& estimator) const;
  /// Adds the last `count` rows, or all, to a table of their d.
  void copy_last(std::size_t count, RowTable& into) const;

  void encode(ByteWriter& out) const;
  /// Nothing for bytes that encode() did not make.
  static std::optional<FewRows> decode(ByteReader& in);

 private:
  /// What of a row is kept: the constant is not.
  struct Shape {
    std::size_t feature_count = 0;
    int constant_feature = -1;
    bool weighs = false;
    bool has_time = false;
    bool has_sensor = false;
    std::size_t numbers() const noexcept;  ///< of a row, its response included
  };
  struct Run {
    std::size_t first_row;
    std::uint64_t source;
  };

  bool has_room_for(const Row& row) const noexcept;
  void widen_for(const Row& row);
  void write(const Row& row);
  /// Calls visit(i, row) for every row; the row lives as long as the call.
  template <class Visit>
  void each_row(Visit visit) const;

  Shape shape_;
  std::vector<Run> runs_;
  std::vector<double> numbers_;  // of the shape, row after row
  std::vector<std::uint64_t> positions_;
  std::map<std::string, std::uint64_t> refused_;
};

}  // namespace mixstream
