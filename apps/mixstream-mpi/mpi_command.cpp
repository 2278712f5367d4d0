#include "mpi_command.hpp"

#include <fmt/format.h>
#include <glob.h>
#include <sys/stat.h>

#include "exit_codes.hpp"
#include "mpi_run.hpp"
#include "output.hpp"
#include "signals.hpp"
#include "words.hpp"

namespace mixstream {
namespace {

Refusal refuse(std::string text) {
  return {Reason::bad_settings, std::move(text)};
}

template <class Value>
std::string word(const std::optional<Value>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

}  // namespace

void MpiCommand::add_to(CLI::App& command) {
  fit.add_to(command);
  command.get_option("files")->description(
      "Files that every process can open, or patterns in quotes such as 'day*.csv'; read as one stream, in "
      "order");
  for (const char* of_one_process :
       {"--threads", "--group", "--max-groups", "--half-life", "--window", "--split", "--unordered"})
    command.get_option(of_one_process)->group("");  // not in the help; check_words says why
  constexpr const char* long_jobs = "Long jobs";
  command
      .add_option("--checkpoint", checkpoint,
                  "Folder for a checkpoint; the same words again go on from it, by any number of processes")
      ->group(long_jobs);
  command
      .add_option("--piece", piece,
                  "Bytes that each process reads between two checkpoints; default: 268435456")
      ->transform(whole_number())
      ->check(CLI::PositiveNumber)
      ->group(long_jobs);
  command.add_flag("--times", times, "At the end, what reading and combining took: one JSON line on stderr")
      ->group(long_jobs);
  command.footer(
      "Every process reads its share of the files, cut anywhere; a row belongs to one process, whatever is\n"
      "quoted. gzip and zstd files are not cut. The states are added up along a fixed tree: the same files\n"
      "and the same number of processes give the same answer to the bit, and `mixstream fit` gives it too,\n"
      "but for rounding (and the polish, within a small part of its standard errors).\n\n"
      "Examples:\n"
      "  mpirun -n 8 mixstream-mpi fit -k 2 -y y -x 1,t big.csv\n"
      "      one file, read by eight processes\n"
      "  srun -n 512 mixstream-mpi fit -k 3 -y power 'logs/*.csv.gz' --checkpoint run7 --save power.mix\n"
      "      many files; killed, the same line goes on where the checkpoint stands\n"
      "  mpirun -n 8 mixstream-mpi fit -k auto -y y 'day*.ndjson' --every 1e8 --report page.html\n"
      "      a fit of all that all processes have read, every 100 million rows\n\n"
      "Output, exit codes and all other options are those of mixstream-fit(1). Not here: standard input,\n"
      "--group, --half-life, --window and --threads.");
}

Done MpiCommand::check_words() const {
  if (fit.files.empty())
    return refuse("name the files to read: standard input cannot be shared by processes");
  for (const std::string& file : fit.files) {
    if (file == "-") return refuse("standard input cannot be shared by processes: name files");
  }
  if (!fit.group.empty()) return refuse("--group is for mixstream fit: here all processes fit one model");
  if (!fit.half_life.empty() || !fit.window.empty())
    return refuse("processes read all parts of the stream at once: that needs a memory of everything");
  if (fit.unordered)
    return refuse("--unordered is for mixstream fit: here processes know the place of each row");
  if (fit.threads != 1) return refuse("--threads is for mixstream fit: start more processes instead");
  return std::monostate{};
}

Outcome<std::vector<std::string>> MpiCommand::files() const {
  std::vector<std::string> files;
  for (const std::string& pattern : fit.files) {
    struct stat status {};
    if (pattern.find_first_of("*?[") == std::string::npos || ::stat(pattern.c_str(), &status) == 0) {
      files.push_back(pattern);
      continue;
    }
    ::glob_t found{};
    const int result = ::glob(pattern.c_str(), 0, nullptr, &found);
    files.insert(files.end(), found.gl_pathv, found.gl_pathv + (result == 0 ? found.gl_pathc : 0));
    ::globfree(&found);
    if (result != 0) return Refusal{Reason::input_output, fmt::format("no file matches '{}'", pattern)};
  }
  for (const std::string& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
      return Refusal{Reason::input_output,
                     fmt::format("'{}' is no plain file: processes cannot share it", file)};
  }
  return files;
}

std::string MpiCommand::job(const std::vector<std::string>& files) const {
  const SolveOptions& solve = fit.solve;
  std::string job = fmt::format(
      "k={} method={} noise={} variance={} third={} lambda={},{},{} objective={} singular={} guard={} "
      "polish={} seed={}\n",
      word(solve.components), word(solve.method), word(solve.noise), word(solve.noise_variance),
      word(solve.noise_third), word(solve.lambda2), word(solve.lambda3), word(solve.lambda),
      word(solve.objective), solve.allow_singular, word(solve.guard), word(solve.polish), word(solve.seed));
  job += fmt::format("modes={} gate={} tolerance={} time={} sensor={} gap={}\n", word(solve.modes),
                     word(solve.gate), word(solve.tolerance), fit.time, fit.sensor, fit.gap);
  job += fmt::format("y={} x={} weight={} na={} every={} load={} sample={}\n", fit.response, fit.features,
                     fit.weight, fit.missing, fit.every, fit.load, word(fit.sample_rows));
  job += fmt::format("input={} line={}\n", fit.input.as_words(), fit.input.max_line);
  for (const std::string& file : files) {
    struct stat status {};
    ::stat(file.c_str(), &status);
    job +=
        fmt::format("{} {} {}.{:09}\n", file, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  return job;
}

Outcome<PartSettings> MpiCommand::part_settings() const {
  Outcome<InputSettings> input = fit.input.settings();
  if (!input) return input.refusal();
  return PartSettings{{fit.strict, fit.missing == "error"},
                      std::move(input).value(),
                      fit.weight,
                      fit.time,
                      fit.sensor,
                      fit.memory << 20};
}

int MpiCommand::run(Ranks& ranks) const {
  const Outcome<PartSettings> settings = part_settings();
  Done sound = check_words();
  if (sound && !settings) sound = settings.refusal();
  if (!sound) return ranks.leads() ? fail_with(exit_usage, sound.refusal().text) : exit_fitted;
  if (!ranks.leads()) {
    watch_signals();
    follow(ranks, settings.value());
    return exit_fitted;
  }
  return lead(ranks, *this, settings.value());
}

}  // namespace mixstream
