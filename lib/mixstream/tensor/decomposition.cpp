#include "mixstream/tensor/decomposition.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/core/random.hpp"
#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"

namespace mixstream {
namespace {

/// Scales to unit length; false for (almost) nothing.
bool normalise(std::span<double> vector) noexcept {
  const double length = norm(vector);
  if (!(length > 1e-150)) return false;
  for (double& value : vector) value /= length;
  return true;
}

/// Repeats v <- T(., v, v) / |..| until it stands still; true when it did.
bool iterate(const CubeTensor& tensor, std::span<double> vector, std::span<double> next, int most) noexcept {
  for (int iteration = 0; iteration < most; ++iteration) {
    tensor.contract(vector, next);
    if (!normalise(next)) return false;
    double change = 0.0;
    for (std::size_t i = 0; i < vector.size(); ++i) {
      change = std::max(change, std::abs(next[i] - vector[i]));
      vector[i] = next[i];
    }
    if (change < 1e-14) return true;
  }
  return false;
}

/// Rotates rows p and q of the frame, and both sides of every slice, by the angle with this cosine and sine.
void rotate(std::vector<DenseMatrix>& slices, DenseMatrix& frame, std::size_t p, std::size_t q, double c,
            double s) noexcept {
  const std::size_t k = frame.rows;
  for (DenseMatrix& slice : slices) {
    for (std::size_t i = 0; i < k; ++i) {
      const double at_p = slice(i, p);
      const double at_q = slice(i, q);
      slice(i, p) = c * at_p + s * at_q;
      slice(i, q) = c * at_q - s * at_p;
    }
    for (std::size_t i = 0; i < k; ++i) {
      const double at_p = slice(p, i);
      const double at_q = slice(q, i);
      slice(p, i) = c * at_p + s * at_q;
      slice(q, i) = c * at_q - s * at_p;
    }
  }
  for (std::size_t i = 0; i < k; ++i) {
    const double at_p = frame(p, i);
    const double at_q = frame(q, i);
    frame(p, i) = c * at_p + s * at_q;
    frame(q, i) = c * at_q - s * at_p;
  }
}

/// The angle that makes the slices' (p, q) entries smallest (Cardoso and Souloumiac).
double best_angle(const std::vector<DenseMatrix>& slices, std::size_t p, std::size_t q) noexcept {
  double on = 0.0;
  double off = 0.0;
  for (const DenseMatrix& slice : slices) {
    const double difference = slice(p, p) - slice(q, q);
    const double sum = 2.0 * slice(p, q);
    on += difference * difference - sum * sum;
    off += 2.0 * difference * sum;
  }
  return 0.25 * std::atan2(off, on);
}

/// a_h = T(v_h, v_h, v_h), made positive by the sign of v_h.
void read_values(const CubeTensor& tensor, OrthogonalParts& parts) {
  const std::size_t k = tensor.size;
  parts.values.resize(k);
  for (std::size_t h = 0; h < k; ++h) {
    const std::span<double> vector(parts.vectors.values.data() + h * k, k);
    parts.values[h] = tensor.cubic_form(vector);
    if (parts.values[h] >= 0.0) continue;
    parts.values[h] = -parts.values[h];
    for (double& value : vector) value = -value;
  }
}

}  // namespace

double CubeTensor::cubic_form(std::span<const double> vector) const noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      sum += vector[i] * vector[j] * dot({values.data() + (i * size + j) * size, size}, vector);
    }
  }
  return sum;
}

void CubeTensor::contract(std::span<const double> vector, std::span<double> result) const noexcept {
  for (std::size_t i = 0; i < size; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < size; ++j) {
      sum += vector[j] * dot({values.data() + (i * size + j) * size, size}, vector);
    }
    result[i] = sum;
  }
}

void CubeTensor::add_cube(std::span<const double> vector, double weight) noexcept {
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double factor = weight * vector[i] * vector[j];
      for (std::size_t l = 0; l < size; ++l) (*this)(i, j, l) += factor * vector[l];
    }
  }
}

OrthogonalParts power_method(CubeTensor tensor, const PowerSettings& settings) {
  const std::size_t k = tensor.size;
  OrthogonalParts parts;
  reshape(parts.vectors, k, k);
  Random random(settings.seed);
  std::vector<double> vector(k);
  std::vector<double> next(k);
  for (std::size_t h = 0; h < k; ++h) {
    const std::span<double> best(parts.vectors.values.data() + h * k, k);
    double best_value = -1.0;
    for (int start = 0; start < settings.restarts; ++start) {
      yield_point();
      for (double& value : vector) value = random.normal();
      if (!normalise(vector)) continue;
      iterate(tensor, vector, next, settings.iterations);
      const double value = std::abs(tensor.cubic_form(vector));
      if (!(value > best_value)) continue;
      best_value = value;
      std::ranges::copy(vector, best.begin());
    }
    parts.converged &= best_value > 0.0 && iterate(tensor, best, next, settings.iterations);
    double value = tensor.cubic_form(best);
    if (value < 0.0) {
      value = -value;
      for (double& entry : best) entry = -entry;
    }
    tensor.add_cube(best, -value);
    parts.values.push_back(value);
  }
  return parts;
}

OrthogonalParts joint_diagonalisation(const CubeTensor& tensor, int sweeps) {
  const std::size_t k = tensor.size;
  OrthogonalParts parts;
  reshape(parts.vectors, k, k);
  for (std::size_t i = 0; i < k; ++i) parts.vectors(i, i) = 1.0;
  std::vector<DenseMatrix> slices;
  for (std::size_t l = 0; l < k; ++l) {
    const auto begin = tensor.values.begin() + static_cast<std::ptrdiff_t>(l * k * k);
    slices.push_back({k, k, {begin, begin + static_cast<std::ptrdiff_t>(k * k)}});
  }
  parts.converged = k < 2;
  for (int sweep = 0; sweep < sweeps && !parts.converged; ++sweep) {
    double largest = 0.0;
    for (std::size_t p = 0; p < k; ++p) {
      for (std::size_t q = p + 1; q < k; ++q) {
        const double angle = best_angle(slices, p, q);
        largest = std::max(largest, std::abs(angle));
        rotate(slices, parts.vectors, p, q, std::cos(angle), std::sin(angle));
      }
    }
    parts.converged = largest < 1e-12;
  }
  read_values(tensor, parts);
  return parts;
}

// Q = (A A')^-1/2 A for rows A.
bool orthonormalise(DenseMatrix& rows) {
  const std::size_t k = rows.rows;
  DenseMatrix gram{k, k, std::vector<double>(k * k)};
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      gram(i, j) = dot({rows.values.data() + i * k, k}, {rows.values.data() + j * k, k});
    }
  }
  SymmetricEigen eigen;
  if (!eigen.decompose(gram)) return false;
  if (k > 0 && eigen.values.front() < 1e-8 * eigen.values.back()) return false;
  DenseMatrix rotated;
  multiply(eigen.vectors, rows, rotated);
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) rotated(i, j) /= std::sqrt(eigen.values[i]);
  }
  multiply_transposed(eigen.vectors, rotated, rows);
  return true;
}

}  // namespace mixstream
