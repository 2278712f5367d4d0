// A sensor loop: latency of a row beside what else could be done with it, memory, slices of a refit.
//   loop            JSON, one object a line
//   loop --table    the tables of docs/evaluation/tables/loop.md
//   loop modes [--table]       only the rows of modes that persist
//   loop slices | stretches    only the slices of refits; the longest stretches between their yield points
#include <fmt/format.h>
#include <malloc.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include "loop_rows.hpp"
#include "measure.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/polish/stepwise_em.hpp"

using namespace mixstream;
using Clock = std::chrono::steady_clock;

namespace {

double nanoseconds(Clock::duration time) {
  return std::chrono::duration<double, std::nano>(time).count();
}

struct Latency {
  double average = 0.0, p99 = 0.0, p999 = 0.0, worst = 0.0;
};

/// Processor time of a row: the average of the best pass, as in measure.hpp. The passes before leave few rows
/// to enter the sample.
template <class Take>
double average_of(const LoopRows& rows, Take take, int passes) {
  double best = std::numeric_limits<double>::infinity();
  for (int pass = -passes; pass < passes; ++pass) {
    const double begin = bench::thread_seconds();
    for (std::size_t i = 0; i < rows.size(); i += 1000) {
      for (std::size_t j = 0; j < 1000; ++j) take(rows.row(i % 2000 + j));
    }
    const double average = 1e9 * (bench::thread_seconds() - begin) / static_cast<double>(rows.size());
    if (pass >= 0) best = std::min(best, average);
  }
  return best;
}

/// The average in processor time; the rest from single rows by the clock on the wall, with the clock's own
/// cost taken off and everything the system does left in.
template <class Take>
Latency measure(const LoopRows& rows, Take take, int passes) {
  Latency latency;
  latency.average = average_of(rows, take, passes);
  std::vector<double> times(rows.size());
  double clock_cost = 1e300;
  for (int i = 0; i < 1000; ++i) {
    const auto begin = Clock::now();
    clock_cost = std::min(clock_cost, nanoseconds(Clock::now() - begin));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto begin = Clock::now();
    take(rows.row(i));
    times[i] = std::max(0.0, nanoseconds(Clock::now() - begin) - clock_cost);
  }
  std::ranges::sort(times);
  const auto at = [&](double share) {
    return times[static_cast<std::size_t>(share * static_cast<double>(times.size() - 1))];
  };
  latency.p99 = at(0.99);
  latency.p999 = at(0.999);
  latency.worst = times.back();
  return latency;
}

struct Printer {
  LoopOutput output;
  std::size_t d;
  double base = 0.0;  ///< nanoseconds of the loop's own moments; beside a neighbour, in turn with it

  void operator()(const char* what, const Latency& l) const {
    fmt::print(
        fmt::runtime(output == LoopOutput::table
                         ? "| {} | {} | {:.1f} | {:.0f} | {:.0f} | {:.0f} | {:.2f} |\n"
                         : "{{\"bench\":\"loop\",\"d\":{},\"what\":\"{}\",\"average_ns\":{:.1f},\"p99_ns\":"
                           "{:.0f},\"p999_ns\":{:.0f},\"worst_ns\":{:.0f},\"ratio_to_moments\":{:.3f}}}\n"),
        d, what, l.average, l.p99, l.p999, l.worst, l.average / base);
    std::fflush(stdout);
  }
};

/// Recursive least squares of one law: P and beta.
struct Recursive {
  std::size_t d;
  std::vector<double> beta, gain, p;

  explicit Recursive(std::size_t d_) : d(d_), beta(d_), gain(d_), p(d_ * d_) {
    for (std::size_t i = 0; i < d; ++i) p[i * d + i] = 1e6;
  }
  void add(const Row& row) {
    double scale = 1.0, error = row.response;
    for (std::size_t i = 0; i < d; ++i) {
      gain[i] = 0.0;
      for (std::size_t j = 0; j < d; ++j) gain[i] += p[i * d + j] * row.features[j];
      scale += gain[i] * row.features[i];
      error -= beta[i] * row.features[i];
    }
    for (std::size_t i = 0; i < d; ++i) beta[i] += gain[i] * error / scale;
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) p[i * d + j] -= gain[i] * gain[j] / scale;
    }
  }
};

/// Leaves the core of the loop, whatever taskset says of the program, where there is another.
void leave_core(int loop_core) {
  cpu_set_t others;
  CPU_ZERO(&others);
  for (int core = 0; core < static_cast<int>(std::thread::hardware_concurrency()) + 64; ++core) {
    if (core != loop_core) CPU_SET(static_cast<unsigned>(core), &others);
  }
  sched_setaffinity(0, sizeof others, &others);
}

