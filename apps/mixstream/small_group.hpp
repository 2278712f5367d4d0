// The rows of a group while they are few: less than a state of moments would take.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mixstream/estimator.hpp"

namespace mixstream {

class SmallGroup {
 public:
  static constexpr std::size_t most_rows = 1000;

  SmallGroup(std::size_t feature_count, std::uint64_t source)
      : feature_count_(feature_count), source_(source) {}

  std::size_t rows() const noexcept { return positions_.size(); }
  bool full() const noexcept { return rows() == most_rows; }
  std::uint64_t source() const noexcept { return source_; }
  /// The sensor says nothing here: a group's rows are one chain.
  void count_refused(const std::string& reason, std::optional<std::uint64_t> /*sensor*/ = {}) {
    ++refused_[reason];
  }

  /// Keeps a row that check() accepts. Memory grows by an eighth of most_rows.
  void add(const Row& row, std::uint64_t position);

  /// Absorbs what was kept, in its order and at its positions: the estimator is as if it had seen the rows.
  void pour_into(Estimator& estimator) const;

 private:
  std::size_t feature_count_;
  std::uint64_t source_;
  std::vector<double> numbers_;  // features, response, weight and time, row after row
  std::vector<std::uint64_t> positions_;
  std::map<std::string, std::uint64_t> refused_;
};

}  // namespace mixstream
