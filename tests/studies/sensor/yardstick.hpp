// The yardstick of study-sensor: batch maximum likelihood of a regression whose law is chosen by a Markov
// chain, or by chance, with all rows in memory and the truth as start. Shares no code with the library it
// measures.
//
// Row t: law j after law i with probability A_ij, y_t = beta_j . x_t + e_t. The innovation of row t is
// e_t - rho e_{t-1}, which the pair (i, j) of laws determines; its density is Gaussian or Student's, so the
// likelihood of a row is a sum over k x k pairs. A chain's first row has no row before it: every law is as
// likely, and its noise has the variance v / (1 - rho^2).
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace yardstick {

struct Rows {
  std::size_t features = 0;  ///< d
  std::vector<double> x;     ///< n x d
  std::vector<double> y;

  std::size_t count() const noexcept { return y.size(); }
};

/// What is estimated.
struct Model {
  std::size_t laws = 2;      ///< k
  std::size_t features = 2;  ///< d
  bool chain = true;         ///< nothing: every row draws its law by the same weights
  bool memory = false;       ///< rho is estimated, else it is zero
  bool tails = false;        ///< nu is estimated, else the noise is Gaussian
  bool per_law = false;      ///< a variance for each law

  std::size_t choice_begin() const noexcept { return laws * features; }
  std::size_t choice_count() const noexcept { return chain ? laws * (laws - 1) : laws - 1; }
  std::size_t variance_begin() const noexcept { return choice_begin() + choice_count(); }
  std::size_t memory_at() const noexcept { return variance_begin() + (per_law ? laws : 1); }
  std::size_t tails_at() const noexcept { return memory_at() + (memory ? 1 : 0); }
  std::size_t size() const noexcept { return tails_at() + (tails ? 1 : 0); }  ///< P
};

struct Laws {
  std::vector<double> coefficients;  ///< k x d
  std::vector<double> transitions;   ///< A, k x k; all rows the weights where there is no chain
  std::vector<double> variances;     ///< v_j of the innovations; the squared scale where they have tails
  double memory = 0.0;               ///< rho
  double freedom = std::numeric_limits<double>::infinity();  ///< nu
};

/// theta = (beta; log A_ij / A_ii, or log of the weights over the last one; log v; atanh rho; log nu), and
/// back.
std::vector<double> packed(const Model& model, const Laws& laws);
Laws unpacked(const Model& model, const std::vector<double>& theta);

/// The log likelihood, its gradient, and the sum over rows of the outer products of its increments.
struct Sums {
  double log_likelihood = 0.0;
  std::vector<double> gradient;     ///< P
  std::vector<double> information;  ///< P x P
  std::vector<double> departures;   ///< k: rows before which each law held, expected by the filter
};
Sums sums_at(const Model& model, const std::vector<double>& theta, const Rows& rows);

/// P(law at row t | rows up to t), n x k.
std::vector<double> filtered(const Model& model, const Laws& laws, const Rows& rows);

struct Fit {
  Laws laws;
  std::vector<double> theta;
  std::vector<double> covariance;  ///< of theta
  double log_likelihood = 0.0;
  double decrement = 0.0;  ///< gradient' information^-1 gradient: squared distance to the optimum, in errors
  int passes = 0;
  bool converged = false;  ///< the decrement is below 1e-4: a hundredth of a standard error
};

/// The optimum near `start`: scoring steps, halved where the likelihood falls. Transitions have a prior of
/// half a change each, so that one that was never seen stays finite; its part is in the gradient and the
/// information. The outer products of few changes say little about curvature: transitions seen fewer than 30
/// times move by EM.
Fit fit(const Model& model, const Laws& start, const Rows& rows);

/// The weights a chain settles at, and their standard errors by the delta method. For rows by chance: its
/// weights.
struct Weights {
  std::vector<double> values;
  std::vector<double> errors;
};
Weights weights_of(const Model& model, const Fit& fit);

}  // namespace yardstick
