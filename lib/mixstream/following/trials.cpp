#include "mixstream/following/trials.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "mixstream/verdict/limits.hpp"

namespace mixstream {

Trial::Trial(std::vector<ModePolish> entrants, std::vector<std::string> because)
    : entrants_(std::move(entrants)), because_(std::move(because)) {
  because_.resize(entrants_.size());
  before_.reserve(entrants_.size());
  for (const ModePolish& entrant : entrants_) before_.push_back(entrant.log_likelihood());
}

Outcome<Trial> Trial::restore(const TrialState& state) {
  std::vector<ModePolish> entrants;
  for (const ModePolishState& entrant : state.entrants) {
    Outcome<ModePolish> polish = ModePolish::restore(entrant);
    if (!polish) return polish.refusal();
    entrants.push_back(std::move(polish).value());
  }
  if (entrants.empty() || state.before.size() != entrants.size() || state.because.size() != entrants.size())
    return Refusal{Reason::bad_snapshot, "a trial in this state is not whole; refit without it"};
  Trial trial(std::move(entrants), state.because);
  trial.before_ = state.before;
  trial.rows_ = state.rows;
  return trial;
}

TrialState Trial::state() const {
  TrialState state{{}, before_, rows_, because_};
  for (const ModePolish& entrant : entrants_) state.entrants.push_back(entrant.state());
  return state;
}

void Trial::absorb(const Row& row, const ChainTable::Step& step) noexcept {
  for (ModePolish& entrant : entrants_) entrant.absorb(row, step);
  ++rows_;
}

void Trial::forget(double keep) noexcept {
  for (ModePolish& entrant : entrants_) entrant.forget(keep);
}

Trial Trial::branch() const {
  std::vector<ModePolish> entrants;
  for (const ModePolish& entrant : entrants_)
    entrants.emplace_back(entrant.anchor(), entrant.shape(), entrant.state().settings);
  return {std::move(entrants), because_};
}

Done Trial::merge(const Trial& branch) {
  const auto same = [](const ModePolish& one, const ModePolish& other) {
    return one.shape() == other.shape();
  };
  if (!std::ranges::equal(entrants_, branch.entrants_, same))
    return Refusal{Reason::cannot_merge, "only trials of the same models can be added"};
  for (std::size_t i = 0; i < entrants_.size(); ++i) {
    if (Done done = entrants_[i].merge(branch.entrants_[i]); !done) return done;
  }
  rows_ += branch.rows_;
  return std::monostate{};
}

double Trial::gain(std::size_t entrant) const noexcept {
  const double own = entrants_[0].log_likelihood() - before_[0];
  const double gain = entrants_[entrant].log_likelihood() - before_[entrant] - own;
  return std::isfinite(gain) ? gain : -1.0;
}

/// A larger model that holds a smaller one predicts about as well where the smaller is true, by chance a
/// little better: it must be beyond doubt, by the odds that BIC is held to.
std::size_t Trial::best() const {
  const auto parameters = [&](std::size_t entrant) { return entrants_[entrant].shape().parameters(); };
  std::vector<std::size_t> by_size(entrants_.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::ranges::stable_sort(by_size, {}, parameters);
  std::size_t best = 0;
  for (const std::size_t entrant : by_size) {
    const double margin = parameters(entrant) > parameters(best) ? 0.5 * limits::beyond_doubt : 0.0;
    if (gain(entrant) > gain(best) + margin) best = entrant;
  }
  return best;
}

}  // namespace mixstream
