#include "mixstream/modes/filter.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <stdexcept>

namespace mixstream {
namespace {

constexpr double tiny = 1e-300;
constexpr double no_law = -1e300;  // log density of lanes behind the last law

variants::RowStep kernels_for(InstructionSet set) {
  switch (set) {
#if defined(__x86_64__)
    case InstructionSet::avx512:
      return variants::row_step_avx512();
    case InstructionSet::avx2:
      return variants::row_step_avx2();
#endif
    default:
      return variants::row_step_plain();
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

std::size_t padded(std::size_t size) noexcept {
  return (size + 7) / 8 * 8;
}

variants::StepPlan plan_for(const ModeShape& shape) {
  variants::StepPlan plan;
  const std::size_t k = shape.component_count;
  plan.laws = k;
  plan.features = shape.feature_count;
  plan.lanes = padded(k);
  plan.stride = padded(shape.parameters());
  plan.who_at = shape.who_at();
  plan.variances_at = shape.variances_at();
  plan.variance_count = shape.variance_count();
  plan.tails_at = shape.tails_at();
  plan.memory_at = shape.memory_at();
  plan.tails = shape.noise_shape.tails;
  plan.memory = shape.noise_shape.memory;
  plan.size = variants::place(variants::law_tables, plan.lanes);
  const auto take = [&plan](std::size_t numbers) {
    const std::size_t at = plan.size;
    plan.size += padded(numbers);
    return at;
  };
  plan.coefficients = take(plan.features * plan.lanes);
  plan.slopes = take(k * k * plan.who_span());
  plan.units = take((k + 2) * plan.stride);
  plan.shares = take(k * k + 8);
  plan.features_now = take(k * plan.stride);
  plan.features_then = take(k * plan.stride);
  plan.additions = take(k * plan.who_span());
  return plan;
}

}  // namespace

ModeFilter::ModeFilter(const ModeShape& shape, InstructionSet set)
    : shape_(shape),
      k_(shape.component_count),
      d_(shape.feature_count),
      stride_(padded(shape.parameters())),
      kernels_(kernels_for(set)),
      plan_(plan_for(shape)),
      space_(plan_.size),
      anchor_(empty_model(shape)),
      start_tangent_(shape.modes == Modes::persistent ? k_ * shape.who_count() : 0),
      beginnings_(k_),
      power_(k_ * k_),
      power_tangent_(shape.modes == Modes::persistent ? k_ * k_ * shape.who_count() : 0),
      spare_(k_ * k_),
      ways_(k_ * plan_.lanes),
      chances_(k_ * plan_.lanes) {
  for (std::size_t j = 0; j < k_ && plan_.variance_count > 0; ++j)
    space_[plan_.units + j * stride_ + plan_.variances_at + (plan_.variance_count == 1 ? 0 : j)] = 1.0;
  if (plan_.tails) space_[plan_.units + k_ * stride_ + plan_.tails_at] = 1.0;
  if (plan_.memory) space_[plan_.units + (k_ + 1) * stride_ + plan_.memory_at] = 1.0;
  if (k_ == 0 || k_ > variants::most_laws || d_ == 0)
    throw std::invalid_argument("a filter needs a model with laws");
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
  double* log_scale = &space_[place(variants::log_scales, plan_.lanes)];
  double* precision = &space_[place(variants::precisions, plan_.lanes)];
  for (std::size_t h = 0; h < plan_.lanes; ++h) {
    const double variance = h < k_ ? std::max(model.laws.noise_variances[h], tiny) : 0.0;
    log_scale[h] = h < k_ ? constant - 0.5 * std::log(variance) : no_law;
    precision[h] = h < k_ ? 1.0 / std::sqrt(variance) : 0.0;
    for (std::size_t f = 0; f < d_ && h < k_; ++f)
      space_[plan_.coefficients + f * plan_.lanes + h] = model.laws.law(h)[f];
  }
  power_steps_ = 0;
  set_ways();
  set_beginnings();
}

/// A, and dlog A_ij / d(log A_il / A_ii) = 1[j = l] - A_il.
void ModeFilter::set_ways() noexcept {
  if (shape_.modes != Modes::persistent) return;
  const DenseMatrix& a = anchor_.transitions;
  double* ways = &space_[place(variants::transitions, plan_.lanes)];
  for (std::size_t i = 0; i < k_; ++i) {
    for (std::size_t j = 0; j < k_; ++j) {
      ways[i * plan_.lanes + j] = a(i, j);
      double* slope = &space_[plan_.slopes + (j * k_ + i) * plan_.who_span() + plan_.who_at -
                              plan_.who_begin() + i * (k_ - 1)];
      for (std::size_t l = 0; l < k_; ++l) {
        if (l != i) *slope++ = (j == l ? 1.0 : 0.0) - a(i, l);
      }
    }
  }
}

void ModeFilter::begin_in(std::span<const double> modes) noexcept {
  stationary_ = modes.empty();
  std::ranges::copy(modes, beginnings_.begin());
  set_beginnings();
}

void ModeFilter::set_beginnings() noexcept {
  const std::vector<double>& modes = stationary_ ? anchor_.laws.weights : beginnings_;
  for (std::size_t i = 0; i < k_; ++i)
    std::ranges::copy(modes, chances_.begin() + static_cast<std::ptrdiff_t>(i * plan_.lanes));
  if (shape_.modes != Modes::persistent) return;
  if (stationary_)
    stationary_tangent(anchor_.transitions, anchor_.laws.weights, start_tangent_);
  else
    std::ranges::fill(start_tangent_, 0.0);
}

/// What the noise keeps of the last row: rho^g of its residual, and (1 - rho^2g) / (1 - rho^2) of the
/// variance anew; both with derivatives by atanh rho.
variants::StepRow ModeFilter::step_row(const Row& row, std::span<const double> chain,
                                       unsigned steps) const noexcept {
  variants::StepRow result;
  result.features = row.features.data();
  result.response = row.response;
  if (steps > 0) result.from = chain.data();
  result.freedom = anchor_.degrees_of_freedom;
  result.freedom_slope = freedom_slope_;
  if (!shape_.noise_shape.memory) return result;
  const double rho = anchor_.memory;
  const double lost = 1.0 - rho * rho;  // drho / d atanh rho, too
  if (steps > 0) result.last = chain.data() + k_ + k_ * stride_;
  if (steps == 1) {
    result.kept = rho;
    result.kept_slope = lost;
    return result;
  }
  const auto g = static_cast<double>(steps);
  const double before = steps == 0 ? 0.0 : std::pow(rho, g - 1.0);
  const double kept = before * rho;
  const double fresh = (1.0 - kept * kept) / lost;
  result.kept = kept;
  result.kept_slope = lost * g * before;
  result.fresh_slope = (2.0 * rho * fresh - 2.0 * g * kept * before) / fresh;
  result.root = 1.0 / std::sqrt(fresh);
  result.log_root = -0.5 * std::log(fresh);
  return result;
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
  for (std::size_t i = 0; i < k_; ++i) std::copy_n(&power_[i * k_], k_, &ways_[i * plan_.lanes]);
  power_steps_ = steps;
}

/// A_ij for this row. Where a chain begins only the first row is read: the weights.
const double* ModeFilter::ways(const Row& row, unsigned steps) noexcept {
  if (shape_.modes == Modes::gated) {
    open_gate(anchor_, shape_, row.features, std::span(chances_).first(k_));
    for (std::size_t i = 1; i < k_; ++i) std::copy_n(chances_.begin(), k_, &chances_[i * plan_.lanes]);
  }
  if (shape_.modes != Modes::persistent || steps == 0) return chances_.data();
  if (steps == 1) return &space_[place(variants::transitions, plan_.lanes)];
  raise_power(steps);
  return ways_.data();
}

/// r_ij f_i dA_ij for the parameters of who chooses; not those of one step of a persistent chain, which the
/// kernels know.
void ModeFilter::add_who(const Row& row, unsigned steps) noexcept {
  const double* filtered = &space_[place(variants::filtered, plan_.lanes)];
  const double* shares = &space_[plan_.shares];
  const std::size_t width = shape_.modes == Modes::gated ? shape_.gate.size() : 1;
  const std::size_t cells = plan_.variances_at - plan_.who_at;
  for (std::size_t j = 0; j < k_; ++j) {
    double* into = &space_[plan_.additions + j * plan_.who_span() + plan_.who_at - plan_.who_begin()];
    if (shape_.modes != Modes::persistent) {
      for (std::size_t h = 0; h + 1 < k_; ++h) {
        const double slope = filtered[j] * ((j == h ? 1.0 : 0.0) - chances_[h]);
        for (std::size_t w = 0; w < width; ++w)
          into[h * width + w] = slope * (shape_.modes == Modes::gated ? row.features[shape_.gate[w]] : 1.0);
      }
    } else if (steps == 0) {
      for (std::size_t c = 0; c < cells; ++c)
        into[c] = space_[place(variants::densities, plan_.lanes) + j] * start_tangent_[j * cells + c];
    } else {  // q_ij dA^g_ij / A^g_ij
      for (std::size_t c = 0; c < cells; ++c) {
        into[c] = 0.0;
        for (std::size_t i = 0; i < k_; ++i)
          into[c] +=
              shares[i * k_ + j] * power_tangent_[(c * k_ + i) * k_ + j] / std::max(power_[i * k_ + j], tiny);
      }
    }
  }
}

void ModeFilter::count_use(std::span<const double> chain, unsigned steps, std::span<double> used,
                           double weight) noexcept {
  for (std::size_t i = 0; i < k_; ++i) used[i] += weight * chain[i];
  if (steps < 2 || shape_.modes != Modes::persistent) return;
  std::copy_n(chain.begin(), k_, spare_.begin());
  for (unsigned step = 1; step < steps; ++step) {
    for (std::size_t j = 0; j < k_; ++j) {
      double& next = spare_[k_ + j];
      next = 0.0;
      for (std::size_t i = 0; i < k_; ++i) next += spare_[i] * anchor_.transitions(i, j);
    }
    for (std::size_t j = 0; j < k_; ++j) used[j] += weight * (spare_[j] = spare_[k_ + j]);
  }
}

double ModeFilter::advance(std::span<double> chain, const Row& row, unsigned steps, std::span<double> score,
                           std::span<double> used, double weight) noexcept {
  if (steps > longest_gap) steps = 0;
  if (steps > 0 && k_ > 1) count_use(chain, steps, used, weight);
  variants::StepRow step = step_row(row, chain, steps);
  step.ways = ways(row, steps);
  const double log_density = kernels_.weigh(plan_, space_.data(), step);
  const bool one_step = shape_.modes == Modes::persistent && steps == 1;
  if (!one_step && k_ > 1) add_who(row, steps);
  using variants::Follows;
  const Follows follows = !shape_.remembers() || steps == 0 ? Follows::nothing
                          : one_step                        ? Follows::one_step
                                                            : Follows::somehow;
  kernels_.carry(plan_, space_.data(), follows, chain.data() + k_, score.data());
  std::copy_n(&space_[place(variants::filtered, plan_.lanes)], k_, chain.begin());
  if (shape_.noise_shape.memory) {
    double* last = chain.data() + k_ + k_ * stride_;
    std::ranges::copy(row.features, last);
    last[d_] = row.response;
  }
  return log_density;
}

}  // namespace mixstream
