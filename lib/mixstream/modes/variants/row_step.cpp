#include "mixstream/modes/variants/row_step.hpp"

#include "mixstream/likelihood/variants/vector_math.hpp"

// MIXSTREAM_KERNEL_ENTRY: the name under which this instruction set's functions are handed out.

namespace mixstream::variants {
namespace {

// Inlined, and plans by value: what a vector's store might change in memory would be read again after each.
#define MIXSTREAM_INLINE __attribute__((always_inline)) static inline

constexpr double tiny = 1e-300;
constexpr double least_log_density = -1e200;  // a row beyond all reason keeps finite probabilities
constexpr std::size_t strip_rows = 8;  // as many products as adders of latency 4, two of them, have at work

/// Functions below take the number of laws as a template's, 0: any; `Rich`: noise has tails or memory.
template <std::size_t Laws>
MIXSTREAM_INLINE StepPlan known(StepPlan plan) noexcept {
  if (Laws == 0) return plan;
  plan.laws = Laws;
  plan.lanes = (Laws + 7) / 8 * 8;
  return plan;
}

/// y - beta_j . x of the laws of one vector.
MIXSTREAM_INLINE Vector residuals_of(StepPlan plan, const double* coefficients, const double* features,
                                     double response) noexcept {
  Vector residual = broadcast(response);
  for (std::size_t f = 0; f < plan.features; ++f)
    residual -= features[f] * load(coefficients + f * plan.lanes);
  return residual;
}

/// N_ij over the largest of them, whose logarithm is returned, and the derivatives of log N_ij.
template <bool Rich>
MIXSTREAM_INLINE double find_densities(StepPlan plan, double* space, StepRow row) noexcept {
  const bool pairs = Rich && row.last != nullptr;
  double* const density = space + place(densities, plan.lanes);
  Vector tops = broadcast(-1e308);
  for (std::size_t lane = 0; lane < plan.lanes && pairs; lane += vector_width)
    store(space + place(residuals_then, plan.lanes) + lane,
          residuals_of(plan, space + plan.coefficients + lane, row.last, row.last[plan.features]));
  for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
    const Vector residual = residuals_of(plan, space + plan.coefficients + lane, row.features, row.response);
    const Vector precision = row.root * load(space + place(precisions, plan.lanes) + lane);
    const Vector scale = row.log_root + load(space + place(log_scales, plan.lanes) + lane);
    for (std::size_t i = 0; i < (pairs ? plan.laws : 1); ++i) {
      const std::size_t at = i * plan.lanes + lane;
      const Vector z = pairs
                           ? (residual - row.kept * space[place(residuals_then, plan.lanes) + i]) * precision
                           : residual * precision;
      Vector influence = z;
      Vector exponent = 0.5 * z * z;
      if (Rich && plan.tails) {
        const double nu = row.freedom;
        const Vector growth = logarithm(1.0 + z * z / nu);
        influence = (nu + 1.0) * z / (nu + z * z);
        exponent = 0.5 * (nu + 1.0) * growth;
        store(space + place(tail_slopes, plan.lanes) + at,
              0.5 * nu * (row.freedom_slope - growth + influence * z / nu));
      }
      const Vector log_density = larger(scale - exponent, broadcast(least_log_density));
      tops = larger(tops, log_density);
      store(density + at, log_density);
      store(space + place(influences, plan.lanes) + at, influence * precision);
      store(space + place(spreads, plan.lanes) + at, 0.5 * (influence * z - 1.0));
    }
  }
  double top = tops[0];
  for (std::size_t lane = 1; lane < vector_width; ++lane) top = tops[lane] > top ? tops[lane] : top;
  for (std::size_t at = 0; at < (pairs ? plan.laws : 1) * plan.lanes; at += vector_width)
    store(density + at, exponential(load(density + at) - top));
  return top;
}

/// q_ij, r_ij A_ij, f_j, and r_0j in the place of the first densities; returns log L over the largest
/// density.
template <bool Rich>
MIXSTREAM_INLINE double share_out(StepPlan plan, double* space, StepRow row) noexcept {
  const bool pairs = Rich && row.last != nullptr;
  const std::size_t froms = row.from == nullptr ? 1 : plan.laws;
  const double one = 1.0;
  const double* from = row.from == nullptr ? &one : row.from;
  double* const density = space + place(densities, plan.lanes);
  double* const now = space + place(filtered, plan.lanes);
  for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
    Vector sum{};
    for (std::size_t i = 0; i < froms; ++i) {
      const std::size_t at = i * plan.lanes + lane;
      sum += from[i] * (load(row.ways + at) * load(density + (pairs ? at : lane)));
    }
    store(now + lane, sum);
  }
  double total = 0.0;
  for (std::size_t j = 0; j < plan.laws; ++j) total += now[j];
  total = total > tiny ? total : tiny;
  const double scale = 1.0 / total;
  for (std::size_t i = 0; i < froms; ++i) {  // in this order: the end of a row of q is the next one's begin
    for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
      const std::size_t at = i * plan.lanes + lane;
      const Vector way = scale * (load(row.ways + at) * load(density + (pairs ? at : lane)));
      store(space + place(moved, plan.lanes) + at, way);
      store(space + plan.shares + i * plan.laws + lane, from[i] * way);
    }
  }
  for (std::size_t at = froms * plan.laws; at < plan.laws * plan.laws; ++at) space[plan.shares + at] = 0.0;
  for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
    store(now + lane, scale * load(now + lane));
    store(density + lane, scale * load(density + lane));
  }
  return logarithm(broadcast(total))[0];
}

