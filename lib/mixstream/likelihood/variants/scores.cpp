// Compiled once per instruction set: MIXSTREAM_KERNEL_WIDTH lanes, entry point MIXSTREAM_KERNEL_ENTRY.
// Includes nothing with inline code of external linkage: such code could replace the baseline's own.
#include "mixstream/likelihood/variants/scores.hpp"

#include "mixstream/likelihood/variants/vector_math.hpp"

#define MIXSTREAM_INLINE __attribute__((always_inline)) static inline

namespace mixstream::variants {
namespace {

/// Columns of scratch, `stride` doubles apart.
struct ScoreSpace {
  double* residuals;  ///< eps_h, later w c_h
  double* terms;      ///< log( pi_h N(y; beta_h . x, s2_h) ), later c_h
  double* extras;     ///< e_l; the first is 1
  double* products;   ///< w c_h c_g
  double* mixed;      ///< w c_h e_l
  double* chunk;      ///< x_i x_j; before that, the two below
  double* largest;    ///< log term of each row
  double* totals;     ///< of densities, in units of the largest; later their shares
};

ScoreSpace spread(const ScoreInput& input, double* workspace) {
  const std::size_t k = input.components;
  const std::size_t extras = k + input.variances;
  ScoreSpace space{};
  space.residuals = workspace;
  space.terms = space.residuals + k * input.stride;
  space.extras = space.terms + k * input.stride;
  space.products = space.extras + extras * input.stride;
  space.mixed = space.products + k * (k + 1) / 2 * input.stride;
  space.chunk = space.mixed + k * extras * input.stride;
  space.largest = space.chunk;
  space.totals = space.chunk + input.stride;
  return space;
}

// One step after the other over all rows, so that the long chains of exp, log and division of one row run
// beside those of others.

/// Residuals and log terms of component h, and the largest term of each row so far.
void log_terms(const ScoreInput& input, const ScoreSpace& space, std::size_t h) {
  const double* law = input.coefficients + h * input.features;
  const double* response = input.columns + input.features * input.stride;
  double* residuals = space.residuals + h * input.stride;
  double* terms = space.terms + h * input.stride;
  const double half_precision = 0.5 * input.precisions[h];
  for (std::size_t row = 0; row < input.rows; row += vector_width) {
    Vector residual = load(response + row);
    for (std::size_t j = 0; j < input.features; ++j)
      residual -= law[j] * load(input.columns + j * input.stride + row);
    const Vector term = input.constants[h] - half_precision * residual * residual;
    store(residuals + row, residual);
    store(terms + row, term);
    store(space.largest + row, h == 0 ? term : larger(load(space.largest + row), term));
  }
}

/// From log terms to densities over that of the largest, and their total.
void densities(const ScoreInput& input, const ScoreSpace& space, std::size_t h) {
  double* terms = space.terms + h * input.stride;
  for (std::size_t row = 0; row < input.rows; row += vector_width) {
    const Vector density = exponential(load(terms + row) - load(space.largest + row));
    store(terms + row, density);
    store(space.totals + row, h == 0 ? density : load(space.totals + row) + density);
  }
}

/// The sums over log densities; totals become shares, 1 / total.
void sum_log_densities(const ScoreInput& input, const ScoreSpace& space, double* density) {
  const double* weights = input.columns + (input.features + 1) * input.stride;
  Vector sum = Vector{};
  Vector squares = Vector{};
  for (std::size_t row = 0; row < input.rows; row += vector_width) {
    const Vector total = load(space.totals + row);
    const Vector log_density =
        larger(load(space.largest + row) + logarithm(total), broadcast(input.least_log_density));
    const Vector weighted = load(weights + row) * log_density;
    sum += weighted;
    squares += weighted * log_density;
    store(space.totals + row, 1.0 / total);
    store(space.extras + row, broadcast(1.0));
  }
  density[0] = sum_of(sum);
  density[1] = sum_of(squares);
  density[2] = 0.0;
}

/// c_h and the e_l of component h.
void build_scores(const ScoreInput& input, const ScoreSpace& space, std::size_t h) {
  const std::size_t k = input.components;
  const double* residuals = space.residuals + h * input.stride;
  double* terms = space.terms + h * input.stride;
  double* odds = space.extras + (h + 1) * input.stride;
  double* variances = space.extras + (k + (input.variances > 1 ? h : 0)) * input.stride;
  for (std::size_t row = 0; row < input.rows; row += vector_width) {
    const Vector probability = load(terms + row) * load(space.totals + row);
    const Vector residual = load(residuals + row);
    const Vector pull = probability * residual * input.precisions[h];
    store(terms + row, pull);
    if (h + 1 < k) store(odds + row, probability - input.weights[h]);
    if (input.variances == 0) continue;
    const Vector by_variance = 0.5 * (pull * residual - probability);
    const bool adds = input.variances == 1 && h > 0;
    store(variances + row, adds ? load(variances + row) + by_variance : by_variance);
  }
}

MIXSTREAM_INLINE void multiply_columns(const double* a, const double* b, double* product, std::size_t rows) {
  for (std::size_t row = 0; row < rows; row += vector_width)
    store(product + row, load(a + row) * load(b + row));
}

/// w c_h, w c_h c_g and w c_h e_l.
void build_left(const ScoreInput& input, const ScoreSpace& space) {
  const std::size_t k = input.components;
  const std::size_t extras = k + input.variances;
  const double* weights = input.columns + (input.features + 1) * input.stride;
  double* product = space.products;
  double* mixed = space.mixed;
  for (std::size_t h = 0; h < k; ++h) {
    double* weighted = space.residuals + h * input.stride;
    multiply_columns(space.terms + h * input.stride, weights, weighted, input.rows);
    for (std::size_t g = h; g < k; ++g, product += input.stride) {
      multiply_columns(weighted, space.terms + g * input.stride, product, input.rows);
    }
    for (std::size_t l = 0; l < extras; ++l, mixed += input.stride) {
      multiply_columns(weighted, space.extras + l * input.stride, mixed, input.rows);
    }
  }
}

/// Left columns [l, l + Left) times right columns [r, r + Right), summed over the rows.
struct Product {
  const double* left;
  std::size_t left_count;
  const double* right;
  std::size_t right_count;
  std::size_t stride;
  std::size_t rows;
  double* sums;
  std::size_t row_length;
};

#if MIXSTREAM_KERNEL_WIDTH == 4
/// Lane i of the result is the sum of all lanes of parts[i].
MIXSTREAM_INLINE Vector sums_of_four(const Vector* parts) {
  const auto halves = [](Vector a, Vector b) {
    return __builtin_shufflevector(a, b, 0, 4, 2, 6) + __builtin_shufflevector(a, b, 1, 5, 3, 7);
  };
  const Vector low = halves(parts[0], parts[1]);
  const Vector high = halves(parts[2], parts[3]);
  return __builtin_shufflevector(low, high, 0, 1, 4, 5) + __builtin_shufflevector(low, high, 2, 3, 6, 7);
}
#else
MIXSTREAM_INLINE Vector sums_of_four(const Vector* parts) {
  return parts[0];  // not called
}
#endif

template <int Left, int Right>
MIXSTREAM_INLINE void product_tile(const Product& product, std::size_t l, std::size_t r) {
  Vector parts[Left * Right] = {};
  const double* left = product.left + l * product.stride;
  const double* right = product.right + r * product.stride;
  for (std::size_t row = 0; row < product.rows; row += vector_width) {
    Vector a[Left];
    for (int i = 0; i < Left; ++i) a[i] = load(left + i * product.stride + row);
    for (int j = 0; j < Right; ++j) {
      const Vector b = load(right + j * product.stride + row);
      for (int i = 0; i < Left; ++i) parts[i * Right + j] += a[i] * b;
    }
  }
  for (int i = 0; i < Left; ++i) {
    double* sums = product.sums + (l + i) * product.row_length + r;
    if constexpr (Right == 4 && vector_width == 4) {
      store(sums, sums_of_four(parts + i * Right));
    } else {
      for (int j = 0; j < Right; ++j) sums[j] = sum_of(parts[i * Right + j]);
    }
  }
}

template <int Left, int Right>
void product_strip(const Product& product, std::size_t r) {
  std::size_t l = 0;
  for (; l + Left <= product.left_count; l += Left) product_tile<Left, Right>(product, l, r);
  for (; l + 2 <= product.left_count; l += 2) product_tile<2, Right>(product, l, r);
  if (l < product.left_count) product_tile<1, Right>(product, l, r);
}

/// All sums of a rectangle; tiles hold at most twelve accumulators.
void multiply_all(const Product& product) {
  std::size_t r = 0;
  for (; r + 4 <= product.right_count; r += 4) product_strip<3, 4>(product, r);
  switch (product.right_count - r) {
    case 3:
      return product_strip<3, 3>(product, r);
    case 2:
      return product_strip<6, 2>(product, r);
    case 1:
      return product_strip<6, 1>(product, r);
    default:
      return;
  }
}

/// sum w c_h c_g x_i x_j, some pairs (i, j) at a time so that they stay in the nearest cache.
void sum_pairs(const ScoreInput& input, const ScoreSpace& space, double* sums) {
  const std::size_t d = input.features;
  const std::size_t k = input.components;
  const std::size_t pairs = d * (d + 1) / 2;
  Product product{space.products, k * (k + 1) / 2, space.chunk, 0, input.stride, input.rows, sums, pairs};
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = i; j < d; ++j) {
      multiply_columns(input.columns + i * input.stride, input.columns + j * input.stride,
                       space.chunk + product.right_count++ * input.stride, input.rows);
      if (product.right_count < score_chunk && i + 1 < d) continue;
      multiply_all(product);
      product.sums += product.right_count;
      product.right_count = 0;
    }
  }
}

