// The compiled rivals, as programs of their own so that their memory is theirs.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <stdexcept>

#include "experiments/em_runs.hpp"
#include "experiments/rivals.hpp"
#include "experiments/stopwatch.hpp"
#include "mixstream/polish/stepwise_em.hpp"

namespace experiments {
namespace {

/// Calls use(features, y) for each row of a file of doubles (t, y).
template <class Use>
void read_rows(const std::string& path, const Use& use) {
  const FeatureMap map = FeatureMap::parse("1,t,t^4,t^7").value();
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<double> features(map.feature_count());
  for (double row[2]; file.read(reinterpret_cast<char*>(row), sizeof row);) {
    map.evaluate({row, 1}, features);
    use(Row{features, row[1]});
  }
}

RowTable table_of(const std::string& path, std::size_t most_rows) {
  RowTable rows{4, {}, {}, {}};
  read_rows(path, [&](const Row& row) {
    if (rows.size() < most_rows) rows.add(row);
  });
  return rows;
}

void print_fit(double seconds, const Mixture& mixture) {
  std::cout << Json{{"seconds", seconds}, {"laws", mixture.coefficients}}.dump() << '\n';
}

/// EM from every start; all are printed, so that wrong optima can be counted.
void run_em(const std::string& path, std::size_t laws, int starts, std::uint64_t seed) {
  const RowTable rows = table_of(path, std::size_t(-1));
  const EmRuns em(rows, NoiseModel::per_component);
  Random random(seed);
  for (int i = 0; i < starts; ++i) {
    const Stopwatch watch;
    const EmFit fit = em.from(random_em_start(laws, rows.feature_count, random));
    print_fit(watch.processor_seconds(), fit.mixture);
  }
}

/// One pass of stepwise EM. It needs a start near the right optimum: the likeliest of EM's on the first rows.
void run_stepwise(const std::string& path, std::size_t laws, int starts, std::uint64_t seed) {
  const Stopwatch watch;
  const EmRuns em(table_of(path, 20000), NoiseModel::per_component);
  Random random(seed);
  EmFit best;
  for (int i = 0; i < starts; ++i) {
    EmFit fit = em.from(random_em_start(laws, 4, random));
    if (i == 0 || fit.mean_log_likelihood > best.mean_log_likelihood) best = std::move(fit);
  }
  StepwiseEm stepwise(best.mixture, {.noise = NoiseModel::per_component});
  read_rows(path, [&](const Row& row) { stepwise.add(row); });
  print_fit(watch.processor_seconds(), stepwise.mixture());
}

}  // namespace

int be_rival(int count, char** words) {
  if (count != 7) return 2;
  const std::string which = words[2];
  const std::size_t laws = std::stoul(words[4]);
  const int starts = std::stoi(words[5]);
  const std::uint64_t seed = std::stoul(words[6]);
  if (which == "em") run_em(words[3], laws, starts, seed);
  if (which == "stepwise") run_stepwise(words[3], laws, starts, seed);
  return 0;
}

}  // namespace experiments
