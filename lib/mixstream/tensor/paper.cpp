// The paper's Algorithm 1 (Chaganty and Liang, 2013) on the moment tensor, in raw coordinates: the nuclear
// norm is not invariant to the pilot.
#include <algorithm>
#include <cmath>
#include <utility>

#include "mixstream/linalg/products.hpp"
#include "mixstream/moments/features/moment_set.hpp"
#include "mixstream/regression/identifiability.hpp"
#include "mixstream/tensor/decomposition.hpp"
#include "mixstream/tensor/whitening.hpp"
#include "mixstream/tensor/workspace.hpp"

namespace mixstream {
namespace {

/// The regression of y^2 with what is known or eliminated of the noise.
struct SecondSystem {
  DenseMatrix gram;
  std::vector<double> target;
  std::vector<double> mean;
  double response_square = 0;  // E[y^2]
  double response_fourth = 0;  // E[y^4]
  double centred_square = 0;   // E[t^2], t = y^2 less its noise, or less its mean
};

/// lambda_2 and lambda_3.
struct Penalties {
  double second = 0;
  double third = 0;
};

Refusal numerical_refusal() {
  return {Reason::numerical, "the paper's estimator broke down on these moments: use the default start"};
}

bool singular(const DenseMatrix& gram) {
  return null_count_of(gram, rank_cutoff) > 0;
}

class PaperEstimate {
 public:
  PaperEstimate(const MomentTensor& first, const MomentTensor& second, const MomentTensor& third,
                std::size_t components, const SpectralSettings& settings,
                SpectralWorkspace::Content& workspace)
      : first_part_(first),
        second_part_(second),
        third_part_(third),
        k_(components),
        d_(static_cast<std::size_t>(first.layout().feature_count)),
        settings_(settings),
        w_(workspace) {}

  Outcome<SpectralFit> run(const PaperStart* warm);

 private:
  Outcome<SpectralFit> run_with(const Penalties& penalties, const PaperStart* warm);
  double theory_penalty(const MomentTensor& part, const Mixture& plugged, int degree) const;
  std::optional<Refusal> estimate_first();
  std::optional<Refusal> estimate_second(const PaperStart* warm);
  std::optional<Refusal> estimate_third(const PaperStart* warm);
  std::optional<Refusal> factorise();
  std::optional<Refusal> refused_singular(const MomentTensor& part, int degree);
  SecondSystem second_system() const;
  void read_noise(const SecondSystem& system);
  double third_square(std::span<const double> first_product) const;
  bool regress(const DenseMatrix& gram, std::span<const double> target, int degree, double penalty,
               const RootLoss& loss, const NuclearStart* warm, std::optional<NuclearFit>& result);

