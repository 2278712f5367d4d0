#include "mixstream/modes/score_batches.hpp"

#include <algorithm>

#include "mixstream/likelihood/score_kernel.hpp"
#include "mixstream/linalg/packed.hpp"

namespace mixstream {
namespace {

constexpr double met = 1e-3;  // rows of other laws that this one nearly explains know less
constexpr double surprised =
    1.0 / 32.0;  // a steep gate learns from few rows: most stretches have none of them

void add_group(std::vector<ScoreGroup>& groups, std::size_t size, double least_share) {
  const ScoreGroup last = groups.empty() ? ScoreGroup{} : groups.back();
  groups.push_back({last.first + last.size, size, last.at + packed_size(last.size), least_share});
}

}  // namespace

std::vector<ScoreGroup> score_groups(const ModeShape& shape) {
  std::vector<ScoreGroup> groups;
  for (std::size_t h = 0; h < shape.component_count; ++h) add_group(groups, shape.feature_count, met);
  if (shape.modes == Modes::gated && shape.who_count() > 0) add_group(groups, shape.who_count(), surprised);
  for (std::size_t q = groups.back().first + groups.back().size; q < shape.parameters(); ++q)
    add_group(groups, 1, met);
  return groups;
}

std::size_t information_size(std::span<const ScoreGroup> groups) noexcept {
  return groups.back().at + packed_size(groups.back().size);
}

void take_groups(std::span<const ScoreGroup> groups, std::span<const double> packed,
                 std::span<double> result) noexcept {
  for (const ScoreGroup& group : groups) {
    double* to = result.data() + group.at;
    for (std::size_t a = 0; a < group.size; ++a) {
      for (std::size_t b = 0; b <= a; ++b) *to++ = packed[packed_index(group.first + a, group.first + b)];
    }
  }
}

void carry_batch(std::span<const ScoreGroup> groups, std::span<const double> step, std::span<double> product,
                 ScoreBatch& batch) noexcept {
  for (const ScoreGroup& group : groups) {
    multiply_packed(std::span(batch.information).subspan(group.at, packed_size(group.size)),
                    step.subspan(group.first, group.size), product.first(group.size));
    for (std::size_t a = 0; a < group.size; ++a) batch.score[group.first + a] -= product[a];
  }
}

std::vector<double> batch_in(std::span<const ScoreGroup> groups, std::span<const double> information,
                             const DenseMatrix& map) {
  std::vector<double> all(packed_size(map.rows));
  for (const ScoreGroup& group : groups) {
    const double* from = information.data() + group.at;
    for (std::size_t a = 0; a < group.size; ++a) {
      for (std::size_t b = 0; b <= a; ++b) all[packed_index(group.first + a, group.first + b)] = *from++;
    }
  }
  std::vector<double> result(information.size());
  take_groups(groups, congruent(all, map), result);
  return result;
}

std::vector<double> batch_of_single_gates(const ModeShape& shape, std::span<const double> information) {
  const std::vector<ScoreGroup> groups = score_groups(shape);
  std::vector<double> result(information_size(groups));
  auto from = information.begin();
  for (const ScoreGroup& group : groups) {
    const bool is_gate = group.first == shape.who_at() && shape.modes == Modes::gated;
    for (std::size_t a = 0; a < group.size; ++a) {
      for (std::size_t b = is_gate ? a : 0; b <= a; ++b) result[group.at + packed_index(a, b)] = *from++;
    }
  }
  return result;
}

}  // namespace mixstream
