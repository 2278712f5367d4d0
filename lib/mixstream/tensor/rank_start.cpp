// The better start. With e = y - M1 . x the mean law is gone: Cov(beta) = V V' has rank k - 1, and
// beta_h = M1 + V s_h with sum pi_h s_h = 0, sum pi_h s_h s_h' = I. So v_h = sqrt(pi_h) (1, s_h) are
// orthonormal in R^k, and T = sum_h v_h^(3) / sqrt(pi_h) has T_000 = 1, T_00j = 0, T_0ij = [i = j]; only its
// core S = sum pi_h s_h^(3) is unknown, N(k-1, 3) numbers, and is regressed from e^3 inside the span of V.
// The leading 1 does what shifting y would: laws that are linearly dependent (y = x, y = -x) are independent
// once it stands before them, so no scan of offsets is needed, and M1 and M2 are met exactly by any frame.
#include <algorithm>
#include <cmath>

#include "mixstream/linalg/products.hpp"
#include "mixstream/regression/identifiability.hpp"
#include "mixstream/tensor/decomposition.hpp"
#include "mixstream/tensor/workspace.hpp"

namespace mixstream {
namespace {

/// Everything between the moments and the mixture, in the tensor's coordinates.
class RankStart {
 public:
  RankStart(const MomentTensor& tensor, std::size_t components, const SpectralSettings& settings,
            SpectralWorkspace::Content& workspace)
      : tensor_(tensor),
        settings_(settings),
        k_(components),
        r_(components - 1),
        d_(static_cast<std::size_t>(tensor.layout().feature_count)),
        response_scale_(tensor.pilot().scale.back()),
        w_(workspace) {
    if (settings.noise_variance) known_ = *settings.noise_variance / (response_scale_ * response_scale_);
  }

  Outcome<SpectralFit> run(const SpectralFit* warm);

 private:
  std::optional<Refusal> refused_moments() const;
  bool regress(const CentralSystems& systems, const SpectralFit* warm);
  bool choose_by_third(const PowerSystem& third);
  bool leaves_open() const noexcept {
    return second_.unknowns > second_.equations || (r_ > 0 && w_.core_system.null_count > 0);
  }
  bool order_factor();
  bool regress_core(const PowerSystem& third);
  CubeTensor whole_tensor() const;
  struct Candidate;
  Mixture mixture_of(const DenseMatrix& frame, double least_weight);
  Candidate candidate_of(const DenseMatrix& frame);
  double core_distance(const Mixture& mixture, const DenseMatrix& frame);
  bool decompose();

