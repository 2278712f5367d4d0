#include "mixstream/regression/identifiability.hpp"

#include <algorithm>
#include <cmath>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/regression/symmetric.hpp"
#include "mixstream/regression/systems.hpp"

namespace mixstream {
namespace {

/// W with E[(W'x)(W'x)'] = I; empty where Sigma_1 is singular.
DenseMatrix whitener(const DenseMatrix& gram) {
  ScaledEigen eigen;
  if (!eigen.decompose(gram, rank_cutoff) || eigen.null_count > 0) return {};
  DenseMatrix result = gram;
  for (std::size_t a = 0; a < gram.rows; ++a) {
    for (std::size_t i = 0; i < gram.rows; ++i) {
      result(a, i) = eigen.eigen.vectors(i, a) / (std::sqrt(eigen.eigen.values[i]) * eigen.scale[a]);
    }
  }
  return result;
}

/// Eigenvalues of Sigma_p with x whitened, ascending; empty when not to be had.
std::vector<double> whitened_eigenvalues(const DenseMatrix& gram, const DenseMatrix& whitening, int degree) {
  if (whitening.values.empty()) return {};
  const SymmetricShape shape(static_cast<int>(whitening.rows), degree);
  DenseMatrix lifted;
  DenseMatrix half;
  DenseMatrix whitened;
  lift(whitening, shape, shape, lifted);
  yield_point();
  multiply(gram, lifted, half);
  yield_point();
  multiply_transposed(lifted, half, whitened);
  yield_point();
  SymmetricEigen eigen;
  if (!eigen.decompose_values(whitened)) return {};
  return eigen.values;
}

double noise_variance_of(const Mixture& mixture) {
  return dot(mixture.weights, mixture.noise_variances);
}

/// |unfold(v)|_op, the dual of the nuclear norm.
double operator_norm(std::span<const double> collapsed, const SymmetricShape& shape) {
  DenseMatrix unfolding;
  shape.unfold(collapsed, unfolding);
  DenseMatrix gram{unfolding.rows, unfolding.rows, std::vector<double>(unfolding.rows * unfolding.rows)};
  for (std::size_t i = 0; i < gram.rows; ++i) {
    for (std::size_t j = 0; j < gram.rows; ++j) {
      gram(i, j) = dot({unfolding.values.data() + i * unfolding.columns, unfolding.columns},
                       {unfolding.values.data() + j * unfolding.columns, unfolding.columns});
    }
  }
  SymmetricEigen eigen;
  if (!eigen.decompose_values(gram)) return 0.0;
  return std::sqrt(std::max(eigen.values.back(), 0.0));
}

/// M_p of the mixture, and sum pi_h s2_h beta_h: what the noise adds to E[y^3 | x] is three times that times
/// x.
struct PluggedIn {
  std::vector<double> moment;
  std::vector<double> noisy_first;
};
PluggedIn plugged_in(const Mixture& mixture, const SymmetricShape& shape) {
  PluggedIn result{std::vector<double>(shape.size(), 0.0), std::vector<double>(mixture.feature_count, 0.0)};
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    shape.add_power(mixture.law(h), mixture.weights[h], result.moment);
    for (std::size_t a = 0; a < mixture.feature_count; ++a)
      result.noisy_first[a] += mixture.weights[h] * mixture.noise_variances[h] * mixture.law(h)[a];
  }
  return result;
}

void add_spectrum(const MomentTensor& raw, const Mixture& mixture, Identifiability& result) {
  const PowerSystem system = power_system(raw, 2);
  const double rows = raw.effective_rows;
  const SymmetricShape shape(static_cast<int>(mixture.feature_count), 2);
  ScaledEigen eigen;
  if (!eigen.decompose(system.gram, rank_cutoff)) return;
  const double variance = noise_variance_of(mixture);
  std::vector<double> target = system.cross;
  for (std::size_t i = 0; i < target.size(); ++i) target[i] -= variance * system.mean[i];
  std::vector<double> solution(target.size());
  std::vector<double> scratch;
  eigen.solve(target, solution, scratch);
  DenseMatrix second;
  shape.unfold(solution, second);
  SymmetricEigen spectrum;
  if (!spectrum.decompose(second)) return;
  // E(y^2 - s2 - m . phi_2)^2 at the least squares solution
  const double response_square = raw.view(2, 0, 0).values[0];
  const double square =
      system.response_square - variance * (2.0 * response_square - variance) - dot(target, solution);
  std::vector<double> direction(shape.size());
  std::vector<double> spread(shape.size());
  for (std::size_t i = spectrum.values.size(); i-- > 0;) {
    result.second_spectrum.push_back(spectrum.values[i]);
    if (eigen.null_count > 0 || !(rows > 0.0)) continue;
    shape.power({spectrum.vectors.values.data() + i * second.rows, second.rows}, direction);
    eigen.solve(direction, spread, scratch);
    const double error = std::sqrt(std::max(square * dot(direction, spread) / rows, 0.0));
    result.second_spectrum_errors.push_back(error);
  }
}

PowerDiagnosis diagnose_power(const MomentTensor& tensor, const MomentTensor& raw, const Mixture* mixture,
                              int degree, const DenseMatrix& whitening, std::span<const std::string> names) {
  PowerDiagnosis diagnosis;
  diagnosis.degree = degree;
  const DenseMatrix gram = tensor.view(0, degree, degree);
  diagnosis.unknowns = gram.rows;
  yield_point();
  if (degree == 3 && tensor.layout().feature_count > largest_diagnosed_dimension) return diagnosis;
  diagnosis.rank = diagnosis.unknowns - null_count_of(gram, rank_cutoff);
  const bool regular = diagnosis.rank == diagnosis.unknowns;
  const std::vector<double> values = whitened_eigenvalues(gram, whitening, degree);
  diagnosis.smallest_eigenvalue = regular && !values.empty() ? std::max(values.front(), 0.0) : 0.0;
  if (!regular) {
    diagnosis.dependences = dependences(tensor, degree, names);
    return diagnosis;
  }
  if (!values.empty() && values.front() > 0.0) diagnosis.condition = values.back() / values.front();
  yield_point();
  const PowerSystem system = power_system(raw, degree);
  yield_point();
  SymmetricEigen plain;
  if (plain.decompose_values(system.gram) && plain.values.front() > 0.0) {
    diagnosis.convexity = 0.5 * plain.values.front();
    yield_point();
    if (mixture != nullptr) diagnosis.penalty_asked = asked_penalty(raw, *mixture, degree).value;
  }
  return diagnosis;
}

}  // namespace