/// sum w e_l e_m. The residual columns are free by now.
void sum_extras(const ScoreInput& input, const ScoreSpace& space, double* sums) {
  const std::size_t extras = input.components + input.variances;
  const double* weights = input.columns + (input.features + 1) * input.stride;
  for (std::size_t l = 0; l < extras; ++l) {
    multiply_columns(weights, space.extras + l * input.stride, space.residuals, input.rows);
    multiply_all({space.residuals, 1, space.extras + l * input.stride, extras - l, input.stride, input.rows,
                  sums, extras - l});
    sums += extras - l;
  }
}

}  // namespace

void MIXSTREAM_KERNEL_ENTRY(const ScoreInput& input, double* workspace, const ScoreOutput& output) noexcept {
  const ScoreSpace space = spread(input, workspace);
  for (std::size_t h = 0; h < input.components; ++h) log_terms(input, space, h);
  for (std::size_t h = 0; h < input.components; ++h) densities(input, space, h);
  sum_log_densities(input, space, output.density);
  for (std::size_t h = 0; h < input.components; ++h) build_scores(input, space, h);
  build_left(input, space);
  sum_pairs(input, space, output.pairs);
  const std::size_t mixed = input.components * (input.components + input.variances);
  multiply_all({space.mixed, mixed, input.columns, input.features, input.stride, input.rows, output.cross,
                input.features});
  sum_extras(input, space, output.extras);
}

}  // namespace mixstream::variants
