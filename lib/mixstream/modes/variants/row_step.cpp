#include "mixstream/modes/variants/row_step.hpp"

#include "mixstream/likelihood/variants/vector_math.hpp"

// MIXSTREAM_KERNEL_ENTRY: the name under which this instruction set's functions are handed out.

namespace mixstream::variants {
namespace {

constexpr double tiny = 1e-300;
constexpr double least_log_density = -1e200;  // a row beyond all reason keeps finite probabilities
constexpr std::size_t most_laws = 32;
constexpr std::size_t strip_rows = 8;  // as many products as an adder of latency 4 keeps two of at work

/// y - beta_j . x of every law.
void find_residuals(const StepPlan& plan, const double* space, const double* features, double response,
                    double* residuals) noexcept {
  for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
    const double* coefficients = space + plan.coefficients + lane;
    Vector residual = broadcast(response);
    for (std::size_t f = 0; f < plan.features; ++f)
      residual -= features[f] * load(coefficients + f * plan.lanes);
    store(residuals + lane, residual);
  }
}

/// N_ij over the largest of them, whose logarithm is returned, and the derivatives of log N_ij. `pairs`: how
/// many i make a difference.
double find_densities(const StepPlan& plan, double* space, const StepRow& row, std::size_t pairs) noexcept {
  Vector tops = broadcast(-1e308);
  for (std::size_t i = 0; i < pairs; ++i) {
    const double before = row.last != nullptr ? row.kept * space[plan.residuals_then + i] : 0.0;
    for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
      const std::size_t at = i * plan.lanes + lane;
      const Vector precision = row.root * load(space + plan.precisions + lane);
      const Vector z = (load(space + plan.residuals + lane) - before) * precision;
      Vector influence = z;
      Vector exponent = 0.5 * z * z;
      if (plan.tails) {
        const double nu = row.freedom;
        const Vector square = z * z;
        const Vector growth = logarithm(1.0 + square / nu);
        influence = (nu + 1.0) * z / (nu + square);
        exponent = 0.5 * (nu + 1.0) * growth;
        store(space + plan.tail_slopes + at, 0.5 * nu * (row.freedom_slope - growth + influence * z / nu));
      }
      const Vector log_density = larger(row.log_root + load(space + plan.log_scales + lane) - exponent,
                                        broadcast(least_log_density));
      tops = larger(tops, log_density);
      store(space + plan.densities + at, log_density);
      store(space + plan.influences + at, influence * precision);
      store(space + plan.spreads + at, 0.5 * (influence * z - 1.0));
    }
  }
  double top = tops[0];
  for (std::size_t lane = 1; lane < vector_width; ++lane) top = tops[lane] > top ? tops[lane] : top;
  for (std::size_t at = 0; at < pairs * plan.lanes; at += vector_width)
    store(space + plan.densities + at, exponential(load(space + plan.densities + at) - top));
  return top;
}

/// q_ij, r_ij A_ij, f_j, and r_0j in the place of the first densities; returns log L over the largest
/// density.
double share_out(const StepPlan& plan, double* space, const StepRow& row) noexcept {
  const std::size_t froms = row.from == nullptr ? 1 : plan.laws;
  const double one = 1.0;
  const double* from = row.from == nullptr ? &one : row.from;
  double* filtered = space + plan.filtered;
  for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
    Vector sum{};
    for (std::size_t i = 0; i < froms; ++i) {
      const std::size_t at = i * plan.lanes + lane;
      const Vector moved =
          load(row.ways + at) * load(space + plan.densities + (row.last != nullptr ? at : lane));
      store(space + plan.moved + at, moved);
      sum += from[i] * moved;
    }
    store(filtered + lane, sum);
  }
  double total = 0.0;
  for (std::size_t j = 0; j < plan.laws; ++j) total += filtered[j];
  total = total > tiny ? total : tiny;
  const double scale = 1.0 / total;
  for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
    store(filtered + lane, scale * load(filtered + lane));
    store(space + plan.densities + lane, scale * load(space + plan.densities + lane));
  }
  for (std::size_t i = 0; i < froms; ++i) {  // in this order: the end of a row of q is the next one's begin
    for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
      const Vector moved = scale * load(space + plan.moved + i * plan.lanes + lane);
      store(space + plan.moved + i * plan.lanes + lane, moved);
      store(space + plan.shares + i * plan.laws + lane, from[i] * moved);
    }
  }
  for (std::size_t at = froms * plan.laws; at < plan.laws * plan.laws; ++at) space[plan.shares + at] = 0.0;
  return logarithm(broadcast(total))[0];
}

/// sum_i q_ij dlog N_ij by the mean of law j, its log variance, log nu and rho.
void sum_slopes(const StepPlan& plan, double* space, const StepRow& row, std::size_t pairs) noexcept {
  const double* shares = space + (row.last != nullptr ? plan.shares : plan.filtered);
  for (std::size_t lane = 0; lane < plan.lanes; lane += vector_width) {
    Vector pull{}, by_variance{}, by_tails{}, by_memory{};
    for (std::size_t i = 0; i < pairs; ++i) {
      const std::size_t at = i * plan.lanes + lane;
      const Vector share = load(shares + i * plan.laws + lane);
      const Vector influence = share * load(space + plan.influences + at);
      pull += influence;
      by_variance += share * load(space + plan.spreads + at);
      if (plan.tails) by_tails += share * load(space + plan.tail_slopes + at);
      if (row.last == nullptr) continue;
      store(space + plan.influences + at, row.kept * influence);
      by_memory += (row.kept_slope * space[plan.residuals_then + i]) * influence;
    }
    store(space + plan.pulls + lane, pull);
    store(space + plan.by_variance + lane, by_variance);
    if (plan.tails) store(space + plan.by_tails + lane, by_tails);
    if (plan.memory) store(space + plan.by_memory + lane, by_memory + row.fresh_slope * by_variance);
  }
}

