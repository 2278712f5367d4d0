// The stream tool's speed, in two parts.
//
// Part one: parsing alone. The same bytes of CSV, in memory, through our reader and through the alternatives,
// each in the plainest loop that does the same work: five numbers a row, no checks beyond the number itself
// for the others; processor time. Part two (pipe_fit.cpp): whole programs on the same bytes through a real
// pipe; wall time of the pipe, which the goals are about, and processor time of the program beside it.
//
// Prints one JSON object a line. Usage: pipe [ROWS | --long]; --long: memory up to 1e8 rows
#include <fast_float/fast_float.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "input/input.hpp"
#include "pipe_fit.hpp"

namespace {

using namespace mixstream;

constexpr std::size_t width = 5;

/// CSV of d = 4 features and y: "fixed" as %.6f, "shortest" as the shortest text that reads back the same.
std::string make_csv(std::string_view style, std::size_t rows) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0.0, 10.0);
  std::string csv = "a,b,c,d,y\n";
  std::array<char, 64> text{};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < width; ++j) {
      const double value = normal(random);
      char* end = text.data();
      if (style == "fixed") {
        end += std::snprintf(text.data(), text.size(), "%.6f", value);
      } else {
        end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
      }
      csv.append(text.data(), end).append(1, j + 1 < width ? ',' : '\n');
    }
  }
  return csv;
}

/// Sums by column, so that no reader's work can be thrown away; equal for readers that are right.
struct Total {
  std::size_t rows = 0;
  std::array<double, width> sums{};
};

/// The bytes as a pipe would hand them out, 64 KiB at a time.
class ViewSource final : public ByteSource {
 public:
  explicit ViewSource(std::string_view bytes) : bytes_(bytes) {}
  Outcome<Arrival> read(std::span<char> space) override {
    const std::size_t size = std::min({space.size(), bytes_.size() - taken_, std::size_t{1} << 16});
    std::memcpy(space.data(), bytes_.data() + taken_, size);
    taken_ += size;
    return Arrival{size, size == 0};
  }
  std::uint64_t bytes_taken() const noexcept override { return taken_; }

 private:
  std::string_view bytes_;
  std::size_t taken_ = 0;
};

Total sums_of(Outcome<Input> input) {
  auto reader = std::move(input.value()).select({.numbers = {"a", "b", "c", "d", "y"}});
  Total total;
  for (;;) {
    const auto outcome = reader.value()->next();
    const Batch& batch = outcome.value();
    if (batch.end) return total;
    total.rows += batch.rows;
    for (std::size_t i = 0; i < batch.rows; ++i) {
      for (std::size_t j = 0; j < width; ++j) total.sums[j] += batch.numbers[i * width + j];
    }
  }
}

Total with_ours(const std::string& csv) {
  return sums_of(open_input(std::make_unique<ViewSource>(csv)));
}

/// The stream tool without what it does with the rows.
int read_standard_input() {
  const Total total = sums_of(open_input("-"));
  std::printf("%zu %g\n", total.rows, total.sums[0]);
  return 0;
}

/// One tokenising loop for the rest: read a number, step over the delimiter or line end.
template <class ReadNumber>
Total with(const std::string& csv, ReadNumber read_number) {
  const char* at = csv.data() + csv.find('\n') + 1;
  const char* const end = csv.data() + csv.size();
  Total total;
  while (at != end) {
    for (std::size_t j = 0; j < width; ++j) {
      double value = 0.0;
      at = read_number(at, end, value) + 1;
      total.sums[j] += value;
    }
    ++total.rows;
  }
  return total;
}

Total with_newline_count(const std::string& csv) {
  Total total;
  const char* at = csv.data();
  const char* const end = at + csv.size();
  while ((at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)))) !=
         nullptr) {
    ++total.rows;
    ++at;
  }
  --total.rows;  // the header
  return total;
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Of the processor, not of the wall: parsing waits for nothing, and a busy machine must not decide who wins.
double seconds_of(const std::function<Total()>& run, Total& total) {
  const double begin = processor_seconds();
  total = run();
  return processor_seconds() - begin;
}

struct Rival {
  const char* name;
  std::function<Total()> run;
  double best = 1e300;
  Total total{};
};

/// Best of many rounds, the rivals taking turns, so that a slow moment of the machine hits all of them.
bool compare_parsing(std::string_view style, std::size_t rows) {
  const std::string csv = make_csv(style, rows);
  std::vector<Rival> rivals{
      {"mixstream", [&] { return with_ours(csv); }},
      {"fast_float",
       [&] {
         return with(csv, [](const char* at, const char* end, double& value) {
           return fast_float::from_chars(at, end, value).ptr;
         });
       }},
      {"from_chars",
       [&] {
         return with(csv, [](const char* at, const char* end, double& value) {
           return std::from_chars(at, end, value).ptr;
         });
       }},
      {"strtod",
       [&] {
         return with(csv, [](const char* at, const char*, double& value) {
           char* behind = nullptr;
           value = std::strtod(at, &behind);
           return static_cast<const char*>(behind);
         });
       }},
      {"newline_count", [&] { return with_newline_count(csv); }},
  };
  for (int round = 0; round < 25; ++round) {
    for (Rival& rival : rivals) rival.best = std::min(rival.best, seconds_of(rival.run, rival.total));
  }
  const Rival& ours = rivals.front();
  bool right = true;
  for (const Rival& rival : rivals) {
    const bool same =
        rival.total.rows == rows && (rival.total.sums == ours.total.sums || rival.total.sums == Total{}.sums);
    right = right && same;
    std::printf(
        "{\"benchmark\":\"parse\",\"style\":\"%s\",\"bytes_per_row\":%.1f,\"rows\":%zu,\"reader\":\"%s\","
        "\"seconds\":%.5f,\"rows_per_second\":%.3e,\"ours_per_second_over_this\":%.3f,\"same_numbers\":%s}\n",
        std::string(style).c_str(), static_cast<double>(csv.size()) / static_cast<double>(rows), rows,
        rival.name, rival.best, static_cast<double>(rows) / rival.best, rival.best / ours.best,
        same ? "true" : "false");
  }
  return right;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> words(arguments + 1, arguments + count);
  if (words == std::vector<std::string>{"--parse"}) return bench::parse_standard_input();
  if (words == std::vector<std::string>{"--read"}) return read_standard_input();
  const bool in_full = !words.empty() && words[0] == "--long";
  const std::size_t rows = !words.empty() && !in_full ? std::strtoull(words[0].c_str(), nullptr, 10) : 200000;
  bool right = true;
  for (const char* style : {"fixed", "shortest"}) right = compare_parsing(style, rows) && right;
  const std::filesystem::path self = std::filesystem::canonical("/proc/self/exe");
  const std::filesystem::path tool = self.parent_path() / "../../apps/mixstream/mixstream";
  if (!std::filesystem::exists(tool)) return right ? 0 : 1;  // built without the solver
  right = bench::compare_pipes(tool, self, 5 * rows, in_full) && right;
  return right ? 0 : 1;
}
