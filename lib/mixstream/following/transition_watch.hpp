// Whether the ways between modes changed at some point of the stream: the likelihood ratio of a chain that
// changed there against one chain throughout.
//
// Transitions are counted over 32 to 64 stretches of the stream that double in length, so memory is constant.
// For every boundary the counts before and after are held against those of both together,
//
//   G2 = 2 sum_ij (a_ij log a_ij / a_i. + b_ij log b_ij / b_i. - c_ij log c_ij / c_i.),   c = a + b,
//
// a chi-square of k (k - 1) degrees of freedom at a boundary named beforehand. A ratio of likelihoods keeps
// its meaning where counts are small, which their squared differences do not; and no anchor that has learnt
// the change meanwhile can hide it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mixstream {

/// All that is remembered, as plain numbers.
struct TransitionWatchState {
  std::vector<double> counts;        ///< stretch by stretch, oldest first, k x k each
  std::uint64_t stretch_blocks = 1;  ///< blocks in a full stretch
  std::uint64_t open_blocks = 0;     ///< in the newest; 0: the next block opens one

  friend bool operator==(const TransitionWatchState&, const TransitionWatchState&) = default;
};

/// Allocates at construction only; one thread at a time.
class TransitionWatch {
 public:
  static constexpr std::size_t most_stretches = 64;

  struct Reading {
    double chi_square = 0.0;  ///< G2 of the likeliest boundary; 0: no boundary can be judged
    double dof = 0.0;
    std::size_t stretches = 0;  ///< before it
  };

  explicit TransitionWatch(std::size_t component_count);
  TransitionWatch(const TransitionWatch& other);  ///< with the same room
  TransitionWatch& operator=(const TransitionWatch& other) = default;
  TransitionWatch(TransitionWatch&&) noexcept = default;
  TransitionWatch& operator=(TransitionWatch&&) noexcept = default;
  ~TransitionWatch() = default;

  static bool is_sound(const TransitionWatchState& state, std::size_t component_count) noexcept;
  void restore(const TransitionWatchState& state);  ///< one that is sound. Allocates
  const TransitionWatchState& state() const noexcept { return state_; }

  /// A block's transitions, k x k, expected ones. No throw, no allocation.
  void add(std::span<const double> counts) noexcept;
  /// The likeliest boundary among those before and after which `enough` changes were to be expected. No
  /// throw, no allocation; 64 k^2 logarithms.
  Reading likeliest_change(double enough) noexcept;
  /// The stretches before a boundary no longer count: the chain changed there. No throw, no allocation.
  void forget_before(std::size_t stretches) noexcept;

 private:
  std::size_t stretches() const noexcept { return state_.counts.size() / (k_ * k_); }
  double likelihood(std::span<const double> counts) const noexcept;
  void join_stretches() noexcept;

  std::size_t k_;
  TransitionWatchState state_;
  std::vector<double> before_;
  std::vector<double> after_;
  std::vector<double> all_;
};

}  // namespace mixstream
