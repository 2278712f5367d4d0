#include "yardstick.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "dense.hpp"

namespace yardstick {
namespace {

constexpr double prior_count = 0.5;

/// A of theta's part for it, and dA_ij / dtheta_q as a list: only some are not zero.
struct Choice {
  struct Slope {
    std::size_t from, to, parameter;
    double value;
  };
  std::vector<double> transitions;
  std::vector<Slope> slopes;
};

Choice choice_at(const Model& model, const std::vector<double>& theta) {
  const std::size_t k = model.laws;
  Choice choice{std::vector<double>(k * k), {}};
  for (std::size_t i = 0; i < k; ++i) {
    const std::size_t reference = model.chain ? i : k - 1;
    std::vector<std::size_t> at(k, 0);  // the parameter of log A_ij over the reference
    std::size_t next = model.choice_begin() + (model.chain ? i * (k - 1) : 0);
    std::vector<double> logits(k);
    for (std::size_t j = 0; j < k; ++j)
      if (j != reference) logits[j] = theta[at[j] = next++];
    const double top = *std::max_element(logits.begin(), logits.end());
    double total = 0.0;
    for (std::size_t j = 0; j < k; ++j) total += choice.transitions[i * k + j] = std::exp(logits[j] - top);
    double* row = &choice.transitions[i * k];
    for (std::size_t j = 0; j < k; ++j) row[j] /= total;
    for (std::size_t j = 0; j < k; ++j)
      for (std::size_t l = 0; l < k; ++l)
        if (l != reference) choice.slopes.push_back({i, j, at[l], row[j] * ((j == l ? 1.0 : 0.0) - row[l])});
  }
  return choice;
}

double digamma(double x) {
  double value = 0.0;
  for (; x < 10.0; x += 1.0) value -= 1.0 / x;
  const double s = 1.0 / (x * x);
  return value + std::log(x) - 0.5 / x -
         s * (1.0 / 12 - s * (1.0 / 120 - s * (1.0 / 252 - s * (1.0 / 240 - s / 132))));
}

/// The density of an innovation, and its derivatives by the innovation, log v and log nu.
struct Density {
  double log_value, by_innovation, by_log_variance, by_log_freedom;
};

class Noise {
 public:
  explicit Noise(double freedom) : nu_(freedom) {
    if (!std::isfinite(nu_)) return;
    constant_ =
        std::lgamma(0.5 * (nu_ + 1)) - std::lgamma(0.5 * nu_) - 0.5 * std::log(nu_ * std::numbers::pi);
    slope_ = 0.5 * (digamma(0.5 * (nu_ + 1)) - digamma(0.5 * nu_) - 1.0 / nu_);
  }

  Density at(double innovation, double variance) const {
    const double square = innovation * innovation / variance;
    if (!std::isfinite(nu_))
      return {-0.5 * (std::log(2 * std::numbers::pi * variance) + square), -innovation / variance,
              0.5 * (square - 1), 0.0};
    const double weight = (nu_ + 1) / (nu_ + square);
    const double spread = std::log1p(square / nu_);
    return {constant_ - 0.5 * std::log(variance) - 0.5 * (nu_ + 1) * spread, -weight * innovation / variance,
            0.5 * (weight * square - 1), nu_ * (slope_ - 0.5 * spread + 0.5 * weight * square / nu_)};
  }

 private:
  double nu_;
  double constant_ = 0.0;
  double slope_ = 0.0;
};

/// The filter along the rows, with its tangent.
class Filter {
 public:
  Filter(const Model& model, const std::vector<double>& theta, const Rows& rows)
      : model_(model),
        rows_(rows),
        laws_(unpacked(model, theta)),
        choice_(choice_at(model, theta)),
        noise_(laws_.freedom),
        k_(model.laws),
        size_(model.size()),
        f_(k_, 1.0 / static_cast<double>(k_)),
        tangent_(k_ * size_),
        residuals_(k_),
        before_(k_),
        joint_(k_ * k_),
        joint_tangent_((model.memory ? k_ * k_ : k_) * size_),
        ratios_(k_ * k_),
        score_(size_),
        densities_(k_ * k_) {}

  /// Goes on by one row; false at the end.
  bool step() {
    if (t_ == rows_.count()) return false;
    const double* x = &rows_.x[t_ * model_.features];
    before_.swap(residuals_);
    for (std::size_t j = 0; j < k_; ++j) {
      residuals_[j] = rows_.y[t_];
      for (std::size_t c = 0; c < model_.features; ++c)
        residuals_[j] -= laws_.coefficients[j * model_.features + c] * x[c];
    }
    f_before_ = f_;
    predict();
    measure();
    follow();
    ++t_;
    return true;
  }

