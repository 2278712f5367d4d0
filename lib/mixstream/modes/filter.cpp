#include "mixstream/modes/filter.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace mixstream {
namespace {

constexpr double tiny = 1e-300;

variants::TangentKernels kernels_for(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return variants::tangents_avx512();
    case InstructionSet::avx2:
      return variants::tangents_avx2();
#endif
    default:
      return variants::tangents_plain();
  }
}

/// psi(x) = d log Gamma / dx for x > 0: up by the recurrence, then the asymptotic series.
double digamma(double x) noexcept {
  double result = 0.0;
  for (; x < 10.0; x += 1.0) result -= 1.0 / x;
  const double inverse = 1.0 / (x * x);
  return result + std::log(x) - 0.5 / x -
         inverse * (1.0 / 12 - inverse * (1.0 / 120 - inverse * (1.0 / 252 - inverse / 240)));
}

}  // namespace

ModeFilter::ModeFilter(const ModeShape& shape, InstructionSet set)
    : shape_(shape),
      k_(shape.component_count),
      d_(shape.feature_count),
      stride_((shape.parameters() + 7) / 8 * 8),
      kernels_(kernels_for(set)),
      anchor_(empty_model(shape)),
      log_scales_(k_),
      precisions_(k_),
      start_tangent_(shape.modes == Modes::persistent ? k_ * shape.who_count() : 0),
      beginnings_(k_),
      power_(k_ * k_),
      power_tangent_(shape.modes == Modes::persistent ? k_ * k_ * shape.who_count() : 0),
      spare_(k_ * k_),
      chances_(k_ * k_),
      residuals_(2 * k_),
      log_densities_(k_ * k_),
      influences_(k_ * k_),
      spreads_(k_ * k_),
      tails_(k_ * k_),
      shares_(k_ * k_),
      relative_(k_ * k_),
      moved_(k_ * k_),
      filtered_(k_),
      combined_(k_ * stride_) {
  if (k_ == 0 || d_ == 0) throw std::invalid_argument("a filter needs a model with laws");
}

void ModeFilter::set_anchor(const ModeModel& model) noexcept {
  anchor_.laws.weights = model.laws.weights;
  anchor_.laws.coefficients = model.laws.coefficients;
  anchor_.laws.noise_variances = model.laws.noise_variances;
  anchor_.transitions.values = model.transitions.values;
  anchor_.gate.values = model.gate.values;
  anchor_.memory = model.memory;
  anchor_.degrees_of_freedom = model.degrees_of_freedom;
  double constant = -0.5 * std::log(2.0 * std::numbers::pi);
  if (shape_.noise_shape.tails) {
    const double nu = model.degrees_of_freedom;
    constant = std::lgamma(0.5 * (nu + 1.0)) - std::lgamma(0.5 * nu) - 0.5 * std::log(nu * std::numbers::pi);
    freedom_slope_ = digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu) - 1.0 / nu;
  }
  for (std::size_t h = 0; h < k_; ++h) {
    const double variance = std::max(model.laws.noise_variances[h], tiny);
    log_scales_[h] = constant - 0.5 * std::log(variance);
    precisions_[h] = 1.0 / std::sqrt(variance);
  }
  power_steps_ = 0;
  set_beginnings();
}

void ModeFilter::begin_in(std::span<const double> modes) noexcept {
  stationary_ = modes.empty();
  std::ranges::copy(modes, beginnings_.begin());
  set_beginnings();
}

void ModeFilter::set_beginnings() noexcept {
  const std::vector<double>& modes = stationary_ ? anchor_.laws.weights : beginnings_;
  for (std::size_t i = 0; i < k_; ++i)
    std::ranges::copy(modes, chances_.begin() + static_cast<std::ptrdiff_t>(i * k_));
  if (shape_.modes != Modes::persistent) return;
  if (stationary_)
    stationary_tangent(anchor_.transitions, anchor_.laws.weights, start_tangent_);
  else
    std::ranges::fill(start_tangent_, 0.0);
}

