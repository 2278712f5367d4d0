// What a message costs: the journal beside bare writes with fdatasync, the payload parsers beside simdjson
// and fast_float alone. One JSON object a line.
//   build/tests/bench/journal [FOLDER]      the folder decides which disk is measured; default: the current
//   one
#include <fcntl.h>
#include <fmt/format.h>
#include <simdjson.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>
#if __has_include(<fast_float/fast_float.h>)
#include <fast_float/fast_float.h>
#define MIXSTREAM_HAS_FAST_FLOAT 1
#endif

#include "bench/measure.hpp"
#include "payload/payload.hpp"
#include "store/deduplication.hpp"
#include "store/store.hpp"

namespace {

using namespace mixstream;

constexpr int rows_per_message = 64;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string rows_in(PayloadFormat format) {
  std::string text = format == PayloadFormat::json ? "[" : "";
  for (int i = 0; i < rows_per_message; ++i) {
    const double t = -1.0 + 0.0317 * i;
    const double y = 0.5 + 1.7 * t;
    if (format == PayloadFormat::json)
      text += fmt::format(R"({}{{"sensor":"pump-7","seq":{},"t":{:.6f},"y":{:.6f}}})", i == 0 ? "" : ",", i,
                          t, y);
    if (format == PayloadFormat::csv) text += fmt::format("pump-7,{},{:.6f},{:.6f}\n", i, t, y);
    if (format == PayloadFormat::f64) {
      for (const double value : {0.0, 1.0 * i, t, y}) text.append(reinterpret_cast<const char*>(&value), 8);
    }
  }
  return format == PayloadFormat::json ? text + "]" : text;
}

/// Wall time of n records of a size through the store, and through write and fdatasync alone, in turns.
void bench_appends(const std::string& folder, std::size_t size, int count, int rounds) {
  const std::string text(size, 'x');
  const Message message{"plant/pump", std::as_bytes(std::span(text)), 0.0};
  auto store = Store::open({.folder = folder + "/stream"});
  const std::string bare_path = folder + "/bare";
  const int bare = ::open(bare_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (!store || bare < 0) return fmt::print(stderr, "cannot write in {}\n", folder);
  double ours = 1e300;
  double alone = 1e300;
  for (int round = 0; round < rounds; ++round) {
    double start = wall_seconds();
    for (int i = 0; i < count; ++i) static_cast<void>(store.value()->append(message));
    ours = std::min(ours, wall_seconds() - start);
    start = wall_seconds();
    for (int i = 0; i < count; ++i) {
      if (::write(bare, text.data(), text.size()) < 0 || ::fdatasync(bare) != 0) std::abort();
    }
    alone = std::min(alone, wall_seconds() - start);
  }
  ::close(bare);
  fmt::print(
      R"({{"bench":"journal append","bytes":{},"appends_per_second":{:.0f},"bare_fdatasync_per_second":{:.0f},"ratio":{:.3f}}})"
      "\n",
      size, count / ours, count / alone, ours / alone);
}

double simdjson_sum(simdjson::dom::parser& parser, const std::string& padded, std::size_t size) {
  double sum = 0.0;
  for (const simdjson::dom::object row : parser.parse(padded.data(), size, false).get_array()) {
    sum += row["t"].get_double().value() + row["y"].get_double().value();
  }
  return sum;
}

double fast_float_sum([[maybe_unused]] const std::string& text) {
  double sum = 0.0;
#ifdef MIXSTREAM_HAS_FAST_FLOAT
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    at =
        static_cast<const char*>(std::memchr(at, ',', static_cast<std::size_t>(end - at))) + 1;  // the sensor
    for (int i = 0; i < 3; ++i) {
      double value = 0.0;
      at = fast_float::from_chars(at, end, value).ptr + 1;
      sum += value;
    }
  }
#endif
  return sum;
}

double copied_sum(const std::string& text) {
  double sum = 0.0;
  for (std::size_t at = 0; at < text.size(); at += 8) {
    double value = 0.0;
    std::memcpy(&value, text.data() + at, 8);
    sum += value;
  }
  return sum;
}

void bench_parser(PayloadFormat format, const char* name, const char* rival) {
  PayloadSettings settings;
  settings.format = format;
  settings.map = FeatureMap::parse("1,t").value();
  if (format != PayloadFormat::json) settings.columns = {"sensor", "seq", "t", "y"};
  PayloadParser parser = PayloadParser::create(settings).value();
  const std::string text = rows_in(format);
  std::string padded = text;
  padded.resize(text.size() + simdjson::SIMDJSON_PADDING);
  simdjson::dom::parser json;
  double sum = 0.0;
  const auto ours = [&] {
    for (const PayloadRow& row : parser.parse(std::as_bytes(std::span(text)), 0.0)) sum += row.row.response;
  };
  const auto alone = [&] {
    sum += format == PayloadFormat::json  ? simdjson_sum(json, padded, text.size())
           : format == PayloadFormat::csv ? fast_float_sum(text)
                                          : copied_sum(text);
  };
  const std::vector<double> best = bench::best_seconds({ours, alone}, 15, 0.02);
  bench::keep(&sum);
  fmt::print(
      R"({{"bench":"payload","format":"{}","rows_per_second":{:.0f},"rival":"{}","rival_rows_per_second":{:.0f},"ratio":{:.2f}}})"
      "\n",
      name, rows_per_message / best[0], rival, rows_per_message / best[1], best[0] / best[1]);
}

void bench_deduplication() {
  Deduplication table;
  std::uint64_t sequence = 0;
  const auto take = [&] {
    for (int i = 0; i < 1000; ++i) table.take("pump-7", 0, sequence++);
  };
  const std::vector<double> best = bench::best_seconds({take}, 5, 0.02);
  fmt::print(R"({{"bench":"deduplication","rows_per_second":{:.0f}}})"
             "\n",
             1000 / best[0]);
}

}  // namespace

int main(int count, char** arguments) {
  const std::filesystem::path parent = count > 1 ? arguments[1] : ".";
  std::string folder = (parent / "journal-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) return 1;
  for (const std::size_t size : {100U, 4000U, 64000U}) bench_appends(folder, size, 100, 7);
  std::filesystem::remove_all(folder);
  bench_parser(PayloadFormat::json, "json", "simdjson alone");
  bench_parser(PayloadFormat::csv, "csv", "fast_float alone");
  bench_parser(PayloadFormat::f64, "f64", "memcpy alone");
  bench_deduplication();
}
