#include "prediction_writer.hpp"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "output.hpp"

namespace mixstream {
namespace {

constexpr const char* prefix = "mixstream_";  // of names that the input has already

void append_number(std::string& out, const PredictedValue& value, char decimal = '.') {
  const std::size_t begin = out.size();
  const auto place = std::back_inserter(out);
  if (value.decimals >= 0 && std::abs(value.value) < 1e15)
    fmt::format_to(place, "{:.{}f}", value.value, value.decimals);
  else
    fmt::format_to(place, "{:.10g}", value.value);
  if (decimal != '.') std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), '.', decimal);
}

template <class Number>
void append_bytes(std::string& out, Number number) {
  char bytes[sizeof number];
  std::copy_n(reinterpret_cast<const char*>(&number), sizeof number, bytes);
  out.append(bytes, sizeof number);
}

}  // namespace

/// A line of CSV by the places of its columns.
struct PredictionWriter::Parts {
  std::string_view row;      // the columns' fields
  std::size_t missing = 0;   // fields that it lacks
  std::string_view surplus;  // what it has behind them, with the delimiter before
};

struct PredictionWriter::Json {
  simdjson::dom::parser parser;
};

PredictionWriter::PredictionWriter(const Input& input, std::vector<std::string> names, char decimal)
    : format_(input.format()),
      delimiter_(input.format() == Format::csv ? input.delimiter() : ','),
      decimal_(delimiter_ == decimal ? '.' : decimal),
      line_end_(input.carriage_returns() ? "\r\n" : "\n"),
      header_(input.header()),
      columns_(input.columns()),
      names_(std::move(names)),
      json_(std::make_unique<Json>()) {
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::any_of(columns_, [&](const std::string& column) {
      return column == name || (format_ == Format::ndjson && column.starts_with(name + "."));
    });
  };
  while (std::ranges::any_of(names_, is_taken)) {
    for (std::string& name : names_) name.insert(0, prefix);
  }
  if (header_.empty()) {
    for (const std::string& column : columns_)
      header_ += (header_.empty() ? "" : std::string(1, delimiter_)) + csv_field(column, delimiter_);
  }
}

PredictionWriter::~PredictionWriter() = default;

bool PredictionWriter::continues(const Input& input) const {
  if (input.format() != format_) return false;
  return format_ == Format::ndjson ||
         (input.columns() == columns_ && (format_ != Format::csv || input.delimiter() == delimiter_));
}

void PredictionWriter::append_header(std::string& out) const {
  if (format_ != Format::csv) return;
  out += header_;
  for (const std::string& name : names_) (out += delimiter_) += name;
  out += line_end_;
}

void PredictionWriter::append(std::string& out, std::string_view line,
                              std::span<const PredictedValue> values) {
  if (format_ == Format::csv) {
    append_csv(out, line, values);
  } else if (format_ == Format::ndjson) {
    append_json(out, line, values);
  } else {
    out += line;
    append_raw(out, values);
  }
}

/// A line that cannot be cut, for a quote that does not close, counts by its delimiters.
PredictionWriter::Parts PredictionWriter::parts_of(std::string_view line) {
  const std::size_t width = columns_.size();
  const bool simple = delimiter_ != ' ' && line.find('"') == std::string_view::npos;
  const auto found = static_cast<std::size_t>(std::ranges::count(line, delimiter_)) + 1;
  if (simple && found == width) return {line, 0, {}};
  line_.assign(line).append(1, '\n');
  const char* next = nullptr;
  if (cut_row(line_.data(), line_.data() + line_.size(), delimiter_, fields_, next) != Cut::row)
    return {line, width > found ? width - found : 0, {}};
  if (fields_.size() <= width) return {line, width - fields_.size(), {}};
  const Field& last = fields_[width - 1];
  const auto end =
      static_cast<std::size_t>(last.bytes.data() + last.bytes.size() - line_.data()) + (last.quoted ? 1 : 0);
  return {line.substr(0, end), 0, line.substr(end)};
}

/// Between blanks an empty field would be none.
void PredictionWriter::append_csv(std::string& out, std::string_view line,
                                  std::span<const PredictedValue> values) {
  const char* const blank = delimiter_ == ' ' ? "NA" : "";
  const Parts parts = parts_of(line);
  out += parts.row;
  for (std::size_t i = 0; i < parts.missing; ++i) (out += delimiter_) += blank;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    out += delimiter_;
    if (i < values.size() && std::isfinite(values[i].value))
      append_number(out, values[i], decimal_);
    else
      out += blank;
  }
  (out += parts.surplus) += line_end_;
}

/// A line that is no object is echoed as it is.
void PredictionWriter::append_json(std::string& out, std::string_view line,
                                   std::span<const PredictedValue> values) {
  simdjson::dom::object object;
  if (json_->parser.parse(line.data(), line.size()).get_object().get(object) != simdjson::SUCCESS) {
    (out += line) += '\n';
    return;
  }
  std::string before;
  const auto is_key = [&](const std::string& name) {
    return std::ranges::any_of(object, [&](const auto& field) { return field.key == before + name; });
  };
  while (std::ranges::any_of(names_, is_key)) before += prefix;
  out += line.substr(0, line.rfind('}'));
  bool first = object.size() == 0;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    out += fmt::format("{}\"{}{}\":", first ? "" : ",", before, names_[i]);
    first = false;
    if (i < values.size() && std::isfinite(values[i].value))
      append_number(out, values[i]);
    else
      out += "null";
  }
  out += "}\n";
}

void PredictionWriter::append_raw(std::string& out, std::span<const PredictedValue> values) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const double value = i < values.size() ? values[i].value : std::numeric_limits<double>::quiet_NaN();
    if (format_ == Format::f64)
      append_bytes(out, value);
    else
      append_bytes(out, static_cast<float>(value));
  }
}

}  // namespace mixstream