ModeFilter::Memory ModeFilter::memory_after(unsigned steps) const noexcept {
  const double rho = anchor_.memory;
  const double lost = 1.0 - rho * rho;
  if (steps == 0) return {0.0, 0.0, 1.0 / lost, 2.0 * rho / (lost * lost)};
  if (steps == 1) return {rho, 1.0, 1.0, 0.0};
  const auto g = static_cast<double>(steps);
  const double before = std::pow(rho, g - 1.0);
  const double kept = before * rho;
  const double fresh = (1.0 - kept * kept) / lost;
  return {kept, g * before, fresh, (2.0 * rho * fresh - 2.0 * g * kept * before) / lost};
}

void ModeFilter::open_gate(const Row& row) noexcept {
  mixstream::open_gate(anchor_, shape_, row.features, std::span(chances_).first(k_));
  for (std::size_t i = 1; i < k_; ++i) std::copy_n(chances_.begin(), k_, &chances_[i * k_]);
}

/// A^g and its derivative by every cell: B' = B A, dB' = dB A + B dA.
void ModeFilter::raise_power(unsigned steps) noexcept {
  if (power_steps_ == steps) return;
  const DenseMatrix& a = anchor_.transitions;
  const std::size_t square = k_ * k_;
  const auto add_tangent = [&](const std::vector<double>& power, std::span<double> into, std::size_t i,
                               std::size_t l) {  // += power dA / da_il
    for (std::size_t row = 0; row < k_; ++row) {
      for (std::size_t j = 0; j < k_; ++j)
        into[row * k_ + j] += power[row * k_ + i] * a(i, j) * ((j == l ? 1.0 : 0.0) - a(i, l));
    }
  };
  const auto times_a = [&](std::span<double> b) {
    std::ranges::fill(spare_, 0.0);
    for (std::size_t i = 0; i < k_; ++i) {
      for (std::size_t l = 0; l < k_; ++l) {
        for (std::size_t j = 0; j < k_; ++j) spare_[i * k_ + j] += b[i * k_ + l] * a(l, j);
      }
    }
    std::ranges::copy(spare_, b.begin());
  };
  std::ranges::fill(power_, 0.0);
  for (std::size_t i = 0; i < k_; ++i) power_[i * k_ + i] = 1.0;
  std::ranges::fill(power_tangent_, 0.0);
  for (unsigned step = 0; step < steps; ++step) {
    for (std::size_t i = 0, cell = 0; i < k_; ++i) {
      for (std::size_t l = 0; l < k_; ++l) {
        if (l == i) continue;
        const auto tangent = std::span(power_tangent_).subspan(cell++ * square, square);
        times_a(tangent);
        add_tangent(power_, tangent, i, l);
      }
    }
    times_a(power_);
  }
  power_steps_ = steps;
}

/// A_ij for this row, k x k. Where a chain begins only the first row is read: the weights.
const double* ModeFilter::ways(const Row& row, unsigned steps) noexcept {
  if (shape_.modes == Modes::gated) open_gate(row);
  if (shape_.modes != Modes::persistent || steps == 0) return chances_.data();
  if (steps == 1) return anchor_.transitions.values.data();
  raise_power(steps);
  return power_.data();
}

/// log N_ij, and its derivatives by residual, variance and nu. Without pairs the rows i are all row 0.
void ModeFilter::find_densities(const Row& row, std::span<const double> chain, const Memory& memory,
                                bool pairs) noexcept {
  const double* last = chain.data() + k_ + k_ * stride_;
  for (std::size_t h = 0; h < k_; ++h) {
    const auto law = anchor_.laws.law(h);
    double now = row.response;
    for (std::size_t j = 0; j < d_; ++j) now -= law[j] * row.features[j];
    residuals_[h] = now;
    if (!pairs) continue;
    double before = last[d_];
    for (std::size_t j = 0; j < d_; ++j) before -= law[j] * last[j];
    residuals_[k_ + h] = before;
  }
  const double root = 1.0 / std::sqrt(memory.fresh);
  const double shift = -0.5 * std::log(memory.fresh);
  const double nu = anchor_.degrees_of_freedom;
  for (std::size_t i = 0; i < (pairs ? k_ : 1); ++i) {
    for (std::size_t j = 0; j < k_; ++j) {
      const std::size_t at = i * k_ + j;
      const double precision = precisions_[j] * root;
      const double z = (residuals_[j] - (pairs ? memory.kept * residuals_[k_ + i] : 0.0)) * precision;
      double influence = z;
      if (shape_.noise_shape.tails) {
        const double square = z * z;
        const double logarithm = std::log1p(square / nu);
        influence = (nu + 1.0) * z / (nu + square);
        log_densities_[at] = log_scales_[j] + shift - 0.5 * (nu + 1.0) * logarithm;
        tails_[at] = 0.5 * nu * (freedom_slope_ - logarithm + influence * z / nu);
      } else {
        log_densities_[at] = log_scales_[j] + shift - 0.5 * z * z;
      }
      influences_[at] = influence * precision;
      spreads_[at] = 0.5 * (influence * z - 1.0);
    }
  }
}

