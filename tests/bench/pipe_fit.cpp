#include "pipe_fit.hpp"

#include <fast_float/fast_float.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string_view>
#include <vector>

namespace bench {
namespace {

/// Appends %.6f of a number below 1e6.
void append_fixed(std::string& text, double value) {
  char digits[16];
  char* at = digits + sizeof digits;
  auto rest = static_cast<unsigned long long>(std::llround(std::abs(value) * 1e6));
  for (int place = 0; place < 7 || rest > 0; ++place, rest /= 10) {
    if (place == 6) *--at = '.';
    *--at = static_cast<char>('0' + rest % 10);
  }
  if (value < 0.0) *--at = '-';
  text.append(at, digits + sizeof digits);
}

/// The four features of the laws: the columns themselves, or functions of them.
enum class Curves { none, functions };
constexpr const char* plain_map = "a,b,c,d";
constexpr const char* function_map = "max(0,a),b,sqrt(c+9),log(d+9)";

double feature_of(Curves curves, std::size_t column, double value) {
  if (curves == Curves::none || column == 1) return value;
  return column == 0 ? std::max(0.0, value) : column == 2 ? std::sqrt(value + 9.0) : std::log(value + 9.0);
}

/// Rows of two laws in four features, six decimals, as sensors write them; without the header. All are
/// different: a fit of repeated rows finds that they are no sample of anything.
std::string make_rows(std::size_t count, Curves curves = Curves::none) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const double laws[2][4] = {{1.0, -2.0, 0.5, 1.5}, {-1.0, 1.0, 2.0, -0.5}};
  std::string csv;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& law = laws[random() & 1];
    double x[4];
    double y = 0.3 * normal(random);
    for (std::size_t j = 0; j < 4; ++j) y += law[j] * feature_of(curves, j, x[j] = normal(random));
    for (const double value : x) {
      append_fixed(csv, value);
      csv += ',';
    }
    append_fixed(csv, y);
    csv += '\n';
  }
  return csv;
}

struct Run {
  double seconds = 0.0;
  double processor_seconds = 0.0;  // of the program alone: a busy machine disturbs it less
  long kibibytes = 0;              // most memory held at once
  bool good = false;
};

void write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written <= 0) ::_exit(0);  // the reader went away
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

/// Feeds the header and what `write_rows` writes to the command's standard input. The rows are written, and
/// may be made, in a process of their own.
Run feed(const std::function<void(int)>& write_rows, const std::vector<std::string>& words) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const auto began = std::chrono::steady_clock::now();
  const ::pid_t feeder = ::fork();
  if (feeder == 0) {
    ::close(ends[0]);
    write_all(ends[1], "a,b,c,d,y\n");
    write_rows(ends[1]);
    ::_exit(0);
  }
  const ::pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    ::close(ends[1]);
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[0]);
  ::close(ends[1]);
  int status = 0;
  struct ::rusage usage {};
  ::wait4(child, &status, 0, &usage);
  const auto in_seconds = [](const ::timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  const Run run{std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count(),
                in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime), usage.ru_maxrss,
                WIFEXITED(status) && WEXITSTATUS(status) == 0};
  ::waitpid(feeder, nullptr, 0);
  return run;
}

/// Wall time is that of the whole pipe, from before the feeding program starts to the end of the fed one; on
/// two processors the two run side by side. Processor time is that of the fed program, all its threads.
struct Program {
  const char* name;
  std::vector<std::string> words;
  double goal;  // ours over theirs in rows a second; 0: none
  int turns;
  Curves curves = Curves::none;  // of the rows it gets
  double best = 1e300;
  double best_processor = 1e300;
  bool good = true;
};

std::vector<Program> programs(const std::string& tool, const std::string& self, int turns) {
  const char* const script =
      "d <- data.table::fread(cmd = 'cat', showProgress = FALSE); print(coef(lm(y ~ a + b + c + d - 1, d)))";
  const auto fit = [&](const char* map) {
    return std::vector<std::string>{tool, "fit", "-q", "-k", "2", "-y", "y", "-x", map};
  };
  return {{"mixstream fit", fit(plain_map), 0.0, turns},
          {"mixstream fit with functions", fit(function_map), 0.0, turns, Curves::functions},
          {"mixstream reader alone", {self, "--read"}, 0.0, turns},
          {"fast_float alone", {self, "--parse"}, 1.0, turns},
          {"wc -l", {"wc", "-l"}, 0.2, turns},
          {"awk sums", {"awk", "-F,", "NR>1{a+=$1;b+=$2;c+=$3;d+=$4;y+=$5}END{print a,b,c,d,y}"}, 0.0, 1},
          {"R fread + lm", {"Rscript", "-e", script}, 0.0, 1}};
}

