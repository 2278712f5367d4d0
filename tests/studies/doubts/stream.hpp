// Streams with a planted fault, or with none, and the fit that they are judged at. Shares no code with the
// library's simulation: only its fitting is used.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mixstream/doubts/look.hpp"
#include "mixstream/modes/model.hpp"

namespace doubts_study {

/// How rows are made. As it stands: three laws in 1, flow, head; every row by itself; Gaussian noise.
struct Recipe {
  std::size_t rows = 20000;
  std::size_t laws = 3;
  // The columns: u, v in [-1, 1]; the user sees flow = 20 + 5 u and head = 3 + 0.5 v, and power = 100 + 10 y.
  double wander = 0.0;         ///< AR(1) of the columns
  bool normal_column = false;  ///< one normal column u, features 1, flow, flow^2
  std::size_t levels = 0;      ///< columns take so many values
  // The laws.
  double curve = 0.0;         ///< u^2 in every law, in noise sd
  double curve_of_one = 0.0;  ///< in the first law
  double product = 0.0;       ///< u v in every law
  double apart = 3.0;         ///< laws lie at least so many noise sd apart, rms
  // Who chooses.
  double gate = 0.0;             ///< logits of the first and last law: +- this times u
  double between_changes = 0.0;  ///< rows from change to change; 0: by chance
  double rare = 0.0;             ///< weight of a further law, left out of the fit, `rare_apart` noise sd away
  double rare_apart = 0.0;
  bool leave_one_out = false;  ///< the fit has one law fewer: the last lies `near` from the one before
  double near = 0.0;
  bool one_too_many = false;
  // The noise.
  double ratio = 1.0;        ///< noise of the first law over that of the others
  double growth = 0.0;       ///< log s^2 = growth u
  double freedom = 0.0;      ///< Student t of the same variance
  double gamma_shape = 0.0;  ///< noise is a centred Gamma of this shape
  double memory = 0.0;
  double outliers = 0.0;  ///< share of rows with eight times the noise
  double stuck = 0.0;     ///< share of rows in stretches of 50 that repeat y
  double step = 0.0;      ///< of rounding, in noise sd
  bool late = false;      ///< y follows the columns of the row before
  // What is fitted.
  mixstream::Modes modes = mixstream::Modes::independent;
  bool tails = false;
  bool bare = false;  ///< the user sees u, v and y as they are
};

/// A stream's rows in raw units with what the study must know.
struct Stream {
  mixstream::RowTable rows;
  std::vector<std::string> features;
  mixstream::Mixture truth;        ///< laws of the fit, raw units, at the planted fault of zero
  std::vector<double> law_values;  ///< rows x laws: what each fitted law truly says
  std::vector<double> noise;       ///< of each fitted law, raw units
  double gate_per_unit = 0.0;      ///< of flow
};
Stream make_stream(const Recipe& recipe, std::uint64_t seed);

/// The maximum likelihood fit of all rows, from the truth; pilot coordinates; and the rows as an estimator
/// holds them.
struct Fitted {
  mixstream::ModeShape shape;
  mixstream::ModeModel model;
  mixstream::Layout layout;
  mixstream::Pilot pilot;
  mixstream::RowTable sample;
  mixstream::Runs runs;
  double shift = 0.0;  ///< largest rms over rows of fitted law minus true law, in noise sd
};
Fitted fit_stream(const Recipe& recipe, const Stream& stream, std::uint64_t seed);

std::vector<mixstream::Doubt> doubts_of(const Stream& stream, const Fitted& fitted);

}  // namespace doubts_study
