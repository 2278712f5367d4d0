// Cuts a stream of bytes into messages: whole lines, or whole rows of doubles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace mixstream {

struct CutterSettings {
  std::size_t row_bytes = 0;           ///< of raw rows; 0: lines
  std::size_t longest_line = 1 << 20;  ///< bytes; the rest of a longer one is thrown away as it comes
  friend bool operator==(const CutterSettings&, const CutterSettings&) = default;
};

/// One for each stream of bytes. Holds at most one line.
class Cutter {
 public:
  /// A piece of whole rows, or (too_long) the beginning of a line that is too long. False ends it.
  using Give = std::function<bool(std::string_view piece, std::uint64_t end, bool too_long)>;

  /// `offset`: of the first byte that will come.
  explicit Cutter(const CutterSettings& settings, std::uint64_t offset = 0)
      : settings_(settings), end_(offset) {}

  /// Gives the whole rows that are there now, all in one piece. False when `give` said so.
  bool add(std::string_view bytes, const Give& give);
  /// There is no more: gives a last line that lacks its newline, or what remains of a raw row.
  bool finish(const Give& give);

  const CutterSettings& settings() const noexcept { return settings_; }

 private:
  std::size_t whole() const noexcept;
  bool give_whole(const Give& give);
  bool give_beginning(std::uint64_t end, const Give& give);

  CutterSettings settings_;
  std::string held_;         // begins at a row; of one that is too long its beginning
  std::uint64_t end_;        // offset behind held_
  bool discarding_ = false;  // inside a line that is too long
};

}  // namespace mixstream
