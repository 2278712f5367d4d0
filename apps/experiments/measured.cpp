#include "experiments/measured.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace experiments {
namespace {

/// Starts a program with its output in a file (empty: ours), waits, and gives what it used. Negative: no such
/// program.
int run_and_wait(const std::vector<char*>& words, const std::string& output, rusage& usage) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!output.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                     0600);
  }
  pid_t child = 0;
  const int refused = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (refused != 0 || wait4(child, &status, 0, &usage) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

std::string content_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::string own_path() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

Measured run_measured(const std::vector<std::string>& words) {
  std::string pattern = std::filesystem::temp_directory_path() / "mixstream-measured-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) return {};
  const std::filesystem::path folder = pattern;
  std::vector<std::string> all{own_path(), "measured", folder / "report"};
  all.insert(all.end(), words.begin(), words.end());
  rusage usage{};
  Measured measured;
  if (run_and_wait(pointers(all), folder / "output", usage) == 0) {
    std::ifstream(folder / "report") >> measured.status >> measured.processor_seconds >> measured.peak_bytes;
    measured.output = content_of(folder / "output");
  }
  std::filesystem::remove_all(folder);
  return measured;
}

int be_measured(int count, char** words) {
  if (count < 4) return 2;
  rusage usage{};
  const int status = run_and_wait({words + 3, words + count + 1}, "", usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  std::ofstream(words[2]) << status << ' ' << seconds(usage.ru_utime) + seconds(usage.ru_stime) << ' '
                          << 1024.0 * static_cast<double>(usage.ru_maxrss) << '\n';
  return 0;
}

}  // namespace experiments