/// sum_i q_ij dlog N_ij by the coefficients: of law j by pull_j x, and of every law i before by what the
/// noise remembers of its residual. Laws in order: the end of a vector is the next one's begin.
void add_laws(const StepPlan& plan, double* space, const StepRow& row) noexcept {
  const std::size_t d = plan.features;
  double* now = space + plan.features_now;
  double* then = space + plan.features_then;
  for (std::size_t f = 0; f < d; ++f) now[f] = row.features[f];
  for (std::size_t f = 0; f < d && row.last != nullptr; ++f) then[f] = row.last[f];
  for (std::size_t j = 0; j < plan.laws; ++j) {
    double* into = space + plan.additions + j * plan.addition_stride();
    for (std::size_t i = plan.memory ? 0 : j; i < (plan.memory ? plan.laws : j + 1); ++i) {
      const double pull = i == j ? space[plan.pulls + j] : 0.0;
      const double kept = row.last != nullptr ? space[plan.influences + i * plan.lanes + j] : 0.0;
      for (std::size_t f = 0; f < d; f += vector_width)
        store(into + i * d + f, pull * load(now + f) - kept * load(then + f));
    }
  }
}

double weigh(const StepPlan& plan, double* space, const StepRow& row) noexcept {
  const std::size_t pairs = row.last == nullptr ? 1 : plan.laws;
  find_residuals(plan, space, row.features, row.response, space + plan.residuals);
  if (row.last != nullptr)
    find_residuals(plan, space, row.last, row.last[plan.features], space + plan.residuals_then);
  const double top = find_densities(plan, space, row, pairs);
  const double log_sum = share_out(plan, space, row);
  sum_slopes(plan, space, row, pairs);
  add_laws(plan, space, row);
  return top + log_sum;
}

/// q_ij dlog A_ij: of the ways from i, for every j.
void add_ways(const StepPlan& plan, double* space) noexcept {
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

void add_noise(const StepPlan& plan, double* space) noexcept {
  for (std::size_t j = 0; j < plan.laws; ++j) {
    double* into = space + plan.additions + j * plan.addition_stride();
    for (std::size_t h = 0; h < plan.variance_count; ++h)
      into[plan.variances_at + h] = plan.variance_count == 1 || h == j ? space[plan.by_variance + j] : 0.0;
    if (plan.tails) into[plan.tails_at] = space[plan.by_tails + j];
    if (plan.memory) into[plan.memory_at] = space[plan.by_memory + j];
    for (std::size_t q = plan.parameters; q < plan.stride; ++q) into[q] = 0.0;
  }
}

/// Laws = 0: as many as the plan says, none of whose numbers stays in a register.
template <std::size_t Laws>
void carry_columns(const StepPlan& plan, const double* __restrict space, std::size_t froms,
                   double* __restrict tangents, double* __restrict score) noexcept {
  const std::size_t k = Laws == 0 ? plan.laws : Laws;
  const std::size_t stride = plan.stride;
  const double* moved = space + plan.moved;
  const double* filtered = space + plan.filtered;
  for (std::size_t q = 0; q < stride; q += vector_width) {
    Vector combined[Laws == 0 ? most_laws : Laws];
    for (std::size_t j = 0; j < k; ++j)
      combined[j] = load(space + plan.additions + j * plan.addition_stride() + q);
    for (std::size_t i = 0; i < (Laws == 0 ? froms : Laws); ++i) {
      const Vector tangent = load(tangents + i * stride + q);
      for (std::size_t j = 0; j < k; ++j) combined[j] += moved[i * plan.lanes + j] * tangent;
    }
    Vector sum{};
    for (std::size_t j = 0; j < k; ++j) sum += combined[j];
    store(score + q, sum);
    for (std::size_t j = 0; j < k; ++j) store(tangents + j * stride + q, combined[j] - filtered[j] * sum);
  }
}

void carry(const StepPlan& plan, double* space, Carry how, double* tangents, double* score) noexcept {
  if (how == Carry::one_step) add_ways(plan, space);
  add_noise(plan, space);
  if (how == Carry::nothing) return carry_columns<0>(plan, space, 0, tangents, score);
  switch (plan.laws) {
    case 2:
      return carry_columns<2>(plan, space, 2, tangents, score);
    case 3:
      return carry_columns<3>(plan, space, 3, tangents, score);
    case 4:
      return carry_columns<4>(plan, space, 4, tangents, score);
    default:
      return carry_columns<0>(plan, space, plan.laws, tangents, score);
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
                  double* __restrict weighted, double* __restrict packed) noexcept {
  for (std::size_t t = 0; t < rows; ++t) {
    for (std::size_t q = 0; q < stride; q += vector_width)
      store(weighted + t * stride + q, weights[t] * load(scores + t * stride + q));
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