  double increment() const { return increment_; }              ///< log p(y_t | x_t, past)
  const std::vector<double>& score() const { return score_; }  ///< its gradient
  const std::vector<double>& before() const {
    return f_before_;
  }  ///< P(law of the row before | rows up to it)
  const std::vector<double>& probabilities() const { return f_; }  ///< P(law | rows so far)

 private:
  /// Whether the density depends on the law before: k x k pairs are kept apart, else the k laws now.
  bool paired() const { return model_.memory && t_ > 0; }

  // joint_ = f_i A_ij at (i, j), joint_tangent_ = its tangent; where pairs need not be kept apart, their sum
  // over i at j.
  void predict() {
    std::fill(joint_.begin(), joint_.end(), 0.0);
    std::fill(joint_tangent_.begin(), joint_tangent_.end(), 0.0);
    if (t_ == 0) {
      std::copy(f_.begin(), f_.end(), joint_.begin());
      return;
    }
    const std::size_t stride = paired() ? k_ : 0;
    for (std::size_t i = 0; i < k_; ++i)
      for (std::size_t j = 0; j < k_; ++j) {
        const double a = choice_.transitions[i * k_ + j];
        joint_[i * stride + j] += f_[i] * a;
        double* to = &joint_tangent_[(i * stride + j) * size_];
        const double* from = &tangent_[i * size_];
        for (std::size_t q = 0; q < size_; ++q) to[q] += a * from[q];
      }
    for (const Choice::Slope& slope : choice_.slopes)
      joint_tangent_[(slope.from * stride + slope.to) * size_ + slope.parameter] +=
          f_[slope.from] * slope.value;
  }

  Density density(std::size_t i, std::size_t j) const {
    const double rho = laws_.memory;
    if (!paired()) return noise_.at(residuals_[j], laws_.variances[j] / (1 - rho * rho));
    return noise_.at(residuals_[j] - rho * before_[i], laws_.variances[j]);
  }

  void measure() {
    double top = -std::numeric_limits<double>::infinity();
    const std::size_t pairs = paired() ? k_ * k_ : k_;
    for (std::size_t p = 0; p < pairs; ++p) {
      densities_[p] = density(p / k_, p % k_);
      top = std::max(top, densities_[p].log_value);
    }
    double total = 0.0;
    for (std::size_t p = 0; p < pairs; ++p) {
      ratios_[p] = std::exp(densities_[p].log_value - top);
      total += joint_[p] * ratios_[p];
    }
    increment_ = top + std::log(total);
    std::fill(f_.begin(), f_.end(), 0.0);
    std::fill(tangent_.begin(), tangent_.end(), 0.0);
    for (std::size_t p = 0; p < pairs; ++p) {
      const double ratio = ratios_[p] / total;
      const double probability = joint_[p] * ratio;
      f_[p % k_] += probability;
      double* to = &tangent_[(p % k_) * size_];
      const double* from = &joint_tangent_[p * size_];
      for (std::size_t q = 0; q < size_; ++q) to[q] += ratio * from[q];
      add_slopes(p / k_, p % k_, densities_[p], probability, to);
    }
  }

  /// probability * d log density / d theta.
  void add_slopes(std::size_t i, std::size_t j, const Density& density, double probability,
                  double* to) const {
    const std::size_t d = model_.features;
    const double* x = &rows_.x[t_ * d];
    const double slope = probability * density.by_innovation;
    for (std::size_t c = 0; c < d; ++c) to[j * d + c] -= slope * x[c];
    to[model_.variance_begin() + (model_.per_law ? j : 0)] += probability * density.by_log_variance;
    if (model_.tails) to[model_.tails_at()] += probability * density.by_log_freedom;
    if (!model_.memory) return;
    const double rho = laws_.memory;
    const double by_root = 1 - rho * rho;  // d rho / d atanh rho
    if (t_ == 0) {
      to[model_.memory_at()] += probability * density.by_log_variance * 2 * rho;
      return;
    }
    for (std::size_t c = 0; c < d; ++c) to[i * d + c] += slope * rho * (x - d)[c];
    to[model_.memory_at()] -= slope * before_[i] * by_root;
  }

  void follow() {
    std::fill(score_.begin(), score_.end(), 0.0);
    for (std::size_t j = 0; j < k_; ++j)
      for (std::size_t q = 0; q < size_; ++q) score_[q] += tangent_[j * size_ + q];
    for (std::size_t j = 0; j < k_; ++j)
      for (std::size_t q = 0; q < size_; ++q) tangent_[j * size_ + q] -= f_[j] * score_[q];
  }