  const MomentTensor& tensor_;
  const SpectralSettings& settings_;
  std::size_t k_;
  std::size_t r_;
  std::size_t d_;
  double response_scale_;
  SpectralWorkspace::Content& w_;
  std::optional<double> known_;
  FirstMoment first_;
  SymmetricShape inner_;
  RankFit second_;                // V and s2
  std::vector<double> core_;      // cvec(S)
  double smallest_spread_ = 0.0;  // least variance of V'x, over directions
  double explained_ = 0.0;        // of E(E[e^3 | x])^2, by the core
  SpectralFit fit_;
};

std::optional<Refusal> RankStart::refused_moments() const {
  if (first_.rank < d_) {
    return Refusal{Reason::not_identifiable, "the features are linearly dependent (" +
                                                 describe(dependences(tensor_, 1, settings_.feature_names)) +
                                                 "): leave one of them out of the feature map"};
  }
  return refused_residual(first_, known_);
}

/// V of the last fit in these coordinates: the leading part of sum_h pi_h (beta_h - M1)(beta_h - M1)'.
DenseMatrix factor_of(const Mixture& mixture) {
  const std::size_t k = mixture.component_count();
  const std::size_t d = mixture.feature_count;
  std::vector<double> mean(d, 0.0);
  for (std::size_t h = 0; h < k; ++h) {
    for (std::size_t a = 0; a < d; ++a) mean[a] += mixture.weights[h] * mixture.law(h)[a];
  }
  DenseMatrix covariance{d, d, std::vector<double>(d * d)};
  for (std::size_t h = 0; h < k; ++h) {
    for (std::size_t a = 0; a < d; ++a) {
      for (std::size_t b = 0; b < d; ++b) {
        covariance(a, b) +=
            mixture.weights[h] * (mixture.law(h)[a] - mean[a]) * (mixture.law(h)[b] - mean[b]);
      }
    }
  }
  DenseMatrix factor{d, k - 1, std::vector<double>(d * (k - 1))};
  SymmetricEigen eigen;
  if (!eigen.decompose(covariance)) return {};
  for (std::size_t q = 0; q + 1 < k && q < d; ++q) {
    const double root = std::sqrt(std::max(eigen.values[d - 1 - q], 0.0));
    for (std::size_t a = 0; a < d; ++a) factor(a, q) = root * eigen.vectors(d - 1 - q, a);
  }
  return factor;
}

bool RankStart::regress(const CentralSystems& systems, const SpectralFit* warm) {
  const RankSettings rank_settings{known_, settings_.regression_starts, settings_.regression_iterations,
                                   settings_.seed, tensor_.effective_rows};
  RankFit last;
  const bool warmed =
      warm != nullptr && warm->mixture.component_count() == k_ && warm->mixture.feature_count == d_;
  if (warmed) {
    const Mixture mixture = to_pilot(warm->mixture, tensor_.layout(), tensor_.pilot());
    last.factor = factor_of(mixture);
    last.noise_variance = mixture.noise_variances[0];
  }
  if (!fit_rank(systems.second, first_, r_, rank_settings, warmed ? &last : nullptr, w_.rank, w_.rank_fits)) {
    return false;
  }
  if (!choose_by_third(systems.third)) return false;
  if (leaves_open()) warn(fit_, SpectralWarning::underdetermined);
  if (r_ > 0 && smallest_spread_ < 1e-6 * first_.residual_square) warn(fit_, SpectralWarning::lost_component);
  const double least = 1e-6 * first_.residual_square;
  if (!known_ && second_.noise_variance < least) {
    second_.noise_variance = least;
    second_.noise_variance_error.reset();
    warn(fit_, SpectralWarning::noise_at_bound);
  }
  return true;
}

/// Whether two factors have the same V V', as starts that end at one place do.
bool same_covariance(const DenseMatrix& left, const DenseMatrix& right) {
  double difference = 0.0;
  double size = 0.0;
  const std::size_t r = left.columns;
  for (std::size_t a = 0; a < left.rows; ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      const double one = dot({left.values.data() + a * r, r}, {left.values.data() + b * r, r});
      const double other = dot({right.values.data() + a * r, r}, {right.values.data() + b * r, r});
      difference += (one - other) * (one - other);
      size += one * one;
    }
  }
  return difference <= 1e-10 * size;
}

/// Among the second-moment fits that the rows cannot tell apart, the one whose span explains most of e^3.
bool RankStart::choose_by_third(const PowerSystem& third) {
  const RankFit& nearest = w_.rank_fits.front();
  const double noise = nearest.spread / tensor_.effective_rows;
  const double slack =
      3.0 * std::sqrt(2.0 * static_cast<double>(nearest.equations)) * noise + 1e-12 * nearest.spread;
  double most = -1.0;
  RankFit best;
  for (const RankFit& candidate : w_.rank_fits) {
    if (candidate.distance > nearest.distance + slack) break;
    if (most >= 0.0 && same_covariance(best.factor, candidate.factor)) continue;
    second_ = candidate;
    if (!order_factor() || !regress_core(third)) continue;
    if (explained_ <= most) continue;
    most = explained_;
    best = second_;
  }
  if (most < 0.0) return false;
  second_ = std::move(best);
  return order_factor() && regress_core(third);
}

/// Rotates the columns of V to be orthogonal in the metric of Sigma_1, the largest first.
bool RankStart::order_factor() {
  if (r_ == 0) return true;
  DenseMatrix& factor = second_.factor;
  DenseMatrix product;
  DenseMatrix gram;
  multiply(first_.gram, factor, product);
  multiply_transposed(factor, product, gram);
  SymmetricEigen eigen;
  if (!eigen.decompose(gram)) return false;
  smallest_spread_ = eigen.values.front();
  const DenseMatrix old = factor;
  for (std::size_t a = 0; a < d_; ++a) {
    for (std::size_t q = 0; q < r_; ++q) {
      factor(a, q) =
          dot({old.values.data() + a * r_, r_}, {eigen.vectors.values.data() + (r_ - 1 - q) * r_, r_});
    }
  }
  return true;
}

// E[e^3 | x] - E[eps^3] = S(V'x, V'x, V'x) = cvec(S) . L' phi_3(x)
bool RankStart::regress_core(const PowerSystem& third) {
  inner_ = SymmetricShape(static_cast<int>(r_), 3);
  core_.assign(inner_.size(), 0.0);
  explained_ = 0.0;
  reshape(w_.core_gram, 0, 0);
  if (r_ == 0) return true;
  lift(second_.factor, SymmetricShape(static_cast<int>(d_), 3), inner_, w_.lifted);
  multiply(third.gram, w_.lifted, w_.products);
  multiply_transposed(w_.lifted, w_.products, w_.core_gram);
  std::vector<double> target = third.cross;
  const double skew = settings_.noise_third / (response_scale_ * response_scale_ * response_scale_);
  for (std::size_t i = 0; i < target.size(); ++i) target[i] -= skew * third.mean[i];
  std::vector<double> projected(inner_.size());
  multiply_transposed(w_.lifted, target, projected);
  if (!w_.core_system.decompose(w_.core_gram, estimated_cutoff)) return false;
  w_.core_system.solve(projected, core_, w_.scratch);
  explained_ = dot(projected, core_);
  const double bound = 1.0 / std::sqrt(std::max(settings_.least_weight, 1e-4));  // |S_ijl| <= max |s_h|
  for (std::size_t i = 0; i < core_.size(); ++i) {
    const double limit = bound * inner_.root_multiplicity()[i];
    core_[i] = std::clamp(core_[i], -limit, limit);
  }
  return true;
}

CubeTensor RankStart::whole_tensor() const {
  CubeTensor whole(k_);
  whole(0, 0, 0) = 1.0;
  for (std::size_t i = 0; i < r_; ++i) {
    whole(0, i + 1, i + 1) = whole(i + 1, 0, i + 1) = whole(i + 1, i + 1, 0) = 1.0;
    for (std::size_t j = 0; j < r_; ++j) {
      for (std::size_t l = 0; l < r_; ++l) {
        const std::size_t at = inner_.position((i * r_ + j) * r_ + l);
        whole(i + 1, j + 1, l + 1) = core_[at] / inner_.root_multiplicity()[at];
      }
    }
  }
  return whole;
}

/// pi_h = v_h0^2 and beta_h = M1 + V s_h, s_h = v_h / v_h0 without its first entry; small weights are lifted.
Mixture RankStart::mixture_of(const DenseMatrix& frame, double least_weight) {
  Mixture mixture = empty_mixture(k_, d_);
  double total = 0.0;
  for (std::size_t h = 0; h < k_; ++h) {
    const double weight = std::max(frame(h, 0) * frame(h, 0), least_weight);
    const double scale = (frame(h, 0) < 0.0 ? -1.0 : 1.0) / std::sqrt(weight);
    for (std::size_t a = 0; a < d_; ++a) {
      double value = first_.coefficients[a];
      for (std::size_t q = 0; q < r_; ++q) value += second_.factor(a, q) * frame(h, q + 1) * scale;
      mixture.law(h)[a] = value;
    }
    mixture.weights[h] = weight;
    mixture.noise_variances[h] = second_.noise_variance;
    total += weight;
  }
  for (double& weight : mixture.weights) weight /= total;
  return mixture;
}

/// How far the frame's core is from the regressed one, in the metric of Sigma_3.
double RankStart::core_distance(const Mixture& mixture, const DenseMatrix& frame) {
  std::vector<double> difference(core_.size());
  std::vector<double> product(core_.size());
  std::vector<double> spot(r_);
  for (std::size_t i = 0; i < core_.size(); ++i) difference[i] = -core_[i];
  for (std::size_t h = 0; h < k_; ++h) {
    const double scale = (frame(h, 0) < 0.0 ? -1.0 : 1.0) / std::sqrt(mixture.weights[h]);
    for (std::size_t q = 0; q < r_; ++q) spot[q] = frame(h, q + 1) * scale;
    inner_.add_power(spot, mixture.weights[h], difference);
  }
  multiply(w_.core_gram, difference, product);
  return dot(difference, product);
}

struct RankStart::Candidate {
  Mixture mixture;
  double distance = 0.0;
};

/// The frame's mixture with its own weights, or with none below an even share where e^3 is explained better
/// so or leaves them open: a frame of noisy moments makes light laws, and sends them far off.
RankStart::Candidate RankStart::candidate_of(const DenseMatrix& frame) {
  Candidate best;
  for (const double least : {std::max(settings_.least_weight, 1e-4), 1.0 / static_cast<double>(k_)}) {
    Mixture mixture = mixture_of(frame, least);
    const double distance = core_distance(mixture, frame);
    if (best.mixture.weights.empty() || distance < best.distance || leaves_open())
      best = {std::move(mixture), distance};
  }
  return best;
}

bool RankStart::decompose() {
  const CubeTensor whole = whole_tensor();
  OrthogonalParts power =
      power_method(whole, {settings_.power_restarts, settings_.power_iterations, settings_.seed});
  OrthogonalParts joint = joint_diagonalisation(whole);
  const bool power_sound = orthonormalise(power.vectors);
  const Candidate by_joint = candidate_of(joint.vectors);
  const Candidate by_power = power_sound ? candidate_of(power.vectors) : by_joint;
  fit_.joint_chosen = !power_sound || by_joint.distance < by_power.distance;
  fit_.agreement = law_difference(by_power.mixture, by_joint.mixture);
  fit_.mixture = fit_.joint_chosen ? by_joint.mixture : by_power.mixture;
  const DenseMatrix& frame = fit_.joint_chosen ? joint.vectors : power.vectors;
  for (std::size_t h = 0; h < k_; ++h) {
    if (frame(h, 0) * frame(h, 0) < settings_.least_weight) warn(fit_, SpectralWarning::clamped_weight);
  }
  if (!(fit_.joint_chosen ? joint.converged : power.converged)) warn(fit_, SpectralWarning::not_converged);
  return true;
}

Outcome<SpectralFit> RankStart::run(const SpectralFit* warm) {
  first_ = first_moment(tensor_);
  if (const auto refusal = refused_moments()) return *refusal;
  const CentralSystems systems = central_systems(tensor_, first_);
  const Refusal broken{Reason::numerical,
                       "the spectral start broke down on these moments: use another start, or more rows"};
  if (!regress(systems, warm) || !order_factor() || !regress_core(systems.third) || !decompose())
    return broken;
  const double unit = response_scale_ * response_scale_;
  fit_.noise_source = known_ ? NoiseSource::known : NoiseSource::estimated;
  fit_.noise_variance = second_.noise_variance * unit;
  if (second_.noise_variance_error) fit_.noise_variance_error = *second_.noise_variance_error * unit;
  fit_.residual = second_.distance;
  fit_.mixture = to_raw(fit_.mixture, tensor_.layout(), tensor_.pilot());
  fit_.second_spectrum = second_spectrum_of(fit_.mixture);
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(fit_.mixture.coefficients, finite) || !std::isfinite(fit_.noise_variance)) {
    return broken;
  }
  return std::move(fit_);
}

}  // namespace

Outcome<SpectralFit> rank_start(const MomentTensor& tensor, int components, const SpectralSettings& settings,
                                SpectralWorkspace& workspace, const SpectralFit* warm) {
  if (auto refusal = refused_request(tensor, components, settings)) return *std::move(refusal);
  const bool noise_hidden = !settings.noise_variance && tensor.layout().has_constant();
  const int most = tensor.layout().feature_count + (noise_hidden ? 0 : 1);
  if (components > most) {
    return Refusal{Reason::not_identifiable,
                   "the spectral start finds at most " + std::to_string(most) + " laws with " +
                       std::to_string(tensor.layout().feature_count) +
                       " features: ask for fewer components, add features, or use another start"};
  }
  return RankStart(tensor, static_cast<std::size_t>(components), settings, workspace.content()).run(warm);
}

}  // namespace mixstream
