#include "mixstream/refinement/condition_set.hpp"

namespace mixstream {
namespace {

std::size_t choose(std::size_t n, std::size_t p) {
  std::size_t result = 1;
  for (std::size_t i = 0; i < p; ++i) result = result * (n - i) / (i + 1);
  return result;
}

}  // namespace

std::string ConditionSet::name(int highest_power) const {
  std::string text =
      highest_power == highest_response_power ? "order6" : "q<=" + std::to_string(highest_power);
  if (*this == ConditionSet{}) return text;
  for (int q = 1; q <= highest_power; ++q) text += (q == 1 ? " degrees " : "-") + std::to_string(degree(q));
  return text;
}

std::size_t ConditionSet::count(std::size_t variables) const {
  std::size_t total = 0;
  for (const int degree : degrees) {
    const auto p = static_cast<std::size_t>(degree);
    total += choose(variables + p - 1, p);
  }
  return total;
}

ConditionSet choose_conditions(const Layout& layout, std::size_t largest) {
  // The cubic instruments of y^3 carry the third-order tensor, so they are the last cubes to go; y^5 with x
  // needs the largest maps, so that is next.
  constexpr std::array<ConditionSet, 5> ladder{ConditionSet{{3, 3, 3, 2, 1}}, ConditionSet{{2, 2, 3, 2, 1}},
                                               ConditionSet{{2, 2, 2, 2, 1}}, ConditionSet{{2, 2, 2, 1, 0}},
                                               ConditionSet{{1, 2, 2, 1, 0}}};
  for (const ConditionSet& set : ladder) {
    if (set.count(static_cast<std::size_t>(layout.response())) <= largest) return set;
  }
  return ladder.back();
}

}  // namespace mixstream
