#include "mixstream/monomials/packing.hpp"

#include <limits>
#include <numeric>
#include <stdexcept>

namespace mixstream {
namespace {

std::size_t pairs(std::size_t n) noexcept {
  return n * (n + 1) / 2;
}  // N(n, 2)
std::size_t triples(std::size_t n) noexcept {
  return n * (n + 1) * (n + 2) / 6;
}  // N(n, 3)

}  // namespace

std::optional<std::uint64_t> monomial_count(std::uint64_t variables, std::uint64_t degree) noexcept {
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (degree == 0) return 1;
  if (variables == 0) return 0;
  std::uint64_t count = 1;
  for (std::uint64_t step = 1; step <= degree; ++step) {  // count becomes C(variables - 1 + step, step)
    if (variables - 1 > limit - step) return std::nullopt;
    const std::uint64_t shared = std::gcd(count, step);  // step / shared divides the new factor exactly
    const std::uint64_t factor = (variables - 1 + step) / (step / shared);
    if (count / shared > limit / factor) return std::nullopt;
    count = count / shared * factor;
  }
  return count;
}

Packing::Packing(int variables) : variables_(variables) {
  if (variables < 1 || variables > largest_variable_count) {
    throw std::invalid_argument("a moment tensor has 1 to 64 variables");
  }
  offsets_.assign(static_cast<std::size_t>(variables) + 1, 0);
  for (int pivot = 0; pivot < variables; ++pivot) {
    offsets_[static_cast<std::size_t>(pivot) + 1] = offset(pivot) + left_count(pivot) * right_count(pivot);
  }
}

std::size_t Packing::left_count(int pivot) const noexcept {
  return pairs(static_cast<std::size_t>(pivot) + 1);
}

std::size_t Packing::right_count(int pivot) const noexcept {
  return triples(static_cast<std::size_t>(variables_ - pivot));
}

std::size_t Packing::left_rank(int i, int j) noexcept {
  return pairs(static_cast<std::size_t>(j)) + static_cast<std::size_t>(i);
}

std::size_t Packing::right_rank(int pivot, int i, int j, int l) const noexcept {
  const auto after = [this](int index) { return static_cast<std::size_t>(variables_ - index); };
  // triples that start before i, then pairs (from i on) that start before j, then the singles before l
  return triples(after(pivot)) - triples(after(i)) + pairs(after(i)) - pairs(after(j)) +
         static_cast<std::size_t>(l - j);
}

std::size_t Packing::position(const SixIndices& s) const noexcept {
  const int pivot = s[2];
  return offset(pivot) + left_rank(s[0], s[1]) * right_count(pivot) + right_rank(pivot, s[3], s[4], s[5]);
}

}  // namespace mixstream
