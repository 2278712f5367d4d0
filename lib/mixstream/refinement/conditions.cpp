#include "mixstream/refinement/conditions.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/linalg/blocked.hpp"
#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/refinement/conditions_content.hpp"

namespace mixstream {
namespace {

using linalg::Matrix;

/// C(q, 2j) (2j-1)!!: the even Gaussian moments inside E[(m + eps)^q].
double noise_factor(int power, int pairs) {
  double factor = 1.0;
  for (int i = 0; i < 2 * pairs; ++i) factor *= static_cast<double>(power - i);
  for (int j = 1; j <= pairs; ++j) factor /= 2.0 * j;
  return factor;
}

void require_finite(const DenseMatrix& matrix) {
  if (!std::ranges::all_of(matrix.values, [](double value) { return std::isfinite(value); })) {
    throw std::runtime_error("the moments are not finite");
  }
}

}  // namespace

Conditions::Content::Content(const MomentTensor& tensor, const RowTable& rows, const ConditionSet& wanted)
    : set(wanted),
      layout(tensor.layout()),
      effective_rows(tensor.effective_rows),
      sample(rows),
      law_monomials(static_cast<std::size_t>(tensor.layout().feature_count), highest_response_power) {
  linalg::use_one_thread();
  for (int q = 1; q <= highest_response_power; ++q) add_block(tensor, q);
  add_instruments();
}

void Conditions::Content::add_block(const MomentTensor& tensor, int power) {
  const int r = set.degree(power);
  yield_point();
  if (!basis.contains(r)) {
    const DenseMatrix gram = tensor.view(0, r, r, Variables::extended);
    require_finite(gram);
    yield_point();
    basis[r] = linalg::to_blaze(inverse_root(gram));
  }
  yield_point();
  const DenseMatrix cross = tensor.view(power, r, 0, Variables::extended);
  require_finite(cross);
  const Matrix values = basis[r] * linalg::to_blaze(cross);
  blocks.push_back({power, r, observed.size(), values.rows()});
  for (std::size_t i = 0; i < values.rows(); ++i) observed.push_back(values(i, 0));
  for (int s = power; s >= 0; s -= 2) add_map(tensor, r, s);
}

void Conditions::Content::add_map(const MomentTensor& tensor, int degree, int law_degree) {
  if (maps.contains({degree, law_degree})) return;
  yield_point();
  const Matrix whole = linalg::to_blaze(tensor.view(0, degree, law_degree, Variables::extended));
  // Without a constant in x no law has an intercept: monomials with variable 0, which come first, drop out.
  const std::size_t kept = law_monomials.count(law_degree);
  Matrix values(basis[degree].rows(), kept);
  for (std::size_t top = 0; top < values.rows(); top += 64) {
    yield_point();
    const std::size_t rows = std::min<std::size_t>(64, values.rows() - top);
    blaze::submatrix(values, top, 0, rows, kept) =
        blaze::submatrix(basis[degree], top, 0, rows, whole.rows()) *
        blaze::submatrix(whole, 0, whole.columns() - kept, whole.rows(), kept);
  }
  if (law_degree == 0) {
    maps[{degree, 0}] = values;
    return;
  }
  const std::size_t d = sample.feature_count;
  Matrix map(values.rows() * d, law_monomials.count(law_degree - 1));
  for (std::size_t i = 0; i < map.rows(); ++i) {
    if (i % 64 == 0) yield_point();
    blaze::row(map, i) = 0.0;
  }
  yield_point();
  std::size_t done = 0;
  for (const MonomialTable::Slope& slope : law_monomials.slopes(law_degree)) {
    if (++done % 64 == 0) yield_point();
    for (std::size_t i = 0; i < values.rows(); ++i) {
      map(i * d + slope.variable, slope.source) += slope.factor * values(i, slope.monomial);
    }
  }
  maps[{degree, law_degree}] = std::move(map);
}

/// Collapsed powers of every row of the sample, then in the orthonormal basis; some rows at a time, which
/// stay in the cache.
void Conditions::Content::add_instruments() {
  constexpr std::size_t rows_at_once = 64;
  const auto variables = static_cast<std::size_t>(layout.response());
  const MonomialTable table(variables, *std::ranges::max_element(set.degrees));
  std::vector<double> columns(variables * rows_at_once, 1.0);
  std::vector<double> powers;
  std::vector<double> scratch;
  for (const auto& [degree, root] : basis) {
    Matrix weighted = root;
    for (std::size_t t = 0; t < weighted.columns(); ++t)
      blaze::column(weighted, t) *= table.root_multiplicity(degree)[t];
    std::vector<double> values;
    values.reserve(sample.size() *
                   weighted.rows());  // touched as it fills: a page fault costs more than a row
    for (std::size_t begin = 0; begin < sample.size(); begin += rows_at_once) {
      yield_point();
      const std::size_t count = std::min(rows_at_once, sample.size() - begin);
      for (std::size_t f = 0; f < sample.feature_count; ++f) {
        if (static_cast<int>(f) == layout.constant_feature) continue;
        double* column =
            columns.data() + static_cast<std::size_t>(layout.variable_of(static_cast<int>(f))) * rows_at_once;
        for (std::size_t i = 0; i < count; ++i) column[i] = sample.row(begin + i).features[f];
      }
      values.resize((begin + count) * weighted.rows());
      table.evaluate_rows(degree, columns.data(), rows_at_once, powers, scratch);
      cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, static_cast<int>(count),
                  static_cast<int>(weighted.rows()), static_cast<int>(weighted.columns()), 1.0, powers.data(),
                  static_cast<int>(rows_at_once), weighted.data(), static_cast<int>(weighted.spacing()), 0.0,
                  values.data() + begin * weighted.rows(), static_cast<int>(weighted.rows()));
    }
    instruments[degree] = {weighted.rows(), std::move(values)};
  }
}

