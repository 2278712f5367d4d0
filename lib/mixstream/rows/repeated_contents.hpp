// Which rows repeat, of rows whose content is their number. docs/decisions/sample-by-content.md has the
// figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "mixstream/core/bytes.hpp"

namespace mixstream {

/// Tells which contents come again. Rows that repeat would enter the sample all together or not at all, so a
/// row whose content is remembered here gets a number of its place. Each of 1,024 slots remembers two
/// contents: the one with the least number, so that what returns after a long time is found, too, and one of
/// the latest, which stays as long as it comes more often than others.
class RepeatedContents {
 public:
  RepeatedContents() : slots_(slot_count) {}

  /// Whether this content has been here, as far as is remembered; yes for all rows once `most_returns`
  /// contents have come again. No throw, no allocation; two comparisons.
  bool notice(std::uint64_t content) noexcept;
  /// The number of a row: its content; where that has been here, one of its place in a stream of this name.
  std::uint64_t number(std::uint64_t content, std::uint64_t name, std::uint64_t place) noexcept {
    return notice(content) ? of_place(name, place) : content;
  }
  static std::uint64_t of_place(std::uint64_t name, std::uint64_t place) noexcept;
  /// Adds what another has noticed.
  void merge(const RepeatedContents& other) noexcept;
  /// How many of the contents remembered came again; one that was forgotten in between counts anew.
  std::uint64_t returns() const noexcept { return returns_; }

  void encode(ByteWriter& out) const;
  /// Nothing for bytes that encode() did not make.
  static std::optional<RepeatedContents> decode(ByteReader& in);

  static constexpr std::size_t slot_count = 1024;
  static constexpr std::size_t bytes = 2 * sizeof(std::uint32_t) * slot_count;
  /// What is remembered is a fixed part of what comes, so this many returns mean that a row of the sample has
  /// a sixteenth of a twin on average.
  static constexpr std::uint64_t most_returns = slot_count / 8;

 private:
  // What is remembered of a content: its upper bits, and beside them
  static constexpr std::uint32_t came_again = 1;
  static constexpr std::uint32_t came_lately = 2;  // since another one wanted the place
  static constexpr std::uint32_t both = came_again | came_lately;
  static constexpr std::uint32_t nothing = ~came_lately;  // larger than all; its return would not count
  struct Slot {
    std::uint32_t least = nothing;
    std::uint32_t latest = nothing;
  };

  std::vector<Slot> slots_;
  std::uint64_t returns_ = 0;
};

}  // namespace mixstream
