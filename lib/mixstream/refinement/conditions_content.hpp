// What Conditions holds. Includes Blaze: for .cpp files of this folder only.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "mixstream/linalg/blaze.hpp"
#include "mixstream/refinement/conditions.hpp"
#include "mixstream/refinement/monomial_table.hpp"

namespace mixstream {

struct Conditions::Content {
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

  Content(const MomentTensor& tensor, const RowTable& rows, const ConditionSet& wanted);

  void add_block(const MomentTensor& tensor, int power);
  void add_map(const MomentTensor& tensor, int degree, int law_degree);
  void add_instruments();

  /// beta_h in the order of z's variables.
  std::vector<double> law_in_variables(const Mixture& mixture, std::size_t component) const;
  std::size_t variable_of_feature(std::size_t feature) const;

  ConditionSet set;
  Layout layout;
  double effective_rows;
  RowTable sample;
  MonomialTable law_monomials;
  std::vector<Block> blocks;
  std::vector<double> observed;
  std::map<int, linalg::Matrix> basis;  // degree -> orthonormal instruments over cvec
  /// (r, s) -> d/d beta_j of basis_r E[phi_r phi_s'] phi_s(beta) as a linear map of the monomials of degree
  /// s - 1 of beta: row (condition, j). For s = 0 the constants themselves.
  std::map<std::pair<int, int>, linalg::Matrix> maps;
  std::map<int, Instruments> instruments;  // by degree
};

}  // namespace mixstream
