#include "mixstream/refinement/conditions.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "mixstream/refinement/law_powers.hpp"
#include "mixstream/refinement/numerics.hpp"
#include "mixstream/refinement/parameters.hpp"

namespace mixstream {
namespace {

using numerics::Matrix;

constexpr std::size_t rows_at_once = 128;  // a block of scaled instruments stays in the cache

/// C(q, 2j) (2j-1)!!: the even Gaussian moments inside E[(m + eps)^q].
double noise_factor(int power, int pairs) {
  double factor = 1.0;
  for (int i = 0; i < 2 * pairs; ++i) factor *= static_cast<double>(power - i);
  for (int j = 1; j <= pairs; ++j) factor /= 2.0 * j;
  return factor;
}

struct Block {
  int power;           // q
  int degree;          // of the instruments
  std::size_t offset;  // of its first condition
  std::size_t size;
};

/// Instruments of one degree on every row of the sample: row-major n x size.
struct Instruments {
  std::size_t size = 0;
  std::vector<double> values;
};

/// Rows of the sample as z without y: (1, x without its constant), row-major.
Matrix extended_rows(const RowTable& sample, const Layout& layout) {
  Matrix rows(sample.size(), static_cast<std::size_t>(layout.response()), 1.0);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    for (int f = 0; f < layout.feature_count; ++f) {
      const auto variable = static_cast<std::size_t>(layout.variable_of(f));
      if (variable > 0) rows(i, variable) = sample.row(i).features[static_cast<std::size_t>(f)];
    }
  }
  return rows;
}

/// cvec(v^(degree)) of every row.
Matrix collapsed_rows(const Matrix& rows, int degree) {
  const CollapsedPower power = collapsed_power(static_cast<int>(rows.columns()), degree);
  Matrix result(rows.rows(), power.tuples.size());
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    for (std::size_t t = 0; t < power.tuples.size(); ++t) {
      double product = power.root_multiplicity[t];
      for (const int v : power.tuples[t]) product *= rows(i, static_cast<std::size_t>(v));
      result(i, t) = product;
    }
  }
  return result;
}

std::size_t choose(std::size_t n, std::size_t p) {
  std::size_t result = 1;
  for (std::size_t i = 0; i < p; ++i) result = result * (n - i) / (i + 1);
  return result;
}

}  // namespace

std::string ConditionSet::name(int highest_power) const {
  std::string text =
      highest_power == highest_response_power ? "order6" : "q<=" + std::to_string(highest_power);
  if (*this == ConditionSet{}) return text;
  for (int q = 1; q <= highest_power; ++q) text += (q == 1 ? " degrees " : "-") + std::to_string(degree(q));
  return text;
}

std::size_t ConditionSet::count(std::size_t variables) const {
  std::size_t total = 0;
  for (const int degree : degrees) {
    const auto p = static_cast<std::size_t>(degree);
    total += choose(variables + p - 1, p);
  }
  return total;
}

ConditionSet choose_conditions(const Layout& layout, std::size_t largest) {
  // In this order: the cubic instruments of y^3 carry the third-order tensor, so they go last among cubes.
  constexpr std::array<ConditionSet, 5> ladder{ConditionSet{{3, 3, 3, 2, 1}}, ConditionSet{{2, 2, 3, 2, 1}},
                                               ConditionSet{{2, 2, 2, 2, 1}}, ConditionSet{{2, 2, 2, 1, 1}},
                                               ConditionSet{{1, 2, 2, 1, 1}}};
  for (const ConditionSet& set : ladder) {
    if (set.count(static_cast<std::size_t>(layout.response())) <= largest) return set;
  }
  return ladder.back();
}

struct Conditions::Content {
  ConditionSet set;
  Layout layout;
  double effective_rows = 0.0;
  std::vector<Block> blocks;
  std::vector<double> observed;
  std::map<int, Matrix> basis;  // degree -> orthonormal instruments over cvec
  std::map<std::pair<int, int>, Matrix>
      maps;                                // (r, s) -> basis_r E[phi_r phi_s'], s over the laws' monomials
  std::map<int, Instruments> instruments;  // degree -> values on the sample
  LawPowers powers;
  RowTable sample;  // in the order of the tensor's features

