#include "mixstream/rows/repeated_contents.hpp"

#include <algorithm>
#include <utility>

#include "mixstream/rows/reservoir.hpp"

namespace mixstream {

bool RepeatedContents::notice(std::uint64_t content) noexcept {
  if (returns_ >= most_returns) return true;
  Slot& slot = slots_[content % slot_count];
  auto mark = static_cast<std::uint32_t>(content >> 32) & ~both;
  for (std::uint32_t* const held : {&slot.least, &slot.latest}) {
    if ((*held & ~both) != mark) continue;
    if ((*held & came_again) == 0) ++returns_;
    *held |= both;
    return true;
  }
  if (mark < slot.least) std::swap(mark, slot.least);
  if ((slot.latest & came_lately) != 0)
    slot.latest &= ~came_lately;
  else
    slot.latest = mark;
  return false;
}

std::uint64_t RepeatedContents::of_place(std::uint64_t name, std::uint64_t place) noexcept {
  return row_hash(name, place);
}

void RepeatedContents::merge(const RepeatedContents& other) noexcept {
  returns_ += other.returns_;
  for (std::size_t i = 0; i < slot_count; ++i) {
    slots_[i].least = std::min(slots_[i].least, other.slots_[i].least);
    if (slots_[i].latest == nothing) slots_[i].latest = other.slots_[i].latest;
  }
}

void RepeatedContents::encode(ByteWriter& out) const {
  out.put(returns_);
  for (const Slot& slot : slots_) {
    out.put(slot.least);
    out.put(slot.latest);
  }
}

std::optional<RepeatedContents> RepeatedContents::decode(ByteReader& in) {
  RepeatedContents contents;
  contents.returns_ = in.take<std::uint64_t>();
  for (Slot& slot : contents.slots_) {
    slot.least = in.take<std::uint32_t>();
    slot.latest = in.take<std::uint32_t>();
  }
  if (!in.ok()) return {};
  return contents;
}

}  // namespace mixstream
