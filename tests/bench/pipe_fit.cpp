#include "pipe_fit.hpp"

#include <fast_float/fast_float.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace bench {
namespace {

constexpr std::size_t block_rows = 1000000;  // all different: a fit of repeated rows is no fit of theirs

/// Rows of two laws in four features, six decimals, as sensors write them; without the header.
std::string make_rows() {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  const double laws[2][4] = {{1.0, -2.0, 0.5, 1.5}, {-1.0, 1.0, 2.0, -0.5}};
  std::string csv;
  std::array<char, 128> text{};
  for (std::size_t i = 0; i < block_rows; ++i) {
    const auto& law = laws[random() & 1];
    double x[4];
    double y = 0.3 * normal(random);
    for (std::size_t j = 0; j < 4; ++j) y += law[j] * (x[j] = normal(random));
    csv.append(text.data(),
               static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.6f,%.6f,%.6f,%.6f,%.6f\n",
                                                      x[0], x[1], x[2], x[3], y)));
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

/// Feeds the header and `blocks` times the rows to the command's standard input.
Run feed(const std::string& rows, std::size_t blocks, const std::vector<std::string>& words) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const auto began = std::chrono::steady_clock::now();
  const ::pid_t feeder = ::fork();
  if (feeder == 0) {
    ::close(ends[0]);
    write_all(ends[1], "a,b,c,d,y\n");
    for (std::size_t i = 0; i < blocks; ++i) write_all(ends[1], rows);
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

struct Program {
  const char* name;
  std::vector<std::string> words;
  double goal;  // ours over theirs in rows a second; 0: none
  int turns;
  double best = 1e300;
  double best_processor = 1e300;
  bool good = true;
};

std::vector<Program> programs(const std::string& tool, const std::string& self, int turns) {
  const char* const script =
      "d <- data.table::fread(cmd = 'cat', showProgress = FALSE); print(coef(lm(y ~ a + b + c + d - 1, d)))";
  return {{"mixstream fit", {tool, "fit", "-q", "-k", "2", "-y", "y", "-x", "a,b,c,d"}, 0.0, turns},
          {"mixstream reader alone", {self, "--read"}, 0.0, turns},
          {"fast_float alone", {self, "--parse"}, 1.0, turns},
          {"wc -l", {"wc", "-l"}, 0.2, turns},
          {"awk sums", {"awk", "-F,", "NR>1{a+=$1;b+=$2;c+=$3;d+=$4;y+=$5}END{print a,b,c,d,y}"}, 0.0, 1},
          {"R fread + lm", {"Rscript", "-e", script}, 0.0, 1}};
}

bool compare_times(const std::string& rows, const std::string& tool, const std::string& self,
                   std::size_t blocks) {
  std::vector<Program> all = programs(tool, self, 5);
  for (int turn = 0; turn < 5; ++turn) {
    for (Program& program : all) {
      if (turn >= program.turns) continue;
      const Run run = feed(rows, blocks, program.words);
      program.good = program.good && run.good;
      program.best = std::min(program.best, run.seconds);
      program.best_processor = std::min(program.best_processor, run.processor_seconds);
    }
  }
  const double count = static_cast<double>(blocks * block_rows);
  const double ours = all.front().best;
  for (const Program& program : all) {
    std::printf(
        "{\"benchmark\":\"pipe\",\"program\":\"%s\",\"rows\":%.0f,\"bytes_per_row\":%.1f,\"seconds\":%.4f,"
        "\"rows_per_second\":%.3e,\"ours_per_second_over_this\":%.3f,\"processor_seconds\":%.4f,"
        "\"ours_per_processor_second_over_this\":%.3f,\"goal\":%.1f,\"ran\":%s}\n",
        program.name, count, static_cast<double>(rows.size()) / block_rows, program.best,
        count / program.best, program.best / ours, program.best_processor,
        program.best_processor / all.front().best_processor, program.goal, program.good ? "true" : "false");
  }
  return all.front().good;
}

std::string first_rows(const std::string& rows, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count; ++i) end = rows.find('\n', end) + 1;
  return rows.substr(0, end);
}

bool compare_memory(const std::string& rows, const std::string& tool, bool in_full) {
  std::vector<std::size_t> sizes{block_rows / 10, block_rows, 10 * block_rows};
  if (in_full) sizes.push_back(100 * block_rows);
  bool good = true;
  for (const std::size_t size : sizes) {
    const Run run =
        feed(size < block_rows ? first_rows(rows, size) : rows, std::max<std::size_t>(size / block_rows, 1),
             {tool, "fit", "-q", "-k", "2", "-y", "y", "-x", "a,b,c,d"});
    good = good && run.good;
    std::printf("{\"benchmark\":\"pipe_memory\",\"rows\":%zu,\"mebibytes\":%.1f,\"goal\":64,\"ran\":%s}\n",
                size, static_cast<double>(run.kibibytes) / 1024.0, run.good ? "true" : "false");
  }
  return good;
}

}  // namespace

bool compare_pipes(const std::string& tool, const std::string& self, std::size_t rows, bool in_full) {
  const std::string block = make_rows();
  const bool timed = compare_times(block, tool, self, std::max<std::size_t>(rows / block_rows, 1));
  return compare_memory(block, tool, in_full) && timed;
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