  Content(const MomentTensor& tensor, const RowTable& rows, const ConditionSet& wanted)
      : set(wanted),
        layout(tensor.layout()),
        effective_rows(tensor.effective_rows),
        powers(static_cast<std::size_t>(tensor.layout().feature_count), highest_response_power),
        sample(rows) {
    add_blocks(tensor);
    add_instruments();
  }

  void add_blocks(const MomentTensor& tensor);
  void add_map(const MomentTensor& tensor, int degree, int law_degree);
  void add_instruments();

  std::vector<double> law_in_variables(const Mixture& mixture, std::size_t component) const;
  Matrix law_gradients(const Mixture& mixture, int degree) const;
  DenseMatrix row_moments(const Mixture& mixture, RowChoice choice) const;
};

void Conditions::Content::add_blocks(const MomentTensor& tensor) {
  for (int q = 1; q <= highest_response_power; ++q) {
    const int r = set.degree(q);
    if (!basis.contains(r)) {
      const DenseMatrix gram = tensor.view(0, r, r, Variables::extended);
      for (const double value : gram.values) {
        if (!std::isfinite(value)) throw std::runtime_error("moments are not finite");
      }
      basis[r] = numerics::inverse_root(numerics::to_blaze(gram));
    }
    const Matrix& root = basis[r];
    const Matrix values = root * numerics::to_blaze(tensor.view(q, r, 0, Variables::extended));
    blocks.push_back({q, r, observed.size(), root.rows()});
    for (std::size_t i = 0; i < values.rows(); ++i) observed.push_back(values(i, 0));
    for (int s = q; s >= 0; s -= 2) add_map(tensor, r, s);
  }
}

void Conditions::Content::add_map(const MomentTensor& tensor, int degree, int law_degree) {
  if (maps.contains({degree, law_degree})) return;
  const Matrix whole = numerics::to_blaze(tensor.view(0, degree, law_degree, Variables::extended));
  // Without a constant in x no law has an intercept: monomials with variable 0, which come first, drop out.
  const std::size_t kept = powers.count(law_degree);
  maps[{degree, law_degree}] =
      basis[degree] * blaze::submatrix(whole, 0, whole.columns() - kept, whole.rows(), kept);
}

void Conditions::Content::add_instruments() {
  const Matrix rows = extended_rows(sample, layout);
  for (const auto& [degree, root] : basis) {
    const Matrix values = collapsed_rows(rows, degree) * blaze::trans(root);
    Instruments& entry = instruments[degree];
    entry.size = root.rows();
    entry.values = numerics::to_dense(values).values;
  }
}

Conditions::Conditions(const MomentTensor& tensor, const RowTable& sample, const ConditionSet& set)
    : content_(std::make_unique<Content>(tensor, sample, set)) {}
Conditions::~Conditions() = default;
Conditions::Conditions(Conditions&&) noexcept = default;
Conditions& Conditions::operator=(Conditions&&) noexcept = default;

const ConditionSet& Conditions::set() const noexcept {
  return content_->set;
}
double Conditions::effective_rows() const noexcept {
  return content_->effective_rows;
}
std::size_t Conditions::sample_size() const noexcept {
  return content_->sample.size();
}
double Conditions::even_share() const noexcept {
  double even = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < sample_size(); ++i) {
    total += content_->sample.weights[i];
    if (i % 2 == 0) even += content_->sample.weights[i];
  }
  return even / total;
}
const std::vector<double>& Conditions::observed() const noexcept {
  return content_->observed;
}

std::size_t Conditions::size(int highest_power) const noexcept {
  const Block& last = content_->blocks[static_cast<std::size_t>(highest_power - 1)];
  return last.offset + last.size;
}

std::vector<double> Conditions::Content::law_in_variables(const Mixture& mixture,
                                                          std::size_t component) const {
  const int shift = layout.has_constant() ? 0 : 1;
  std::vector<double> law(mixture.feature_count);
  for (int f = 0; f < layout.feature_count; ++f) {
    law[static_cast<std::size_t>(layout.variable_of(f) - shift)] =
        mixture.law(component)[static_cast<std::size_t>(f)];
  }
  return law;
}

