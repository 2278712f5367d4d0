// A bounded, mergeable, weighted sample of rows: those with the smallest keys.
//
// Row i has the key E_i / w_i, where E_i is a standard exponential drawn from the hash of (seed, source,
// position): the R smallest keys are a sample without replacement with chances in proportion to weight, and
// because a key depends on nothing but its row, any split of the stream merges to the same sample. One row
// more than R is kept: its key is the threshold tau, and P(row i is in the sample) = 1 - exp(-w_i tau).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/rows/row.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// The hash that stands for one row: of (seed, source), and of that with the row's position. No throw.
constexpr std::uint64_t source_hash(std::uint64_t seed, std::uint64_t source) noexcept {
  return mixed_bits(seed + 0x9e3779b97f4a7c15ULL * source);
}
constexpr std::uint64_t row_hash(std::uint64_t source_hash, std::uint64_t position) noexcept {
  return mixed_bits(source_hash + 0xd1b54a32d192ed03ULL * position);
}

/// R where nobody asks for another.
inline constexpr std::size_t usual_sample_rows = 5000;

/// The sample as the solvers use it.
struct Sample {
  RowTable rows;  ///< in raw coordinates, in the order of their keys; weights sum to the number
                  ///< of rows, or are the rows' own weights while every row is still held
  std::vector<std::uint8_t> bins;  ///< magnitude bin of each row
};

class Reservoir {
 public:
  /// Everything in one place, so that the snapshot codec and tests see all there is.
  struct Entry {
    double key;
    std::uint64_t hash;
    double weight;       ///< the row's weight times the growth at its time, see Forgetting
    std::uint32_t slot;  ///< where features and response stand
    std::uint8_t bin;
    friend bool operator==(const Entry&, const Entry&) = default;
  };

  /// Allocates for `capacity` + 1 rows of `feature_count` features, once and for all.
  Reservoir(std::size_t capacity, std::size_t feature_count);

  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t feature_count() const noexcept { return feature_count_; }
  std::size_t size() const noexcept { return held_ < capacity_ ? held_ : capacity_; }  ///< of the sample

  /// Whether a row may enter: false for nearly all, once many have come. No throw; one comparison.
  bool wants(std::uint64_t hash, double weight) const noexcept {
    return weight == 1.0 ? hash <= hash_limit_ : unit(hash) < limit_ * weight;  // since -log(1 - u) >= u
  }
  /// Offers a row. No throw, no allocation; one comparison mostly, log R when the row enters.
  void offer(const Row& row, std::uint64_t hash, double weight, std::uint8_t bin) noexcept {
    if (wants(hash, weight)) insert(row, hash, weight, bin);
  }

  /// Multiplies every weight by `factor` (and divides the keys). Rows whose weight vanishes are dropped. No
  /// throw, no allocation; cost R.
  void scale_weights(double factor) noexcept;

  /// Offers every row of the other, weights multiplied by `factor`. No allocation. Same feature count
  /// required.
  void merge(const Reservoir& other, double factor) noexcept;

  void clear() noexcept {
    held_ = 0;
    set_limit(no_limit);
  }

  /// Keys from here on up are not wanted: of rows that would not stay, or by lower_limit. No throw.
  double limit() const noexcept { return limit_; }
  /// For a sample that will be merged into another, which already holds R + 1 keys below this. No throw.
  void lower_limit(double key) noexcept { set_limit(std::min(limit_, key)); }

  /// The sample with weights that make it speak for all rows. `unit_weight`: the weight that now counts as
  /// one row.
  Sample sample(double unit_weight) const;

  std::span<const Entry> entries() const noexcept { return {entries_.data(), held_}; }
  std::span<const double> values(const Entry& entry) const noexcept {  ///< features, then the response
    return {values_.data() + entry.slot * (feature_count_ + 1), feature_count_ + 1};
  }
  /// Puts back an entry read from a snapshot. False when there is no room or its key or weight is not valid.
  bool restore(const Entry& entry, std::span<const double> values) noexcept;

  /// Equal as samples: the same rows with the same keys, in whatever order they are held.
  friend bool operator==(const Reservoir& one, const Reservoir& two);

 private:
  static constexpr double no_limit = std::numeric_limits<double>::max();
  static constexpr std::uint64_t largest_hash = std::numeric_limits<std::uint64_t>::max();
  static double unit(std::uint64_t hash) noexcept {  // in (0, 1)
    return (static_cast<double>(hash >> 11) + 0.5) * 0x1p-53;
  }
  void set_limit(double limit) noexcept {
    limit_ = limit;
    hash_limit_ = limit < 0.5 ? static_cast<std::uint64_t>(limit * 0x1p64) + 0x1000 : largest_hash;
  }
  static double exponential(std::uint64_t hash) noexcept { return -std::log1p(-unit(hash)); }  // E
  void insert(const Row& row, std::uint64_t hash, double weight, std::uint8_t bin) noexcept;
  void push(Entry entry, std::span<const double> features, double response) noexcept;
  void replace_largest(const Entry& entry) noexcept;
  void drop_largest() noexcept;
  double threshold() const noexcept { return entries_.front().key; }  // tau, once R + 1 rows are held
  std::vector<std::size_t> order() const;
  auto held_end() noexcept { return entries_.begin() + static_cast<std::ptrdiff_t>(held_); }

  std::size_t capacity_;
  std::size_t feature_count_;
  std::size_t held_ = 0;
  double limit_ = no_limit;
  std::uint64_t hash_limit_ = largest_hash;  // of a row of weight 1: no hash beyond has a key below limit_
  std::vector<Entry> entries_;  // R + 1: a heap of those held, largest key first, then free slots
  std::vector<double> values_;  // features and response by slot
};

}  // namespace mixstream
