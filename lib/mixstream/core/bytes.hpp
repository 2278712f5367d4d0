// Little-endian bytes, written and read one value after the other.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mixstream {

using Bytes = std::vector<std::byte>;

/// Appends values to a byte vector. Allocates as it grows.
class ByteWriter {
 public:
  template <std::unsigned_integral Number>
  void put(Number value) {
    for (std::size_t i = 0; i < sizeof(Number); ++i)
      bytes_.push_back(static_cast<std::byte>((value >> (8 * i)) & 0xff));
  }
  void put(double value) { put(std::bit_cast<std::uint64_t>(value)); }
  void put(std::span<const double> values) {
    if constexpr (std::endian::native == std::endian::little) {
      put(std::as_bytes(values));
    } else {
      for (const double value : values) put(value);
    }
  }
  void put(std::span<const std::byte> bytes);
  void put_text(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    put(std::as_bytes(std::span(text)));
  }

  /// Writes a value over what stands at `place`.
  void put_at(std::size_t place, std::uint64_t value) {
    for (std::size_t i = 0; i < 8; ++i) bytes_[place + i] = static_cast<std::byte>((value >> (8 * i)) & 0xff);
  }

  std::size_t size() const noexcept { return bytes_.size(); }
  std::span<const std::byte> written() const noexcept { return bytes_; }
  Bytes take() && { return std::move(bytes_); }

 private:
  Bytes bytes_;
};

/// Reads values back. Past the end it reads zeros and remembers: ask ok() before believing anything.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) noexcept : bytes_(bytes) {}

  template <std::unsigned_integral Number>
  Number take() noexcept {
    if (!has(sizeof(Number))) return 0;
    Number value = 0;
    for (std::size_t i = 0; i < sizeof(Number); ++i) {
      value = static_cast<Number>(value | (static_cast<Number>(bytes_[at_ + i]) << (8 * i)));
    }
    at_ += sizeof(Number);
    return value;
  }
  double take_double() noexcept { return std::bit_cast<double>(take<std::uint64_t>()); }
  void take(std::span<double> values) noexcept {
    if (!has(values.size_bytes())) return;
    if constexpr (std::endian::native == std::endian::little) {
      if (!values.empty()) std::memcpy(values.data(), bytes_.data() + at_, values.size_bytes());
      at_ += values.size_bytes();
    } else {
      for (double& value : values) value = take_double();
    }
  }
  std::span<const std::byte> take_bytes(std::uint64_t size) noexcept {
    if (!has(size)) return {};
    at_ += size;
    return bytes_.subspan(at_ - size, size);
  }
  std::string take_text() {
    const std::span<const std::byte> text = take_bytes(take<std::uint32_t>());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  bool ok() const noexcept { return ok_; }
  void fail() noexcept { ok_ = false; }  ///< the reader of a value found it impossible
  bool at_end() const noexcept { return at_ == bytes_.size(); }
  std::size_t left() const noexcept { return bytes_.size() - at_; }

 private:
  bool has(std::uint64_t size) noexcept {
    ok_ = ok_ && size <= bytes_.size() - at_;
    return ok_;
  }

  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace mixstream
