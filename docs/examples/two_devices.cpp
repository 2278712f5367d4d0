// Two devices whose states merge: each ships its state as bytes, a third place adds and solves.
#include <cstdio>
#include <random>

#include "mixstream/estimator.hpp"
#include "mixstream/moments/moments.hpp"

namespace {

/// On a device: the moments alone, which need no BLAS. Each device is a source of its own.
mixstream::Bytes on_device(std::uint64_t source) {
  auto moments = mixstream::Moments::create({.layout = {2, 0}}).value();
  moments.go_on_at({0, source});
  std::mt19937_64 bits(source);
  std::normal_distribution<double> normal;
  std::bernoulli_distribution first_law(0.3);
  for (int i = 0; i < 10'000; ++i) {
    const double x[2] = {1.0, normal(bits)};
    moments.absorb({x, (first_law(bits) ? 1.0 + 2.0 * x[1] : -1.0 - x[1]) + 0.2 * normal(bits)});
  }
  return moments.encode();
}

}  // namespace

int main() {
  mixstream::EstimatorSettings settings;  // two laws
  mixstream::Estimator both = mixstream::Estimator::decode(on_device(1), settings).value();
  const mixstream::Estimator other = mixstream::Estimator::decode(on_device(2), settings).value();
  if (const auto merged = both.merge(other); !merged) {
    std::fprintf(stderr, "%s\n", merged.refusal().text.c_str());
    return 1;
  }
  const mixstream::Report report = both.fit();
  std::printf("%llu rows: %s\n", static_cast<unsigned long long>(report.rows), report.words.c_str());
  return report.rows == 20'000 && report.status == mixstream::FitStatus::ok ? 0 : 1;
}
