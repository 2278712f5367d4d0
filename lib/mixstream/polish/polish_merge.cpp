// Adding two polishes: labels first, then anchors, then sums.
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/linalg/packed.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/polish/polish.hpp"

namespace mixstream {
namespace {

/// T with theta(relabelled mixture) = T theta. Log-odds are relative to the last component, so that its
/// exchange touches all of them.
DenseMatrix relabelling(const ScoreShape& shape, const std::vector<std::size_t>& order) {
  const std::size_t k = shape.component_count;
  const std::size_t d = shape.feature_count;
  const std::size_t size = shape.parameters();
  DenseMatrix result{size, size, std::vector<double>(size * size)};
  for (std::size_t h = 0; h < k; ++h) {
    for (std::size_t j = 0; j < d; ++j) result(h * d + j, order[h] * d + j) = 1.0;
    if (h + 1 < k && order[h] + 1 < k) result(k * d + h, k * d + order[h]) += 1.0;
    if (h + 1 < k && order[k - 1] + 1 < k) result(k * d + h, k * d + order[k - 1]) -= 1.0;
    if (shape.variance_count == k) result(k * d + k - 1 + h, k * d + k - 1 + order[h]) = 1.0;
  }
  if (shape.variance_count == 1) result(size - 1, size - 1) = 1.0;
  return result;
}

std::vector<std::size_t> inverted(const std::vector<std::size_t>& order) {
  std::vector<std::size_t> result(order.size());
  for (std::size_t h = 0; h < order.size(); ++h) result[order[h]] = h;
  return result;
}

}  // namespace

// theta' = T theta, H' = T^-T H T^-1 and (g - H theta)' = T^-T (g - H theta); carried from the anchor theta'
// to this one, the gradient gains H' (theta' - theta_here).
Done AnchoredPolish::merge_slots(const AnchoredPolish& other, std::size_t first_slot) {
  if (state_.noise != other.state_.noise ||
      state_.anchor.feature_count != other.state_.anchor.feature_count ||
      state_.anchor.component_count() != other.state_.anchor.component_count())
    return Refusal{Reason::cannot_merge, "these polishes belong to different models"};
  if (state_.settings.pane_count > 1 || other.state_.settings.pane_count > 1)
    return Refusal{Reason::cannot_merge, "windows do not merge; merge states that remember everything"};
  AnchoredPolish added(other);
  settle();
  added.settle();
  const auto order = matching_order(state_.anchor, added.state_.anchor);
  const DenseMatrix forth = relabelling(shape(), order);
  const DenseMatrix back = relabelling(shape(), inverted(order));
  std::vector<double> distance = product(forth, added.state_.parameters);
  for (std::size_t i = 0; i < distance.size(); ++i) distance[i] -= state_.parameters[i];
  for (std::size_t slot = first_slot; slot < slots(); ++slot) {
    const std::vector<double> information = congruent(added.information_of(slot), back);
    const std::vector<double> gradient = transposed_product(back, added.gradient_of(slot));
    multiply_packed(information, distance, product_);
    const auto own_information = information_of(slot);
    for (std::size_t i = 0; i < information.size(); ++i) own_information[i] += information[i];
    const auto own_gradient = gradient_of(slot);
    for (std::size_t i = 0; i < gradient.size(); ++i) own_gradient[i] += gradient[i] + product_[i];
    state_.slot_weights[slot] += added.state_.slot_weights[slot];
  }
  state_.rows += added.state_.rows;
  return std::monostate{};
}

Done AnchoredPolish::merge(const AnchoredPolish& other) {
  return merge_slots(other, 0);
}

/// Slot 0, what the branch began with, is known here already. The branch's rows count towards the next move
/// as if they had been absorbed here: the branches to come shall not linearise at an old anchor for ever.
Done AnchoredPolish::merge_branch(const AnchoredPolish& branch) {
  if (Done done = merge_slots(branch, 1); !done) return done;
  state_.rows_since_move += branch.state_.rows;
  if (state_.rows_since_move >= state_.settings.move_every) move_anchor();
  return std::monostate{};
}

AnchoredPolish AnchoredPolish::branch() const {
  AnchoredPolish result(*this);
  result.settle();
  result.join_beginning();
  result.state_.is_branch = true;
  result.state_.rows = 0;
  result.state_.rows_since_move = 0;
  return result;
}

}  // namespace mixstream
