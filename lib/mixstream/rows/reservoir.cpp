#include "mixstream/rows/reservoir.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "mixstream/random.hpp"

namespace mixstream {
namespace {

/// By key; equal keys by hash, so that the order never depends on history.
bool smaller(const Reservoir::Entry& one, const Reservoir::Entry& two) noexcept {
  return one.key != two.key ? one.key < two.key : one.hash < two.hash;
}

}  // namespace

std::uint64_t row_hash(std::uint64_t seed, std::uint64_t source, std::uint64_t position) noexcept {
  constexpr std::uint64_t odd_one = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t odd_two = 0xd1b54a32d192ed03ULL;
  return mixed_bits(mixed_bits(seed + odd_one * source) + odd_two * position);
}

Reservoir::Reservoir(std::size_t capacity, std::size_t feature_count)
    : capacity_(capacity), feature_count_(feature_count), values_((capacity + 1) * (feature_count + 1)) {
  entries_.reserve(capacity + 1);
}

Reservoir::Reservoir(const Reservoir& other)
    : capacity_(other.capacity_),
      feature_count_(other.feature_count_),
      values_(other.values_),
      largest_key_(other.largest_key_) {
  entries_.reserve(capacity_ + 1);
  entries_.assign(other.entries_.begin(), other.entries_.end());
}

std::size_t Reservoir::size() const noexcept {
  return std::min(entries_.size(), capacity_);
}

void Reservoir::insert(const Row& row, std::uint64_t hash, double weight, std::uint8_t bin) noexcept {
  push({-std::log1p(-unit(hash)) / weight, hash, weight, 0, bin}, row.features, row.response);
}

void Reservoir::push(Entry entry, std::span<const double> features, double response) noexcept {
  if (!std::isfinite(entry.key)) return;  // a weight too small to ever count
  if (entries_.size() > capacity_) {      // full: the largest key makes room, or the newcomer stays out
    if (!smaller(entry, entries_.front())) return;
    std::ranges::pop_heap(entries_, smaller);
    entry.slot = entries_.back().slot;
    entries_.back() = entry;
  } else {
    entry.slot = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(entry);
  }
  double* values = values_.data() + entry.slot * (feature_count_ + 1);
  std::ranges::copy(features, values);
  values[feature_count_] = response;
  std::ranges::push_heap(entries_, smaller);
  largest_key_ = entries_.front().key;
}

void Reservoir::scale_weights(double factor) noexcept {
  for (Entry& entry : entries_) {
    entry.key /= factor;
    entry.weight *= factor;
  }
  // A key that overflowed belongs to a weight of nothing. Its slot goes to the last entry's row.
  for (std::size_t i = 0; i < entries_.size();) {
    if (std::isfinite(entries_[i].key)) {
      ++i;
      continue;
    }
    const std::uint32_t freed = entries_[i].slot;
    entries_[i] = entries_.back();
    entries_.pop_back();
    const auto last = static_cast<std::uint32_t>(entries_.size());
    const auto holder = std::ranges::find(entries_, last, &Entry::slot);
    if (freed == last || holder == entries_.end()) continue;
    std::copy_n(values_.data() + last * (feature_count_ + 1), feature_count_ + 1,
                values_.data() + freed * (feature_count_ + 1));
    holder->slot = freed;
  }
  std::ranges::make_heap(entries_, smaller);
  largest_key_ = entries_.empty() ? 0.0 : entries_.front().key;
}

void Reservoir::merge(const Reservoir& other, double factor) noexcept {
  for (Entry entry : other.entries_) {
    const std::span<const double> values = other.values(entry);
    entry.key /= factor;
    entry.weight *= factor;
    push(entry, values.first(feature_count_), values.back());
  }
}

void Reservoir::clear() noexcept {
  entries_.clear();
  largest_key_ = 0.0;
}

std::vector<std::size_t> Reservoir::order() const {
  std::vector<std::size_t> order(entries_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return smaller(entries_[a], entries_[b]); });
  return order;
}

Sample Reservoir::sample(double unit_weight) const {
  Sample sample{{feature_count_, {}, {}, {}}, {}};
  const bool complete = entries_.size() <= capacity_;
  double total = 0.0;
  for (const std::size_t i : order()) {
    if (sample.rows.size() == capacity_) break;
    const Entry& entry = entries_[i];
    const double inclusion = complete ? 1.0 : -std::expm1(-entry.weight * largest_key_);
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

bool Reservoir::restore(const Entry& entry, std::span<const double> values) {
  const bool valid = entries_.size() <= capacity_ && values.size() == feature_count_ + 1 &&
                     std::isfinite(entry.key) && entry.key >= 0.0 && std::isfinite(entry.weight) &&
                     entry.weight > 0.0 &&
                     std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
  if (!valid) return false;
  push(entry, values.first(feature_count_), values.back());
  return true;
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