  const MomentTensor& first_part_;
  const MomentTensor& second_part_;
  const MomentTensor& third_part_;
  std::size_t k_;
  std::size_t d_;
  const SpectralSettings& settings_;
  SpectralWorkspace::Content& w_;
  Penalties penalties_;
  std::vector<double> first_;  // M1
  SpectralFit fit_;
};

std::optional<Refusal> PaperEstimate::refused_singular(const MomentTensor& part, int degree) {
  if (settings_.allow_singular && degree > 1) {
    warn(fit_, SpectralWarning::singular_regression);
    return std::nullopt;
  }
  const std::string names = describe(dependences(part, degree, settings_.feature_names));
  return Refusal{Reason::not_identifiable,
                 "the paper's method does not identify M" + std::to_string(degree) +
                     ": these products of features are linearly dependent: " + names +
                     (degree == 1 ? "; leave one of them out of the feature map"
                                  : "; use the default method, other features, or allow singular systems")};
}

std::optional<Refusal> PaperEstimate::estimate_first() {
  const FirstMoment first = first_moment(first_part_);
  if (first.rank < d_) return refused_singular(first_part_, 1);
  if (auto refusal = refused_residual(first, settings_.noise_variance)) return refusal;
  first_ = first.coefficients;
  return std::nullopt;
}

// Unknown E[eps^2] is a coefficient of its own, without penalty: minimised out, it leaves the covariance of
// phi_2 for Sigma_2 and the covariance with y^2 for the cross moment.
SecondSystem PaperEstimate::second_system() const {
  PowerSystem plain = power_system(second_part_, 2);
  const double square = mean_response<2>(SettledSet((settled_tensor = second_part_)));
  SecondSystem system{std::move(plain.gram), std::move(plain.cross),
                      std::move(plain.mean), square,
                      plain.response_square, 0.0};
  const double offset = settings_.noise_variance ? *settings_.noise_variance : square;
  system.centred_square = system.response_fourth - offset * (2.0 * square - offset);
  for (std::size_t i = 0; i < system.target.size(); ++i) {
    system.target[i] -= offset * system.mean[i];
    if (settings_.noise_variance) continue;
    for (std::size_t j = 0; j < system.mean.size(); ++j) system.gram(i, j) -= system.mean[i] * system.mean[j];
  }
  return system;
}

bool PaperEstimate::regress(const DenseMatrix& gram, std::span<const double> target, int degree,
                            double penalty, const RootLoss& loss, const NuclearStart* warm,
                            std::optional<NuclearFit>& result) {
  result.emplace();
  const SymmetricShape shape(static_cast<int>(d_), degree);
  NuclearSettings nuclear{.penalty = penalty,
                          .iterations = settings_.admm_iterations,
                          .tolerance = settings_.admm_tolerance,
                          .root = {}};
  if (settings_.objective == PaperObjective::published) {
    nuclear.semidefinite = degree == 2;
    nuclear.root = loss;
  }
  if (!nuclear_regression(gram, target, shape, nuclear, warm, w_.nuclear, *result)) return false;
  if (!result->converged) warn(fit_, SpectralWarning::not_converged);
  return true;
}

/// s2 = E[y^2] - m . E[phi_2], and its standard error as if the residual of y^2 varied as much at every x.
void PaperEstimate::read_noise(const SecondSystem& system) {
  const std::vector<double>& m = fit_.second->coefficients;
  const double variance = system.response_square - dot(m, system.mean);
  const double least = 1e-6 * system.response_square;
  fit_.noise_source = NoiseSource::estimated;
  fit_.noise_variance = std::max(variance, least);
  if (variance < least) {
    warn(fit_, SpectralWarning::noise_at_bound);
    return;
  }
  ScaledEigen eigen;
  if (!eigen.decompose(system.gram, rank_cutoff) || eigen.null_count > 0) return;
  std::vector<double> spread(m.size());
  eigen.solve(system.mean, spread, w_.scratch);
  std::vector<double> product(m.size());
  multiply(system.gram, m, product);
  const double centred = system.response_fourth - system.response_square * system.response_square;
  const double left = centred - 2.0 * dot(system.target, m) + dot(product, m);
  // the inverse of ((Sigma, mean), (mean', 1)) has 1 + mean' C^-1 mean at its corner, C = Sigma - mean mean'
  const double error = left * (1.0 + dot(system.mean, spread)) / second_part_.effective_rows;
  if (error > 0.0 && std::isfinite(error)) fit_.noise_variance_error = std::sqrt(error);
}

std::optional<Refusal> PaperEstimate::estimate_second(const PaperStart* warm) {
  const SecondSystem system = second_system();
  if (singular(system.gram)) {
    if (!settings_.noise_variance && !singular(second_part_.view(0, 2, 2))) {
      return Refusal{Reason::not_identifiable,
                     "some combination of products of two features is constant, so the noise variance cannot "
                     "be told from M2: give the noise variance, or use the default method"};
    }
    if (auto refusal = refused_singular(second_part_, 2)) return refusal;
  }
  const RootLoss loss{system.centred_square, second_part_.effective_rows};
  if (!regress(system.gram, system.target, 2, penalties_.second, loss,
               warm != nullptr ? &warm->second : nullptr, fit_.second)) {
    return numerical_refusal();
  }
  if (settings_.noise_variance) {
    fit_.noise_variance = *settings_.noise_variance;
  } else {
    read_noise(system);
  }
  return std::nullopt;
}

/// E[t^2], t = y^3 - 3 s2 M1 . x - E[eps^3].
double PaperEstimate::third_square(std::span<const double> first_product) const {
  const SettledSet moments((settled_tensor = third_part_));
  const double slope = 3.0 * fit_.noise_variance;
  const double third = settings_.noise_third;
  const double products = dot(mixed_moment<3, 1, 0>(moments).values, first_);  // E[y^3 M1 . x]
  const double mean = dot(mean_monomials<1>(moments).values, first_);          // E[M1 . x]
  return mean_response<6>(moments) - 2.0 * slope * products - 2.0 * third * mean_response<3>(moments) +
         slope * slope * dot(first_product, first_) + 2.0 * slope * third * mean + third * third;
}

std::optional<Refusal> PaperEstimate::estimate_third(const PaperStart* warm) {
  const PowerSystem system = power_system(third_part_, 3);
  if (singular(system.gram)) {
    if (auto refusal = refused_singular(third_part_, 3)) return refusal;
  }
  std::vector<double> offset(system.cross.size());
  multiply(mixed_moment<0, 3, 1>(SettledSet((settled_tensor = third_part_))), first_,
           offset);  // E[phi_3 x'] M1
  std::vector<double> target = system.cross;
  for (std::size_t i = 0; i < target.size(); ++i) {
    target[i] -= 3.0 * fit_.noise_variance * offset[i] + settings_.noise_third * system.mean[i];
  }
  std::vector<double> first_product(d_);
  multiply(collapsed_covariance<1>(SettledSet((settled_tensor = third_part_))), first_, first_product);
  const RootLoss loss{third_square(first_product), third_part_.effective_rows};
  if (!regress(system.gram, target, 3, penalties_.third, loss, warm != nullptr ? &warm->third : nullptr,
               fit_.third)) {
    return numerical_refusal();
  }
  return std::nullopt;
}

// W'M2 W = I; T = M3(W, W, W) = sum a_h v_h^(3); pi_h = a_h^-2, beta_h = pinv(W') a_h v_h.
std::optional<Refusal> PaperEstimate::factorise() {
  DenseMatrix second;
  SymmetricShape(static_cast<int>(d_), 2).unfold(fit_.second->coefficients, second);
  const Whitening whitening = whitening_of(second, k_);
  fit_.second_spectrum = whitening.spectrum;
  if (!whitening.sound) {
    return Refusal{Reason::not_identifiable,
                   "M2 has no positive eigenvalue: check the noise variance, or wait for more rows"};
  }
  if (whitening.clamped > 0) warn(fit_, SpectralWarning::clamped_eigenvalue);
  const SymmetricShape inner(static_cast<int>(k_), 3);
  lift(whitening.whiten, SymmetricShape(static_cast<int>(d_), 3), inner, w_.lifted);
  std::vector<double> core(inner.size());
  multiply_transposed(w_.lifted, fit_.third->coefficients, core);
  CubeTensor tensor(k_);
  for (std::size_t entry = 0; entry < tensor.values.size(); ++entry) {
    const std::size_t at = inner.position(entry);
    tensor.values[entry] = core[at] / inner.root_multiplicity()[at];
  }
  const OrthogonalParts parts =
      power_method(tensor, {settings_.power_restarts, settings_.power_iterations, settings_.seed});
  if (!parts.converged) warn(fit_, SpectralWarning::not_converged);
  fit_.mixture = empty_mixture(k_, d_);
  fit_.weight_sum = 0.0;
  double total = 0.0;
  for (std::size_t h = 0; h < k_; ++h) {
    if (parts.values[h] < 1e-3 || parts.values[h] > 1e3) warn(fit_, SpectralWarning::lost_component);
    const double value = std::clamp(parts.values[h], 1e-3, 1e3);
    const double weight = 1.0 / (value * value);
    fit_.weight_sum += weight;
    fit_.mixture.weights[h] = std::clamp(weight, settings_.least_weight, 1.0);
    if (fit_.mixture.weights[h] > weight) warn(fit_, SpectralWarning::clamped_weight);
    total += fit_.mixture.weights[h];
    fit_.mixture.noise_variances[h] = fit_.noise_variance;
    for (std::size_t a = 0; a < d_; ++a) {
      const std::span<const double> row(whitening.unwhiten.values.data() + a * k_, k_);
      fit_.mixture.law(h)[a] = value * dot(row, {parts.vectors.values.data() + h * k_, k_});
    }
  }
  if (!(total > 0.0)) return numerical_refusal();
  for (double& weight : fit_.mixture.weights) weight /= total;
  return std::nullopt;
}

double PaperEstimate::theory_penalty(const MomentTensor& part, const Mixture& plugged, int degree) const {
  const AskedPenalty asked = asked_penalty(part, plugged, degree);
  if (settings_.objective == PaperObjective::printed) return asked.value;
  return asked.value / (2.0 * std::sqrt(std::max(asked.residual_square * part.effective_rows, 1e-300)));
}

Outcome<SpectralFit> PaperEstimate::run(const PaperStart* warm) {
  const Penalties given{settings_.second_penalty / std::sqrt(second_part_.effective_rows),
                        settings_.third_penalty / std::sqrt(third_part_.effective_rows)};
  const auto by_theory = [this](const Mixture& plugged) {
    return Penalties{theory_penalty(second_part_, plugged, 2), theory_penalty(third_part_, plugged, 3)};
  };
  const bool theory = settings_.penalty == PaperPenalty::theory;
  if (theory && settings_.plugged_in) return run_with(by_theory(*settings_.plugged_in), warm);
  Outcome<SpectralFit> first = run_with(given, warm);
  if (!first || !theory) return first;
  const std::optional<PaperStart> again = first.value().paper_start();
  return run_with(by_theory(first.value().mixture), &*again);
}

Outcome<SpectralFit> PaperEstimate::run_with(const Penalties& penalties, const PaperStart* warm) {
  penalties_ = penalties;
  fit_ = {};
  if (auto refusal = estimate_first()) return *std::move(refusal);
  if (auto refusal = estimate_second(warm)) return *std::move(refusal);
  if (auto refusal = estimate_third(warm)) return *std::move(refusal);
  if (auto refusal = factorise()) return *std::move(refusal);
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(fit_.mixture.coefficients, finite)) return numerical_refusal();
  return std::exchange(fit_, {});
}

std::optional<Refusal> refused_paper_request(const MomentTensor& tensor, int components,
                                             const SpectralSettings& settings) {
  if (auto refusal = refused_request(tensor, components, settings)) return refusal;
  const int d = tensor.layout().feature_count;
  if (components > d) {
    return Refusal{Reason::not_identifiable,
                   "the paper's method finds at most as many laws as features, here " + std::to_string(d) +
                       ": ask for fewer components or add features"};
  }
  if (!settings.noise_variance && tensor.layout().has_constant()) {
    return Refusal{Reason::not_identifiable,
                   "the paper's method cannot estimate the noise variance when x holds a constant: give the "
                   "noise variance, or use the default method"};
  }
  const auto unknowns = static_cast<double>(*monomial_count(static_cast<std::uint64_t>(d), 3));
  if (!settings.allow_singular && !(tensor.effective_rows > unknowns)) {
    return Refusal{Reason::too_few_rows, "M3 has " + std::to_string(static_cast<int>(unknowns)) +
                                             " unknowns: wait for more rows than that"};
  }
  return std::nullopt;
}

}  // namespace

