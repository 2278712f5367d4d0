// Larger models that run beside the one in use over a block of rows, until their predictions decide.
//
// Each predicts every row before it sees it; the sum of log p(y | x, past) is what it is worth. One rule for
// all extensions, no penalty for parameters: a model that fitted noise predicts worse.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstream/modes/mode_polish.hpp"

namespace mixstream {

/// All that a trial remembers, as plain numbers.
struct TrialState {
  std::vector<ModePolishState> entrants;  ///< the first stands for the model in use
  std::vector<double> before;             ///< log-likelihood of each when the trial began
  std::uint64_t rows = 0;                 ///< that have passed
  std::vector<std::string> because;       ///< of each: the name of the doubt that called for it

  friend bool operator==(const TrialState&, const TrialState&) = default;
};

/// Allocates at construction only. One thread at a time.
class Trial {
 public:
  /// `because`: one name an entrant, see TrialState.
  Trial(std::vector<ModePolish> entrants, std::vector<std::string> because);
  static Outcome<Trial> restore(const TrialState& state);
  TrialState state() const;

  /// Lets every entrant predict the row, then learn it. No throw, no allocation; ModePolish::absorb for each.
  void absorb(const Row& row, const ChainTable::Step& step) noexcept;
  void forget(double keep) noexcept;

  /// A trial of the same models for rows that another thread or process reads. Allocates.
  Trial branch() const;
  /// Adds what a branch learnt. Refuses a trial of other models. Allocates.
  Done merge(const Trial& branch);

  std::uint64_t rows() const noexcept { return rows_; }
  std::size_t size() const noexcept { return entrants_.size(); }
  /// Nats that an entrant has gained on the model in use. No throw.
  double gain(std::size_t entrant) const noexcept;
  /// The smallest model that no larger one beats beyond doubt; 0: the model in use. Allocates.
  std::size_t best() const;
  const ModePolish& entrant(std::size_t index) const noexcept { return entrants_[index]; }
  const std::string& because(std::size_t index) const noexcept { return because_[index]; }

 private:
  std::vector<ModePolish> entrants_;
  std::vector<std::string> because_;
  std::vector<double> before_;
  std::uint64_t rows_ = 0;
};

}  // namespace mixstream
