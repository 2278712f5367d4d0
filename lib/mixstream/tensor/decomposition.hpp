// Orthogonal decomposition of a symmetric k x k x k tensor: T = sum_h a_h v_h^(3), v_h orthonormal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mixstream/core/dense.hpp"

namespace mixstream {

/// A full k x k x k array, row-major, symmetric in its three indices.
struct CubeTensor {
  std::size_t size = 0;
  std::vector<double> values;

  explicit CubeTensor(std::size_t k = 0) : size(k), values(k * k * k) {}
  double& operator()(std::size_t i, std::size_t j, std::size_t l) noexcept {
    return values[(i * size + j) * size + l];
  }
  double operator()(std::size_t i, std::size_t j, std::size_t l) const noexcept {
    return values[(i * size + j) * size + l];
  }
  /// T(v, v, v). No allocation.
  double cubic_form(std::span<const double> vector) const noexcept;
  /// result = T(., v, v). No allocation.
  void contract(std::span<const double> vector, std::span<double> result) const noexcept;
  /// T += weight v^(3). No allocation.
  void add_cube(std::span<const double> vector, double weight) noexcept;
};

struct OrthogonalParts {
  std::vector<double> values;  ///< a_h >= 0
  DenseMatrix vectors;         ///< v_h as rows, each of unit length
  bool converged = true;       ///< every power iteration settled, or the sweeps did
};

struct PowerSettings {
  int restarts = 30;    ///< random starts per component
  int iterations = 60;  ///< per start; the winner gets as many again
  std::uint64_t seed = 1;
};

/// The robust tensor power method with deflation (Anandkumar et al.). Never non-finite for finite input;
/// cost restarts * iterations * k^4.
OrthogonalParts power_method(CubeTensor tensor, const PowerSettings& settings = {});

/// Joint diagonalisation of the slices T(., ., e_l) by plane rotations, at most `sweeps` sweeps: the vectors
/// are orthonormal to rounding. Cost k^4 a sweep.
OrthogonalParts joint_diagonalisation(const CubeTensor& tensor, int sweeps = 60);

/// The orthonormal rows nearest to `rows` (square): the polar factor. False when they are dependent.
bool orthonormalise(DenseMatrix& rows);

}  // namespace mixstream
