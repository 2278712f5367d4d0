// How fast rows become moments, on one core: our kernel against dsyrk over cvec(z^(3)), against a plain loop,
// against what the core could do at most. One JSON object a line.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>

#include "machine.hpp"
#include "measure.hpp"
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

/// Our way, row by row: append to a block, accumulate when it is full.
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
    flush_if_full();
  }
  /// Rows at hand all at once.
  void absorb(const Rows& rows, std::size_t count) noexcept {
    for (std::size_t r = 0; r < count;) {
      r += block_.append(rows.row(r), count - r);
      flush_if_full();
    }
    bench::keep(sums_.data());
  }
  std::size_t sums() const { return sums_.size(); }
  std::size_t block_rows() const { return kernel_.block_rows(); }

 private:
  void flush_if_full() noexcept {
    if (!block_.full()) return;
    kernel_.accumulate(block_, workspace_.data(), sums_.data(), compensation_.data());
    block_.clear();
  }

  mixstream::BlockKernel kernel_;
  mixstream::RowBlock block_;
  mixstream::AlignedDoubles workspace_;
  std::vector<double> sums_;
  std::vector<double> compensation_;
};

void compare(int variables) {
  KernelMoments kernel(variables);
  bench::DsyrkMoments dsyrk(static_cast<std::size_t>(variables));
  bench::LoopMoments loop(static_cast<std::size_t>(variables));
  // whole blocks, a few milliseconds for us; the slower ones get fewer rows
  const std::size_t count = std::clamp<std::size_t>(40000000 / kernel.sums() / 1024, 1, 200) * 1024;
  const Rows rows = random_rows(variables, count);
  double multiply_adds = 0.0;
  double bytes = 0.0;
  const std::vector<double> seconds = bench::best_seconds(
      {[&] { kernel.absorb(rows, count); }, [&] { dsyrk.absorb(rows, count / 4); },
       [&] { loop.absorb(rows, count / 16); }, [&] { multiply_adds = bench::run_multiply_adds(); },
       [&] { bytes = bench::read_memory(); }});
  const auto n = static_cast<double>(count);
  const double rate = n / seconds[0];
  const double dsyrk_rate = n / 4 / seconds[1];
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

/// Average and 99th percentile of one call. One call in block_rows closes a block: at 64 rows that is 1.6%,
/// so the 99th percentile is the cost of a flush.
void time_single_rows(int variables) {
  constexpr std::size_t count = 64 * 1024;
  using Clock = std::chrono::steady_clock;
  KernelMoments kernel(variables);
  const Rows rows = random_rows(variables, count);
  const double average = bench::best_seconds({[&] {
                           for (std::size_t r = 0; r < count; ++r) kernel.absorb(rows.row(r));
                         }})[0] /
                         count;
  std::vector<double> nanoseconds(count);
  for (std::size_t r = 0; r < count; ++r) {
    const auto start = Clock::now();
    kernel.absorb(rows.row(r));
    nanoseconds[r] = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  }
  std::sort(nanoseconds.begin(), nanoseconds.end());
  fmt::print(R"({{"benchmark":"one row: append, flush when full","m":{},"average_ns":{:.2f},)"
             R"("median_ns_with_clock":{:.0f},"p99_ns_with_clock":{:.0f},"p999_ns_with_clock":{:.0f}}})"
             "\n",
             variables, average * 1e9, nanoseconds[count / 2], nanoseconds[count / 100 * 99],
             nanoseconds[count / 1000 * 999]);
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
