// EM: rows times iterations a second, with and without wide vectors, and beside flexmix on the same rows.
// em [flexmix.R]; without the script, or without R, flexmix is left out.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "measure.hpp"
#include "mixstream/cpu/instruction_set.hpp"
#include "mixstream/likelihood/expectation.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/maximisation.hpp"
#include "mixstream/rows/simulation.hpp"

using namespace mixstream;

namespace {

struct Shape {
  const char* map;
  std::size_t component_count;
};

Simulation simulation_of(const Shape& shape) {
  return Simulation(
      {.map = FeatureMap::parse(shape.map).value(), .component_count = shape.component_count, .seed = 7});
}

/// One iteration of EM: expectation over all rows, then maximisation.
void iterate(const RowBlocks& rows, Expectation& expectation, Maximisation& maximise, Mixture& mixture) {
  expectation.begin(mixture);
  for (std::size_t block = 0; block < rows.block_count(); ++block) expectation.add(rows.block(block));
  maximise(expectation.sums(), mixture);
  bench::keep(mixture.coefficients.data());
}

void compare_instruction_sets(const Shape& shape, std::size_t row_count) {
  Simulation simulation = simulation_of(shape);
  const RowBlocks rows(simulation.table(row_count));
  const std::size_t d = rows.feature_count();
  Maximisation maximise(d, NoiseModel::shared, 1e-6);
  Expectation plain(shape.component_count, d, InstructionSet::plain);
  Expectation best(shape.component_count, d);
  Mixture mixture = simulation.truth();
  const std::vector<double> seconds = bench::best_seconds(
      {[&] { iterate(rows, best, maximise, mixture); }, [&] { iterate(rows, plain, maximise, mixture); }});
  std::printf(
      "{\"bench\":\"em\",\"d\":%zu,\"k\":%zu,\"rows\":%zu,\"instructions\":\"%s\",\"iteration_seconds\":%.5g,"
      "\"rows_per_second\":%.4g,\"rival\":\"plain vectors\",\"rival_seconds\":%.5g,\"ratio\":%.3g}\n",
      d, shape.component_count, row_count, name_of(best_instruction_set()), seconds[0],
      static_cast<double>(row_count) / seconds[0], seconds[1], seconds[1] / seconds[0]);
}

void write_rows(const std::filesystem::path& path, const RowTable& rows, const Mixture& start) {
  std::ofstream file(path, std::ios::binary);
  const auto write = [&](const std::vector<double>& values) {
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size() * sizeof(double)));
  };
  write(rows.features);
  write(rows.responses);
  std::vector<double> probabilities(start.component_count());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    responsibilities(start, rows.row(i), probabilities);
    write(probabilities);
  }
}

/// Processor seconds of one iteration of flexmix on the same rows from the same start; nothing where R or
/// flexmix is missing.
std::optional<double> flexmix_seconds(const std::string& script, const RowTable& rows, const Mixture& start) {
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "mixstream-bench-em.rows";
  write_rows(path, rows, start);
  const std::string command = "OPENBLAS_NUM_THREADS=1 Rscript '" + script + "' '" + path.string() + "' " +
                              std::to_string(rows.size()) + " " + std::to_string(rows.feature_count) + " " +
                              std::to_string(start.component_count());
  double seconds = 0.0;
  int found = 0;
  if (FILE* answer = popen(command.c_str(), "r"); answer != nullptr) {
    found = std::fscanf(answer, "%lf", &seconds);
    pclose(answer);
  }
  std::filesystem::remove(path);
  if (found != 1 || !(seconds > 0.0)) return std::nullopt;
  return seconds;
}

void compare_flexmix(const Shape& shape, std::size_t row_count, const std::string& script) {
  Simulation simulation = simulation_of(shape);
  const RowTable table = simulation.table(row_count);
  const std::optional<double> rival = flexmix_seconds(script, table, simulation.truth());
  if (!rival) {
    std::fprintf(stderr, "flexmix left out: Rscript %s gave no time (apps/setup test installs R)\n",
                 script.c_str());
    return;
  }
  const RowBlocks rows(table);
  Expectation expectation(shape.component_count, rows.feature_count());
  Maximisation maximise(rows.feature_count(), NoiseModel::per_component, 1e-6);
  Mixture mixture = simulation.truth();
  const double ours = bench::best_seconds({[&] { iterate(rows, expectation, maximise, mixture); }})[0];
  std::printf(
      "{\"bench\":\"em\",\"d\":%zu,\"k\":%zu,\"rows\":%zu,\"iteration_seconds\":%.5g,\"rows_per_second\":%."
      "4g,"
      "\"rival\":\"flexmix\",\"rival_seconds\":%.5g,\"ratio\":%.4g}\n",
      rows.feature_count(), shape.component_count, row_count, ours, static_cast<double>(row_count) / ours,
      *rival, *rival / ours);
}

}  // namespace

int main(int argument_count, char** arguments) {
  const Shape shapes[] = {{"1,t,t^4,t^7", 2}, {"1,t,t^4,t^7", 3}, {"1,a,b,c,d,e,f,g", 4}};
  for (const Shape& shape : shapes) compare_instruction_sets(shape, 500000);
  if (argument_count > 1) {
    for (const Shape& shape : shapes) compare_flexmix(shape, 50000, arguments[1]);
  }
}