/// sum_i q_ij dlog N_ij by the mean of law j, its log variance, log nu and atanh rho.
template <bool Rich>
MIXSTREAM_INLINE void sum_slopes(StepPlan plan, double* space, StepRow row) noexcept {
  const bool pairs = Rich && row.last != nullptr;
  const double* shares = space + (pairs ? plan.shares : place(filtered, plan.lanes));
  for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
    Vector pull{}, variance{}, tails{}, memory{};
    for (std::size_t i = 0; i < (pairs ? plan.laws : 1); ++i) {
      const std::size_t at = i * plan.lanes + lane;
      double* const influence = space + place(influences, plan.lanes) + at;
      const Vector share = load(shares + i * plan.laws + lane);
      const Vector own = share * load(influence);
      pull += own;
      variance += share * load(space + place(spreads, plan.lanes) + at);
      if (Rich && plan.tails) tails += share * load(space + place(tail_slopes, plan.lanes) + at);
      if (!pairs) continue;
      store(influence, row.kept * own);
      memory += (row.kept_slope * space[place(residuals_then, plan.lanes) + i]) * own;
    }
    store(space + place(pulls, plan.lanes) + lane, pull);
    store(space + place(by_variance, plan.lanes) + lane, variance);
    if (!Rich) continue;
    store(space + place(by_tails, plan.lanes) + lane, tails);
    store(space + place(by_memory, plan.lanes) + lane, memory + row.fresh_slope * variance);
  }
}

/// sum_i q_ij dlog N_ij by the coefficients: of law j by pull_j x, and of every law i before by what the
/// noise remembers of its residual. Laws in order: the end of a vector is the next one's begin.
template <bool Rich>
MIXSTREAM_INLINE void add_laws(StepPlan plan, double* space, StepRow row) noexcept {
  const std::size_t d = plan.features;
  double* const now = space + plan.features_now;
  double* const then = space + plan.features_then;
  for (std::size_t f = 0; f < d; ++f) now[f] = row.features[f];
  for (std::size_t f = 0; Rich && f < d && row.last != nullptr; ++f) then[f] = row.last[f];
  for (std::size_t j = 0; j < plan.laws; ++j) {
    double* into = space + plan.additions + j * plan.addition_stride();
    const double pull = space[place(pulls, plan.lanes) + j];
    if (!(Rich && plan.memory)) {
      for (std::size_t f = 0; f < d; f += vector_width) store(into + j * d + f, pull * load(now + f));
      continue;
    }
    for (std::size_t i = 0; i < plan.laws; ++i) {
      const double own = i == j ? pull : 0.0;
      const double kept =
          row.last != nullptr ? space[place(influences, plan.lanes) + i * plan.lanes + j] : 0.0;
      for (std::size_t f = 0; f < d; f += vector_width)
        store(into + i * d + f, own * load(now + f) - kept * load(then + f));
    }
  }
}

template <std::size_t Laws, bool Rich>
double weigh_laws(const StepPlan& any_plan, double* space, const StepRow& row) noexcept {
  const StepPlan plan = known<Laws>(any_plan);
  const double top = find_densities<Rich>(plan, space, row);
  const double log_sum = share_out<Rich>(plan, space, row);
  sum_slopes<Rich>(plan, space, row);
  add_laws<Rich>(plan, space, row);
  return top + log_sum;
}

double weigh(const StepPlan& plan, double* space, const StepRow& row) noexcept {
  if (plan.tails || plan.memory) return weigh_laws<0, true>(plan, space, row);
  switch (plan.laws) {
    case 2:
      return weigh_laws<2, false>(plan, space, row);
    case 3:
      return weigh_laws<3, false>(plan, space, row);
    case 4:
      return weigh_laws<4, false>(plan, space, row);
    default:
      return weigh_laws<0, false>(plan, space, row);
  }
}