  Model model_;
  const Rows& rows_;
  Laws laws_;
  Choice choice_;
  Noise noise_;
  std::size_t k_, size_, t_ = 0;
  std::vector<double> f_, f_before_, tangent_, residuals_, before_, joint_, joint_tangent_, ratios_, score_;
  std::vector<Density> densities_;
  double increment_ = 0.0;
};

/// The prior of transitions: prior_count times the sum of log A_ij.
void add_prior(const Model& model, const std::vector<double>& theta, Sums& sums) {
  const std::size_t k = model.laws;
  const Choice choice = choice_at(model, theta);
  for (const double a : choice.transitions) sums.log_likelihood += prior_count * std::log(a);
  for (const Choice::Slope& one : choice.slopes) {
    const double a = choice.transitions[one.from * k + one.to];
    sums.gradient[one.parameter] += prior_count * one.value / a;
    for (const Choice::Slope& two : choice.slopes)
      if (one.from == two.from && one.to == two.to)
        sums.information[one.parameter * model.size() + two.parameter] +=
            prior_count * static_cast<double>(k) * one.value * two.value / a;
  }
}

}  // namespace

std::vector<double> packed(const Model& model, const Laws& laws) {
  const std::size_t k = model.laws;
  std::vector<double> theta = laws.coefficients;
  if (model.chain) {
    for (std::size_t i = 0; i < k; ++i)
      for (std::size_t j = 0; j < k; ++j)
        if (j != i) theta.push_back(std::log(laws.transitions[i * k + j] / laws.transitions[i * k + i]));
  } else {
    for (std::size_t j = 0; j + 1 < k; ++j)
      theta.push_back(std::log(laws.transitions[j] / laws.transitions[k - 1]));
  }
  for (std::size_t j = 0; j < (model.per_law ? k : 1); ++j) theta.push_back(std::log(laws.variances[j]));
  if (model.memory) theta.push_back(std::atanh(laws.memory));
  if (model.tails) theta.push_back(std::log(laws.freedom));
  return theta;
}

Laws unpacked(const Model& model, const std::vector<double>& theta) {
  Laws laws;
  laws.coefficients.assign(theta.begin(), theta.begin() + static_cast<std::ptrdiff_t>(model.choice_begin()));
  laws.transitions = choice_at(model, theta).transitions;
  for (std::size_t j = 0; j < model.laws; ++j)
    laws.variances.push_back(std::exp(theta[model.variance_begin() + (model.per_law ? j : 0)]));
  if (model.memory) laws.memory = std::tanh(theta[model.memory_at()]);
  if (model.tails) laws.freedom = std::exp(theta[model.tails_at()]);
  return laws;
}

Sums sums_at(const Model& model, const std::vector<double>& theta, const Rows& rows) {
  const std::size_t size = model.size();
  Sums sums{0.0, std::vector<double>(size), std::vector<double>(size * size),
            std::vector<double>(model.laws)};
  Filter filter(model, theta, rows);
  for (bool first = true; filter.step(); first = false) {
    for (std::size_t h = 0; h < model.laws && !first; ++h) sums.departures[h] += filter.before()[h];
    sums.log_likelihood += filter.increment();
    const std::vector<double>& score = filter.score();
    for (std::size_t p = 0; p < size; ++p) {
      sums.gradient[p] += score[p];
      for (std::size_t q = 0; q <= p; ++q) sums.information[p * size + q] += score[p] * score[q];
    }
  }
  for (std::size_t p = 0; p < size; ++p)
    for (std::size_t q = 0; q < p; ++q) sums.information[q * size + p] = sums.information[p * size + q];
  return sums;
}

std::vector<double> filtered(const Model& model, const Laws& laws, const Rows& rows) {
  std::vector<double> all;
  Filter filter(model, packed(model, laws), rows);
  while (filter.step()) all.insert(all.end(), filter.probabilities().begin(), filter.probabilities().end());
  return all;
}

namespace {

constexpr double few_changes = 30.0;

/// Where to go from theta, and how far away that is: gradient' information^-1 gradient.
struct Step {
  std::vector<double> direction;
  double decrement = 0.0;
};

/// EM's step of the transitions seen few times: log A_ij to that of the expected changes. A complete-data
/// score is changes_ij - A_ij departures_i, so the gradient tells the changes; where it is zero, nothing
/// moves. The counts of those that moved are returned, zero for all others.
std::vector<double> rare_steps(const Model& model, const std::vector<double>& theta, const Sums& sums,
                               std::vector<double>& direction) {
  std::vector<double> counts(model.size());
  if (!model.chain) return counts;
  const std::size_t k = model.laws;
  const std::vector<double> a = choice_at(model, theta).transitions;
  for (std::size_t i = 0; i < k; ++i) {
    const double departures = sums.departures[i] + prior_count * static_cast<double>(k);
    const std::size_t begin = model.choice_begin() + i * (k - 1);
    const double expected_stays = a[i * k + i] * departures;
    double stays = expected_stays;
    for (std::size_t l = 0; l + 1 < k; ++l) stays -= sums.gradient[begin + l];
    for (std::size_t l = 0; l + 1 < k; ++l) {
      const double expected = a[i * k + (l < i ? l : l + 1)] * departures;
      const double changes = std::max(expected + sums.gradient[begin + l], 0.1 * prior_count);
      if (changes > few_changes) continue;
      counts[begin + l] = changes;
      direction[begin + l] = std::log(changes / expected * expected_stays / std::max(stays, 0.1));
    }
  }
  return counts;
}

Step step_from(const Model& model, const std::vector<double>& theta, const Sums& sums) {
  const std::size_t size = model.size();
  Step step{std::vector<double>(size), 0.0};
  const std::vector<double> rare = rare_steps(model, theta, sums, step.direction);
  std::vector<std::size_t> free;
  for (std::size_t q = 0; q < size; ++q) {
    if (rare[q] == 0.0)
      free.push_back(q);
    else
      step.decrement += sums.gradient[q] * sums.gradient[q] / rare[q];
  }
  std::vector<double> matrix, right;
  for (const std::size_t p : free) {
    right.push_back(sums.gradient[p]);
    for (const std::size_t q : free) matrix.push_back(sums.information[p * size + q]);
  }
  const std::vector<double> solution = solved(matrix, right);
  for (std::size_t f = 0; f < free.size(); ++f) {
    step.direction[free[f]] = solution[f];
    step.decrement += solution[f] * right[f];
  }
  return step;
}

}  // namespace

Fit fit(const Model& model, const Laws& start, const Rows& rows) {
  const auto penalised = [&](const std::vector<double>& theta) {
    Sums sums = sums_at(model, theta, rows);
    add_prior(model, theta, sums);
    return sums;
  };
  Fit fit;
  fit.theta = packed(model, start);
  Sums sums = penalised(fit.theta);
  for (fit.passes = 1; fit.passes < 300;) {
    const Step step = step_from(model, fit.theta, sums);
    fit.decrement = step.decrement;
    fit.converged = fit.decrement < 1e-4;
    if (fit.converged || std::isnan(fit.decrement)) break;
    double length = 1.0;
    for (const double s : step.direction) length = std::min(length, 2.0 / std::abs(s));  // no parameter leaps
    std::vector<double> theta = fit.theta;
    for (; length > 1e-6; length *= 0.5) {
      for (std::size_t q = 0; q < theta.size(); ++q) theta[q] = fit.theta[q] + length * step.direction[q];
      Sums trial = penalised(theta);
      ++fit.passes;
      if (!(trial.log_likelihood > sums.log_likelihood)) continue;
      sums = std::move(trial);
      break;
    }
    if (length <= 1e-6) break;
    fit.theta = theta;
  }
  fit.laws = unpacked(model, fit.theta);
  fit.log_likelihood = sums.log_likelihood;
  fit.covariance = inverse(sums.information);
  return fit;
}

namespace {

std::vector<double> stationary(const Model& model, const std::vector<double>& theta) {
  const std::size_t k = model.laws;
  const std::vector<double> a = choice_at(model, theta).transitions;
  std::vector<double> matrix(k * k);  // (I - A + 11'/k)' pi = 1/k
  for (std::size_t i = 0; i < k; ++i)
    for (std::size_t j = 0; j < k; ++j)
      matrix[j * k + i] = (i == j ? 1.0 : 0.0) - a[i * k + j] + 1.0 / static_cast<double>(k);
  return solved_by_elimination(matrix, std::vector<double>(k, 1.0 / static_cast<double>(k)));
}

}  // namespace

Weights weights_of(const Model& model, const Fit& fit) {
  const std::size_t k = model.laws;
  const std::size_t size = model.size();
  Weights weights{stationary(model, fit.theta), std::vector<double>(k)};
  std::vector<double> slopes(k * size);
  for (std::size_t q = model.choice_begin(); q < model.variance_begin(); ++q) {
    std::vector<double> up = fit.theta;
    std::vector<double> down = fit.theta;
    up[q] += 1e-5;
    down[q] -= 1e-5;
    const std::vector<double> above = stationary(model, up);
    const std::vector<double> below = stationary(model, down);
    for (std::size_t h = 0; h < k; ++h) slopes[h * size + q] = (above[h] - below[h]) / 2e-5;
  }
  for (std::size_t h = 0; h < k; ++h) {
    double variance = 0.0;
    for (std::size_t p = 0; p < size; ++p)
      for (std::size_t q = 0; q < size; ++q)
        variance += slopes[h * size + p] * fit.covariance[p * size + q] * slopes[h * size + q];
    weights.errors[h] = std::sqrt(variance);
  }
  return weights;
}

}  // namespace yardstick
