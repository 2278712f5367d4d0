#include "mixstream/modes/runs.hpp"

#include <algorithm>
#include <cmath>

namespace mixstream {

Runs::Runs(std::size_t feature_count, std::size_t most_rows)
    : Runs(RunState{feature_count, 256, std::max<std::size_t>(2, most_rows / 256), 1, 0, {}, 0, {}}) {}

Runs::Runs(const RunState& state) : state_(state) {
  state_.rows.reserve(state_.most_runs * state_.run_rows * width());
  state_.held.reserve(state_.most_runs);
  holding_ = state_.runs == 0 || (!state_.held.empty() && state_.held.back() + 1 == state_.runs);
}

bool Runs::is_sound(const RunState& state, std::size_t most_slots) noexcept {
  const std::size_t width = state.feature_count + 4;
  if (state.feature_count == 0 || state.run_rows == 0 || state.most_runs < 2 || state.apart == 0 ||
      state.rows.size() % width != 0 || state.held.size() > state.most_runs ||
      state.open_rows > state.run_rows || state.most_runs * state.run_rows > 1U << 24)
    return false;
  const std::size_t rows = state.rows.size() / width;
  if (rows > state.held.size() * state.run_rows || rows + state.run_rows < state.held.size() * state.run_rows)
    return false;
  for (std::size_t i = 0; i < state.rows.size(); ++i) {
    if (!std::isfinite(state.rows[i])) return false;
    const bool is_slot = i % width == state.feature_count + 2;
    const bool is_steps = i % width == state.feature_count + 3;
    if ((is_slot && !(state.rows[i] >= 0.0 && state.rows[i] < static_cast<double>(most_slots))) ||
        (is_steps && !(state.rows[i] >= 0.0 && state.rows[i] < 0x1p31)))
      return false;
  }
  return true;
}

/// Every second run goes; those that stay close up. The last may be an open one.
void Runs::thin_out() noexcept {
  const std::size_t run = state_.run_rows * width();
  std::size_t kept = 0;
  std::size_t end = 0;
  state_.apart *= 2;
  for (std::size_t i = 0; i < state_.held.size(); ++i) {
    if (state_.held[i] % state_.apart != 0) continue;
    const std::size_t numbers = std::min(run, state_.rows.size() - i * run);
    if (kept != i)
      std::copy_n(state_.rows.begin() + static_cast<std::ptrdiff_t>(i * run), numbers,
                  state_.rows.begin() + static_cast<std::ptrdiff_t>(end));
    end += numbers;
    state_.held[kept++] = state_.held[i];
  }
  state_.held.resize(kept);
  state_.rows.resize(end);
}

/// Rows of the open run that are held.
std::size_t Runs::open_rows_held() const noexcept {
  return holding_ && state_.open_rows < state_.run_rows ? state_.rows.size() / width() % state_.run_rows : 0;
}

/// No run is open any more; what was held of it goes.
void Runs::close() noexcept {
  const std::size_t open = open_rows_held();
  if (open == 0) return;
  state_.held.pop_back();
  state_.rows.resize(state_.rows.size() - open * width());
  holding_ = false;
}

void Runs::add(const Runs& other) {
  if (other.state_.runs == 0) return;
  const std::size_t room = state_.most_runs;
  const bool ours_last = open_rows_held() > other.open_rows_held();
  Runs first(ours_last ? other : *this);
  Runs last(ours_last ? *this : other);
  first.close();
  while (first.state_.apart < last.state_.apart) first.thin_out();
  while (last.state_.apart < first.state_.apart ||
         first.state_.held.size() + last.state_.held.size() > room) {
    if (last.state_.apart == first.state_.apart) first.thin_out();
    last.thin_out();
  }
  // One run of the stream is skipped between the two: rows of both are none that follow each other.
  const std::uint64_t apart = first.state_.apart;
  const std::uint64_t begin = (first.state_.runs + 1 + apart - 1) / apart * apart;
  RunState& sum = last.state_;
  for (std::uint64_t& run : sum.held) run += begin;
  sum.runs += begin;
  sum.most_runs = room;
  sum.held.insert(sum.held.begin(), first.state_.held.begin(), first.state_.held.end());
  sum.rows.insert(sum.rows.begin(), first.state_.rows.begin(), first.state_.rows.end());
  *this = Runs(sum);
}

void Runs::open_run() noexcept {
  state_.open_rows = 0;
  if (state_.runs % state_.apart == 0 && state_.held.size() == state_.most_runs) thin_out();
  holding_ = state_.runs % state_.apart == 0;
  if (holding_) state_.held.push_back(state_.runs);
  ++state_.runs;
}

void Runs::add(const Row& row, const ChainTable::Step& step) noexcept {
  if (state_.runs == 0 || state_.open_rows == state_.run_rows) open_run();
  ++state_.open_rows;
  if (!holding_) return;
  state_.rows.insert(state_.rows.end(), row.features.begin(), row.features.end());  // within the reserve
  for (const double number :
       {row.response, row.weight, static_cast<double>(step.slot), static_cast<double>(step.steps)})
    state_.rows.push_back(number);
}

void Runs::take_pilot(const Layout& layout, const Pilot& pilot) noexcept {
  for (std::size_t at = 0; at < state_.rows.size(); at += width()) {
    for (std::size_t j = 0; j < state_.feature_count; ++j) {
      const auto variable = static_cast<std::size_t>(layout.variable_of(static_cast<int>(j)));
      state_.rows[at + j] = (state_.rows[at + j] - pilot.shift[variable]) / pilot.scale[variable];
    }
    double& response = state_.rows[at + state_.feature_count];
    response = (response - pilot.shift.back()) / pilot.scale.back();
  }
  state_.raw = false;
}

std::size_t Runs::slots() const noexcept {
  double largest = 0.0;
  for (std::size_t at = state_.feature_count + 2; at < state_.rows.size(); at += width())
    largest = std::max(largest, state_.rows[at]);
  return static_cast<std::size_t>(largest) + 1;
}

RunRow Runs::row(std::size_t i, std::vector<bool>& seen) const {
  const double* at = state_.rows.data() + i * width();
  const std::size_t d = state_.feature_count;
  if (begins_run(i) && i > 0) {
    const std::size_t run = i / state_.run_rows;
    if (state_.held[run] != state_.held[run - 1] + 1) std::fill(seen.begin(), seen.end(), false);
  }
  RunRow result{
      {{at, d}, at[d], at[d + 1]}, static_cast<std::size_t>(at[d + 2]), static_cast<unsigned>(at[d + 3])};
  if (!seen[result.slot]) result.steps = 0;
  seen[result.slot] = true;
  return result;
}

}  // namespace mixstream
