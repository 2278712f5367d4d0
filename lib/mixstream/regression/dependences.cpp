// Which products of features are linearly dependent: the null space of Sigma_p, reduced to few terms.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "mixstream/linalg/products.hpp"
#include "mixstream/linalg/spectrum.hpp"
#include "mixstream/regression/identifiability.hpp"
#include "mixstream/regression/symmetric.hpp"
#include "mixstream/regression/systems.hpp"

namespace mixstream {
namespace {

std::string monomial_name(const std::vector<int>& tuple, std::span<const std::string> names) {
  std::string text;
  for (const int index : tuple) {
    if (!text.empty()) text += "*";
    const auto at = static_cast<std::size_t>(index);
    text += at < names.size() ? names[at] : "x" + std::to_string(index + 1);
  }
  return text;
}

/// x' = T x, as V = T' for lift: pilot features are linear in raw ones, through the constant.
DenseMatrix pilot_map(const MomentTensor& tensor) {
  const Layout& layout = tensor.layout();
  const auto d = static_cast<std::size_t>(layout.feature_count);
  DenseMatrix map{d, d, std::vector<double>(d * d)};
  for (int feature = 0; feature < layout.feature_count; ++feature) {
    const auto f = static_cast<std::size_t>(feature);
    const auto variable = static_cast<std::size_t>(layout.variable_of(feature));
    map(f, f) = 1.0 / tensor.pilot().scale[variable];
    if (!layout.has_constant() || feature == layout.constant_feature) continue;
    map(static_cast<std::size_t>(layout.constant_feature), f) =
        -tensor.pilot().shift[variable] / tensor.pilot().scale[variable];
  }
  return map;
}

/// Root mean squares of the raw features, so that small features do not look absent.
std::vector<double> raw_sizes(const MomentTensor& tensor) {
  const DenseMatrix gram = tensor.view(0, 1, 1);
  const std::vector<double> mean = tensor.view(0, 1, 0).values;
  std::vector<double> sizes;
  for (int feature = 0; feature < tensor.layout().feature_count; ++feature) {
    const auto f = static_cast<std::size_t>(feature);
    const auto variable = static_cast<std::size_t>(tensor.layout().variable_of(feature));
    const double scale = tensor.pilot().scale[variable];
    const double shift = tensor.pilot().shift[variable];
    const double square = scale * scale * gram(f, f) + 2.0 * scale * shift * mean[f] + shift * shift;
    sizes.push_back(square > 0.0 ? std::sqrt(square) : 1.0);
  }
  return sizes;
}

/// Null vectors of Sigma_p as rows, in raw monomials, each column in units of its monomial's typical size.
DenseMatrix null_rows(const MomentTensor& tensor, const SymmetricShape& shape) {
  ScaledEigen eigen;
  if (!eigen.decompose(tensor.view(0, shape.degree(), shape.degree()), rank_cutoff)) return {};
  DenseMatrix to_raw;
  if (eigen.null_count == 0) return {};
  lift(pilot_map(tensor), shape, shape, to_raw);
  const std::vector<double> sizes = raw_sizes(tensor);
  DenseMatrix rows{eigen.null_count, shape.size(), std::vector<double>(eigen.null_count * shape.size())};
  std::vector<double> vector(shape.size());
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t j = 0; j < shape.size(); ++j) vector[j] = eigen.eigen.vectors(i, j) / eigen.scale[j];
    const std::span<double> row(rows.values.data() + i * shape.size(), shape.size());
    multiply(to_raw, vector, row);
    for (std::size_t j = 0; j < shape.size(); ++j) {
      row[j] *= shape.root_multiplicity()[j];
      for (const int index : shape.tuples()[j]) row[j] *= sizes[static_cast<std::size_t>(index)];
    }
  }
  return rows;
}

/// Reduced echelon form with full pivoting: each row then names a relation of few terms.
void reduce(DenseMatrix& rows) {
  for (std::size_t done = 0; done < rows.rows; ++done) {
    std::size_t pivot_row = done;
    std::size_t pivot = 0;
    for (std::size_t i = done; i < rows.rows; ++i) {
      for (std::size_t j = 0; j < rows.columns; ++j) {
        // A clear margin, so that among equals the first is taken, whatever the rounding.
        if (std::abs(rows(i, j)) > 1.0001 * std::abs(rows(pivot_row, pivot))) {
          pivot_row = i;
          pivot = j;
        }
      }
    }
    const double value = rows(pivot_row, pivot);
    if (value == 0.0) return;
    for (std::size_t j = 0; j < rows.columns; ++j) {
      std::swap(rows(done, j), rows(pivot_row, j));
      rows(done, j) /= value;
    }
    for (std::size_t i = 0; i < rows.rows; ++i) {
      const double factor = rows(i, pivot);
      if (i == done || factor == 0.0) continue;
      for (std::size_t j = 0; j < rows.columns; ++j) rows(i, j) -= factor * rows(done, j);
      rows(i, pivot) = 0.0;
    }
  }
}

/// The group of every column: columns that share a relation are joined.
std::vector<std::size_t> joined_columns(const DenseMatrix& rows) {
  std::vector<std::size_t> group(rows.columns);
  std::iota(group.begin(), group.end(), std::size_t{0});
  for (std::size_t i = 0; i < rows.rows; ++i) {
    std::size_t first = rows.columns;
    for (std::size_t j = 0; j < rows.columns; ++j) {
      if (std::abs(rows(i, j)) < 1e-5) continue;
      if (first == rows.columns) first = j;
      std::ranges::replace(group, std::size_t{group[j]}, std::size_t{group[first]});
    }
  }
  return group;
}

}  // namespace

std::vector<Dependence> dependences(const MomentTensor& tensor, int degree,
                                    std::span<const std::string> feature_names) {
  const SymmetricShape shape(tensor.layout().feature_count, degree);
  DenseMatrix rows = null_rows(tensor, shape);
  reduce(rows);
  const std::vector<std::size_t> group = joined_columns(rows);
  std::vector<bool> involved(rows.columns, false);
  for (std::size_t i = 0; i < rows.rows; ++i) {
    for (std::size_t j = 0; j < rows.columns; ++j) involved[j] = involved[j] || std::abs(rows(i, j)) >= 1e-5;
  }
  std::vector<Dependence> found;
  for (std::size_t leader = 0; leader < rows.columns; ++leader) {
    Dependence dependence{degree, {}};
    for (std::size_t j = 0; j < rows.columns; ++j) {
      if (group[j] != leader || !involved[j]) continue;
      dependence.monomials.push_back(monomial_name(shape.tuples()[j], feature_names));
    }
    if (!dependence.monomials.empty()) found.push_back(std::move(dependence));
  }
  return found;
}

std::string describe(std::span<const Dependence> groups) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t g = 0; g < std::min(groups.size(), most); ++g) {
    if (g > 0) text += "; ";
    const std::vector<std::string>& names = groups[g].monomials;
    if (names.size() == 1) text += names[0] + " is always zero";
    for (std::size_t i = 0; names.size() > 1 && i < names.size(); ++i) {
      text += (i == 0 ? "" : (i + 1 == names.size() ? " and " : ", ")) + names[i];
    }
  }
  if (groups.size() > most) text += "; and " + std::to_string(groups.size() - most) + " more groups";
  return text;
}

}  // namespace mixstream
