#include "mixstream/estimator/model_budget.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "mixstream/solving/solve.hpp"

namespace mixstream {
namespace {

constexpr std::uint64_t copies = 3;  // that bytes_needed counts

/// Rows in order that a model beside independent rows holds, or may come to hold.
std::uint64_t run_bytes(const EstimatorSettings& settings, std::size_t sample_rows) {
  const bool follows = choice_of(settings.solve, settings.state).any() ||
                       !shape_of(settings.solve, settings.state.layout).is_plain();
  if (!follows) return 0;
  const std::size_t rows = sample_rows < usual_sample_rows ? sample_rows : ModeDriverSettings{}.run_rows;
  return rows * (static_cast<std::uint64_t>(settings.state.layout.feature_count) + 4) * sizeof(double);
}

Outcome<std::uint64_t> bytes_with(const EstimatorSettings& settings, std::size_t sample_rows) {
  StateSettings state = settings.state;
  state.reservoir_rows = sample_rows;
  state.memory_budget = std::numeric_limits<std::uint64_t>::max();
  const Outcome<std::uint64_t> bytes = bytes_needed(state);
  if (!bytes) return bytes.refusal();
  return bytes.value() / copies + run_bytes(settings, sample_rows);
}

}  // namespace

Outcome<std::uint64_t> model_bytes(const EstimatorSettings& settings) {
  const StateSettings state = sized_state(settings);
  return bytes_with(settings, state.reservoir_rows);
}

Outcome<std::size_t> sample_rows_within(const EstimatorSettings& settings, std::uint64_t bytes) {
  const StateSettings state = sized_state(settings);
  const std::size_t usual = state.reservoir_rows;
  if (settings.state.reservoir_rows > 0) return usual;
  const std::size_t least = std::min(usual, least_budget_sample);
  const Outcome<std::uint64_t> smallest = bytes_with(settings, least);
  if (!smallest) return smallest.refusal();
  if (smallest.value() > bytes)
    return Refusal{Reason::too_large, "a model of these features with a sample of " + std::to_string(least) +
                                          " rows takes " + std::to_string((smallest.value() + 1023) / 1024) +
                                          " KiB: give it that much, or use fewer features"};
  const std::uint64_t largest = bytes_with(settings, usual).value();
  if (largest <= bytes) return usual;
  const double share =
      static_cast<double>(bytes - smallest.value()) / static_cast<double>(largest - smallest.value());
  auto rows = least + static_cast<std::size_t>(share * static_cast<double>(usual - least)) + 1;
  while (rows > least && bytes_with(settings, rows).value() > bytes) --rows;
  return rows;
}

}  // namespace mixstream
