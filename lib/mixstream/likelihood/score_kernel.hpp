// Sums of likelihood scores and of their outer products over blocks of rows, at a fixed mixture.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/cpu/instruction_set.hpp"
#include "mixstream/likelihood/variants/scores.hpp"
#include "mixstream/linalg/packed.hpp"
#include "mixstream/monomials/row_block.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

/// How the distinct sums of scores and score products stand in one vector (variants/scores.hpp says which).
struct ScoreShape {
  std::size_t feature_count = 0;    ///< d
  std::size_t component_count = 0;  ///< k
  std::size_t variance_count = 0;   ///< log variances among the parameters: 0, 1 or k

  ScoreShape() = default;
  ScoreShape(std::size_t components, std::size_t features, NoiseModel noise) noexcept;

  std::size_t extras() const noexcept { return component_count + variance_count; }  ///< with the leading 1
  std::size_t parameters() const noexcept { return component_count * feature_count + extras() - 1; }  ///< P
  std::size_t pair_row() const noexcept { return packed_size(feature_count); }
  std::size_t cross_at() const noexcept { return packed_size(component_count) * pair_row(); }
  std::size_t extras_at() const noexcept { return cross_at() + component_count * extras() * feature_count; }
  std::size_t density_at() const noexcept { return extras_at() + packed_size(extras()); }
  std::size_t size() const noexcept { return density_at() + 3; }
};

/// Sum of w s over the rows behind `sums`, into `score` (P numbers). No throw, no allocation.
void read_score(const ScoreShape& shape, std::span<const double> sums, std::span<double> score) noexcept;

/// Adds factor * (sum of w s s') to a packed P x P matrix. No throw, no allocation; P^2 / 2 additions.
void add_information(const ScoreShape& shape, std::span<const double> sums, double factor,
                     std::span<double> information) noexcept;

/// Rows in, sums out. Allocates at construction only; one thread at a time.
class ScoreKernel {
 public:
  static constexpr std::size_t block_rows = 64;
  static constexpr std::size_t stride = column_stride(block_rows);  ///< from one column to the next

  /// Throws std::invalid_argument for an empty mixture or an instruction set this processor does not run.
  ScoreKernel(std::size_t components, std::size_t features, NoiseModel noise,
              InstructionSet set = best_instruction_set());

  const ScoreShape& shape() const noexcept { return shape_; }

  /// The mixture that scores are taken at. No throw, no allocation; k d copies and k logarithms.
  void set_anchor(const Mixture& anchor) noexcept;

  std::size_t rows() const noexcept { return rows_; }
  bool full() const noexcept { return rows_ == block_rows; }

  /// Adds a row to the block, which must not be full. No throw, no allocation; d stores.
  void append(std::span<const double> features, double response, double weight) noexcept {
    double* place = columns_.data() + rows_++;
    for (const double feature : features) {
      *place = feature;
      place += stride;
    }
    place[0] = response;
    place[stride] = weight;
  }

  /// Row i of the block as x, y, w into `row` (d + 2 numbers). No throw, no allocation.
  void read_row(std::size_t i, std::span<double> row) const noexcept;

  /// The block's sums into `sums` (shape().size() numbers); empties the block. No throw, no allocation; for
  /// each row about k d + k(k+1)/2 d(d+1)/2 multiply-adds and k exponentials.
  void flush(std::span<double> sums) noexcept;

 private:
  ScoreShape shape_;
  variants::AccumulateScores accumulate_;
  std::vector<double> coefficients_;
  std::vector<double> weights_;
  std::vector<double> precisions_;
  std::vector<double> constants_;
  double least_log_density_ = 0.0;
  AlignedDoubles columns_;  // x_1 .. x_d, y, w
  AlignedDoubles workspace_;
  std::size_t rows_ = 0;
};

}  // namespace mixstream
