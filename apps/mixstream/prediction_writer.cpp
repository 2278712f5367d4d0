#include "prediction_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "output.hpp"

namespace mixstream {
namespace {

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

PredictionWriter::PredictionWriter(const Input& input, std::vector<std::string> names, char decimal)
    : format_(input.format()),
      delimiter_(input.format() == Format::csv ? input.delimiter() : ','),
      decimal_(delimiter_ == decimal ? '.' : decimal),
      line_end_(input.carriage_returns() ? "\r\n" : "\n"),
      header_(input.header()),
      names_(std::move(names)) {
  const auto& columns = input.columns();
  const bool clash = std::ranges::any_of(
      names_, [&](const std::string& name) { return std::ranges::find(columns, name) != columns.end(); });
  if (clash) {
    for (std::string& name : names_) name = "mixstream_" + name;
  }
  if (header_.empty()) {
    for (const std::string& column : columns)
      header_ += (header_.empty() ? "" : std::string(1, delimiter_)) + csv_field(column, delimiter_);
  }
}

void PredictionWriter::append_header(std::string& out) const {
  if (format_ != Format::csv) return;
  out += header_;
  for (const std::string& name : names_) (out += delimiter_) += name;
  out += line_end_;
}

void PredictionWriter::append(std::string& out, std::string_view line,
                              std::span<const PredictedValue> values) const {
  if (format_ == Format::csv) {
    out += line;
    append_csv(out, values);
  } else if (format_ == Format::ndjson) {
    append_json(out, line, values);
  } else {
    out += line;
    append_raw(out, values);
  }
}

/// Between blanks an empty field would be none.
void PredictionWriter::append_csv(std::string& out, std::span<const PredictedValue> values) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    out += delimiter_;
    if (i < values.size() && std::isfinite(values[i].value))
      append_number(out, values[i], decimal_);
    else if (delimiter_ == ' ')
      out += "NA";
  }
  out += line_end_;
}

/// A line that is no object is echoed as it is.
void PredictionWriter::append_json(std::string& out, std::string_view line,
                                   std::span<const PredictedValue> values) const {
  const std::size_t end = line.find_last_not_of(" \t\r");
  if (end == std::string_view::npos || line[end] != '}') {
    (out += line) += '\n';
    return;
  }
  const std::string_view body = line.substr(0, end);
  const std::size_t last = body.find_last_not_of(" \t");
  bool first = last != std::string_view::npos && body[last] == '{';
  out += body;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    out += fmt::format("{}\"{}\":", first ? "" : ",", names_[i]);
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
