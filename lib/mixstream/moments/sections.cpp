#include "mixstream/moments/sections.hpp"

#include <string>

namespace mixstream {
namespace {

constexpr std::size_t header_size = 8 + 4 + 4 + 8;  // magic, version, zero, length of the whole
constexpr std::size_t checksum_size = 8;

}  // namespace

void begin_file(ByteWriter& out, const FileKind& kind) {
  out.put(kind.magic);
  out.put(kind.version);
  out.put(std::uint32_t{0});
  out.put(std::uint64_t{0});  // the length, once it is known
}

void end_file(ByteWriter& out) {
  out.put_at(header_size - 8, out.size() + checksum_size);
  out.put(checksum(out.written()));
}

void begin_again(ByteWriter& out, std::span<const std::byte> file) {
  out.put(file.first(file.size() - checksum_size));
}

Refusal damaged_file(const FileKind& kind, const std::string& what) {
  return {Reason::bad_snapshot, std::string("the ") + kind.name + " is damaged: " + what};
}

Outcome<std::span<const std::byte>> sections_of(std::span<const std::byte> bytes, const FileKind& kind,
                                                bool trust_checksum) {
  ByteReader in(bytes);
  if (in.take<std::uint64_t>() != kind.magic)
    return Refusal{Reason::bad_snapshot, std::string("this is not a mixstream ") + kind.name};
  const auto version = in.take<std::uint32_t>();
  const auto zero = in.take<std::uint32_t>();
  const auto length = in.take<std::uint64_t>();
  if (!in.ok()) return damaged_file(kind, "it is cut short");
  if (version != kind.version) {
    return Refusal{Reason::unknown_version, std::string("the ") + kind.name + " has format version " +
                                                std::to_string(version) + ", this program reads version " +
                                                std::to_string(kind.version)};
  }
  if (zero != 0) return damaged_file(kind, "the header is not sound");
  if (length > bytes.size())
    return damaged_file(kind, "it is cut short: " + std::to_string(bytes.size()) + " of " +
                                  std::to_string(length) + " bytes");
  if (length < bytes.size() || length < header_size + checksum_size)
    return damaged_file(kind, "its length does not fit");
  const std::size_t end = bytes.size() - checksum_size;
  if (trust_checksum && ByteReader(bytes.subspan(end)).take<std::uint64_t>() != checksum(bytes.first(end)))
    return damaged_file(kind, "the checksum does not fit");
  return bytes.subspan(header_size, end - header_size);
}

std::optional<FoundSection> next_section(ByteReader& in) noexcept {
  const auto type = in.take<std::uint32_t>();
  const auto zero = in.take<std::uint32_t>();
  const std::span<const std::byte> payload = in.take_bytes(in.take<std::uint64_t>());
  if (!in.ok() || zero != 0) return std::nullopt;
  return FoundSection{type, payload};
}

}  // namespace mixstream
