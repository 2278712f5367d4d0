#include "store/snapshot.hpp"

#include <optional>

#include "mixstream/moments/sections.hpp"

namespace mixstream {
namespace {

constexpr FileKind snapshot_file{0x50414E535358494DULL, stream_snapshot_version, "snapshot"};  // "MIXSSNAP"
constexpr std::uint32_t place_section = 0;

}  // namespace

Bytes encode(const StreamSnapshot& snapshot) {
  ByteWriter out;
  begin_file(out, snapshot_file);
  put_section(out, place_section, [&] {
    out.put(snapshot.identity);
    out.put(snapshot.covers);
  });
  for (const Section& section : snapshot.sections) {
    put_section(out, section.type, [&] { out.put(std::span<const std::byte>(section.bytes)); });
  }
  end_file(out);
  return std::move(out).take();
}

Outcome<StreamSnapshot> decode_stream_snapshot(std::span<const std::byte> bytes, bool trust_checksum) {
  const Outcome<std::span<const std::byte>> content = sections_of(bytes, snapshot_file, trust_checksum);
  if (!content) return content.refusal();
  ByteReader in(content.value());
  const std::optional<FoundSection> place = next_section(in);
  if (!place || place->type != place_section || place->payload.size() != 16)
    return damaged_file(snapshot_file, "its first section is missing");
  ByteReader numbers(place->payload);
  StreamSnapshot snapshot;
  snapshot.identity = numbers.take<std::uint64_t>();
  snapshot.covers = numbers.take<std::uint64_t>();
  while (!in.at_end()) {
    const std::optional<FoundSection> section = next_section(in);
    if (!section || section->type == place_section)
      return damaged_file(snapshot_file, "a section is not sound");
    snapshot.sections.push_back({section->type, Bytes(section->payload.begin(), section->payload.end())});
  }
  return snapshot;
}

}  // namespace mixstream
