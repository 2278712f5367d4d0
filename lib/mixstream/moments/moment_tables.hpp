// The moments that the paper's regressions read, copied out in raw coordinates for users: through the
// extractors of moments/features.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "mixstream/moments/tensor.hpp"

namespace mixstream {

/// Of degree p = 1, 2 or 3, phi_p = cvec(x^(p)): every product of p features once, in the order of the
/// features, times the square root of how often it stands in the tensor.
struct DegreeMoments {
  int degree = 1;
  CollapsedPower products;    ///< which features each entry multiplies, and those square roots
  DenseMatrix covariance;     ///< Sigma_p = E[phi_p phi_p']
  std::vector<double> cross;  ///< E[y^p phi_p]
  std::vector<double> mean;   ///< E[phi_p]
};

struct MomentTables {
  double effective_rows = 0.0;
  double total_weight = 0.0;
  std::array<DegreeMoments, 3> degrees;
  std::array<double, 6> response{};  ///< E[y] .. E[y^6]
};

/// Reads them. The tensor is brought to raw coordinates once. Allocates; N(d, 3)^2 numbers.
MomentTables moment_tables(const MomentTensor& tensor);

/// "1*t", "t^4*t^4", ...: the entries of phi_p by the features' names.
std::vector<std::string> product_names(const DegreeMoments& moments,
                                       const std::vector<std::string>& features);

}  // namespace mixstream
