#include "input/input.hpp"

#include <sys/types.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "input/columns.hpp"
#include "input/csv_reader.hpp"
#include "input/csv_rows.hpp"
#include "input/head.hpp"
#include "input/ndjson_reader.hpp"
#include "input/raw_reader.hpp"
#include "input/text.hpp"

namespace mixstream {

struct Opened {
  InputSettings settings;
  Head head;
  Window window;                // begins with the first row, or inside the line before it
  std::uint64_t first_row = 0;  // offset
  bool inside_line = false;
};

namespace {

bool is_raw(Format format) noexcept {
  return format == Format::f64 || format == Format::f32;
}

Done check(const InputSettings& settings) {
  using namespace std::string_view_literals;
  const auto bad = [](const char* text) { return Refusal{Reason::bad_settings, text}; };
  if (settings.delimiter != 0 &&
      ("\n\r\"+-.0123456789"sv.find(settings.delimiter) != std::string_view::npos ||
       settings.delimiter == settings.comment || settings.delimiter == '#')) {
    return bad("the delimiter cannot be a digit, sign, point, quote, line end or the comment sign");
  }
  const NumberRules& numbers = settings.numbers;
  if (numbers.decimal == numbers.thousands)
    return bad("the decimal sign and the thousands separator cannot be the same");
  if (settings.delimiter != 0 && settings.delimiter == numbers.decimal)
    return bad("the delimiter and the decimal sign cannot be the same");
  if (settings.max_line == 0 || settings.batch_rows == 0)
    return bad("max_line and batch_rows must be at least 1");
  if (is_raw(settings.format) && settings.raw_width == 0) {
    return bad("raw rows need their width: how many numbers stand in a row");
  }
  if (settings.range.begin > settings.range.end) return bad("a range must not end before it begins");
  return std::monostate{};
}

/// Reads the head from a source whose first byte has the given offset.
Outcome<Opened> open_source(std::unique_ptr<ByteSource> source, std::uint64_t offset,
                            InputSettings settings) {
  Window window(std::move(source), offset, !is_raw(settings.format), settings.chunk);
  Opened opened{std::move(settings), {}, std::move(window)};
  auto head = read_head(opened.window, opened.settings);
  if (!head) return head.refusal();
  opened.head = std::move(head).value();
  opened.settings.delimiter = opened.head.delimiter;
  opened.first_row = opened.window.offset();
  return opened;
}

/// Moves from behind the head to the first row of the range.
Done move_to_range(Opened& opened, const std::string& path) {
  const std::uint64_t first_row = opened.first_row;
  const InputSettings& settings = opened.settings;
  std::uint64_t begin = settings.range.begin;
  if (begin <= first_row) return std::monostate{};
  const bool raw = is_raw(opened.head.format);
  if (raw) {
    const std::uint64_t row = settings.raw_width * (opened.head.format == Format::f64 ? 8 : 4);
    begin = first_row + (begin - first_row + row - 1) / row * row;
  } else if (opened.head.format == Format::csv) {
    const auto row =
        find_csv_row(path, first_row, begin, {settings.delimiter, settings.comment, settings.max_line});
    if (!row) return row.refusal();
    begin = std::min<std::uint64_t>(row.value(), std::numeric_limits<::off_t>::max());
  } else {
    --begin;  // the byte before tells whether a line begins with the range
  }
  auto source = open_bytes(path, {begin, true, opened.settings.wake_descriptor});
  if (!source) return source.refusal();
  opened.window = Window(std::move(source).value(), begin, !raw, opened.settings.chunk);
  opened.inside_line = opened.head.format == Format::ndjson;
  opened.head.line = 0;
  return std::monostate{};
}

}  // namespace

Input::Input(std::unique_ptr<Opened> opened) : opened_(std::move(opened)) {}
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;
Input::~Input() = default;

const std::vector<std::string>& Input::columns() const noexcept {
  return opened_->head.columns;
}

Format Input::format() const noexcept {
  return opened_->head.format;
}

char Input::delimiter() const noexcept {
  return opened_->head.delimiter;
}

std::uint64_t Input::first_line() const noexcept {
  return opened_->head.line;
}

std::uint64_t Input::first_row() const noexcept {
  return opened_->first_row;
}

bool Input::compressed() const noexcept {
  return opened_->window.compressed();
}

bool Input::carriage_returns() const noexcept {
  return opened_->head.carriage_returns;
}

std::string_view Input::header() const noexcept {
  return opened_->head.header;
}

const std::vector<std::string>& Input::notes() const noexcept {
  return opened_->head.notes;
}

Outcome<std::string_view> Input::first_lines(std::size_t lines, std::size_t most) {
  if (is_raw(opened_->head.format)) return std::string_view();
  Window& window = opened_->window;
  for (;;) {
    const std::string_view bytes(window.begin(), window.size());
    std::size_t end = 0;
    std::size_t found = 0;
    for (; found < lines; ++found) {
      const std::size_t newline = bytes.find('\n', end);
      if (newline == std::string_view::npos) break;
      end = newline + 1;
    }
    if (found == lines || window.ended() || bytes.size() >= most) return bytes.substr(0, end);
    if (const Done read = read_more(window, opened_->settings); !read) return read.refusal();
  }
}

Outcome<std::unique_ptr<RowReader>> Input::select(const Selection& selection) && {
  auto uses = choose_columns(columns(), selection);
  if (!uses) return uses.refusal();
  const std::unique_ptr<Opened> opened = std::move(opened_);
  Head& head = opened->head;
  if (is_raw(head.format)) {
    if (!selection.text.empty()) return Refusal{Reason::bad_settings, "raw rows hold no text column"};
    return std::unique_ptr<RowReader>(new RawReader(std::move(opened->window), head.format,
                                                    std::move(head.columns), std::move(uses).value(),
                                                    selection, opened->settings));
  }
  TextStart start{std::move(opened->window), head.line, opened->inside_line};
  if (head.format == Format::csv) {
    const std::uint64_t below = opened->settings.header ? opened->first_row : ~std::uint64_t{0};
    const CsvHead known{head.last_is_unnamed, below};
    return std::unique_ptr<RowReader>(new CsvReader(std::move(start), std::move(head.columns),
                                                    std::move(uses).value(), selection, opened->settings,
                                                    known));
  }
  return std::unique_ptr<RowReader>(new NdjsonReader(std::move(start), std::move(head.columns),
                                                     std::move(uses).value(), selection, opened->settings));
}

Outcome<Input> open_input(std::unique_ptr<ByteSource> source, InputSettings settings) {
  if (const Done checked = check(settings); !checked) return checked.refusal();
  if (settings.range != ByteRange{}) {
    return Refusal{Reason::bad_settings, "only a file can be read in parts"};
  }
  auto plain = decompressed(std::move(source), settings.chunk);
  auto opened = open_source(std::move(plain), 0, std::move(settings));
  if (!opened) return opened.refusal();
  return Input(std::make_unique<Opened>(std::move(opened).value()));
}

Outcome<Input> open_input(const std::string& path, InputSettings settings) {
  if (settings.range == ByteRange{}) {
    auto source = open_bytes(path, {0, false, settings.wake_descriptor});
    if (!source) return source.refusal();
    return open_input(std::move(source).value(), std::move(settings));
  }
  if (const Done checked = check(settings); !checked) return checked.refusal();
  const auto extent = splittable_extent(path);
  if (!extent) return extent.refusal();
  if (!extent.value()) {
    return Refusal{Reason::bad_settings,
                   joined({path, " cannot be read in parts: it is no plain uncompressed file"})};
  }
  auto source = open_bytes(path, {extent.value()->begin, true, settings.wake_descriptor});
  if (!source) return source.refusal();
  auto opened = open_source(std::move(source).value(), extent.value()->begin, std::move(settings));
  if (!opened) return opened.refusal();
  if (const Done moved = move_to_range(opened.value(), path); !moved) return moved.refusal();
  return Input(std::make_unique<Opened>(std::move(opened).value()));
}

Outcome<std::uint64_t> count_rows(const std::string& path, const InputSettings& settings) {
  auto input = open_input(path, settings);
  if (!input) return input.refusal();
  auto reader = std::move(input.value()).select({});
  if (!reader) return reader.refusal();
  for (std::uint64_t rows = 0;;) {
    const auto batch = reader.value()->next();
    if (!batch) return batch.refusal();
    if (batch.value().end) return rows;
    rows += batch.value().rows + batch.value().refused.size();
  }
}

Outcome<std::vector<ByteRange>> split_input(const std::string& path, std::size_t parts) {
  if (parts == 0) return Refusal{Reason::bad_settings, "an input is split into at least one part"};
  const auto extent = splittable_extent(path);
  if (!extent) return extent.refusal();
  std::vector<ByteRange> ranges(1);
  if (!extent.value()) return ranges;
  const auto [begin, end] = *extent.value();
  for (std::size_t i = 1; i < parts; ++i) {
    const std::uint64_t cut = begin + (end - begin) / parts * i;
    ranges.back().end = cut;
    ranges.push_back({cut, ByteRange{}.end});
  }
  return ranges;
}

}  // namespace mixstream
