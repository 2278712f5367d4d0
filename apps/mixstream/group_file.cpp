#include "group_file.hpp"

#include <algorithm>
#include <string_view>

namespace mixstream {
namespace {

constexpr std::string_view magic = "mixgroup";
constexpr std::uint32_t version = 1;

}  // namespace

bool holds_groups(std::span<const std::byte> bytes) noexcept {
  return bytes.size() >= magic.size() &&
         std::ranges::equal(bytes.first(magic.size()), std::as_bytes(std::span(magic)));
}

Bytes GroupFile::encode() const {
  ByteWriter out;
  out.put(std::as_bytes(std::span(magic)));
  out.put(version);
  out.put_text(column);
  out.put(static_cast<std::uint64_t>(states.size()));
  std::uint64_t begin = 0;  // behind the index
  for (const auto& [group, state] : states) {
    out.put_text(group);
    out.put(begin);
    out.put(static_cast<std::uint64_t>(state.size()));
    begin += state.size();
  }
  for (const auto& [group, state] : states) out.put(std::span<const std::byte>(state));
  return std::move(out).take();
}

Outcome<GroupFile> GroupFile::decode(std::span<const std::byte> bytes) {
  const Refusal damaged{Reason::bad_snapshot, "the file of groups is damaged or cut short"};
  if (!holds_groups(bytes)) return damaged;
  ByteReader in(bytes.subspan(magic.size()));
  if (in.take<std::uint32_t>() != version)
    return Refusal{Reason::unknown_version, "the file of groups was made by a later version of mixstream"};
  struct Place {
    std::string group;
    std::uint64_t begin;
    std::uint64_t size;
  };
  GroupFile file;
  file.column = in.take_text();
  const auto count = in.take<std::uint64_t>();
  std::vector<Place> places;
  for (std::uint64_t i = 0; in.ok() && i < count; ++i) {
    std::string group = in.take_text();
    const auto begin = in.take<std::uint64_t>();
    places.push_back({std::move(group), begin, in.take<std::uint64_t>()});
  }
  if (!in.ok()) return damaged;
  const std::span<const std::byte> states = bytes.last(in.left());
  for (const Place& place : places) {
    if (place.begin > states.size() || place.size > states.size() - place.begin) return damaged;
    const auto state = states.subspan(place.begin, place.size);
    if (!file.states.emplace(place.group, Bytes(state.begin(), state.end())).second) return damaged;
  }
  return file;
}

}  // namespace mixstream
