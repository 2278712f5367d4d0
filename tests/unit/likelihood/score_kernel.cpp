#include "mixstream/likelihood/score_kernel.hpp"
#include "mixstream/linalg/packed.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "mixstream/core/random.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/rows/row_table.hpp"

using namespace mixstream;

namespace {

Mixture some_mixture(std::size_t k, std::size_t d, Random& random) {
  Mixture mixture = empty_mixture(k, d);
  double total = 0.0;
  for (double& weight : mixture.weights) total += weight = random.uniform(0.5, 1.5);
  for (double& weight : mixture.weights) weight /= total;
  for (double& coefficient : mixture.coefficients) coefficient = random.normal();
  for (double& variance : mixture.noise_variances) variance = random.uniform(0.1, 0.5);
  return mixture;
}

RowTable some_rows(std::size_t count, std::size_t d, Random& random) {
  RowTable rows{d, {}, {}, {}};
  std::vector<double> x(d);
  for (std::size_t i = 0; i < count; ++i) {
    for (double& value : x) value = random.normal();
    rows.add({x, 2.0 * random.normal(), random.uniform(0.5, 2.0)});
  }
  return rows;
}

/// Sums of scores and outer products, row by row.
struct Direct {
  std::vector<double> score;
  std::vector<double> information;
  double log_density = 0.0;
  double log_density_squares = 0.0;
  double weight = 0.0;
};

Direct directly(const Mixture& mixture, const RowTable& rows, NoiseModel noise) {
  const std::size_t size = ScoreShape(mixture.component_count(), mixture.feature_count, noise).parameters();
  Direct sums{std::vector<double>(size), std::vector<double>(packed_size(size))};
  std::vector<double> probabilities(mixture.component_count());
  std::vector<double> score(size);
  double least = 1e300;  // rows beyond eight standard deviations count as if they were there
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    const double height = mixture.weights[h] / std::sqrt(2.0 * std::numbers::pi * mixture.noise_variances[h]);
    least = std::min(least, std::log(height) - 32.0);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row row = rows.row(i);
    const double log_density = std::max(row_score(mixture, row, noise, probabilities, score), least);
    sums.log_density += row.weight * log_density;
    sums.log_density_squares += row.weight * log_density * log_density;
    sums.weight += row.weight;
    for (std::size_t p = 0; p < size; ++p) {
      sums.score[p] += row.weight * score[p];
      for (std::size_t q = 0; q <= p; ++q)
        sums.information[packed_index(p, q)] += row.weight * score[p] * score[q];
    }
  }
  return sums;
}

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-10 * (1.0 + std::abs(b));
}

void check_against_rows(ScoreKernel& kernel, const Mixture& mixture, const RowTable& rows, NoiseModel noise) {
  kernel.set_anchor(mixture);
  for (std::size_t i = 0; i < rows.size(); ++i)
    kernel.append(rows.row(i).features, rows.responses[i], rows.weights[i]);
  std::vector<double> sums(kernel.shape().size());
  kernel.flush(sums);
  const Direct direct = directly(mixture, rows, noise);
  std::vector<double> score(direct.score.size());
  std::vector<double> information(direct.information.size());
  read_score(kernel.shape(), sums, score);
  add_information(kernel.shape(), sums, 1.0, information);
  for (std::size_t p = 0; p < score.size(); ++p) CHECK(near(score[p], direct.score[p]));
  for (std::size_t p = 0; p < information.size(); ++p) CHECK(near(information[p], direct.information[p]));
  CHECK(near(sums[kernel.shape().density_at()], direct.log_density));
  CHECK(near(sums[kernel.shape().density_at() + 1], direct.log_density_squares));
  CHECK(near(sums[kernel.shape().extras_at()], direct.weight));
}

}  // namespace

TEST_CASE("a block's sums are those of its rows, for every shape, noise model and instruction set") {
  struct Shape {
    std::size_t k, d, count;
  };
  constexpr Shape shapes[] = {{1, 1, 64}, {2, 2, 5}, {3, 4, 63}, {2, 7, 64}, {4, 8, 17}, {5, 3, 1}};
  Random random(3);
  for (const InstructionSet set : {InstructionSet::plain, InstructionSet::avx2, InstructionSet::avx512}) {
    if (!supported(set)) continue;
    for (const NoiseModel noise : {NoiseModel::shared, NoiseModel::per_component, NoiseModel::known}) {
      for (const auto& [k, d, count] : shapes) {
        CAPTURE(k);
        CAPTURE(d);
        Mixture mixture = some_mixture(k, d, random);
        if (noise == NoiseModel::shared) mixture.noise_variances.assign(k, 0.3);
        ScoreKernel kernel(k, d, noise, set);
        // Twice: the second block must not see what the first left in the buffers.
        check_against_rows(kernel, mixture, some_rows(64, d, random), noise);
        check_against_rows(kernel, mixture, some_rows(count, d, random), noise);
      }
    }
  }
}

#if defined(__x86_64__)
TEST_CASE("eight lanes, as processors with AVX-512 run them, give the sums of four") {
  if (!supported(InstructionSet::avx2)) return;
  Random random(5);
  for (const std::size_t rows : {64, 24}) {
    const std::size_t stride = column_stride(ScoreKernel::block_rows);
    AlignedDoubles columns(6 * stride);
    for (double& value : columns) value = random.uniform();
    const Mixture mixture = some_mixture(3, 4, random);
    const std::vector<double> precisions{2.0, 3.0, 4.0};
    const std::vector<double> constants{-1.0, -1.5, -2.0};
    const variants::ScoreInput input{4,
                                     3,
                                     3,
                                     rows,
                                     stride,
                                     columns.data(),
                                     mixture.coefficients.data(),
                                     mixture.weights.data(),
                                     precisions.data(),
                                     constants.data(),
                                     -50.0};
    const ScoreShape shape(3, 4, NoiseModel::per_component);
    AlignedDoubles workspace(variants::score_workspace_columns(3, shape.extras()) * stride);
    const auto sums_by = [&](variants::AccumulateScores accumulate) {
      std::vector<double> sums(shape.size());
      accumulate(input, workspace.data(),
                 {sums.data(), sums.data() + shape.cross_at(), sums.data() + shape.extras_at(),
                  sums.data() + shape.density_at()});
      return sums;
    };
    const std::vector<double> wide = sums_by(variants::scores_wide);
    const std::vector<double> four = sums_by(variants::scores_avx2);
    for (std::size_t i = 0; i < wide.size(); ++i) CHECK(near(wide[i], four[i]));
  }
}
#endif

TEST_CASE("rows far from every law give finite sums and count as moderately unlikely") {
  Random random(4);
  const Mixture mixture = some_mixture(2, 2, random);
  ScoreKernel kernel(2, 2, NoiseModel::per_component);
  kernel.set_anchor(mixture);
  const double x[2] = {1e20, -1e20};
  kernel.append(x, 1e30, 1.0);
  std::vector<double> sums(kernel.shape().size());
  kernel.flush(sums);
  for (const double sum : sums) CHECK(std::isfinite(sum));
  CHECK(sums[kernel.shape().density_at()] > -100.0);
}

TEST_CASE("rows of a block can be read back") {
  ScoreKernel kernel(2, 3, NoiseModel::shared);
  const double x[3] = {1.0, 2.0, 3.0};
  kernel.append(x, 4.0, 5.0);
  kernel.append(x, 6.0, 7.0);
  std::vector<double> row(5);
  kernel.read_row(1, row);
  CHECK(row == std::vector<double>{1.0, 2.0, 3.0, 6.0, 7.0});
}
