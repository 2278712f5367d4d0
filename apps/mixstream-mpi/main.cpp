// mixstream-mpi: the stream tool's fit over many processes. Only wires words to the command.
#include <exception>
#include <sstream>

#include "exit_codes.hpp"
#include "mpi_command.hpp"
#include "output.hpp"
#include "words.hpp"

using namespace mixstream;

int main(int count, char** words) {
  Ranks ranks(count, words);
  CLI::App app(
      "Finds the hidden linear laws in more rows than one process reads: the fit of mixstream, over MPI.\n");
  app.formatter(plain_help());
  app.set_version_flag("--version", "mixstream-mpi " MIXSTREAM_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Start here:\n"
      "  mixstream simulate -k 2 -x 1,t -n 1e6 > rows.csv; mpirun -n 4 mixstream-mpi fit -k 2 -y y -x 1,t "
      "rows.csv\n"
      "  mixstream-mpi fit --help");
  MpiCommand command;
  CLI::App* fit = app.add_subcommand("fit", "Rows from files in, read by all processes; fits out");
  command.add_to(*fit);
  try {
    app.parse(count, words);
    return command.run(ranks);
  } catch (const CLI::ParseError& error) {
    std::ostringstream unheard;
    const int code = ranks.leads() ? app.exit(error) : app.exit(error, unheard, unheard);
    return code == 0 || !ranks.leads() ? exit_fitted : exit_usage;
  } catch (const std::exception& error) {
    ranks.abandon(error.what());
  }
}