/// d phi_s(beta_h) / d beta for all h side by side: N(d, s) x k d, in the order of z's variables.
Matrix Conditions::Content::law_gradients(const Mixture& mixture, int degree) const {
  const std::size_t k = mixture.component_count();
  const std::size_t d = mixture.feature_count;
  Matrix gradients(powers.count(degree), k * d, 0.0);
  std::vector<double> scratch;
  for (std::size_t h = 0; h < k; ++h) {
    powers.gradient(degree, law_in_variables(mixture, h), scratch, gradients.data() + h * d,
                    gradients.spacing());
  }
  return gradients;
}

namespace {

/// What one block needs while its terms are summed: E[y^q f] of every component and its derivatives.
struct BlockSums {
  Matrix component;    // conditions x k
  Matrix by_law;       // conditions x k d
  Matrix by_variance;  // conditions x k, in log s2_h
};

/// Adds C(q,2j) (2j-1)!! s2_h^j times the moments of (beta_h . x)^s, s = q - 2j.
void add_term(const Block& block, int pairs, const Matrix& slopes, const Matrix& map, const Mixture& mixture,
              const std::vector<std::vector<double>>& laws, BlockSums& sums) {
  const int s = block.power - 2 * pairs;
  const std::size_t d = mixture.feature_count;
  for (std::size_t h = 0; h < laws.size(); ++h) {
    const double factor =
        noise_factor(block.power, pairs) * std::pow(mixture.noise_variances[h], static_cast<double>(pairs));
    for (std::size_t i = 0; i < block.size; ++i) {
      double term = s == 0 ? map(i, 0) : 0.0;
      for (std::size_t j = 0; s > 0 && j < d; ++j) {
        const double slope = slopes(i, h * d + j);
        sums.by_law(i, h * d + j) += factor * slope;
        term += slope * laws[h][j];  // Euler: beta . gradient = s phi_s
      }
      term *= s == 0 ? factor : factor / s;
      sums.component(i, h) += term;
      sums.by_variance(i, h) += pairs * term;
    }
  }
}

}  // namespace

void Conditions::implied(const Mixture& mixture, NoiseModel noise, std::vector<double>& values,
                         DenseMatrix& jacobian) const {
  const Content& c = *content_;
  const std::size_t k = mixture.component_count();
  const std::size_t d = mixture.feature_count;
  values.assign(size(), 0.0);
  const std::size_t parameters = parameter_count(k, d, noise);
  jacobian = {size(), parameters, std::vector<double>(size() * parameters, 0.0)};
  std::vector<std::vector<double>> laws;
  for (std::size_t h = 0; h < k; ++h) laws.push_back(c.law_in_variables(mixture, h));
  std::map<int, Matrix> gradients;
  std::map<std::pair<int, int>, Matrix> slopes;
  const int shift = c.layout.has_constant() ? 0 : 1;
  for (const Block& block : c.blocks) {
    BlockSums sums{Matrix(block.size, k, 0.0), Matrix(block.size, k * d, 0.0), Matrix(block.size, k, 0.0)};
    for (int pairs = 0; 2 * pairs <= block.power; ++pairs) {
      const int s = block.power - 2 * pairs;
      const std::pair<int, int> key{block.degree, s};
      if (s > 0 && !slopes.contains(key)) {
        if (!gradients.contains(s)) gradients[s] = c.law_gradients(mixture, s);
        slopes[key] = c.maps.at(key) * gradients[s];
      }
      add_term(block, pairs, slopes[key], c.maps.at(key), mixture, laws, sums);
    }
    for (std::size_t i = 0; i < block.size; ++i) {
      const std::size_t at = block.offset + i;
      for (std::size_t h = 0; h < k; ++h) values[at] += mixture.weights[h] * sums.component(i, h);
      for (std::size_t h = 0; h < k; ++h) {
        const double weight = mixture.weights[h];
        for (int f = 0; f < c.layout.feature_count; ++f) {
          const auto variable = static_cast<std::size_t>(c.layout.variable_of(f) - shift);
          jacobian(at, h * d + static_cast<std::size_t>(f)) = weight * sums.by_law(i, h * d + variable);
        }
        if (h + 1 < k) jacobian(at, k * d + h) = weight * (sums.component(i, h) - values[at]);
        if (noise == NoiseModel::known) continue;
        const std::size_t column = k * d + k - 1 + (noise == NoiseModel::shared ? 0 : h);
        jacobian(at, column) += weight * sums.by_variance(i, h);
      }
    }
  }
}