/// The loop's latency while another core does `work` again and again, and its average without that: stretch
/// by stretch in turn, so that what else the machine does disturbs their ratio little.
template <class Take, class Work>
Latency measure_beside(const LoopRows& rows, Take take, int passes, Work work, double& alone) {
  std::atomic<bool> running{true};
  std::atomic<bool> busy{true};
  std::thread neighbour([&, loop_core = sched_getcpu()] {
    leave_core(loop_core);
    while (running.load(std::memory_order_relaxed)) {
      if (busy.load(std::memory_order_relaxed))
        work();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  Latency beside = measure(rows, take, passes);
  beside.average = alone = std::numeric_limits<double>::infinity();
  for (int turn = 0; turn < 20; ++turn) {
    busy = turn % 2 != 0;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the neighbour ends what it was at
    double& best = busy ? beside.average : alone;
    best = std::min(best, average_of(rows, take, 1));
  }
  running = false;
  neighbour.join();
  return beside;
}

/// Multiplications in registers: what merely keeping the other core busy costs, which is much where two
/// "cores" are one core's two threads.
void multiply_only() {
  double x[8] = {1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8};
  for (int i = 0; i < 100000; ++i) {
    for (double& value : x) value = value * 0.999 + 0.001;
  }
  bench::keep(x);
}

/// Moments only: the state by itself, the loop, and the loop while refits run one after the other beside it.
void bench_moments(const LoopRows& rows, int passes, Printer& print) {
  const LoopSettings settings = loop_settings(rows.d, false);
  SensorLoop loop = SensorLoop::create(settings).value();
  const auto take = [&](const Row& row) { loop.absorb(row); };
  const Latency alone = measure(rows, take, passes);
  print.base = alone.average;
  print("moments", alone);
  MomentState state = MomentState::create(settings.estimator.state).value();
  print("the same without the loop", measure(
                                         rows, [&](const Row& row) { state.absorb(row); }, passes));
  const auto refit = [&] {
    loop.request_refit();
    loop.refit();
  };
  const Latency refitted = measure_beside(rows, take, passes, refit, print.base);
  print("moments, a refit running beside", refitted);
  const Latency multiplied = measure_beside(rows, take, passes, multiply_only, print.base);
  print("moments, multiplications in registers beside", multiplied);
  print.base = alone.average;
}

void bench_rivals(const LoopRows& rows, int passes, const Printer& print) {
  const std::size_t d = rows.d;
  std::vector<double> copy(d + 1);
  const auto copy_row = [&](const Row& row) {
    std::memcpy(copy.data(), row.features.data(), d * sizeof(double));
    copy[d] = row.response;
    bench::keep(copy.data());
  };
  print("memcpy of the row", measure(rows, copy_row, passes));
  Recursive recursive(d);
  print("recursive least squares", measure(
                                       rows, [&](const Row& row) { recursive.add(row); }, passes));
  Mixture start = empty_mixture(2, d);
  start.weights = {0.4, 0.6};
  start.noise_variances = {1.0, 1.0};
  start.coefficients[0] = 1.0;
  StepwiseEm em(start);
  print("stepwise EM", measure(
                           rows, [&](const Row& row) { em.add(row); }, passes));
}

void bench_latency(LoopOutput output) {
  if (output == LoopOutput::table) {
    fmt::print(
        "| d | a row's way | average, ns | p99 | p99.9 | worst | to moments "
        "|\n|---|---|---|---|---|---|---|\n");
  }
  for (const std::size_t d : {4U, 8U, 16U}) {
    const LoopRows rows(d, d > 8 ? 20000 : 100000,
                        2000);  // they stay in the cache, as one does that was just read
    const int passes = d > 8   ? 3
                       : d > 4 ? 30
                               : 200;  // a tenth of a second or more: the host has slow moments
    Printer print{output, d};
    bench_moments(rows, passes, print);
    SensorLoop polished = SensorLoop::create(loop_settings(d, true)).value();
    const LoopRows stream(d, rows.size());  // a polish begins at a fit, and for that rows must differ
    for (std::size_t i = 0; i < stream.size(); ++i) {
      polished.absorb(stream.row(i));
      polished.refit();
    }
    print("moments and polish", measure(
                                    rows, [&](const Row& row) { polished.absorb(row); }, passes));
    bench_rivals(rows, passes, print);
  }
}

/// Bytes in use of the allocator: everything that a loop takes when it is made.
void bench_memory(LoopOutput output) {
  const auto bytes_in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  const bool table = output == LoopOutput::table;
  if (table) fmt::print("| d | sums of a tensor | a state, kB | a loop, kB |\n|---|---|---|---|\n");
  for (const std::size_t d : {1U, 2U, 4U, 8U, 12U, 16U}) {
    const LoopSettings settings = loop_settings(d, true);
    const std::size_t before = bytes_in_use();
    const MomentState state = MomentState::create(settings.estimator.state).value();
    const std::size_t with_state = bytes_in_use();
    const SensorLoop loop = SensorLoop::create(settings).value();
    const std::size_t with_loop = bytes_in_use();
    fmt::print(fmt::runtime(
                   table ? "| {} | {} | {} | {} |\n"
                         : "{{\"bench\":\"memory\",\"d\":{},\"sums\":{},\"state_kb\":{},\"loop_kb\":{}}}\n"),
               d, *monomial_count(d + 1, 6), (with_state - before) / 1000, (with_loop - with_state) / 1000);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wish = argc > 1 ? argv[1] : "";
  const LoopOutput output = wish == "--table" ? LoopOutput::table : LoopOutput::json;
  if (wish == "stretches") {
    bench_stretches();
    return 0;
  }
  if (wish == "modes") {
    bench_modes(argc > 2 ? LoopOutput::table : LoopOutput::json);
    return 0;
  }
  if (wish != "slices") {
    bench_latency(output);
    if (output == LoopOutput::table) fmt::print("\n");
    bench_memory(output);
    if (output == LoopOutput::table) fmt::print("\n");
    bench_modes(output);
    if (output == LoopOutput::table) fmt::print("\n");
  }
  bench_slices(output);
}