/// q_ij, r_ij and f_j; returns log L.
double ModeFilter::share_out(std::span<const double> chain, const double* ways, bool begins,
                             bool pairs) noexcept {
  const std::size_t froms = begins ? 1 : k_;
  const std::size_t densities = (pairs ? k_ : 1) * k_;
  const double top = *std::max_element(log_densities_.begin(),
                                       log_densities_.begin() + static_cast<std::ptrdiff_t>(densities));
  for (std::size_t at = 0; at < densities; ++at) relative_[at] = std::exp(log_densities_[at] - top);
  double total = 0.0;
  if (begins) std::ranges::fill(shares_, 0.0);
  for (std::size_t i = 0; i < froms; ++i) {
    const double weight = begins ? 1.0 : chain[i];
    for (std::size_t j = 0; j < k_; ++j) {
      const double density = relative_[(pairs ? i * k_ : 0) + j];
      moved_[i * k_ + j] = ways[i * k_ + j] * density;
      total += shares_[i * k_ + j] = weight * moved_[i * k_ + j];
    }
  }
  total = std::max(total, tiny);
  std::ranges::fill(filtered_, 0.0);
  for (std::size_t i = 0; i < froms; ++i) {
    for (std::size_t j = 0; j < k_; ++j) {
      moved_[i * k_ + j] /= total;
      filtered_[j] += shares_[i * k_ + j] /= total;
    }
  }
  for (std::size_t at = 0; at < densities; ++at) relative_[at] /= total;
  return top + std::log(total);
}

/// r_ij f_i dA_ij into T_j, for the parameters of who chooses.
void ModeFilter::add_who(const Row& row, unsigned steps, bool begins) noexcept {
  const std::size_t at = shape_.who_at();
  if (shape_.modes == Modes::gated || shape_.modes == Modes::independent) {
    const std::size_t width = shape_.modes == Modes::gated ? shape_.gate.size() : 1;
    for (std::size_t j = 0; j < k_; ++j) {
      double* into = combined(j).data() + at;
      for (std::size_t h = 0; h + 1 < k_; ++h) {
        const double slope = filtered_[j] * ((j == h ? 1.0 : 0.0) - chances_[h]);
        for (std::size_t w = 0; w < width; ++w)
          into[h * width + w] += slope * (shape_.modes == Modes::gated ? row.features[shape_.gate[w]] : 1.0);
      }
    }
    return;
  }
  const std::size_t cells = shape_.who_count();
  if (begins) {
    for (std::size_t j = 0; j < k_; ++j) {
      for (std::size_t c = 0; c < cells; ++c)
        combined(j)[at + c] += relative_[j] * start_tangent_[j * cells + c];
    }
  } else if (steps == 1) {  // q_ij (1[j = l] - A_il)
    for (std::size_t i = 0, cell = at; i < k_; ++i) {
      for (std::size_t l = 0; l < k_; ++l) {
        if (l == i) continue;
        const double way = anchor_.transitions(i, l);
        for (std::size_t j = 0; j < k_; ++j) combined_[j * stride_ + cell] -= shares_[i * k_ + j] * way;
        combined_[l * stride_ + cell] += shares_[i * k_ + l];
        ++cell;
      }
    }
  } else {  // q_ij dA^g_ij / A^g_ij
    for (std::size_t c = 0; c < cells; ++c) {
      for (std::size_t i = 0; i < k_; ++i) {
        for (std::size_t j = 0; j < k_; ++j)
          combined_[j * stride_ + at + c] += shares_[i * k_ + j] * power_tangent_[(c * k_ + i) * k_ + j] /
                                             std::max(power_[i * k_ + j], tiny);
      }
    }
  }
}

