// Time of combining the ranks' states, by number of features: mpirun -n RANKS combine [ROUNDS].
// Rank 0 prints one JSON object for each d: bytes of a message, and the median time of a round, as a whole
// and of its parts (encoding, decoding and merging one state, in processor time: ranks may share processors).
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "combine.hpp"
#include "mixstream/core/random.hpp"

namespace {

using namespace mixstream;

constexpr std::size_t rows_of_a_branch = 6000;  // the sample is full

double processor_seconds() {
  ::timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <class Work>
double timed(Work work) {
  const double began = processor_seconds();
  work();
  return processor_seconds() - began;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

Estimator trunk_of(int d, std::size_t rows, std::uint64_t seed) {
  EstimatorSettings settings;
  settings.state.layout = {d, 0};
  settings.state.memory_budget = 1ULL << 36;
  settings.solve.polish = PolishKind::off;
  Estimator estimator = Estimator::create(settings).value();
  Random random(seed);
  std::vector<double> x(static_cast<std::size_t>(d), 1.0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 1; j < x.size(); ++j) x[j] = random.uniform(-1.0, 1.0);
    estimator.absorb({x, random.normal()});
  }
  return estimator;
}

/// A branch of one trunk with rows of its own.
Estimator branch_of(int d, std::size_t rows, std::uint64_t seed) {
  Estimator branch = trunk_of(d, 256, 1).branch().value();
  Random random(seed);
  branch.go_on_at({0, seed + 1});
  std::vector<double> x(static_cast<std::size_t>(d), 1.0);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 1; j < x.size(); ++j) x[j] = random.uniform(-1.0, 1.0);
    branch.absorb({x, random.normal()});
  }
  return branch;
}

void measure(Ranks& ranks, int d, int rounds) {
  const std::size_t rows = d >= 32 ? 600 : rows_of_a_branch;
  const Estimator branch = branch_of(d, rows, static_cast<std::uint64_t>(ranks.rank()));
  std::vector<double> whole, encoding, decoding, merging;
  std::size_t bytes = 0;
  for (int round = 0; round < rounds; ++round) {
    Bytes start;
    ranks.broadcast(start);  // all begin together
    CombineCost cost;
    const Outcome<Estimator> sum = combine(ranks, branch, cost);
    whole.push_back(cost.seconds);
    if (!ranks.leads()) continue;
    Bytes encoded;
    encoding.push_back(timed([&] { encoded = branch.encode(); }));
    bytes = encoded.size();
    std::optional<Outcome<Estimator>> more;
    decoding.push_back(timed([&] { more.emplace(Estimator::decode(encoded, branch.settings())); }));
    Estimator target = branch;
    merging.push_back(timed([&] {
      if (!target.merge_branch(more->value())) std::abort();
    }));
  }
  if (!ranks.leads()) return;
  fmt::print(
      "{{\"compared\":\"combining\",\"ranks\":{},\"d\":{},\"state_bytes\":{},\"combine_seconds\":{:.6f},"
      "\"encode_seconds\":{:.6f},\"decode_seconds\":{:.6f},\"merge_seconds\":{:.6f}}}\n",
      ranks.size(), d, bytes, median(whole), median(encoding), median(decoding), median(merging));
}

}  // namespace

int main(int count, char** words) {
  Ranks ranks(count, words);
  const int rounds = count > 1 ? std::max(1, std::atoi(words[1])) : 5;
  for (const int d : {4, 8, 16, 32}) measure(ranks, d, d >= 32 ? std::min(rounds, 3) : rounds);
}