/// q_ij dlog A_ij: of the ways from i, for every j.
MIXSTREAM_INLINE void add_ways(StepPlan plan, double* space) noexcept {
  const std::size_t others = plan.laws - 1;
  const double* slopes = space + plan.slopes;
  for (std::size_t j = 0; j < plan.laws; ++j) {
    double* into = space + plan.additions + j * plan.addition_stride() + plan.who_at;
    for (std::size_t i = 0; i < plan.laws; ++i, slopes += plan.others()) {
      const double share = space[plan.shares + i * plan.laws + j];
      for (std::size_t l = 0; l < others; l += vector_width)
        store(into + i * others + l, share * load(slopes + l));
    }
  }
}

MIXSTREAM_INLINE void add_noise(StepPlan plan, double* space) noexcept {
  for (std::size_t j = 0; j < plan.laws; ++j) {
    double* into = space + plan.additions + j * plan.addition_stride();
    const double variance = space[place(by_variance, plan.lanes) + j];
    for (std::size_t h = 0; h < plan.variance_count; ++h)
      into[plan.variances_at + h] = plan.variance_count == 1 || h == j ? variance : 0.0;
    if (plan.tails) into[plan.tails_at] = space[place(by_tails, plan.lanes) + j];
    if (plan.memory) into[plan.memory_at] = space[place(by_memory, plan.lanes) + j];
  }
}

template <std::size_t Laws>
void carry_laws(const StepPlan& any_plan, double* space, Carry how, double* __restrict tangents,
                double* __restrict score) noexcept {
  const StepPlan plan = known<Laws>(any_plan);
  if (how == Carry::one_step) add_ways(plan, space);
  add_noise(plan, space);
  const std::size_t froms = Laws == 0 && how == Carry::nothing ? 0 : plan.laws;
  const double* const way = space + place(moved, plan.lanes);
  const double* const now = space + place(filtered, plan.lanes);
  for (std::size_t q = 0; q < plan.stride; q += vector_width) {
    Vector combined[Laws == 0 ? most_laws : Laws];
    for (std::size_t j = 0; j < plan.laws; ++j)
      combined[j] = load(space + plan.additions + j * plan.addition_stride() + q);
    for (std::size_t i = 0; i < froms; ++i) {
      const Vector tangent = load(tangents + i * plan.stride + q);
      for (std::size_t j = 0; j < plan.laws; ++j) combined[j] += way[i * plan.lanes + j] * tangent;
    }
    Vector sum{};
    for (std::size_t j = 0; j < plan.laws; ++j) sum += combined[j];
    store(score + q, sum);
    for (std::size_t j = 0; j < plan.laws; ++j)
      store(tangents + j * plan.stride + q, combined[j] - now[j] * sum);
  }
}

void carry(const StepPlan& plan, double* space, Carry how, double* tangents, double* score) noexcept {
  switch (how == Carry::nothing ? 0 : plan.laws) {
    case 2:
      return carry_laws<2>(plan, space, how, tangents, score);
    case 3:
      return carry_laws<3>(plan, space, how, tangents, score);
    case 4:
      return carry_laws<4>(plan, space, how, tangents, score);
    default:
      return carry_laws<0>(plan, space, how, tangents, score);
  }
}

/// Some rows of the triangle, a vector of columns at a time: sums stay in registers over all rows of scores.
void add_strip(std::size_t first, std::size_t end, std::size_t rows, std::size_t stride,
               const double* __restrict scores, const double* __restrict weighted,
               double* __restrict packed) noexcept {
  for (std::size_t at = 0; at < end; at += vector_width) {
    Vector sums[strip_rows] = {};
    for (std::size_t t = 0; t < rows; ++t) {
      const Vector columns = load(scores + t * stride + at);
      for (std::size_t i = 0; i < strip_rows; ++i) sums[i] += weighted[t * stride + first + i] * columns;
    }
    double found[strip_rows][vector_width];
    for (std::size_t i = 0; i < strip_rows; ++i) store(found[i], sums[i]);
    for (std::size_t i = first; i < end; ++i) {
      for (std::size_t q = at; q < at + vector_width && q <= i; ++q)
        packed[i * (i + 1) / 2 + q] += found[i - first][q - at];
    }
  }
}

void add_products(std::size_t rows, std::size_t parameters, std::size_t stride,
                  const double* __restrict scores, const double* __restrict weights,
                  double* __restrict weighted, double* __restrict sums, double* __restrict packed) noexcept {
  for (std::size_t q = 0; q < stride; q += vector_width) {
    Vector sum{};
    for (std::size_t t = 0; t < rows; ++t) {
      const Vector own = weights[t] * load(scores + t * stride + q);
      store(weighted + t * stride + q, own);
      sum += own;
    }
    store(sums + q, sum);
  }
  for (std::size_t i = 0; i < parameters; i += strip_rows)
    add_strip(i, i + strip_rows < parameters ? i + strip_rows : parameters, rows, stride, scores, weighted,
              packed);
}

}  // namespace

RowStep MIXSTREAM_KERNEL_ENTRY() noexcept {
  return {weigh, carry, add_products};
}

}  // namespace mixstream::variants
