// A fit can be ended at any of its yield points: nothing terminates, and the model stays as it was.
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "mixstream/core/interrupt.hpp"
#include "mixstream/model/model.hpp"

namespace {

using namespace mixstream;

/// Throws at one of the places it passes.
struct EndAt final : Yielder {
  std::uint64_t until;
  std::uint64_t passed = 0;
  explicit EndAt(std::uint64_t point) : until(point) { present_yielder = this; }
  ~EndAt() { present_yielder = nullptr; }
  void pass(YieldPlace) override {
    if (unbreakable_stretches == 0 && passed++ == until) throw Interrupted{};
  }
};

constexpr std::uint64_t never = ~std::uint64_t{0};

Model filled(const std::string& options, int rows, double change) {
  Model model = Model::create(read_model_options(2, options).value()).value();
  std::mt19937_64 generator(7);
  std::normal_distribution<double> bell;
  std::uniform_real_distribution<double> chance;
  int law = 0;
  for (int i = 0; i < rows; ++i) {
    if (chance(generator) < change) law = (law + 1) % 3;
    const double x[2] = {bell(generator), bell(generator)};
    const double y = law - 1 + (2 * law - 1.5) * x[0] + (law == 2 ? -x[1] : x[1]) + 0.3 * bell(generator);
    model.absorb({x, y});
  }
  return model;
}

/// How many interrupted fits did not throw, or left a trace.
int failures(const std::string& options, int rows, double change) {
  const Model model = filled(options, rows, change);
  const Bytes before = model.encode();
  EndAt counter(never);
  if (!model.fit("")) return 1;
  const std::uint64_t places = counter.passed;
  std::mt19937_64 generator(1);
  int failed = places < 100 ? 1 : 0;
  for (int i = 0; i < 30; ++i) {
    const EndAt end(i < 10 ? static_cast<std::uint64_t>(i) : generator() % places);
    try {
      (void)model.fit("");
      ++failed;
    } catch (const Interrupted&) {
    }
  }
  present_yielder = nullptr;
  if (model.encode() != before) ++failed;
  std::printf("%s: %llu places, %d failed\n", options.c_str(), static_cast<unsigned long long>(places),
              failed);
  return failed;
}

/// A fit that falls due while rows are absorbed, ended: the rows go on, and the fit is made later.
int failures_while_absorbing() {
  const std::string options = R"({"k": 3, "intercept": true, "modes": "independent", "noise": "shared"})";
  Model model = filled(options, 4999, 1.0);
  const double x[2] = {0.5, 0.25};
  bool ended = false;
  try {
    const EndAt end(20);
    model.absorb({x, 1.0});
  } catch (const Interrupted&) {
    ended = true;
  }
  const bool kept = model.rows() == 5000;
  model.absorb({x, 1.0});
  return ended && kept && model.rows() == 5001 && model.fit("") ? 0 : 1;
}

}  // namespace

int main() {
  int failed = failures(R"({"k": 3, "intercept": true})", 1500, 1.0);
  failed += failures(R"({"k": "auto", "intercept": true, "polish": "off"})", 2000, 1.0);
  failed +=
      failures(R"({"k": 3, "intercept": true, "modes": "persistent", "noise": "per-law,tails"})", 8000, 0.02);
  failed += failures_while_absorbing();
  return failed == 0 ? 0 : 1;
}
