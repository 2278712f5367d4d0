#include "input/csv_rows.hpp"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "input/window.hpp"

namespace mixstream {
namespace {

constexpr std::size_t chunk = 1 << 16;

const char* find(const char* begin, const char* end, char byte) noexcept {
  return static_cast<const char*>(std::memchr(begin, byte, static_cast<std::size_t>(end - begin)));
}

bool is_blank(const char* at, const char* newline, char delimiter) noexcept {
  return std::all_of(at, newline, [=](char c) {
    return (c == ' ' || c == '\t' || c == '\r') && (c != delimiter || delimiter == ' ');
  });
}

/// Follows rows from several places of a file at once, in one pass over its bytes.
class RowSearch {
 public:
  RowSearch(std::unique_ptr<ByteSource> source, std::uint64_t offset, const CsvRules& rules)
      : window_(std::move(source), offset, true, chunk), rules_(rules) {}

  /// The rows behind each newline from the window's first byte to `until`; at least one.
  Done begin_behind_newlines(std::uint64_t until) {
    std::uint64_t seen = window_.offset();
    while (starts_.empty() || seen < until) {
      if (const Done held = hold(seen + 1); !held) return held;
      const char* const at = window_.begin() + (seen - window_.offset());
      if (at >= window_.end()) break;
      const char* const newline = find(at, window_.end(), '\n');
      seen += static_cast<std::uint64_t>((newline == nullptr ? window_.end() : newline + 1) - at);
      if (newline != nullptr) starts_.insert(seen);
    }
    if (starts_.empty()) starts_.insert(seen);
    return std::monostate{};
  }

  void begin_at(std::uint64_t row) { starts_.insert(row); }

  /// Follows all rows until they begin at or behind `at`.
  Done follow(std::uint64_t at) {
    while (*starts_.begin() < at) {
      const std::uint64_t row = *starts_.begin();
      starts_.erase(starts_.begin());
      auto next = row_behind(row);
      if (!next) return next.refusal();
      starts_.insert(next.value());
    }
    return std::monostate{};
  }

  bool agreed() const noexcept { return starts_.size() == 1; }
  std::uint64_t first() const noexcept { return *starts_.begin(); }

 private:
  /// Reads until the window holds the bytes before `offset`, or the file ends.
  Done hold(std::uint64_t offset) {
    while (window_.offset() + window_.size() < offset && !window_.ended()) {
      const auto arrival = window_.more();
      if (!arrival) return arrival.refusal();
    }
    return std::monostate{};
  }

  Outcome<std::uint64_t> row_behind(std::uint64_t row) {
    if (const Done held = hold(row + 1); !held) return held.refusal();
    window_.consume(std::min(window_.begin() + (row - window_.offset()), window_.end()));
    for (;;) {
      const char* const newline = find(window_.begin(), window_.end(), '\n');
      const bool no_more = window_.ended();
      if (newline != nullptr) {
        const CsvRow found = judge_csv_row(window_.begin(), window_.end(), no_more, rules_, fields_);
        if (found.kind != CsvRowKind::needs_more)
          return window_.offset() + static_cast<std::uint64_t>(found.next - window_.begin());
      } else if (no_more) {
        return ByteRange{}.end;  // behind the last row
      }
      const auto arrival = window_.more();
      if (!arrival) return arrival.refusal();
    }
  }

  Window window_;
  CsvRules rules_;
  std::vector<Field> fields_;
  std::set<std::uint64_t> starts_;  // of rows, of which one is real
};

/// The row behind the next newline, if no quote stands near enough to make that doubtful.
Outcome<std::optional<std::uint64_t>> find_without_quotes(const std::string& path, std::uint64_t from,
                                                          std::uint64_t at) {
  auto source = open_bytes(path, {from, true, -1});
  if (!source) return source.refusal();
  Window window(std::move(source).value(), from, true, chunk);
  while (!window.ended()) {
    const auto arrival = window.more();
    if (!arrival) return arrival.refusal();
    const char* const last = window.begin() + (std::max(at - 1, window.offset()) - window.offset());
    const char* const newline = last < window.end() ? find(last, window.end(), '\n') : nullptr;
    const char* const stop = newline == nullptr ? window.end() : newline;
    if (find(window.begin(), stop, '"') != nullptr) return std::optional<std::uint64_t>{};
    window.consume(stop);
    if (newline != nullptr) return std::optional(window.offset() + 1);
  }
  return std::optional<std::uint64_t>{};
}

}  // namespace

CsvRow judge_csv_row(const char* at, const char* end, bool ended, const CsvRules& rules,
                     std::vector<Field>& fields) {
  const char* const newline = find(at, end, '\n');
  const auto line_only = [&](CsvRowKind kind) { return CsvRow{kind, newline, newline + 1}; };
  if (static_cast<std::size_t>(newline - at) > rules.max_line) return line_only(CsvRowKind::too_long);
  if (rules.comment != 0 && *at == rules.comment) return line_only(CsvRowKind::comment);
  if (is_blank(at, newline, rules.delimiter)) return line_only(CsvRowKind::skipped);
  if (find(at, newline, '\0') != nullptr) return line_only(CsvRowKind::binary);
  const bool all = static_cast<std::size_t>(end - at) <= rules.max_line;
  const char* const limit = all ? end : at + rules.max_line + 1;
  const char* next = nullptr;
  const Cut cut = cut_row(at, limit, rules.delimiter, fields, next);
  if (cut == Cut::row) return {CsvRowKind::row, newline, next};
  if (cut == Cut::open && all && !ended) return {CsvRowKind::needs_more, newline, nullptr};
  return line_only(CsvRowKind::broken);
}

Outcome<std::uint64_t> find_csv_row(const std::string& path, std::uint64_t first_row, std::uint64_t at,
                                    const CsvRules& rules) {
  if (at <= first_row) return first_row;
  const std::uint64_t longest = rules.max_line + 1;
  const auto back = [&](std::uint64_t span) { return at - first_row > span ? at - span : first_row; };
  const auto simple = find_without_quotes(path, back(longest), at);
  if (!simple) return simple.refusal();
  if (simple.value()) return *simple.value();
  for (std::uint64_t span = 2 * longest;; span *= 2) {
    const std::uint64_t from = back(span);
    auto source = open_bytes(path, {from, true, -1});
    if (!source) return source.refusal();
    RowSearch search(std::move(source).value(), from, rules);
    if (from == first_row) {
      search.begin_at(first_row);
    } else if (const Done begun = search.begin_behind_newlines(from + longest); !begun) {
      return begun.refusal();
    }
    if (const Done followed = search.follow(at); !followed) return followed.refusal();
    if (search.agreed()) return search.first();
  }
}

}  // namespace mixstream
