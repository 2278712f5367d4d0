// The unread bytes of an input, in one piece, with room behind them for readers that look ahead.
#pragma once

#include <cstdint>
#include <memory>

#include "input/bytes.hpp"

namespace mixstream {

class Window {
 public:
  /// Readable bytes behind end(): enough for SIMD loads and for simdjson.
  static constexpr std::size_t padding = 64;

  /// offset: of the source's first byte in the file. text: a last line without newline gets one. chunk: bytes
  /// asked for at once.
  Window(std::unique_ptr<ByteSource> source, std::uint64_t offset, bool text, std::size_t chunk);

  const char* begin() const noexcept { return buffer_.get() + begin_; }
  const char* end() const noexcept { return buffer_.get() + end_; }
  std::size_t size() const noexcept { return end_ - begin_; }
  std::size_t capacity() const noexcept { return capacity_; }  ///< no less than size()
  std::uint64_t offset() const noexcept { return offset_; }    ///< of begin()
  bool ended() const noexcept { return ended_; }               ///< nothing will come behind end()
  std::uint64_t bytes_taken() const noexcept { return source_->bytes_taken(); }
  bool compressed() const noexcept { return source_->compressed(); }

  /// Everything before `to` is done with.
  void consume(const char* to) noexcept {
    offset_ += static_cast<std::uint64_t>(to - begin());
    begin_ = static_cast<std::size_t>(to - buffer_.get());
  }

  /// Reads once, behind the unread bytes, which move to the front: pointers into the window end here.
  /// Allocates only when the unread bytes outgrow the buffer.
  Outcome<Arrival> more();

 private:
  void make_room();

  std::unique_ptr<ByteSource> source_;
  std::size_t chunk_;
  std::size_t capacity_;
  std::unique_ptr<char[]> buffer_;  // capacity_ and the padding; not cleared, for most inputs are small
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t offset_;
  bool text_;
  bool ended_ = false;
};

}  // namespace mixstream
