#include "mixstream/monomials/kernel.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

using namespace mixstream;

namespace {

enum class Weights { ones, random };

struct Rows {
  std::vector<std::vector<double>> z;
  std::vector<double> weights;
};

Rows random_rows(int variables, std::size_t count, Weights weights, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Rows rows;
  for (std::size_t r = 0; r < count; ++r) {
    std::vector<double> z(static_cast<std::size_t>(variables));
    for (double& value : z) value = normal(random);
    z[0] = 1.0;
    rows.z.push_back(z);
    rows.weights.push_back(weights == Weights::ones ? 1.0 : std::exp(normal(random)));
  }
  return rows;
}

/// Calls visit(sorted indices) for every monomial of degree 6, in no particular order.
template <class Visit>
void for_every_monomial(int m, Visit visit) {
  SixIndices s{};
  for (s[0] = 0; s[0] < m; ++s[0])
    for (s[1] = s[0]; s[1] < m; ++s[1])
      for (s[2] = s[1]; s[2] < m; ++s[2])
        for (s[3] = s[2]; s[3] < m; ++s[3])
          for (s[4] = s[3]; s[4] < m; ++s[4])
            for (s[5] = s[4]; s[5] < m; ++s[5]) visit(s);
}

/// Largest error of the totals against brute force, relative to the sum of absolute terms.
double worst_error(int variables, const Rows& rows, const std::vector<double>& sums,
                   const std::vector<double>& compensation) {
  const Packing packing(variables);
  double worst = 0.0;
  for_every_monomial(variables, [&](const SixIndices& s) {
    long double exact = 0.0L;
    long double absolute = 0.0L;
    for (std::size_t r = 0; r < rows.z.size(); ++r) {
      long double term = rows.weights[r];
      for (const int index : s) term *= rows.z[r][static_cast<std::size_t>(index)];
      exact += term;
      absolute += std::abs(term);
    }
    const std::size_t p = packing.position(s);
    const long double error = std::abs(static_cast<long double>(sums[p]) + compensation[p] - exact);
    worst = std::isfinite(sums[p]) ? std::max(worst, static_cast<double>(error / absolute)) : 1.0;
  });
  return worst;
}

struct Totals {
  std::vector<double> sums;
  std::vector<double> compensation;
};

/// Feeds rows block by block. `variant` null: the kernel's own.
Totals run(const BlockKernel& kernel, const Rows& rows, variants::Accumulate variant = nullptr) {
  const std::size_t size = Packing(kernel.variables()).size();
  Totals totals{std::vector<double>(size), std::vector<double>(size)};
  AlignedDoubles workspace(kernel.workspace_size(), std::numeric_limits<double>::quiet_NaN());
  RowBlock block = kernel.make_block();
  const auto flush = [&] {
    if (variant != nullptr) {
      kernel.accumulate_by(variant, block, workspace.data(), totals.sums.data(), totals.compensation.data());
    } else {
      kernel.accumulate(block, workspace.data(), totals.sums.data(), totals.compensation.data());
    }
    block.clear();
  };
  for (std::size_t r = 0; r < rows.z.size(); ++r) {
    block.append(rows.z[r].data(), rows.weights[r]);
    if (block.full()) flush();
  }
  if (block.rows() > 0) flush();
  return totals;
}

std::vector<InstructionSet> supported_sets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet set :
       {InstructionSet::plain, InstructionSet::sse2, InstructionSet::avx2, InstructionSet::avx512}) {
    if (supported(set)) sets.push_back(set);
  }
  return sets;
}

void check_against_brute_force(int variables, std::size_t count, Weights weights) {
  const Rows rows = random_rows(variables, count, weights, static_cast<unsigned>(variables));
  for (const InstructionSet set : supported_sets()) {
    CAPTURE(name_of(set));
    CAPTURE(variables);
    CAPTURE(count);
    const Totals totals = run(BlockKernel(variables, set), rows);
    CHECK(worst_error(variables, rows, totals.sums, totals.compensation) < 1e-13);
  }
#if defined(__x86_64__) && !defined(MIXSTREAM_SANITIZED)
  if (!supported(InstructionSet::avx2)) return;
  const Totals wide = run(BlockKernel(variables, InstructionSet::avx2), rows, variants::accumulate_wide);
  CHECK_MESSAGE(worst_error(variables, rows, wide.sums, wide.compensation) < 1e-13, "8 lanes on AVX2");
#endif
}

}  // namespace

TEST_CASE("every kernel equals brute force, for whole, partial and several blocks") {
  for (int variables = 1; variables <= 8; ++variables) {
    for (const std::size_t count : {1U, 2U, 3U, 7U, 63U, 64U, 65U, 200U}) {
      check_against_brute_force(variables, count, Weights::ones);
      check_against_brute_force(variables, count, Weights::random);
    }
  }
}

TEST_CASE("every kernel equals brute force with many variables") {
  for (int variables = 9; variables <= 15; ++variables) {
    check_against_brute_force(variables, 37, variables % 2 == 0 ? Weights::ones : Weights::random);
  }
  check_against_brute_force(13, 300, Weights::ones);
  check_against_brute_force(17, 130, Weights::random);
  check_against_brute_force(20, 20, Weights::random);  // from here on more pivots share their right columns
  check_against_brute_force(23, 5, Weights::ones);
  check_against_brute_force(25, 9, Weights::ones);
}

