#include "mixstream/modes/variants/row_step.hpp"

#include "mixstream/likelihood/variants/vector_math.hpp"

// MIXSTREAM_KERNEL_ENTRY: the name under which this instruction set's functions are handed out.

namespace mixstream::variants {
namespace {

#define MIXSTREAM_INLINE __attribute__((always_inline)) static inline

constexpr double tiny = 1e-300;
constexpr double least_log_density = -1e200;  // a row beyond all reason keeps finite probabilities
constexpr std::size_t strip_rows = 8;  // as many products as adders of latency 4, two of them, have at work

/// The number of laws is a template's, 0: as many as the plan says. `Rich`: noise has tails or memory.
template <std::size_t Laws>
MIXSTREAM_INLINE std::size_t lanes_of(const StepPlan& plan) noexcept {
  return Laws == 0 ? plan.lanes : (Laws + 7) / 8 * 8;
}

/// y - beta_j . x of the laws of one vector.
MIXSTREAM_INLINE Vector residuals_of(const double* coefficients, std::size_t lanes, const double* features,
                                     std::size_t feature_count, double response) noexcept {
  Vector residual = broadcast(response);
  for (std::size_t f = 0; f < feature_count; ++f) residual -= features[f] * load(coefficients + f * lanes);
  return residual;
}

/// N_ij over the largest of them, whose logarithm is returned, and the derivatives of log N_ij.
template <std::size_t Laws, bool Rich>
MIXSTREAM_INLINE double find_densities(const StepPlan& plan, double* space, const StepRow& row) noexcept {
  const std::size_t k = Laws == 0 ? plan.laws : Laws;
  const std::size_t lanes = lanes_of<Laws>(plan);
  const bool pairs = Rich && row.last != nullptr;
  double* const density = space + place(densities, lanes);
  Vector tops = broadcast(-1e308);
  for (std::size_t lane = 0; lane < lanes && pairs; lane += vector_width)
    store(space + place(residuals_then, lanes) + lane,
          residuals_of(space + plan.coefficients + lane, lanes, row.last, plan.features,
                       row.last[plan.features]));
  for (std::size_t lane = 0; lane < lanes; lane += vector_width) {
    const Vector residual =
        residuals_of(space + plan.coefficients + lane, lanes, row.features, plan.features, row.response);
    const Vector precision = row.root * load(space + place(precisions, lanes) + lane);
    const Vector scale = row.log_root + load(space + place(log_scales, lanes) + lane);
    for (std::size_t i = 0; i < (pairs ? k : 1); ++i) {
      const std::size_t at = i * lanes + lane;
      const Vector z = pairs ? (residual - row.kept * space[place(residuals_then, lanes) + i]) * precision
                             : residual * precision;
      Vector influence = z;
      Vector exponent = 0.5 * z * z;
      if (Rich && plan.tails) {
        const double nu = row.freedom;
        const Vector growth = logarithm(1.0 + z * z / nu);
        influence = (nu + 1.0) * z / (nu + z * z);
        exponent = 0.5 * (nu + 1.0) * growth;
        store(space + place(tail_slopes, lanes) + at,
              0.5 * nu * (row.freedom_slope - growth + influence * z / nu));
      }
      const Vector log_density = larger(scale - exponent, broadcast(least_log_density));
      tops = larger(tops, log_density);
      store(density + at, log_density);
      store(space + place(influences, lanes) + at, influence * precision);
      store(space + place(spreads, lanes) + at, 0.5 * (influence * z - 1.0));
    }
  }
  double top = tops[0];
  for (std::size_t j = 1; j < k && j < vector_width; ++j) top = tops[j] > top ? tops[j] : top;
  for (std::size_t at = 0; at < (pairs ? k : 1) * lanes; at += vector_width)
    store(density + at, exponential(load(density + at) - top));
  return top;
}

/// q_ij, r_ij A_ij, f_j, and r_0j in the place of the first densities; returns log L over the largest
/// density.
template <std::size_t Laws, bool Rich>
MIXSTREAM_INLINE double share_out(const StepPlan& plan, double* space, const StepRow& row) noexcept {
  const std::size_t k = Laws == 0 ? plan.laws : Laws;
  const std::size_t lanes = lanes_of<Laws>(plan);
  const bool pairs = Rich && row.last != nullptr;
  const std::size_t froms = row.from == nullptr ? 1 : k;
  const double one = 1.0;
  const double* from = row.from == nullptr ? &one : row.from;
  double* const density = space + place(densities, lanes);
  double* const now = space + place(filtered, lanes);
  for (std::size_t lane = 0; lane < lanes; lane += vector_width) {
    Vector sum{};
    for (std::size_t i = 0; i < froms; ++i) {
      const std::size_t at = i * lanes + lane;
      sum += from[i] * (load(row.ways + at) * load(density + (pairs ? at : lane)));
    }
    store(now + lane, sum);
  }
  double total = 0.0;
  for (std::size_t j = 0; j < k; ++j) total += now[j];
  total = total > tiny ? total : tiny;
  const double scale = 1.0 / total;
  for (std::size_t i = 0; i < froms; ++i) {  // in this order: the end of a row of q is the next one's begin
    for (std::size_t lane = 0; lane < lanes; lane += vector_width) {
      const std::size_t at = i * lanes + lane;
      const Vector way = scale * (load(row.ways + at) * load(density + (pairs ? at : lane)));
      store(space + place(moved, lanes) + at, way);
      store(space + plan.shares + i * k + lane, from[i] * way);
    }
  }
  for (std::size_t at = froms * k; at < k * k; ++at) space[plan.shares + at] = 0.0;
  for (std::size_t lane = 0; lane < lanes; lane += vector_width) {
    store(now + lane, scale * load(now + lane));
    store(density + lane, scale * load(density + lane));
  }
  return logarithm(broadcast(total))[0];
}

/// sum_i q_ij dlog N_ij by the mean of law j, its log variance, log nu and atanh rho.
template <std::size_t Laws, bool Rich>
MIXSTREAM_INLINE void sum_slopes(const StepPlan& plan, double* space, const StepRow& row) noexcept {
  const std::size_t k = Laws == 0 ? plan.laws : Laws;
  const std::size_t lanes = lanes_of<Laws>(plan);
  const bool pairs = Rich && row.last != nullptr;
  const double* shares = space + (pairs ? plan.shares : place(filtered, lanes));
  for (std::size_t lane = 0; lane < lanes; lane += vector_width) {
    Vector pull{}, variance{}, tails{}, memory{};
    for (std::size_t i = 0; i < (pairs ? k : 1); ++i) {
      const std::size_t at = i * lanes + lane;
      double* const influence = space + place(influences, lanes) + at;
      const Vector share = load(shares + i * k + lane);
      const Vector own = share * load(influence);
      pull += own;
      variance += share * load(space + place(spreads, lanes) + at);
      if (Rich && plan.tails) tails += share * load(space + place(tail_slopes, lanes) + at);
      if (!pairs) continue;
      store(influence, row.kept * own);
      memory += (row.kept_slope * space[place(residuals_then, lanes) + i]) * own;
    }
    store(space + place(pulls, lanes) + lane, pull);
    store(space + place(by_variance, lanes) + lane, variance);
    if (!Rich) continue;
    store(space + place(by_tails, lanes) + lane, tails);
    store(space + place(by_memory, lanes) + lane, memory + row.fresh_slope * variance);
  }
}

/// x at the coefficients of every law. First of all: until these numbers are read as vectors, they have
/// reached the cache.
template <std::size_t Laws>
MIXSTREAM_INLINE void place_features(const StepPlan& plan, const double* features, double* places) noexcept {
  const std::size_t k = Laws == 0 ? plan.laws : Laws;
  const std::size_t d = plan.features;
  const std::size_t apart = plan.stride + d;
  for (std::size_t j = 0; j < k; ++j) {
    double* const place = places + j * apart;
    for (std::size_t f = 0; f < d; ++f) place[f] = features[f];
  }
}

template <std::size_t Laws, bool Rich>
double weigh_laws(const StepPlan& plan, double* space, const StepRow& row) noexcept {
  place_features<Laws>(plan, row.features, space + plan.features_now);
  if (Rich && row.last != nullptr) place_features<Laws>(plan, row.last, space + plan.features_then);
  const double top = find_densities<Laws, Rich>(plan, space, row);
  const double log_sum = share_out<Laws, Rich>(plan, space, row);
  sum_slopes<Laws, Rich>(plan, space, row);
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
    case 5:
      return weigh_laws<5, false>(plan, space, row);
    default:
      return weigh_laws<0, false>(plan, space, row);
  }
}

/// to_j += factor_j from, for every law.
template <std::size_t Laws>
MIXSTREAM_INLINE void add_scaled(Vector* to, const double* factors, Vector from, std::size_t laws) noexcept {
  for (std::size_t j = 0; j < (Laws == 0 ? laws : Laws); ++j) to[j] += factors[j] * from;
}

/// What a row adds to T in one vector of parameters: sum_i (r_ij f_i dA_ij + q_ij dlog N_ij).
template <std::size_t Laws>
MIXSTREAM_INLINE void add_row(const StepPlan& plan, const double* space, Follows follows, std::size_t q,
                              Vector* to) noexcept {
  const std::size_t k = Laws == 0 ? plan.laws : Laws;
  const std::size_t lanes = lanes_of<Laws>(plan);
  if (q < plan.who_at) {  // by the coefficients: pull_j x, and of law i what the noise remembers of it
    const double* const now = space + plan.features_now + q;
    for (std::size_t j = 0; j < k; ++j) to[j] += space[place(pulls, lanes) + j] * load(now + j * plan.stride);
    if (plan.memory && follows != Follows::nothing) {
      for (std::size_t i = 0; i < k; ++i)
        add_scaled<Laws>(to, space + place(influences, lanes) + i * lanes,
                         -load(space + plan.features_then + i * plan.stride + q), k);
    }
  }
  if (q + vector_width > plan.who_at && q < plan.variances_at) {
    const std::size_t span = plan.who_span();
    const double* const slopes = space + plan.slopes + q - plan.who_begin();
    const double* const additions = space + plan.additions + q - plan.who_begin();
    if (follows == Follows::one_step) {
      for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < k; ++j)
          to[j] += space[plan.shares + i * k + j] * load(slopes + (j * k + i) * span);
      }
    } else {
      for (std::size_t j = 0; j < k; ++j) to[j] += load(additions + j * span);
    }
  }
  if (q + vector_width > plan.variances_at) {
    const double* const units = space + plan.units + q;
    for (std::size_t j = 0; j < k; ++j)
      to[j] += space[place(by_variance, lanes) + j] * load(units + j * plan.stride);
    if (plan.tails) add_scaled<Laws>(to, space + place(by_tails, lanes), load(units + k * plan.stride), k);
    if (plan.memory)
      add_scaled<Laws>(to, space + place(by_memory, lanes), load(units + (k + 1) * plan.stride), k);
  }
}

