// A block of rows, variable by variable, as the kernel wants them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "mixstream/cpu/aligned.hpp"

namespace mixstream {

/// No version had longer blocks, for any number of variables.
inline constexpr std::size_t largest_block_rows = 384;

/// Doubles from one column to the next: room for the rows, off a power of two so that columns spread over
/// the cache. `rows` is a multiple of 64.
constexpr std::size_t column_stride(std::size_t rows) noexcept {
  return rows + 8;
}

/// Two numbers at a time, by the compilers' vector extension: every 64-bit processor has that much.
using TwoDoubles [[gnu::vector_size(16)]] = double;

inline TwoDoubles two_doubles_at(const double* from) noexcept {
  TwoDoubles pair;
  std::memcpy(&pair, from, sizeof pair);
  return pair;
}

/// Up to `capacity` rows of m variables and their weights. Allocates at construction only.
class RowBlock {
 public:
  RowBlock(int variables, std::size_t capacity)
      : variables_(static_cast<std::size_t>(variables)),
        capacity_(capacity),
        values_(variables_ * column_stride(capacity)),
        weights_(capacity, 1.0) {
    std::fill_n(values_.begin(), column_stride(capacity), 1.0);  // variable 0, for all rows to come
  }

  std::size_t variables() const noexcept { return variables_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::size_t rows() const noexcept { return rows_; }
  bool full() const noexcept { return rows_ == capacity_; }

  /// Adds a row of m variables, z[0] = 1; the block must not be full. No throw, no allocation; m - 1 stores.
  void append(const double* z, double weight) noexcept {
    double* const place = next_row();
    for (std::size_t variable = 1; variable < variables_; ++variable)
      place[variable * column_stride(capacity_)] = z[variable];
    count_next_row(weight);
  }

  /// The same by hand: variable v > 0 of the next row goes to next_row()[v * column_stride(capacity)], and
  /// the row is there once it is counted. The block must not be full. No throw, no allocation.
  double* next_row() noexcept { return values_.data() + rows_; }
  void count_next_row(double weight) noexcept {
    if (weight != 1.0) {
      weights_[rows_] = weight;
      weighted_ = true;
    }
    ++rows_;
  }

  /// Adds rows of weight 1 that follow each other in memory, as many as fit; returns how many those were.
  /// No throw, no allocation.
  std::size_t append(const double* z, std::size_t count) noexcept {
    const std::size_t taken = std::min(count, capacity_ - rows_);
    std::size_t row = 0;
    for (; row + 4 <= taken; row += 4, z += 4 * variables_) {
      if (variables_ > 4) prefetch(z + prefetch_distance);
      put_four(z, next_row() + row);
    }
    rows_ += row;
    for (; row < taken; ++row, z += variables_) append(z, 1.0);
    return taken;
  }

  void clear() noexcept {
    if (weighted_) std::fill(weights_.begin(), weights_.end(), 1.0);
    weighted_ = false;
    rows_ = 0;
  }

  /// Copies the m variables of a row. No throw, no allocation.
  void copy_row(std::size_t row, double* z) const noexcept {
    for (std::size_t v = 0; v < variables_; ++v) z[v] = values_[v * column_stride(capacity_) + row];
  }

  /// Multiplies the weights of the rows held. No throw, no allocation.
  void scale_weights(double factor) noexcept {
    for (std::size_t row = 0; row < rows_; ++row) weights_[row] *= factor;
  }

  /// Variable v of row r stands at values()[v * column_stride(capacity) + r].
  const double* values() const noexcept { return values_.data(); }
  const double* weights() const noexcept { return weights_.data(); }
  bool weighted() const noexcept { return weighted_; }  ///< whether any weight differs from 1

  friend bool operator==(const RowBlock& one, const RowBlock& two) noexcept;

 private:
  static constexpr std::size_t prefetch_distance =
      256;  ///< numbers; the next block's first rows come early too

  void prefetch(const double* rows) const noexcept {
    for (std::size_t i = 0; i < 4 * variables_; i += 8) __builtin_prefetch(rows + i);
  }

  /// Four rows, two variables at a time.
  void put_four(const double* z, double* place) const noexcept {
    const std::size_t stride = column_stride(capacity_);
    double* column = place + stride;
    std::size_t variable = 1;
    for (; variable + 2 <= variables_; variable += 2, column += 2 * stride) {
      for (std::size_t row = 0; row < 4; row += 2) {
        const TwoDoubles one = two_doubles_at(z + row * variables_ + variable);
        const TwoDoubles two = two_doubles_at(z + (row + 1) * variables_ + variable);
        const TwoDoubles of_first{one[0], two[0]};
        const TwoDoubles of_second{one[1], two[1]};
        std::memcpy(column + row, &of_first, sizeof of_first);
        std::memcpy(column + stride + row, &of_second, sizeof of_second);
      }
    }
    if (variable == variables_) return;
    for (std::size_t row = 0; row < 4; ++row) column[row] = z[row * variables_ + variable];
  }

  std::size_t variables_;
  std::size_t capacity_;
  std::size_t rows_ = 0;
  bool weighted_ = false;
  AlignedDoubles values_;
  AlignedDoubles weights_;
};

/// The same rows in the same order; room beyond them does not count. No throw, no allocation.
inline bool operator==(const RowBlock& one, const RowBlock& two) noexcept {
  if (one.variables_ != two.variables_ || one.capacity_ != two.capacity_ || one.rows_ != two.rows_)
    return false;
  for (std::size_t row = 0; row < one.rows_; ++row) {
    if (one.weights_[row] != two.weights_[row]) return false;
    for (std::size_t v = 0; v < one.variables_; ++v) {
      const std::size_t place = v * column_stride(one.capacity_) + row;
      if (one.values_[place] != two.values_[place]) return false;
    }
  }
  return true;
}

}  // namespace mixstream
