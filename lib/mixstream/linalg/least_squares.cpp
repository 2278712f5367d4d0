#include "mixstream/linalg/least_squares.hpp"

#include <vector>

namespace mixstream {

bool least_squares(const DenseMatrix& second, std::span<const double> cross, std::span<double> law,
                   double cutoff) {
  ScaledEigen eigen;
  if (!eigen.decompose(second, cutoff)) return false;
  std::vector<double> scratch;
  eigen.solve(cross, law, scratch);
  return true;
}

}  // namespace mixstream
