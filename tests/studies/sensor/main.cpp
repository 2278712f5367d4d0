// Streams as sensors make them: modes that last, columns that wander, noise that remembers. What one pass of
// the estimator is worth beside batch maximum likelihood of the true model and beside i.i.d. EM, whether its
// errors and verdicts hold, and whether drift is seen when and only when there is some.
//   study-sensor [--smoke] [--commit HASH] [--folder FOLDER] [--jobs N] [--seeds N] [--only TEXT]
//                [--modes persistent|independent] [--no-labels] [--yardstick] [--table FILE]
// Seeds come from the commit's hash, so that nobody chose them. Finished streams are kept in FOLDER, a file
// each, the yardstick's apart from the library's: a study that was stopped goes on. Take another folder for
// other code under the same commit. Exits 1 when a limit does not hold.
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "judge.hpp"
#include "measure.hpp"

namespace {

using namespace sensor;
namespace fs = std::filesystem;

struct Words {
  bool smoke = false;
  bool labels = true;
  bool yardstick_alone = false;
  std::string commit = "none";
  fs::path folder = "study-sensor";
  std::map<std::string, Cell> known;  ///< of the yardstick, by the name of its file
  std::size_t jobs = 1;
  std::size_t seeds = 0;  ///< of a kind; 0: 20, in a smoke run 3
  std::string only;       ///< kinds whose name holds this
  mixstream::Modes modes = mixstream::Modes::persistent;

  Words(int count, char** words) {
    for (int i = 1; i < count; ++i) {
      const std::string word = words[i];
      const auto value = [&]() -> std::string {
        if (i + 1 == count) throw std::invalid_argument(word + " needs a value");
        return words[++i];
      };
      if (word == "--smoke")
        smoke = true;
      else if (word == "--no-labels")
        labels = false;
      else if (word == "--yardstick")
        yardstick_alone = true;
      else if (word == "--commit")
        commit = value();
      else if (word == "--folder")
        folder = value();
      else if (word == "--table")
        known = read_table(value());
      else if (word == "--jobs")
        jobs = std::stoul(value());
      else if (word == "--seeds")
        seeds = std::stoul(value());
      else if (word == "--only")
        only = value();
      else if (word == "--modes")
        modes = modes_of(value());
      else
        throw std::invalid_argument("unknown word " + word);
    }
    if (seeds == 0) seeds = smoke ? 3 : 20;
  }

 private:
  static mixstream::Modes modes_of(const std::string& name) {
    if (name == "persistent") return mixstream::Modes::persistent;
    if (name == "independent") return mixstream::Modes::independent;
    throw std::invalid_argument("--modes is persistent or independent");
  }
};

/// A stream to measure: where its cell goes, and what makes it.
struct Task {
  fs::path path;
  std::function<Cell()> run;
};

std::vector<Kind> wanted_kinds(const Words& words) {
  std::vector<Kind> kinds = words.smoke ? smoke_kinds() : stationary_kinds();
  if (!words.smoke)
    for (const Kind& kind : changing_kinds()) kinds.push_back(kind);
  std::erase_if(kinds, [&](const Kind& kind) { return kind.name.find(words.only) == std::string::npos; });
  return kinds;
}

fs::path cell_path(const Words& words, const char* what, const Kind& kind, std::uint64_t seed) {
  return words.folder / what / fmt::format("{} n{} {}", kind.name, kind.rows, seed);
}

std::vector<Task> tasks_of(const Words& words, const std::vector<Kind>& kinds, std::size_t label_streams) {
  std::vector<Task> tasks;
  const auto add = [&](fs::path path, std::function<Cell()> run) {
    if (!fs::exists(path)) tasks.push_back({std::move(path), std::move(run)});
  };
  for (const Kind& kind : kinds)
    for (std::size_t s = 0; s < words.seeds; ++s) {
      const std::uint64_t seed = seed_of(words.commit, kind, s);
      const fs::path yardstick = cell_path(words, "yardstick", kind, seed);
      if (kind.change == Change::none && !words.known.contains(yardstick.filename().string()))
        add(yardstick, [=] { return measured_by_yardstick(kind, seed); });
      if (words.yardstick_alone) continue;
      add(cell_path(words, "library", kind, seed),
          [=, modes = words.modes] { return measured_by_library(kind, seed, modes); });
    }
  for (std::size_t s = 0; s < label_streams; ++s) {
    const std::uint64_t seed = seed_of(words.commit, labels_kind(), s);
    add(cell_path(words, "labels", labels_kind(), seed),
        [=, modes = words.modes] { return measured_labels(labels_kind(), seed, modes); });
  }
  return tasks;
}

/// Every jobs-th task from `first` on.
void work(const std::vector<Task>& tasks, std::size_t first, std::size_t jobs) {
  for (std::size_t i = first; i < tasks.size(); i += jobs) {
    write_cell(tasks[i].path, tasks[i].run());
    fmt::print(stderr, "{} of {}: {}\n", i + 1, tasks.size(), tasks[i].path.string());
  }
}

/// The tasks by so many processes at once. Throws where one of them failed.
void work_at_once(const std::vector<Task>& tasks, std::size_t jobs) {
  if (jobs <= 1) return work(tasks, 0, 1);
  std::vector<pid_t> children;
  for (std::size_t j = 0; j < jobs; ++j) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot start a process");
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    try {
      work(tasks, j, jobs);
    } catch (const std::exception& error) {
      fmt::print(stderr, "study-sensor: {}\n", error.what());
      _exit(1);
    }
    _exit(0);
  }
  bool failed = false;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed |= status != 0;
  }
  if (failed) throw std::runtime_error("a process failed; the finished streams are kept");
}

Cell yardstick_cell(const Words& words, const fs::path& path) {
  const auto known = words.known.find(path.filename().string());
  return known == words.known.end() ? read_cell(path) : known->second;
}

int run(const Words& words) {
  const std::vector<Kind> kinds = wanted_kinds(words);
  const std::size_t label_streams =
      words.labels && words.only.empty() && !words.yardstick_alone ? (words.smoke ? 1 : 5) : 0;
  work_at_once(tasks_of(words, kinds, label_streams), words.jobs);
  std::vector<Measured> all;
  for (const Kind& kind : kinds) {
    Measured measured{kind, {}, {}};
    for (std::size_t s = 0; s < words.seeds; ++s) {
      const std::uint64_t seed = seed_of(words.commit, kind, s);
      if (kind.change == Change::none)
        measured.yardstick.push_back(yardstick_cell(words, cell_path(words, "yardstick", kind, seed)));
      if (!words.yardstick_alone)
        measured.library.push_back(read_cell(cell_path(words, "library", kind, seed)));
    }
    all.push_back(std::move(measured));
  }
  if (words.yardstick_alone) return judged_yardstick(all) == 0 ? 0 : 1;
  int broken = judged(all, words.smoke ? smoke_limits() : Limits{});
  std::vector<Cell> labels;
  for (std::size_t s = 0; s < label_streams; ++s)
    labels.push_back(
        read_cell(cell_path(words, "labels", labels_kind(), seed_of(words.commit, labels_kind(), s))));
  if (!labels.empty()) broken += judged_labels(labels);
  return broken == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    return run(Words(count, words));
  } catch (const std::exception& error) {
    fmt::print(stderr, "study-sensor: {}\n", error.what());
    return 2;
  }
}