TEST_CASE("what a partial block holds beyond its rows does not matter") {
  for (const InstructionSet set : supported_sets()) {
    const BlockKernel kernel(4, set);
    const std::size_t size = Packing(4).size();
    const Rows rows = random_rows(4, 5, Weights::random, 1);
    AlignedDoubles workspace(kernel.workspace_size());
    RowBlock block = kernel.make_block();
    const std::vector<double> poison(4, std::numeric_limits<double>::quiet_NaN());
    while (!block.full()) block.append(poison.data(), poison[0]);
    block.clear();
    for (std::size_t r = 0; r < 5; ++r) block.append(rows.z[r].data(), rows.weights[r]);
    std::vector<double> sums(size);
    std::vector<double> compensation(size);
    kernel.accumulate(block, workspace.data(), sums.data(), compensation.data());
    CHECK(worst_error(4, rows, sums, compensation) < 1e-13);
  }
}

TEST_CASE("a large workspace starts on a cache line, a very large one on a huge page") {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{2} << 20, (std::size_t{5} << 20) + 8}) {
    AlignedDoubles numbers(bytes / sizeof(double), 3.0);
    CHECK(reinterpret_cast<std::uintptr_t>(numbers.data()) % (bytes < (2U << 20) ? 64 : 2U << 20) == 0);
    CHECK(numbers.back() == 3.0);
  }
}

TEST_CASE("an empty block changes nothing") {
  const BlockKernel kernel(3);
  const RowBlock block = kernel.make_block();
  AlignedDoubles workspace(kernel.workspace_size());
  std::vector<double> sums(Packing(3).size(), 2.5);
  std::vector<double> compensation(sums.size(), 0.25);
  kernel.accumulate(block, workspace.data(), sums.data(), compensation.data());
  for (const double sum : sums) CHECK(sum == 2.5);
  for (const double part : compensation) CHECK(part == 0.25);
}

TEST_CASE("a row of integer weight is exactly that many rows, on integer data") {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> digit(-9, 9);
  for (const InstructionSet set : supported_sets()) {
    const BlockKernel kernel(5, set);
    Rows weighted;
    Rows repeated;
    for (int r = 0; r < 150; ++r) {
      std::vector<double> z{1.0};
      while (z.size() < 5) z.push_back(digit(random));
      const int weight = 1 + r % 3;
      weighted.z.push_back(z);
      weighted.weights.push_back(weight);
      for (int copy = 0; copy < weight; ++copy) repeated.z.push_back(z);
    }
    repeated.weights.assign(repeated.z.size(), 1.0);
    CHECK(run(kernel, weighted).sums == run(kernel, repeated).sums);
  }
}

TEST_CASE("totals far beyond 2^53 stay exact: what a sum cannot hold, the compensation does") {
  std::mt19937 random(11);
  std::uniform_int_distribution<int> digit(-120, 120);  // 256 * 120^6 < 2^53: exact inside a block
  const int variables = 3;
  Rows rows;
  for (int r = 0; r < 200000; ++r) {
    rows.z.push_back({1.0, static_cast<double>(digit(random)), static_cast<double>(120 - r % 3)});
    rows.weights.push_back(1.0);
  }
  const Packing packing(variables);
  std::vector<std::int64_t> exact(packing.size(), 0);
  for (const std::vector<double>& z : rows.z) {
    for_every_monomial(variables, [&](const SixIndices& s) {
      std::int64_t term = 1;
      for (const int index : s) term *= static_cast<std::int64_t>(z[static_cast<std::size_t>(index)]);
      exact[packing.position(s)] += term;
    });
  }
  for (const InstructionSet set : supported_sets()) {
    const Totals totals = run(BlockKernel(variables, set), rows);
    bool compensated = false;
    for (std::size_t p = 0; p < packing.size(); ++p) {
      const std::int64_t total =
          static_cast<std::int64_t>(totals.sums[p]) + static_cast<std::int64_t>(totals.compensation[p]);
      CHECK(total == exact[p]);
      compensated |= totals.compensation[p] != 0.0;
    }
    CHECK(compensated);
  }
}

TEST_CASE("small rows after huge ones are not lost") {
  // one block of 2^13 (sixth powers 2^78), then a thousand of 3/4: a plain sum would drop every one of them
  const int variables = 2;
  const std::size_t length = BlockKernel(variables).block_rows();
  Rows rows;
  rows.z.assign(length, {1.0, 8192.0});
  rows.z.resize(length * 1001, {1.0, 0.75});
  rows.weights.assign(rows.z.size(), 1.0);
  const auto n = static_cast<double>(length);
  const std::size_t p = Packing(variables).position({1, 1, 1, 1, 1, 1});
  for (const InstructionSet set : supported_sets()) {
    const Totals totals = run(BlockKernel(variables, set), rows);
    CHECK(totals.sums[p] == n * std::ldexp(1.0, 78));
    CHECK(totals.compensation[p] == 1000.0 * n * 729.0 / 4096.0);
  }
}

TEST_CASE("the block length depends on the number of variables alone") {
  for (int variables = 1; variables <= 30; ++variables) {
    for (const InstructionSet set : supported_sets()) {
      CHECK(BlockKernel(variables, set).block_rows() ==
            BlockKernel(variables, InstructionSet::plain).block_rows());
    }
    CHECK(BlockKernel(variables).block_rows() % 64 == 0);
  }
}

TEST_CASE("a kernel for no or too many variables, or for instructions not there, is refused") {
  CHECK_THROWS_AS(BlockKernel(0), std::invalid_argument);
  CHECK_THROWS_AS(BlockKernel(65), std::invalid_argument);
  if (!supported(InstructionSet::avx512)) {
    CHECK_THROWS_AS(BlockKernel(3, InstructionSet::avx512), std::invalid_argument);
  }
}
