// Everything a reader hands out, as data that outlives the batches and can be compared.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "input/input.hpp"

namespace mixstream {

struct Collected {
  struct Entry {
    bool accepted = false;
    RowPlace place;
    std::vector<double> values;
    std::string text;
    std::string line;
    std::string fault;  // name, and empty if accepted
    std::string words;  // describe()

    friend bool operator==(const Entry& a, const Entry& b) {
      return a.accepted == b.accepted && a.place.row == b.place.row && a.place.line == b.place.line &&
             a.place.offset == b.place.offset && a.values == b.values && a.text == b.text &&
             a.line == b.line && a.fault == b.fault && a.words == b.words;
    }
  };
  std::vector<std::string> columns;
  std::vector<Entry> entries;
  std::string refusal;  // of opening, choosing or reading; empty if all went well

  friend bool operator==(const Collected&, const Collected&) = default;

  std::vector<std::vector<double>> rows() const {
    std::vector<std::vector<double>> result;
    for (const Entry& entry : entries) {
      if (entry.accepted) result.push_back(entry.values);
    }
    return result;
  }
  std::vector<std::string> faults() const {
    std::vector<std::string> result;
    for (const Entry& entry : entries) {
      if (!entry.accepted) result.push_back(entry.fault);
    }
    return result;
  }
};

inline void append(Collected& all, const Batch& batch) {
  std::size_t next = 0;
  const auto accept_until = [&](std::size_t row) {
    for (; next < row; ++next) {
      const auto values = batch.values(next);
      all.entries.push_back({true,
                             batch.places[next],
                             {values.begin(), values.end()},
                             std::string(batch.texts.empty() ? "" : batch.texts[next]),
                             std::string(batch.lines.empty() ? "" : batch.lines[next]),
                             "",
                             ""});
    }
  };
  for (const RefusedRow& refused : batch.refused) {
    accept_until(refused.rows_before);
    all.entries.push_back({false, refused.place, {}, "", "", name_of(refused.fault), describe(refused)});
  }
  accept_until(batch.rows);
}

/// Reads an opened input to its end. An empty list of numbers chooses every column.
inline Collected collect(Outcome<Input> input, Selection selection = {}) {
  Collected all;
  if (!input) return all.refusal = input.refusal().text, all;
  all.columns = input.value().columns();
  if (selection.numbers.empty()) {
    for (const std::string& column : all.columns) {
      if (column != selection.text) selection.numbers.push_back(column);
    }
  }
  auto reader = std::move(input.value()).select(selection);
  if (!reader) return all.refusal = reader.refusal().text, all;
  for (;;) {
    const auto batch = reader.value()->next();
    if (!batch) return all.refusal = batch.refusal().text, all;
    if (batch.value().end) return all;
    append(all, batch.value());
  }
}

inline Collected collect(const std::string& bytes, const InputSettings& settings = {},
                         const Selection& selection = {}, std::vector<std::size_t> pieces = {}) {
  return collect(open_input(memory_bytes(bytes, std::move(pieces)), settings), selection);
}

}  // namespace mixstream
