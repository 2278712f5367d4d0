// Where a monomial of degree 6 stands in the packed tensor: pivot order.
//
// Sort the six indices i1 <= ... <= i6 and split at the pivot a = i3. For each a the distinct monomials are
// all products of a left pair (i1 <= i2 <= a), times z_a, and a right triple (a <= i4 <= i5 <= i6): a
// rectangle of N(a+1, 2) x N(m-a, 3) sums. Rectangles follow each other by pivot; inside one, left pairs are
// rows. This order is part of the state format: every kernel writes it and every reader relies on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace mixstream {

inline constexpr int moment_order = 6;
inline constexpr int largest_variable_count = 64;

/// N(variables, degree) = C(variables + degree - 1, degree); nothing when it does not fit 63 bits.
std::optional<std::uint64_t> monomial_count(std::uint64_t variables, std::uint64_t degree) noexcept;

/// Six sorted variable indices.
using SixIndices = std::array<int, moment_order>;

/// The pivot order for m variables. Cheap to copy: m + 1 offsets.
class Packing {
 public:
  /// Throws std::invalid_argument unless 1 <= variables <= largest_variable_count.
  explicit Packing(int variables);

  int variables() const noexcept { return variables_; }
  std::size_t size() const noexcept { return offsets_.back(); }  ///< N(m, 6)

  /// First position of the pivot's rectangle, its left rows and right columns.
  std::size_t offset(int pivot) const noexcept { return offsets_[static_cast<std::size_t>(pivot)]; }
  std::size_t left_count(int pivot) const noexcept;   ///< N(pivot + 1, 2)
  std::size_t right_count(int pivot) const noexcept;  ///< N(m - pivot, 3)

  /// Row of the pair i <= j inside any rectangle of pivot >= j: pairs ordered by j, then i.
  static std::size_t left_rank(int i, int j) noexcept;
  /// Column of the triple pivot <= i <= j <= l: lexicographic.
  std::size_t right_rank(int pivot, int i, int j, int l) const noexcept;

  /// Position of the monomial with these sorted indices. No throw.
  std::size_t position(const SixIndices& sorted) const noexcept;

 private:
  int variables_;
  std::vector<std::size_t> offsets_;
};

}  // namespace mixstream
