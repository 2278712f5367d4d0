// Whether rows obey other laws than given ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mixstream/core/mixture.hpp"
#include "mixstream/core/settings.hpp"
#include "mixstream/rows/row_table.hpp"

namespace mixstream {

/// How far rows pull laws away.
struct LawShift {
  double deviations = 0.0;    ///< twice the gain in log-likelihood, a chi-square, as deviations of a normal
  double size = 0.0;          ///< of the law that moved most: root mean square over its rows, in noise sd
  std::size_t component = 0;  ///< that law
  Mixture now;                ///< the laws that the rows ask for

  friend bool operator==(const LawShift&, const LawShift&) = default;
};

/// The likelihood of the rows where only shares and noise are theirs, against the one where laws are theirs,
/// too. In which shares the laws occur, and how loud the noise is, is no shift: rows of a mode that lasts
/// obey its law. A law with few of the rows stays where it was. `rows_behind`: that the laws are known from,
/// whose errors are so no shift; 0: known for sure. Noise: of NoiseModel::known keeps its variance. Rows and
/// laws of other d, or nothing finite: no shift. Allocates; n k d^2 products an iteration, some 20 of them.
LawShift shift_of_laws(const RowTable& rows, const Mixture& laws, NoiseModel noise, double rows_behind);

}  // namespace mixstream
