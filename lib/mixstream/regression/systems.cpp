#include "mixstream/regression/systems.hpp"

#include <algorithm>

#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/moments/features/moment_set.hpp"
#include "mixstream/regression/symmetric.hpp"

namespace mixstream {
namespace {

/// The accumulator set that reads a tensor.
SettledSet reading(const MomentTensor& tensor) {
  return SettledSet((settled_tensor = tensor));
}

template <int P>
PowerSystem system_of(const SettledSet& moments) {
  return {collapsed_covariance<P>(moments), cross_moment<P>(moments).values,
          mean_monomials<P>(moments).values, mean_response<2 * P>(moments)};
}

/// target += factor * moments * vector.
void add_product(const DenseMatrix& moments, double factor, std::span<const double> vector,
                 std::span<double> target) {
  std::vector<double> product(target.size());
  multiply(moments, vector, product);
  for (std::size_t i = 0; i < target.size(); ++i) target[i] += factor * product[i];
}

std::vector<double> collapsed(std::span<const double> vector, int degree) {
  const SymmetricShape shape(static_cast<int>(vector.size()), degree);
  std::vector<double> result(shape.size());
  shape.power(vector, result);
  return result;
}

}  // namespace

PowerSystem power_system(const MomentTensor& tensor, int degree) {
  const SettledSet moments = reading(tensor);
  return degree == 1 ? system_of<1>(moments) : degree == 2 ? system_of<2>(moments) : system_of<3>(moments);
}

FirstMoment first_moment(const MomentTensor& tensor) {
  FirstMoment first;
  const SettledSet moments = reading(tensor);
  const std::vector<double> cross = cross_moment<1>(moments).values;
  first.gram = collapsed_covariance<1>(moments);
  first.coefficients.assign(cross.size(), 0.0);
  ScaledEigen eigen;
  if (eigen.decompose(first.gram, rank_cutoff)) {
    std::vector<double> scratch;
    eigen.solve(cross, first.coefficients, scratch);
    first.rank = eigen.rank();
  }
  first.response_square = mean_response<2>(moments);
  std::vector<double> fitted(cross.size());
  multiply(first.gram, first.coefficients, fitted);
  first.residual_square =
      first.response_square - 2.0 * dot(cross, first.coefficients) + dot(fitted, first.coefficients);
  return first;
}

// With m = M1 . x: e^2 = y^2 - 2 y m + m^2 and e^3 = y^3 - 3 y^2 m + 3 y m^2 - m^3, and m^p = cvec(M1^(p)) .
// phi_p.
CentralSystems central_systems(const MomentTensor& tensor, const FirstMoment& first) {
  const std::vector<double>& m1 = first.coefficients;
  const std::vector<double> m2 = collapsed(m1, 2);
  const std::vector<double> m3 = collapsed(m1, 3);
  const SettledSet moments = reading(tensor);
  const CentralSet central((settled_tensor = tensor));
  CentralSystems systems{system_of<2>(moments), system_of<3>(moments)};
  std::vector<double> product(std::max(systems.second.cross.size(), systems.third.cross.size()));

  PowerSystem& second = systems.second;
  const double even = second.response_square - 4.0 * dot(mixed_moment<3, 1, 0>(moments).values, m1) +
                      6.0 * dot(second.cross, m2) - 4.0 * dot(mixed_moment<1, 3, 0>(central).values, m3);
  add_product(mixed_moment<1, 2, 1>(central), -2.0, m1, second.cross);
  const std::span<double> square(product.data(), second.cross.size());
  multiply(second.gram, m2, square);
  second.response_square = even + dot(square, m2);  // E[e^4]
  for (std::size_t i = 0; i < square.size(); ++i) second.cross[i] += square[i];

  PowerSystem& third = systems.third;
  add_product(mixed_moment<2, 3, 1>(central), -3.0, m1, third.cross);
  add_product(mixed_moment<1, 3, 2>(central), 3.0, m2, third.cross);
  const std::span<double> cube(product.data(), third.cross.size());
  multiply(third.gram, m3, cube);
  for (std::size_t i = 0; i < cube.size(); ++i) third.cross[i] -= cube[i];
  third.response_square = 0.0;  // E[e^6] is not needed
  return systems;
}

}  // namespace mixstream
