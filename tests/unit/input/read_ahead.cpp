// A thread that reads ahead hands out what the reader alone would have.
#include "input/read_ahead.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

using namespace mixstream;

namespace {

int wake_pipe[2] = {-1, -1};  // a reader of memory never waits, and needs none
void wake() {
  const char byte = 0;
  [[maybe_unused]] const auto written = ::write(wake_pipe[1], &byte, 1);
}

InputSettings small_batches() {
  InputSettings settings;
  settings.batch_rows = 8;
  settings.chunk = 256;
  return settings;
}

ReadAheadSettings ahead_settings() {
  return {.batch_rows = 8, .width = 2, .most_bytes = 2000, .wake = wake};
}

std::unique_ptr<RowReader> reader_of(const std::string& csv, bool ahead) {
  auto input = open_input(memory_bytes(csv), small_batches());
  REQUIRE(input);
  auto reader = std::move(input.value()).select({.numbers = {"a", "b"}, .text = "name"});
  REQUIRE(reader);
  return ahead ? read_ahead(std::move(reader).value(), ahead_settings()) : std::move(reader).value();
}

/// Everything that the batches said, in order.
std::string told(RowReader& reader) {
  std::string text;
  for (;;) {
    const Outcome<Batch> outcome = reader.next();
    if (!outcome) return text + "refused: " + outcome.refusal().text;
    const Batch& batch = outcome.value();
    if (batch.end) return text + "end " + std::to_string(reader.bytes_taken());
    std::size_t refused = 0;
    for (std::size_t i = 0; i <= batch.rows; ++i) {
      for (; refused < batch.refused.size() && batch.refused[refused].rows_before == i; ++refused)
        text += std::string(batch.refused[refused].text) + ": " + describe(batch.refused[refused]) + "\n";
      if (i == batch.rows) break;
      text += std::string(batch.texts[i]) + " " + std::to_string(batch.values(i)[0]) + " " +
              std::to_string(batch.values(i)[1]) + " line " + std::to_string(batch.places[i].line) + "\n";
    }
  }
}

std::string rows(std::size_t count) {
  std::string csv = "name,a,b\n";
  for (std::size_t i = 0; i < count; ++i) {
    csv += "sensor " + std::to_string(i % 13) + "," + std::to_string(i);
    csv += i % 97 == 5 ? ",x\n" : "," + std::to_string(i * i) + "\n";
  }
  return csv;
}

}  // namespace

TEST_CASE("rows read ahead are the rows read on the spot, refused ones in their places") {
  for (const std::size_t count : {0U, 1U, 100U, 128U, 129U, 5000U}) {
    const std::string csv = rows(count) + (count == 129 ? "" : "sensor 7,7,8");
    CAPTURE(count);
    CHECK(told(*reader_of(csv, true)) == told(*reader_of(csv, false)));
  }
}

TEST_CASE("the end and a broken input stay what they are, however often they are asked for") {
  const auto reader = reader_of(rows(5000), true);
  const std::string once = told(*reader);
  CHECK(once.find("end") != std::string::npos);
  for (int i = 0; i < 3; ++i) CHECK(reader->next().value().end);
}

TEST_CASE("a reader that waits for a pipe is left at any time") {
  REQUIRE(::pipe(wake_pipe) == 0);
  std::array<int, 2> data{};
  REQUIRE(::pipe(data.data()) == 0);
  const std::string csv = rows(400);  // enough for the thread to start, and then silence
  REQUIRE(::write(data[1], csv.data(), csv.size()) == static_cast<::ssize_t>(csv.size()));
  InputSettings settings = small_batches();
  settings.wake_descriptor = wake_pipe[0];
  auto input = open_input("/dev/fd/" + std::to_string(data[0]), settings);
  REQUIRE(input);
  auto selected = std::move(input.value()).select({.numbers = {"a", "b"}, .text = "name"});
  REQUIRE(selected);
  {
    const auto reader = read_ahead(std::move(selected).value(), ahead_settings());
    std::size_t seen = 0;
    while (seen < 300) {
      const Outcome<Batch> batch = reader->next();
      REQUIRE(batch);
      seen += batch.value().rows;
    }
  }  // returns although the pipe is open and empty
  for (const int end : {data[0], data[1], wake_pipe[0], wake_pipe[1]}) ::close(end);
}
