// How fast rows become moments, on one core: our kernel against dsyrk over cvec(z^(3)), against a plain loop,
// against what the core could do at most. One JSON object a line.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include "machine.hpp"
#include "measure.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/monomials/kernel.hpp"
#include "rivals.hpp"

namespace {

using bench::Rows;

Rows random_rows(int variables, std::size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  Rows rows{static_cast<std::size_t>(variables),
            std::vector<double>(static_cast<std::size_t>(variables) * count)};
  for (std::size_t i = 0; i < rows.values.size(); ++i) {
    rows.values[i] = i % rows.variables == 0 ? 1.0 : normal(random);
  }
  return rows;
}

/// Our way: append to a block, accumulate when it is full.
class KernelMoments {
 public:
  explicit KernelMoments(int variables)
      : kernel_(variables),
        block_(kernel_.make_block()),
        workspace_(kernel_.workspace_size()),
        sums_(mixstream::Packing(variables).size()),
        compensation_(sums_.size()) {}

  void absorb(const double* z) noexcept {
    block_.append(z, 1.0);
    if (block_.full()) fold();
  }
  void absorb(const Rows& rows, std::size_t count) noexcept {
    for (std::size_t r = 0; r < count;) {
      r += block_.append(rows.row(r), count - r);
      if (block_.full()) fold();
    }
    bench::keep(sums_.data());
  }
  std::size_t sums() const { return sums_.size(); }
  std::size_t block_rows() const { return kernel_.block_rows(); }

 private:
  void fold() noexcept {
    kernel_.accumulate(block_, workspace_.data(), sums_.data(), compensation_.data());
    block_.clear();
  }

  mixstream::BlockKernel kernel_;
  mixstream::RowBlock block_;
  mixstream::AlignedDoubles workspace_;
  mixstream::AlignedDoubles sums_;  // as the library holds them
  mixstream::AlignedDoubles compensation_;
};

void compare(int variables) {
  KernelMoments kernel(variables);
  bench::DsyrkMoments dsyrk(static_cast<std::size_t>(variables));
  bench::LoopMoments loop(static_cast<std::size_t>(variables));
  // whole blocks of all kernels; few variables: more rows than the caches hold, many: short enough that some
  // turn is not disturbed. The slow loop gets a sixteenth.
  const std::size_t multiply_adds_of_a_turn = kernel.sums() < 10000 ? 200'000'000 : 50'000'000;
  const std::size_t count =
      std::clamp<std::size_t>(multiply_adds_of_a_turn / kernel.sums() / 768, 1, 200) * 768;
  const Rows rows = random_rows(variables, count);
  double multiply_adds = 0.0;
  double bytes = 0.0;
  const std::vector<double> seconds = bench::best_seconds(
      {[&] { kernel.absorb(rows, count); }, [&] { dsyrk.absorb(rows, count); },
       [&] { loop.absorb(rows, count / 16); }, [&] { multiply_adds = bench::run_multiply_adds(); },
       [&] { bytes = bench::read_memory(); }},
      15, 0.05);  // a second call in each turn: after reading the memory no cache holds the totals
  const auto n = static_cast<double>(count);
  const double rate = n / seconds[0];
  const double dsyrk_rate = n / seconds[1];
  const double loop_rate = n / 16 / seconds[2];
  const double peak = multiply_adds / seconds[3];
  const double bandwidth = bytes / seconds[4];
  fmt::print(R"({{"benchmark":"moments of order 6","instruction_set":"{}","m":{},"sums":{},"block_rows":{},)"
             R"("rows_per_second":{:.4g},"dsyrk_rows_per_second":{:.4g},"loop_rows_per_second":{:.4g},)"
             R"("over_dsyrk":{:.2f},"over_loop":{:.2f},"peak_gigafma":{:.1f},"of_peak":{:.3f},)"
             R"("memory_gigabytes":{:.1f},"of_memory":{:.3f}}})"
             "\n",
             name_of(mixstream::best_instruction_set()), variables, kernel.sums(), kernel.block_rows(), rate,
             dsyrk_rate, loop_rate, rate / dsyrk_rate, rate / loop_rate, peak * 1e-9,
             rate * static_cast<double>(kernel.sums()) / peak, bandwidth * 1e-9,
             rate * variables * sizeof(double) / bandwidth);
  std::fflush(stdout);
}

/// Average and percentiles of one call of absorb(r). One call in block_rows closes a block: with 256 rows
/// that is 0.4%, so the 99th percentile is a row that is put away, the 99.9th one that closes a block.
template <class Absorb>
void time_single_rows(const char* name, int variables, std::size_t count, Absorb absorb) {
  using Clock = std::chrono::steady_clock;
  const auto absorb_all = [&] {
    for (std::size_t r = 0; r < count; ++r) absorb(r);
  };
  const double average = bench::best_seconds({absorb_all})[0] / static_cast<double>(count);
  std::vector<double> nanoseconds(64 * count);
  for (std::size_t call = 0; call < nanoseconds.size(); ++call) {
    const auto start = Clock::now();
    absorb(call % count);
    nanoseconds[call] = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  const std::size_t calls = nanoseconds.size();
  fmt::print(R"({{"benchmark":"{}","m":{},"average_ns":{:.2f},)"
             R"("median_ns_with_clock":{:.0f},"p99_ns_with_clock":{:.0f},"p999_ns_with_clock":{:.0f}}})"
             "\n",
             name, variables, average * 1e9, nanoseconds[calls / 2], nanoseconds[calls / 100 * 99],
             nanoseconds[calls / 1000 * 999]);
}

/// One row at a time: the kernel alone, and the whole state (checks, pilot, bins, counts and sample too).
void time_single_rows(int variables) {
  constexpr std::size_t count = 3072;  // they stay in the cache, as a row does that was just read
  const Rows rows = random_rows(variables, count);
  KernelMoments kernel(variables);
  time_single_rows("one row: append, flush when full", variables, count,
                   [&](std::size_t r) { kernel.absorb(rows.row(r)); });
  mixstream::StateSettings settings;
  settings.layout = {variables - 1, 0};
  mixstream::Outcome<mixstream::MomentState> created = mixstream::MomentState::create(settings);
  if (!created) return;
  mixstream::MomentState& state = created.value();
  const auto d = static_cast<std::size_t>(variables - 1);
  time_single_rows("one row: MomentState::absorb", variables, count, [&](std::size_t r) {
    state.absorb({{rows.row(r), d}, rows.row(r)[d]});
  });
}

}  // namespace

/// Arguments: the numbers of variables to measure; none: all.
int main(int argument_count, char** arguments) {
  std::vector<int> variables{3, 5, 7, 9, 13, 17, 25};
  if (argument_count > 1) variables.clear();
  for (int i = 1; i < argument_count; ++i) variables.push_back(std::atoi(arguments[i]));
  for (const int m : variables) compare(m);
  time_single_rows(5);
  return 0;
}
