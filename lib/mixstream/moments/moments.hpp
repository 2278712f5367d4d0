// The moments alone, for a device that ships its rows' sums to a solver: no BLAS, no solver, few headers.
//
//   Moments moments = Moments::create({.layout = {2, 0}}).value();
//   moments.absorb({x, y});
//   send(moments.encode());                        // Estimator::decode reads it, and states merge
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "mixstream/core/bytes.hpp"
#include "mixstream/core/outcome.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/rows/row.hpp"

namespace mixstream {

class MomentState;

/// One thread at a time.
class Moments {
 public:
  /// Allocates everything that rows will need. Refuses settings out of range or beyond their memory budget.
  static Outcome<Moments> create(const StateSettings& settings);
  /// Refuses bytes that encode() did not make, and states beyond the budget in bytes.
  static Outcome<Moments> decode(std::span<const std::byte> bytes, std::uint64_t memory_budget = 1ULL << 30);

  Moments(const Moments& other);
  Moments& operator=(const Moments& other);
  Moments(Moments&& other) noexcept;  ///< what is left can only be assigned to, or go
  Moments& operator=(Moments&& other) noexcept;
  ~Moments();

  /// Adds a row, or refuses it by name and counts it. No throw, no allocation, no lock; bounded.
  RowFault absorb(const Row& row) noexcept;
  /// The same for a row that says where it stands (RowPosition).
  RowFault absorb(const Row& row, RowPosition position) noexcept;
  /// Where the next row stands that does not say so itself. No throw, no allocation.
  void go_on_at(RowPosition next) noexcept;

  /// Adds the rows of another state. Checks first, changes after. Allocates.
  Done merge(const Moments& other, MergeAs as = MergeAs::one_stream);

  std::uint64_t row_count() const noexcept;      ///< accepted
  const RowCounts& row_counts() const noexcept;  ///< by RowFault
  const StateSettings& settings() const noexcept;

  /// As the tool saves it (docs/reference/state-format.md). Allocates.
  Bytes encode() const;

  friend bool operator==(const Moments& one, const Moments& other);

 private:
  explicit Moments(MomentState state);
  std::unique_ptr<MomentState> state_;
};

}  // namespace mixstream
