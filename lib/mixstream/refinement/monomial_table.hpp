// Monomials of a vector and their derivatives, by tables built once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mixstream {

/// All monomials of degree 0 .. highest over some variables, each degree in lexicographic order of sorted
/// index tuples: the order of collapsed_power.
class MonomialTable {
 public:
  MonomialTable(std::size_t variables, int highest);

  std::size_t count(int degree) const noexcept {
    return levels_[static_cast<std::size_t>(degree)].parent.size();
  }
  const std::vector<double>& root_multiplicity(int degree) const noexcept {
    return levels_[static_cast<std::size_t>(degree)].root_multiplicity;
  }

  /// The monomials of one degree, without multiplicities. `result` and `scratch` are resized; one product a
  /// monomial of this degree and those below.
  void evaluate(int degree, std::span<const double> values, std::vector<double>& result,
                std::vector<double>& scratch) const;

  /// The same for some rows at once: variable v of row i stands at columns[v * stride + i], monomial t goes
  /// to result[t * stride + i]. `result` and `scratch` are resized.
  void evaluate_rows(int degree, const double* columns, std::size_t stride, std::vector<double>& result,
                     std::vector<double>& scratch) const;

  /// d phi_t / d v_j = factor * monomial `source` of one degree less, phi with root multiplicities.
  struct Slope {
    std::size_t monomial;  // t
    std::size_t variable;  // j
    std::size_t source;
    double factor;  // exponent of v_j times root multiplicity
  };
  /// All non-zero ones of that degree. Allocates.
  std::vector<Slope> slopes(int degree) const;

 private:
  struct Level {
    std::vector<std::size_t> parent;       // the monomial without its last variable, one degree less
    std::vector<std::size_t> last;         // that variable
    std::vector<std::size_t> first_child;  // in the next degree: last, last + 1, ... follow
    std::vector<double> root_multiplicity;
  };
  void grow();

  std::size_t variables_;
  std::vector<Level> levels_;
};

}  // namespace mixstream