bool compare_times(std::size_t row_count, std::vector<Program> all) {
  const std::string rows = make_rows(row_count);
  const std::string curved = make_rows(row_count, Curves::functions);
  for (int turn = 0; turn < 5; ++turn) {
    for (Program& program : all) {
      if (turn >= program.turns) continue;
      const Run run = feed([&](int pipe) { write_all(pipe, program.curves == Curves::none ? rows : curved); },
                           program.words);
      program.good = program.good && run.good;
      program.best = std::min(program.best, run.seconds);
      program.best_processor = std::min(program.best_processor, run.processor_seconds);
    }
  }
  const auto count = static_cast<double>(row_count);
  const double ours = all.front().best;
  for (const Program& program : all) {
    std::printf(
        "{\"benchmark\":\"pipe\",\"program\":\"%s\",\"rows\":%.0f,\"bytes_per_row\":%.1f,\"wall_seconds\":%."
        "4f,"
        "\"rows_per_wall_second\":%.3e,\"ours_over_this_by_wall\":%.3f,\"processor_seconds\":%.4f,"
        "\"ours_over_this_by_processor\":%.3f,\"goal_by_wall\":%.1f,\"ran\":%s}\n",
        program.name, count, static_cast<double>(rows.size()) / count, program.best, count / program.best,
        program.best / ours, program.best_processor, program.best_processor / all.front().best_processor,
        program.goal, program.good ? "true" : "false");
  }
  return all.front().good;
}

/// The rows are made by who feeds them: the peak memory of a child begins with what its parent holds.
bool compare_memory(const std::string& tool, bool in_full) {
  std::vector<std::size_t> sizes{100000, 1000000, 10000000};
  if (in_full) sizes.push_back(100000000);
  bool good = true;
  for (const std::size_t size : sizes) {
    const auto write_rows = [size](int pipe) {
      const std::size_t block = std::min<std::size_t>(size, 1000000);
      const std::string rows = make_rows(block);
      for (std::size_t i = 0; i < size / block; ++i) write_all(pipe, rows);
    };
    const Run run = feed(write_rows, {tool, "fit", "-q", "-k", "2", "-y", "y", "-x", plain_map});
    good = good && run.good;
    std::printf("{\"benchmark\":\"pipe_memory\",\"rows\":%zu,\"mebibytes\":%.1f,\"goal\":64,\"ran\":%s}\n",
                size, static_cast<double>(run.kibibytes) / 1024.0, run.good ? "true" : "false");
  }
  return good;
}

}  // namespace

bool compare_pipes(const std::string& tool, const std::string& self, std::size_t rows, bool in_full) {
  bool good = compare_memory(tool, in_full);  // first, while this program is small itself
  std::vector<Program> all = programs(tool, self, 5);
  good = compare_times(rows, all) && good;
  all.resize(5);  // the slow ones have shown what they can do
  for (Program& program : all) program.turns = 3;
  return compare_times(10 * rows, all) && good;
}

int parse_standard_input() {
  std::vector<char> buffer(1 << 17);
  std::array<double, 5> sums{};
  std::size_t held = 0;
  bool header = true;
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data() + held, buffer.size() - held);
    if (got <= 0) break;
    held += static_cast<std::size_t>(got);
    const char* at = buffer.data();
    const char* const end = at + held;
    const auto* last = static_cast<const char*>(::memrchr(at, '\n', held));
    if (last == nullptr) continue;
    if (header) at = static_cast<const char*>(std::memchr(at, '\n', held)) + 1;
    header = false;
    while (at <= last) {
      for (double& sum : sums) {
        double value = 0.0;
        at = fast_float::from_chars(at, end, value).ptr + 1;
        sum += value;
      }
    }
    held = static_cast<std::size_t>(end - at);
    std::memmove(buffer.data(), at, held);
  }
  std::printf("%g %g %g %g %g\n", sums[0], sums[1], sums[2], sums[3], sums[4]);
  return 0;
}

}  // namespace bench
