// Do the moments determine the answer? What `diagnose` (regression/identifiability.hpp) finds, as plain data.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace mixstream {

/// Products of features that are linearly dependent on every row, such as {"t*t", "1*t^2"}.
struct Dependence {
  int degree = 1;
  std::vector<std::string> monomials;  ///< a single one is always zero
};

/// The regression of y^p on x^(p).
struct PowerDiagnosis {
  int degree = 1;
  std::size_t unknowns = 0;                   ///< N(d, p)
  std::size_t rank = 0;                       ///< of Sigma_p; below `unknowns` M_p is not identified
  std::optional<double> smallest_eigenvalue;  ///< of Sigma_p with x whitened; nothing where too costly
  std::optional<double> condition;            ///< largest over smallest; nothing where singular
  std::optional<double> convexity;            ///< kappa: sigma_min(Sigma_p) / 2, raw; nothing where singular
  std::optional<double> penalty_asked;  ///< lambda of the paper's lemma, 2 |X*(eta)|_op / n; nothing likewise
  std::vector<Dependence> dependences;
};

struct Identifiability {
  std::vector<PowerDiagnosis> powers;          ///< p = 1, 2, 3
  std::vector<double> second_spectrum;         ///< eigenvalues of the plain regression's M2, descending, raw
  std::vector<double> second_spectrum_errors;  ///< their standard errors; empty where Sigma_2 is singular
  bool spectral = false;                       ///< all three are identified: the paper's condition holds
};

}  // namespace mixstream
