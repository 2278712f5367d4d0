// Latency of a row inside a sensor loop, beside what else could be done with it; and slices of a refit.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <ctime>
#include <thread>
#include <vector>

#include "mixstream/random.hpp"
#include "mixstream/refinement/stepwise_em.hpp"
#include "mixstream/sensor_loop.hpp"

using namespace mixstream;
using Clock = std::chrono::steady_clock;

namespace {

double nanoseconds(Clock::duration time) {
  return std::chrono::duration<double, std::nano>(time).count();
}

struct Rows {
  std::size_t d;
  std::vector<double> features;
  std::vector<double> responses;

  Rows(std::size_t d_, std::size_t count) : d(d_), features(d_ * count), responses(count) {
    Random random(3);
    for (std::size_t i = 0; i < count; ++i) {
      double y = 0.3 * random.normal();
      const double side = random.uniform() < 0.4 ? 1.0 : -0.5;
      for (std::size_t j = 0; j < d; ++j) {
        features[i * d + j] = j == 0 ? 1.0 : random.normal();
        y += side * features[i * d + j] / static_cast<double>(j + 1);
      }
      responses[i] = y;
    }
  }
  std::size_t size() const { return responses.size(); }
  Row row(std::size_t i) const { return {{features.data() + i * d, d}, responses[i]}; }
};

struct Latency {
  double average = 0.0, p99 = 0.0, p999 = 0.0, worst = 0.0;
};

/// The average is the median over stretches of 1000 rows, so that another program on the same core spoils few
/// of them; the rest is from single rows, with the clock's own cost taken off and everything the system does
/// left in.
template <class Take>
Latency measure(const Rows& rows, Take take, int passes) {
  constexpr std::size_t stretch = 1000;
  Latency latency;
  std::vector<double> averages;
  for (int pass = -1; pass < passes; ++pass) {
    for (std::size_t i = 0; i < rows.size(); i += stretch) {
      const auto begin = Clock::now();
      for (std::size_t j = i; j < i + stretch; ++j) take(rows.row(j));
      if (pass >= 0) averages.push_back(nanoseconds(Clock::now() - begin) / stretch);
    }
  }
  std::ranges::sort(averages);
  latency.average = averages[averages.size() / 2];
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

void print(std::size_t d, const char* what, const Latency& l, double base) {
  fmt::print(
      "{{\"bench\":\"loop\",\"d\":{},\"what\":\"{}\",\"average_ns\":{:.1f},\"p99_ns\":{:.0f},\"p999_ns\":{:."
      "0f},"
      "\"worst_ns\":{:.0f},\"ratio_to_moments\":{:.3f}}}\n",
      d, what, l.average, l.p99, l.p999, l.worst, l.average / base);
  std::fflush(stdout);
}

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

LoopSettings settings_for(std::size_t d, bool polish) {
  LoopSettings settings;
  settings.estimator.state.layout = {static_cast<int>(d), 0};
  settings.estimator.solve.polish = polish ? PolishKind::scoring : PolishKind::off;
  return settings;
}

/// Moments only, alone and while refits run one after the other on another thread.
double bench_moments(const Rows& rows, int passes) {
  SensorLoop loop = SensorLoop::create(settings_for(rows.d, false)).value();
  const auto take = [&](const Row& row) { loop.absorb(row); };
  const Latency alone = measure(rows, take, passes);
  print(rows.d, "moments", alone, alone.average);
  std::atomic<bool> running{true};
  std::atomic<int> refits{0};
  std::thread solver([&] {
    while (running.load(std::memory_order_relaxed)) {
      loop.request_refit();
      refits += loop.refit() ? 1 : 0;
    }
  });
  const Latency beside = measure(rows, take, passes);
  running = false;
  solver.join();
  print(rows.d, "moments, a refit running beside", beside, alone.average);
  return alone.average;
}

void bench_dimension(std::size_t d) {
  const Rows rows(d, d > 8 ? 20000 : 100000);
  const int passes = d > 8 ? 3 : 10;
  const double base = bench_moments(rows, passes);
  SensorLoop polished = SensorLoop::create(settings_for(d, true)).value();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    polished.absorb(rows.row(i));
    polished.refit();
  }
  print(d, "moments and polish",
        measure(
            rows, [&](const Row& row) { polished.absorb(row); }, passes),
        base);
  std::vector<double> copy(d + 1);
  print(d, "memcpy of the row",
        measure(
            rows,
            [&](const Row& row) {
              std::memcpy(copy.data(), row.features.data(), d * sizeof(double));
              copy[d] = row.response;
              asm volatile("" : : "r"(copy.data()) : "memory");
            },
            passes),
        base);
  Recursive recursive(d);
  print(d, "recursive least squares",
        measure(
            rows, [&](const Row& row) { recursive.add(row); }, passes),
        base);
  Mixture start = empty_mixture(2, d);
  start.weights = {0.4, 0.6};
  start.noise_variances = {1.0, 1.0};
  start.coefficients[0] = 1.0;
  StepwiseEm em(start);
  print(d, "stepwise EM",
        measure(
            rows, [&](const Row& row) { em.add(row); }, passes),
        base);
}

double processor_nanoseconds() {  // of this thread: what another program takes from it does not count
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

/// Slices of refits, in processor time: how far beyond the budget the slowest one in a hundred goes.
void bench_slices(std::size_t d, std::chrono::microseconds budget) {
  LoopSettings settings = settings_for(d, true);
  settings.policy.every_rows = 5000;
  SensorLoop loop = SensorLoop::create(settings).value();
  const Rows rows(d, 30000);
  std::vector<double> slices;
  int refits = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    loop.absorb(rows.row(i));
    do {
      const double begin = processor_nanoseconds();
      const bool ended = loop.refit_step(budget).has_value();
      const double time = processor_nanoseconds() - begin;
      if (ended || loop.refit_is_under_way())
        slices.push_back(time / (1e3 * static_cast<double>(budget.count())));
      refits += ended ? 1 : 0;
    } while (loop.refit_is_under_way());
  }
  std::ranges::sort(slices);
  const auto at = [&](double share) {
    return slices.empty() ? 0.0
                          : slices[static_cast<std::size_t>(share * static_cast<double>(slices.size() - 1))];
  };
  fmt::print(
      "{{\"bench\":\"refit_step\",\"d\":{},\"budget_us\":{},\"refits\":{},\"slices\":{},\"median_of_budget\":"
      "{:.3f},"
      "\"p99_of_budget\":{:.3f},\"worst_of_budget\":{:.3f}}}\n",
      d, budget.count(), refits, slices.size(), at(0.5), at(0.99), at(1.0));
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  const bool slices_only = argc > 1 && std::strcmp(argv[1], "slices") == 0;
  if (!slices_only) {
    for (const std::size_t d : {4U, 8U, 16U}) bench_dimension(d);
  }
  for (const std::size_t d : {2U, 4U}) bench_slices(d, std::chrono::microseconds(1000));
  bench_slices(2, std::chrono::microseconds(200));
}
