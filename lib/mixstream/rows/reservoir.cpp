#include "mixstream/rows/reservoir.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/core/yield_point.hpp"

namespace mixstream {
namespace {

/// By key; equal keys by hash, so that the order never depends on history.
bool smaller(const Reservoir::Entry& one, const Reservoir::Entry& two) noexcept {
  return one.key != two.key ? one.key < two.key : one.hash < two.hash;
}

// A larger key belongs to a weight of nothing. Since key x weight >= 2^-54, kept weights stay above 2^-954.
constexpr double largest_key = 0x1p900;

/// Sorts parts of 512, then merges neighbours, with yield points between.
template <class Value, class Less>
void sort_in_slices(std::vector<Value>& values, Less less) {
  constexpr std::ptrdiff_t part = 512;
  const std::ptrdiff_t size = std::ssize(values);
  const auto at = [&](std::ptrdiff_t index) { return values.begin() + std::min(index, size); };
  for (std::ptrdiff_t begin = 0; begin < size; begin += part) {
    yield_point();
    std::sort(at(begin), at(begin + part), less);
  }
  for (std::ptrdiff_t width = part; width < size; width *= 2) {
    for (std::ptrdiff_t begin = 0; begin + width < size; begin += 2 * width) {
      yield_point();
      std::inplace_merge(at(begin), at(begin + width), at(begin + 2 * width), less);
    }
  }
}

}  // namespace

Reservoir::Reservoir(std::size_t capacity, std::size_t feature_count)
    : capacity_(capacity),
      feature_count_(feature_count),
      entries_(capacity + 1),
      values_((capacity + 1) * (feature_count + 1)) {
  for (std::size_t i = 0; i <= capacity; ++i) entries_[i].slot = static_cast<std::uint32_t>(i);
}

void Reservoir::insert(const Row& row, std::uint64_t hash, double weight, std::uint8_t bin) noexcept {
  push({exponential(hash) / weight, hash, weight, 0, bin}, row.features, row.response);
}

void Reservoir::push(Entry entry, std::span<const double> features, double response) noexcept {
  if (!(entry.key <= largest_key)) return;
  const bool full = held_ > capacity_;  // the largest key makes room, or the newcomer stays out
  if (full && !smaller(entry, entries_.front())) return;
  entry.slot = full ? entries_.front().slot : entries_[held_].slot;
  double* values = values_.data() + entry.slot * (feature_count_ + 1);
  std::ranges::copy(features, values);
  values[feature_count_] = response;
  if (full) {
    replace_largest(entry);
  } else {
    entries_[held_++] = entry;
    std::ranges::push_heap(entries_.begin(), held_end(), smaller);
  }
  if (held_ > capacity_) lower_limit(threshold());
}

/// The newcomer sinks from the top of the heap to its place.
void Reservoir::replace_largest(const Entry& entry) noexcept {
  std::size_t hole = 0;
  for (std::size_t child = 1; child < held_; child = 2 * hole + 1) {
    if (child + 1 < held_) child += smaller(entries_[child], entries_[child + 1]) ? 1 : 0;
    if (!smaller(entry, entries_[child])) break;
    entries_[hole] = entries_[child];
    hole = child;
  }
  entries_[hole] = entry;
}

void Reservoir::drop_largest() noexcept {
  std::ranges::pop_heap(entries_.begin(), held_end(), smaller);
  --held_;
}

void Reservoir::scale_weights(double factor) noexcept {
  for (Entry& entry : std::span(entries_).first(held_)) {
    entry.key /= factor;
    entry.weight *= factor;
  }
  std::ranges::make_heap(entries_.begin(), held_end(), smaller);
  while (held_ > 0 && !(entries_.front().key <= largest_key)) drop_largest();
  const double limit = limit_ / factor;
  set_limit(limit <= largest_key ? limit : no_limit);  // beyond, the rows that set it are gone
}

void Reservoir::merge(const Reservoir& other, double factor) noexcept {
  std::size_t offered = 0;
  for (Entry entry : other.entries()) {
    if (++offered % 256 == 0) yield_point();
    const std::span<const double> values = other.values(entry);
    entry.key /= factor;
    entry.weight *= factor;
    push(entry, values.first(feature_count_), values.back());
  }
}

std::vector<std::size_t> Reservoir::order() const {
  struct Place {  // what the order depends on, close together
    double key;
    std::uint64_t hash;
    std::size_t entry;
  };
  std::vector<Place> places(held_);
  for (std::size_t i = 0; i < held_; ++i) places[i] = {entries_[i].key, entries_[i].hash, i};
  sort_in_slices(places, [](const Place& one, const Place& two) {
    return one.key != two.key ? one.key < two.key : one.hash < two.hash;
  });
  std::vector<std::size_t> order(held_);
  std::ranges::transform(places, order.begin(), &Place::entry);
  return order;
}

Sample Reservoir::sample(double unit_weight) const {
  Sample sample{{feature_count_, {}, {}, {}}, {}};
  sample.rows.reserve(size());
  sample.bins.reserve(size());
  const bool complete = held_ <= capacity_;
  double total = 0.0;
  for (const std::size_t i : order()) {
    if (sample.rows.size() == capacity_) break;
    if (sample.rows.size() % 512 == 0) yield_point();
    const Entry& entry = entries_[i];
    const double inclusion = complete ? 1.0 : -std::expm1(-entry.weight * threshold());
    const double weight = entry.weight / unit_weight / inclusion;
    sample.rows.add({values(entry).first(feature_count_), values(entry).back(), weight});
    sample.bins.push_back(entry.bin);
    total += weight;
  }
  if (!complete) {
    const double scale = static_cast<double>(sample.rows.size()) / total;
    for (double& weight : sample.rows.weights) weight *= scale;
  }
  return sample;
}

bool Reservoir::restore(const Entry& entry, std::span<const double> values) noexcept {
  const double drawn = exponential(entry.hash);  // key x weight, whatever both were multiplied by since
  const bool valid = held_ <= capacity_ && values.size() == feature_count_ + 1 && entry.key > 0.0 &&
                     entry.key <= largest_key && std::abs(entry.key * entry.weight - drawn) <= 1e-6 * drawn;
  if (valid) push(entry, values.first(feature_count_), values.back());
  return valid;
}

bool operator==(const Reservoir& one, const Reservoir& two) {
  if (one.capacity_ != two.capacity_ || one.feature_count_ != two.feature_count_) return false;
  const auto first = one.order();
  const auto second = two.order();
  return std::ranges::equal(first, second, [&](std::size_t a, std::size_t b) {
    const Reservoir::Entry& left = one.entries_[a];
    const Reservoir::Entry& right = two.entries_[b];
    return left.key == right.key && left.hash == right.hash && left.weight == right.weight &&
           left.bin == right.bin && std::ranges::equal(one.values(left), two.values(right));
  });
}

}  // namespace mixstream
