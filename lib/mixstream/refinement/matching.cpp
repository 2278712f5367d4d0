#include "mixstream/refinement/matching.hpp"

#include <algorithm>
#include <limits>

namespace mixstream {
namespace {

double squared_distance(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

}  // namespace

// The assignment problem by shortest augmenting paths. `owner[c]` is the reference component that candidate c
// is given to; position k is a stand-in candidate from which every search begins. Prices keep all reduced
// costs at zero or more, so that each search is a shortest path with non-negative lengths.
std::vector<std::size_t> matching_order(const Mixture& reference, const Mixture& mixture) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const std::size_t k = reference.component_count();
  std::vector<std::size_t> owner(k + 1, k);
  std::vector<double> owner_price(k + 1, 0.0);
  std::vector<double> price(k + 1, 0.0);
  for (std::size_t h = 0; h < k; ++h) {
    std::vector<double> length(k, infinity);
    std::vector<std::size_t> previous(k, k);
    std::vector<bool> done(k + 1, false);
    std::size_t at = k;
    owner[k] = h;
    while (owner[at] < k) {
      done[at] = true;
      const std::size_t component = owner[at];
      std::size_t next = k;
      double shortest = infinity;
      for (std::size_t c = 0; c < k; ++c) {
        if (done[c]) continue;
        const double reduced =
            squared_distance(reference.law(component), mixture.law(c)) - owner_price[component] - price[c];
        if (reduced < length[c]) {
          length[c] = reduced;
          previous[c] = at;
        }
        if (next == k || length[c] < shortest) {
          shortest = length[c];
          next = c;
        }
      }
      for (std::size_t c = 0; c <= k; ++c) {
        if (done[c]) {
          owner_price[owner[c]] += shortest;
          price[c] -= shortest;
        } else {
          length[c] -= shortest;
        }
      }
      at = next;
    }
    for (; at != k; at = previous[at]) owner[at] = owner[previous[at]];
  }
  std::vector<std::size_t> order(k);
  for (std::size_t c = 0; c < k; ++c) order[owner[c]] = c;
  return order;
}

}  // namespace mixstream