// t = y^p less what the noise adds; E[t phi_p] - Sigma_p cvec(M_p) = E[eta_p phi_p], and E[eta_p^2] likewise.
AskedPenalty asked_penalty(const MomentTensor& raw, const Mixture& mixture, int degree) {
  const SymmetricShape shape(static_cast<int>(mixture.feature_count), degree);
  const PowerSystem system = power_system(raw, degree);
  const PluggedIn plugged = plugged_in(mixture, shape);
  std::vector<double> target = system.cross;
  double square = system.response_square;
  if (degree == 2) {
    const double variance = noise_variance_of(mixture);
    for (std::size_t i = 0; i < target.size(); ++i) target[i] -= variance * system.mean[i];
    square -= variance * (2.0 * raw.view(2, 0, 0).values[0] - variance);
  } else if (degree == 3) {
    std::vector<double> offset(target.size());
    multiply(raw.view(0, 3, 1), plugged.noisy_first, offset);
    for (std::size_t i = 0; i < target.size(); ++i) target[i] -= 3.0 * offset[i];
    std::vector<double> spread(mixture.feature_count);
    multiply(raw.view(0, 1, 1), plugged.noisy_first, spread);
    square -=
        6.0 * dot(raw.view(3, 1, 0).values, plugged.noisy_first) - 9.0 * dot(spread, plugged.noisy_first);
  }
  std::vector<double> fitted(target.size());
  multiply(system.gram, plugged.moment, fitted);
  square += dot(fitted, plugged.moment) - 2.0 * dot(target, plugged.moment);
  for (std::size_t i = 0; i < target.size(); ++i) target[i] -= fitted[i];
  return {2.0 * operator_norm(target, shape), std::max(square, 0.0)};
}

Identifiability diagnose(const MomentTensor& tensor, const Mixture* mixture,
                         std::span<const std::string> feature_names) {
  Identifiability result;
  const MomentTensor raw = tensor.in_raw_coordinates();
  const DenseMatrix whitening = whitener(tensor.view(0, 1, 1));
  for (int degree = 1; degree <= 3; ++degree) {
    yield_point();
    result.powers.push_back(diagnose_power(tensor, raw, mixture, degree, whitening, feature_names));
  }
  result.spectral = std::ranges::all_of(
      result.powers, [](const PowerDiagnosis& power) { return power.rank == power.unknowns; });
  if (mixture != nullptr) add_spectrum(raw, *mixture, result);
  return result;
}

}  // namespace mixstream