template <std::size_t Laws>
void carry_laws(const StepPlan& plan, const double* __restrict space, Follows follows,
                double* __restrict tangents, double* __restrict score) noexcept {
  const std::size_t k = Laws == 0 ? plan.laws : Laws;
  const std::size_t lanes = lanes_of<Laws>(plan);
  const std::size_t stride = plan.stride;
  const std::size_t froms = Laws == 0 && follows == Follows::nothing ? 0 : k;
  for (std::size_t q = 0; q < stride; q += vector_width) {
    Vector combined[Laws == 0 ? most_laws : Laws];
    for (std::size_t j = 0; j < k; ++j) combined[j] = Vector{};
    add_row<Laws>(plan, space, follows, q, combined);
    for (std::size_t i = 0; i < froms; ++i)
      add_scaled<Laws>(combined, space + place(moved, lanes) + i * lanes, load(tangents + i * stride + q), k);
    Vector sum{};
    for (std::size_t j = 0; j < k; ++j) sum += combined[j];
    store(score + q, sum);
    for (std::size_t j = 0; j < k; ++j)
      store(tangents + j * stride + q, combined[j] - space[place(filtered, lanes) + j] * sum);
  }
}

void carry(const StepPlan& plan, double* space, Follows follows, double* tangents, double* score) noexcept {
  switch (follows == Follows::nothing ? 0 : plan.laws) {
    case 2:
      return carry_laws<2>(plan, space, follows, tangents, score);
    case 3:
      return carry_laws<3>(plan, space, follows, tangents, score);
    case 4:
      return carry_laws<4>(plan, space, follows, tangents, score);
    case 5:
      return carry_laws<5>(plan, space, follows, tangents, score);
    default:
      return carry_laws<0>(plan, space, follows, tangents, score);
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
