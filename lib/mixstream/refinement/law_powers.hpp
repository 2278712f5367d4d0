// Collapsed powers phi_s(beta) of a law and their gradients, by tables built once.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace mixstream {

/// All monomials of degree 0 .. highest over d variables, each degree in lexicographic order of sorted index
/// tuples: the order of collapsed_power.
class LawPowers {
 public:
  LawPowers(std::size_t variables, int highest);

  std::size_t count(int degree) const noexcept {
    return degrees_[static_cast<std::size_t>(degree)].parent.size();
  }

  /// d phi_degree(beta) / d beta_j into gradient[t * stride + j], t over the monomials; everything else in
  /// the gradient is left as it is. `scratch` is resized. Cost degree * count.
  void gradient(int degree, std::span<const double> law, std::vector<double>& scratch, double* gradient,
                std::size_t stride) const;

 private:
  struct Slope {  // one non-zero entry of the gradient
    std::size_t monomial;
    std::size_t variable;
    std::size_t source;  // monomial of one degree less
    double factor;       // exponent times root multiplicity
  };
  struct Degree {
    std::vector<std::size_t> parent;       // the monomial without its last variable, one degree less
    std::vector<std::size_t> last;         // that variable
    std::vector<std::size_t> first_child;  // in the next degree: last, last + 1, ... follow
    std::vector<Slope> slopes;
  };
  void grow(std::size_t variables);
  void add_slopes(int degree, std::size_t variables);

  std::vector<Degree> degrees_;
};

}  // namespace mixstream