Outcome<SpectralFit> paper_estimate(const MomentTensor& tensor, int components,
                                    const SpectralSettings& settings, SpectralWorkspace& workspace,
                                    const PaperStart* warm) {
  if (auto refusal = refused_paper_request(tensor, components, settings)) return *std::move(refusal);
  const MomentTensor raw = tensor.in_raw_coordinates();
  return PaperEstimate(raw, raw, raw, static_cast<std::size_t>(components), settings, workspace.content())
      .run(warm);
}

Outcome<SpectralFit> paper_estimate(const MomentParts& parts, int components,
                                    const SpectralSettings& settings, SpectralWorkspace& workspace,
                                    const PaperStart* warm) {
  for (const MomentTensor* part : {&parts.first, &parts.second, &parts.third}) {
    if (!(part->layout() == parts.first.layout())) {
      return Refusal{Reason::wrong_shape, "the three parts of the stream must have the same features"};
    }
    if (auto refusal = refused_paper_request(*part, components, settings)) return *std::move(refusal);
  }
  return PaperEstimate(parts.first.in_raw_coordinates(), parts.second.in_raw_coordinates(),
                       parts.third.in_raw_coordinates(), static_cast<std::size_t>(components), settings,
                       workspace.content())
      .run(warm);
}

}  // namespace mixstream
