// The promises of every row reader, checked on any bytes.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "fuzz/target.hpp"
#include "unit/input/collect.hpp"

/// Reads the bytes whole, in pieces and, by keeping lines, one row at a time: all must agree, and places must
/// grow.
inline void check_rows(const std::string& bytes, mixstream::InputSettings settings, bool with_text,
                       std::size_t piece) {
  using namespace mixstream;
  const auto read = [&](std::vector<std::size_t> pieces, bool keep_lines) {
    auto input = open_input(memory_bytes(bytes, std::move(pieces)), settings);
    Selection selection;
    if (input && with_text) selection.text = input.value().columns().front();
    selection.keep_lines = keep_lines;
    return collect(std::move(input), selection);
  };
  settings.chunk = 256;
  settings.batch_rows = 64;
  const Collected whole = read({}, with_text);
  std::uint64_t row = 0;
  std::uint64_t next_offset = 0;
  for (const Collected::Entry& entry : whole.entries) {
    require(entry.place.row == ++row);
    require(entry.place.offset >= next_offset);
    next_offset = entry.place.offset + std::max<std::size_t>(entry.line.size(), 1);
    require(entry.accepted == entry.fault.empty());
    for (const double value : entry.values) require(std::isfinite(value));
  }
  if (!with_text) {
    Collected one_by_one = read({}, true);
    for (Collected::Entry& entry : one_by_one.entries) entry.line.clear();
    require(one_by_one == whole);
  }
  settings.chunk = 16;
  settings.batch_rows = 3;
  const Collected pieces = read({piece}, with_text);
  if (whole.refusal.empty()) {
    require(pieces == whole);
  } else {  // how much comes out before the damage depends on when a decompressor sees it
    require(!pieces.refusal.empty());
    const std::size_t common = std::min(whole.entries.size(), pieces.entries.size());
    require(std::equal(whole.entries.begin(), whole.entries.begin() + static_cast<std::ptrdiff_t>(common),
                       pieces.entries.begin()));
  }
}