// mu_q = m mu_{q-1} + (q-1) s2 mu_{q-2}: the moments of N(m, s2), every term of one sign.
void conditional_moments(const Mixture& mixture, std::span<const double> features,
                         std::span<double> moments) {
  std::ranges::fill(moments, 0.0);
  for (std::size_t h = 0; h < mixture.component_count(); ++h) {
    const double mean = std::inner_product(features.begin(), features.end(), mixture.law(h).begin(), 0.0);
    double before = 0.0;
    double now = 1.0;
    for (std::size_t q = 0; q < moments.size(); ++q) {
      moments[q] += mixture.weights[h] * now;
      const double next = mean * now + static_cast<double>(q) * mixture.noise_variances[h] * before;
      before = std::exchange(now, next);
    }
  }
}

/// E[y^q | x] for q = 0 .. 10 on the chosen rows.
DenseMatrix Conditions::Content::row_moments(const Mixture& mixture, RowChoice choice) const {
  constexpr std::size_t count = 2 * highest_response_power + 1;
  const std::size_t rows = (sample.size() - choice.first + choice.stride - 1) / choice.stride;
  DenseMatrix moments{rows, count, std::vector<double>(rows * count)};
  for (std::size_t i = 0; i < rows; ++i) {
    conditional_moments(mixture, sample.row(choice.first + i * choice.stride).features,
                        {moments.values.data() + i * count, count});
  }
  return moments;
}

DenseMatrix Conditions::covariance(const Mixture& mixture, RowChoice choice) const {
  const Content& c = *content_;
  const std::size_t total = size();
  const DenseMatrix moments = c.row_moments(mixture, choice);
  DenseMatrix result{total, total, std::vector<double>(total * total, 0.0)};
  double weight_sum = 0.0;
  for (std::size_t i = 0; i < moments.rows; ++i) {
    weight_sum += c.sample.weights[choice.first + i * choice.stride];
  }
  std::vector<double> scaled(rows_at_once * total);
  for (std::size_t begin = 0; begin < moments.rows; begin += rows_at_once) {
    const std::size_t rows = std::min(rows_at_once, moments.rows - begin);
    for (const Block& left : c.blocks) {
      const std::size_t width = total - left.offset;  // this block and those after it
      for (std::size_t i = 0; i < rows; ++i) {
        const std::size_t row = choice.first + (begin + i) * choice.stride;
        const double* m = moments.values.data() + (begin + i) * moments.columns;
        for (std::size_t b = static_cast<std::size_t>(left.power) - 1; b < c.blocks.size(); ++b) {
          const Block& right = c.blocks[b];
          const double v =
              c.sample.weights[row] * (m[left.power + right.power] - m[left.power] * m[right.power]);
          const double* f = c.instruments.at(right.degree).values.data() + row * right.size;
          double* to = scaled.data() + i * width + (right.offset - left.offset);
          for (std::size_t j = 0; j < right.size; ++j) to[j] = v * f[j];
        }
      }
      const double* f =
          c.instruments.at(left.degree).values.data() + (choice.first + begin * choice.stride) * left.size;
      cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, static_cast<int>(left.size),
                  static_cast<int>(width), static_cast<int>(rows), 1.0 / weight_sum, f,
                  static_cast<int>(choice.stride * left.size), scaled.data(), static_cast<int>(width), 1.0,
                  result.values.data() + left.offset * total + left.offset, static_cast<int>(total));
    }
  }
  for (std::size_t i = 0; i < total; ++i) {
    for (std::size_t j = 0; j < i; ++j) result(i, j) = result(j, i);
  }
  return result;
}

}  // namespace mixstream