std::size_t Conditions::Content::variable_of_feature(std::size_t feature) const {
  const int variable = layout.variable_of(static_cast<int>(feature));
  return static_cast<std::size_t>(layout.has_constant() ? variable : variable - 1);
}

std::vector<double> Conditions::Content::law_in_variables(const Mixture& mixture,
                                                          std::size_t component) const {
  std::vector<double> law(mixture.feature_count);
  for (std::size_t f = 0; f < law.size(); ++f) law[variable_of_feature(f)] = mixture.law(component)[f];
  return law;
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
const std::vector<double>& Conditions::observed() const noexcept {
  return content_->observed;
}

std::size_t Conditions::size(int highest_power) const noexcept {
  const Content::Block& last = content_->blocks[static_cast<std::size_t>(highest_power - 1)];
  return last.offset + last.size;
}

namespace {

/// The implied conditions of one mixture, while they are put together.
class Implied {
 public:
  Implied(const Conditions::Content& content, const Mixture& mixture, NoiseModel noise,
          std::vector<double>& values, DenseMatrix& jacobian)
      : c_(content), mixture_(mixture), noise_(noise), values_(values), jacobian_(jacobian) {
    for (std::size_t h = 0; h < mixture.component_count(); ++h)
      laws_.push_back(c_.law_in_variables(mixture, h));
  }

  void add(const Conditions::Content::Block& block) {
    const std::size_t k = laws_.size();
    const std::size_t d = mixture_.feature_count;
    component_.assign(block.size * k, 0.0);
    by_variance_.assign(block.size * k, 0.0);
    by_law_.assign(block.size * d * k, 0.0);
    for (int pairs = 0; 2 * pairs <= block.power; ++pairs) add_term(block, pairs);
    for (std::size_t i = 0; i < block.size; ++i) finish(block.offset + i, i);
  }

 private:
  /// d/d beta_j of the moments of (beta_h . x)^s: row (condition, j), column h.
  const Matrix& slopes(int degree, int s) {
    const std::pair<int, int> key{degree, s};
    if (const auto found = slopes_.find(key); found != slopes_.end()) return found->second;
    yield_point();
    if (!monomials_.contains(s)) {
      Matrix& columns = monomials_[s];
      columns.resize(c_.law_monomials.count(s - 1), laws_.size());
      std::vector<double> values;
      std::vector<double> scratch;
      for (std::size_t h = 0; h < laws_.size(); ++h) {
        c_.law_monomials.evaluate(s - 1, laws_[h], values, scratch);
        for (std::size_t t = 0; t < values.size(); ++t) columns(t, h) = values[t];
      }
    }
    return slopes_[key] = c_.maps.at(key) * monomials_[s];
  }

  /// Adds C(q,2j) (2j-1)!! s2_h^j times the moments of (beta_h . x)^s, s = q - 2j.
  void add_term(const Conditions::Content::Block& block, int pairs) {
    const int s = block.power - 2 * pairs;
    const std::size_t k = laws_.size();
    const std::size_t d = mixture_.feature_count;
    const Matrix& map = s == 0 ? c_.maps.at({block.degree, 0}) : slopes(block.degree, s);
    for (std::size_t h = 0; h < k; ++h) {
      yield_point();
      const double factor = noise_factor(block.power, pairs) *
                            std::pow(mixture_.noise_variances[h], static_cast<double>(pairs));
      for (std::size_t i = 0; i < block.size; ++i) {
        double term = s == 0 ? map(i, 0) : 0.0;
        for (std::size_t j = 0; s > 0 && j < d; ++j) {
          const double slope = map(i * d + j, h);
          by_law_[(i * d + j) * k + h] += factor * slope;
          term += slope * laws_[h][j];  // Euler: beta . gradient = s phi_s
        }
        term *= s == 0 ? factor : factor / s;
        component_[i * k + h] += term;
        by_variance_[i * k + h] += pairs * term;
      }
    }
  }

  /// Mixes the components into condition `at` and its row of the Jacobian.
  void finish(std::size_t at, std::size_t i) {
    const std::size_t k = laws_.size();
    const std::size_t d = mixture_.feature_count;
    for (std::size_t h = 0; h < k; ++h) values_[at] += mixture_.weights[h] * component_[i * k + h];
    for (std::size_t h = 0; h < k; ++h) {
      const double weight = mixture_.weights[h];
      for (std::size_t f = 0; f < d; ++f) {
        jacobian_(at, h * d + f) = weight * by_law_[(i * d + c_.variable_of_feature(f)) * k + h];
      }
      if (h + 1 < k) jacobian_(at, k * d + h) = weight * (component_[i * k + h] - values_[at]);
      if (noise_ == NoiseModel::known) continue;
      const std::size_t column = k * d + k - 1 + (noise_ == NoiseModel::shared ? 0 : h);
      jacobian_(at, column) += weight * by_variance_[i * k + h];
    }
  }

  const Conditions::Content& c_;
  const Mixture& mixture_;
  NoiseModel noise_;
  std::vector<double>& values_;
  DenseMatrix& jacobian_;
  std::vector<std::vector<double>> laws_;
  std::map<int, Matrix> monomials_;
  std::map<std::pair<int, int>, Matrix> slopes_;
  std::vector<double> component_;
  std::vector<double> by_variance_;
  std::vector<double> by_law_;
};

}  // namespace

void Conditions::implied(const Mixture& mixture, NoiseModel noise, std::vector<double>& values,
                         DenseMatrix& jacobian) const {
  values.assign(size(), 0.0);
  const std::size_t parameters = parameter_count(mixture.component_count(), mixture.feature_count, noise);
  jacobian = {size(), parameters, linalg::zeros(size() * parameters)};
  Implied implied(*content_, mixture, noise, values, jacobian);
  for (const Content::Block& block : content_->blocks) implied.add(block);
}

}  // namespace mixstream
