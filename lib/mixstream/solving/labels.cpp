#include "mixstream/solving/labels.hpp"

#include <cmath>
#include <numeric>
#include <utility>

#include "mixstream/likelihood/matching.hpp"

namespace mixstream::solving {
namespace {

constexpr double beyond_chance = 3.0;  // standard errors by which weights or coefficients differ

/// Whether law a stands before law b: the first difference beyond chance decides.
bool stands_before(const Mixture& mixture, const MixtureErrors& errors, std::size_t a, std::size_t b) {
  const auto gap = [](double one, double two, double error_one, double error_two) {
    const double difference = one - two;
    return std::abs(difference) > beyond_chance * std::hypot(error_one, error_two) ? difference : 0.0;
  };
  const double heavier = gap(mixture.weights[a], mixture.weights[b], errors.weights[a], errors.weights[b]);
  if (heavier != 0.0) return heavier > 0.0;
  const std::size_t d = mixture.feature_count;
  for (std::size_t j = 0; j < d; ++j) {
    const double larger = gap(mixture.law(a)[j], mixture.law(b)[j], errors.coefficients[a * d + j],
                              errors.coefficients[b * d + j]);
    if (larger != 0.0) return larger > 0.0;
  }
  return mixture.weights[a] > mixture.weights[b];
}

}  // namespace

std::vector<std::size_t> labels_for(const Mixture& mixture, const MixtureErrors* errors,
                                    const Mixture* last) {
  const std::size_t k = mixture.component_count();
  if (last != nullptr && last->component_count() == k) return matching_order(*last, mixture);
  const MixtureErrors unknown{std::vector<double>(mixture.coefficients.size()), std::vector<double>(k),
                              std::vector<double>(k)};
  std::vector<std::size_t> order(k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::size_t i = 0; i < k; ++i) {  // "beyond chance" is no order that a sort could rely on
    for (std::size_t j = i + 1; j < k; ++j) {
      if (stands_before(mixture, errors != nullptr ? *errors : unknown, order[j], order[i]))
        std::swap(order[i], order[j]);
    }
  }
  return order;
}

}  // namespace mixstream::solving
