// Columns behind features, and the monomials of them that a map lacks.
//
// A map "1,u,v,u^2" has the columns u and v; of their products of degree 2 and 3 it lacks u*v, v^2, u^3 ...
// Only features are held, so a column is known where the map has it by itself; of a map such as "1,t^4" the
// feature t^4 takes its place, and (t^4)^2 is called t^8. What is no product (log(u), an indicator) is a
// column of its own.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace mixstream {

/// Powers by column name: u^2 v is {u: 2, v: 1}; the constant is empty.
using Powers = std::map<std::string, int>;

/// Reads a feature's name; one that is no product of powers is a column of that name. Allocates.
Powers powers_of(const std::string& feature);
/// "u^2*v"; the constant is "1". Allocates.
std::string name_of(const Powers& powers);

/// A monomial as a product of features: which ones, a feature twice for its square.
struct Term {
  std::string name;
  std::vector<std::size_t> factors;  ///< features; empty: the constant
  std::vector<std::size_t> below;    ///< terms of the list that divide it: u^2 below u^3
};

/// Features that stand for columns: for every column its feature of lowest degree, pure products of one
/// column only. Allocates.
std::vector<std::size_t> column_features(const std::vector<std::string>& features);

/// Whether the first is a proper factor of the second. No throw.
bool divides(const Powers& one, const Powers& other) noexcept;

/// The terms that the map lacks: the constant where there is none, then squares, products of two, cubes,
/// other products of three, at most so many. Allocates.
std::vector<Term> missing_terms(const std::vector<std::string>& features, std::size_t most);

}  // namespace mixstream
