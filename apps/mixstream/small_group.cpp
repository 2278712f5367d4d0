#include "small_group.hpp"

namespace mixstream {
namespace {

constexpr std::size_t step = SmallGroup::most_rows / 8;

}  // namespace

void SmallGroup::add(const Row& row, std::uint64_t position) {
  if (rows() % step == 0) {
    positions_.reserve(rows() + step);
    numbers_.reserve((rows() + step) * (feature_count_ + 3));
  }
  numbers_.insert(numbers_.end(), row.features.begin(), row.features.end());
  numbers_.insert(numbers_.end(), {row.response, row.weight, row.time});
  positions_.push_back(position);
}

void SmallGroup::pour_into(Estimator& estimator) const {
  const double* at = numbers_.data();
  for (const std::uint64_t position : positions_) {
    const Row row{{at, feature_count_}, at[feature_count_], at[feature_count_ + 1], at[feature_count_ + 2]};
    estimator.state().begin_source(source_, position);
    estimator.absorb(row);
    at += feature_count_ + 3;
  }
  for (const auto& [reason, count] : refused_) {
    for (std::uint64_t i = 0; i < count; ++i) estimator.count_refused(reason);
  }
}

}  // namespace mixstream