/// q_ij dlog N_ij into T_j.
void ModeFilter::add_densities(const Row& row, std::span<const double> chain, const Memory& memory,
                               bool begins, bool pairs) noexcept {
  const double* last = chain.data() + k_ + k_ * stride_;
  const std::size_t froms = begins ? 1 : k_;
  const bool remembers = shape_.noise_shape.memory;
  const double chain_rule = remembers ? 1.0 - anchor_.memory * anchor_.memory : 0.0;  // drho / d atanh rho
  for (std::size_t j = 0; j < k_; ++j) {
    const auto into = combined(j);
    double pull = 0.0;
    double spread = 0.0;
    double tail = 0.0;
    for (std::size_t i = 0; i < froms; ++i) {
      const double share = shares_[i * k_ + j];
      const std::size_t at = (pairs ? i * k_ : 0) + j;
      const double influence = share * influences_[at];
      pull += influence;
      spread += share * spreads_[at];
      if (shape_.noise_shape.tails) tail += share * tails_[at];
      if (!remembers) continue;
      const double by_memory = (pairs ? influence * memory.kept_slope * residuals_[k_ + i] : 0.0) +
                               share * spreads_[at] * memory.fresh_slope / memory.fresh;
      into[shape_.memory_at()] += chain_rule * by_memory;
      if (!pairs) continue;
      for (std::size_t f = 0; f < d_; ++f) into[i * d_ + f] -= influence * memory.kept * last[f];
    }
    for (std::size_t f = 0; f < d_; ++f) into[j * d_ + f] += pull * row.features[f];
    if (shape_.noise != NoiseModel::known)
      into[shape_.variances_at() + (shape_.noise == NoiseModel::shared ? 0 : j)] += spread;
    if (shape_.noise_shape.tails) into[shape_.tails_at()] += tail;
  }
}

void ModeFilter::count_use(std::span<const double> chain, unsigned steps, std::span<double> used) noexcept {
  for (std::size_t i = 0; i < k_; ++i) used[i] += chain[i];
  if (steps < 2 || shape_.modes != Modes::persistent) return;
  std::copy_n(chain.begin(), k_, spare_.begin());
  for (unsigned step = 1; step < steps; ++step) {
    for (std::size_t j = 0; j < k_; ++j) {
      double& next = spare_[k_ + j];
      next = 0.0;
      for (std::size_t i = 0; i < k_; ++i) next += spare_[i] * anchor_.transitions(i, j);
    }
    for (std::size_t j = 0; j < k_; ++j) used[j] += spare_[j] = spare_[k_ + j];
  }
}

double ModeFilter::advance(std::span<double> chain, const Row& row, unsigned steps, std::span<double> score,
                           std::span<double> used) noexcept {
  if (steps > longest_gap) steps = 0;
  const bool begins = steps == 0;
  const bool pairs = shape_.noise_shape.memory && !begins;
  const Memory memory = shape_.noise_shape.memory ? memory_after(steps) : Memory{};
  if (!begins && k_ > 1) count_use(chain, steps, used);
  find_densities(row, chain, memory, pairs);
  const double* way = ways(row, steps);
  const double log_density = share_out(chain, way, begins, pairs);
  if (shape_.remembers() && !begins)
    kernels_.combine(k_, stride_, moved_.data(), chain.data() + k_, combined_.data());
  else
    std::ranges::fill(combined_, 0.0);
  if (k_ > 1) add_who(row, steps, begins);
  add_densities(row, chain, memory, begins, pairs);
  kernels_.finish(k_, stride_, filtered_.data(), combined_.data(), score.data(), chain.data() + k_);
  std::ranges::copy(filtered_, chain.begin());
  if (shape_.noise_shape.memory) {
    double* last = chain.data() + k_ + k_ * stride_;
    std::ranges::copy(row.features, last);
    last[d_] = row.response;
  }
  return log_density;
}

}  // namespace mixstream
