// What the polish costs for each row: JSON objects, one a line. Beside it what the moments of the same row
// cost, and the score of each row and its outer product formed one row at a time.
#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "measure.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/linalg/packed.hpp"
#include "mixstream/modes/mode_polish.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/polish/polish.hpp"
#include "mixstream/rows/simulation.hpp"

using namespace mixstream;

namespace {

constexpr std::size_t row_count = 1 << 14;

DenseMatrix identity(std::size_t size) {
  DenseMatrix result{size, size, std::vector<double>(size * size)};
  for (std::size_t i = 0; i < size; ++i) result(i, i) = 1.0;
  return result;
}

/// Least nanoseconds of processor time a row over some repetitions.
template <class Work>
double nanoseconds_a_row(int repetitions, Work work) {
  double least = 1e300;
  for (int i = 0; i < repetitions; ++i) {
    least = std::min(least, 1e9 * bench::seconds_of(work) / static_cast<double>(row_count));
  }
  return least;
}

double row_by_row(const Mixture& anchor, const RowTable& rows, std::vector<double>& information) {
  const std::size_t size =
      parameter_count(anchor.component_count(), anchor.feature_count, NoiseModel::shared);
  std::vector<double> probabilities(anchor.component_count());
  std::vector<double> score(size);
  double sum = 0.0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    sum += row_score(anchor, rows.row(i), NoiseModel::shared, probabilities, score);
    for (std::size_t p = 0; p < size; ++p) {
      for (std::size_t q = 0; q <= p; ++q) information[packed_index(p, q)] += score[p] * score[q];
    }
  }
  return sum;
}

/// The same rows as one chain of modes that persist.
double in_order(const Mixture& truth, const RowTable& rows, NoiseShape noise) {
  const ModeShape shape{
      truth.component_count(), truth.feature_count, Modes::persistent, {}, NoiseModel::shared, noise};
  ModePolish polish(model_from(truth, shape, 0.5), shape);
  return nanoseconds_a_row(20, [&] {
    for (std::size_t i = 0; i < rows.size(); ++i) polish.absorb(rows.row(i), {0, i == 0 ? 0U : 1U});
  });
}

void measure(std::size_t d, std::size_t k) {
  std::string map = "1";
  for (std::size_t j = 1; j < d; ++j) map += fmt::format(",t{}", j);
  Simulation simulation({.map = FeatureMap::parse(map).value(), .component_count = k, .seed = d * 100 + k});
  const RowTable rows = simulation.table(row_count);
  const std::size_t size = parameter_count(k, d, NoiseModel::shared);
  AnchoredPolish polish(simulation.truth(), identity(size), NoiseModel::shared);
  std::vector<double> information(packed_size(size));
  double unused = 0.0;
  const double blocks = nanoseconds_a_row(20, [&] {
    for (std::size_t i = 0; i < rows.size(); ++i) polish.absorb(rows.row(i));
  });
  StateSettings settings;
  settings.layout = {static_cast<int>(d), 0};
  MomentState state = MomentState::create(settings).value();
  const double moments = nanoseconds_a_row(d < 16 ? 20 : 3, [&] {
    for (std::size_t i = 0; i < rows.size(); ++i) state.absorb(rows.row(i));
  });
  const double single =
      nanoseconds_a_row(3, [&] { unused += row_by_row(simulation.truth(), rows, information); });
  const double move = nanoseconds_a_row(5, [&] { polish.move_anchor(); }) * row_count;
  const double persistent = in_order(simulation.truth(), rows, {});
  const double remembering = in_order(simulation.truth(), rows, {.memory = true});
  fmt::print(
      "{{\"bench\":\"modes\",\"d\":{},\"k\":{},\"persistent_ns_a_row\":{:.1f},\"polish_ns_a_row\":{:.1f},"
      "\"ratio\":{:.2f},\"with_memory_ns_a_row\":{:.1f},\"ratio_with_memory\":{:.2f}}}\n",
      d, k, persistent, blocks, persistent / blocks, remembering, remembering / blocks);
  fmt::print(
      "{{\"bench\":\"polish\",\"d\":{},\"k\":{},\"parameters\":{},\"instruction_set\":\"{}\","
      "\"ns_a_row\":{:.1f},\"moments_ns_a_row\":{:.1f},\"polish_over_moments\":{:.2f},"
      "\"row_by_row_ns\":{:.1f},\"ratio\":{:.2f},\"move_anchor_us\":{:.1f}}}\n",
      d, k, size, name_of(best_instruction_set()), blocks, moments, blocks / moments, single, single / blocks,
      move / 1000.0);
  if (unused == 1.0) fmt::print("\n");  // keeps the compiler from dropping the work
}

}  // namespace

int main() {
  measure(4, 3);
  measure(8, 4);
  measure(16, 5);
}
