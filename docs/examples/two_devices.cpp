// Two devices whose states merge: each ships its state as bytes, a third place adds and solves.
#include <cstdio>

#include "mixstream/core/random.hpp"
#include "mixstream/estimator.hpp"

namespace {

/// On a device: the moments alone, which need no BLAS. Each device is a source of its own.
mixstream::Bytes on_device(std::uint64_t source) {
  auto state = mixstream::MomentState::create({.layout = {2, 0}}).value();
  state.begin_source(source);
  mixstream::Random sensor(source);
  for (int i = 0; i < 10'000; ++i) {
    const double x[2] = {1.0, sensor.normal()};
    state.absorb({x, (sensor.uniform() < 0.3 ? 1.0 + 2.0 * x[1] : -1.0 - x[1]) + 0.2 * sensor.normal()});
  }
  return mixstream::encode(state);
}

}  // namespace

int main() {
  mixstream::MomentState both = mixstream::decode(on_device(1)).value().state;
  const mixstream::MomentState other = mixstream::decode(on_device(2)).value().state;
  if (const auto merged = both.merge(other); !merged) {
    std::fprintf(stderr, "%s\n", merged.refusal().text.c_str());
    return 1;
  }
  const mixstream::Solution solution = mixstream::solve(both, {});
  std::printf("%llu rows: %s\n", static_cast<unsigned long long>(solution.report.rows),
              solution.report.words.c_str());
  return solution.report.rows == 20'000 && solution.report.status == mixstream::FitStatus::ok ? 0 : 1;
}
