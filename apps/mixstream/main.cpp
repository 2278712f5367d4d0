// mixstream: the stream tool. Only wires words to commands.
#include <CLI/CLI.hpp>
#include <exception>

#include "compare_command.hpp"
#include "exit_codes.hpp"
#include "fit_command.hpp"
#include "output.hpp"
#include "predict_command.hpp"
#include "simulate_command.hpp"
#include "state_commands.hpp"

using namespace mixstream;

int main(int count, char** words) {
  CLI::App app("Finds the hidden linear laws in a stream of rows: y = beta_h . x + noise, with h unseen.\n");
  app.set_version_flag("--version", "mixstream " MIXSTREAM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Start here:\n"
      "  mixstream simulate -k 2 -x 1,t -n 100000 | mixstream fit -k 2 -y y -x 1,t\n"
      "  mixstream fit --help");
  int status = exit_fitted;
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
  add("fit", "Rows from stdin or files in, fits out", fit);
  add("simulate", "Rows with a known truth", simulate);
  add("predict", "Rows in; their components, probabilities and expected y out", predict);
  add("merge", "Add saved states", merge);
  add("inspect", "What a saved state holds", inspect);
  add("refit", "Solve again from a saved state, without the rows", refit);
  add("compare", "A fit beside the truth, or beside another fit", compare);
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
