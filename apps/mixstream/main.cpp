// mixstream: the stream tool. Only wires words to commands.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "compare_command.hpp"
#include "exit_codes.hpp"
#include "fit_command.hpp"
#include "look_command.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "output.hpp"
#include "predict_command.hpp"
#include "simulate_command.hpp"
#include "state_commands.hpp"
#include "words.hpp"

using namespace mixstream;

namespace {

/// A solve asks for the same megabytes each time: they are kept, where to give them back and to have them
/// zeroed anew would cost as much as a tenth of a short run.
void keep_freed_memory() {
#if defined(__GLIBC__)
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 20);
  ::mallopt(M_TOP_PAD, 1 << 20);
#endif
}

/// What CLI11 finds wrong, said as everything else is said.
std::string wrong_words(const CLI::App* app, const CLI::Error& error) {
  std::string command = "mixstream";
  for (const CLI::App* sub : app->get_subcommands()) command += " " + sub->get_name();
  return std::string("mixstream: ") + error.what() + "\n" + command +
         " --help shows all words and examples\n";
}

/// Refuses a first word that is no command; CLI11 would only say that one is missing.
bool knows_command(const CLI::App& app, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
  if (word.starts_with('-') || std::ranges::find(names, word) != names.end()) return true;
  const std::string near = nearest_name(word, names);
  std::string text = "there is no command '" + word + "'";
  if (!near.empty()) text += " (did you mean " + near + "?)";
  text += "; the commands are";
  for (const std::string& name : names) text += (name == names.front() ? " " : ", ") + name;
  complain(text);
  return false;
}

}  // namespace

int main(int count, char** words) {
  keep_freed_memory();
  CLI::App app("Finds the hidden linear laws in a stream of rows: y = beta_h . x + noise, with h unseen.\n",
               "mixstream");
  app.formatter(plain_help());
  app.set_version_flag("--version", "mixstream " MIXSTREAM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Start here:\n"
      "  mixstream look FILE\n"
      "  mixstream simulate -k 2 -x 1,t -n 100000 | mixstream fit -k 2 -y y -x 1,t\n"
      "  mixstream fit --help");
  int status = exit_fitted;
  LookCommand look;
  FitCommand fit;
  SimulateCommand simulate;
  PredictCommand predict;
  MergeCommand merge;
  InspectCommand inspect;
  RefitCommand refit;
  CompareCommand compare;
  const auto add = [&](const char* name, const char* what, auto& command) {
    CLI::App* sub = app.add_subcommand(name, what);
    command.add_to(*sub);
    sub->callback([&status, &command] { status = command.run(); });
  };
  add("look", "What a file holds, and the call that fits it", look);
  add("fit", "Rows from stdin or files in, fits out", fit);
  add("simulate", "Rows with a known truth", simulate);
  add("predict", "Rows in; their components, probabilities and expected y out", predict);
  add("merge", "Add saved states", merge);
  add("inspect", "What a saved state holds", inspect);
  add("refit", "Solve again from a saved state, without the rows", refit);
  add("compare", "A fit beside the truth, or beside another fit", compare);
  app.failure_message(wrong_words);
  if (count < 2) {
    std::fputs(app.help().c_str(), stderr);
    return exit_usage;
  }
  if (!knows_command(app, words[1])) return exit_usage;
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_fitted : exit_usage;
  } catch (const std::exception& error) {
    complain(error.what());
    return exit_data;
  }
  return status;
}
