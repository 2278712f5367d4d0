// Looks of one concern on one set of rows: all are tested, the strongest is taken, the rest is tested again.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "mixstream/doubts/doubt.hpp"
#include "mixstream/doubts/extension.hpp"
#include "mixstream/doubts/held.hpp"
#include "mixstream/doubts/prediction.hpp"
#include "mixstream/doubts/sums.hpp"

namespace mixstream {

/// One family of looks: told by the best of them.
struct LookFamily {
  Doubt doubt;
  std::size_t look = 0;      // the best
  std::size_t looks = 0;     // in all
  double strength = -1e300;  // T - dof log n
  bool open = true;          // neither raised nor told by another
};

/// One thread at a time. Refers to model and shape, which outlive it.
class LookSearch {
 public:
  LookSearch(const ModeModel& model, const ModeShape& shape, const RawUnits& units, HeldDesign design,
             Concern concern, double all_rows);

  /// Reads the rows: scores of the model and of every look. Allocates.
  void see(const Watch& watch);

  std::size_t look_count() const noexcept { return extension_.looks().size(); }
  std::vector<LookFamily>& families() noexcept { return families_; }
  const HeldDesign& design() const noexcept { return design_; }
  const Projection& projection() const noexcept { return *projection_; }

  /// Tests every look. `dependent`: rows depend on each other in a way that the model lacks;
  /// `gates_by_stretches`: that is not excluded. Allocates.
  void test(bool dependent, bool gates_by_stretches);

  /// Raises the strongest of those that are sure alone and beside the ones taken. False: none is. Allocates.
  bool take_strongest(double level);

 private:
  void describe(const Look& look, const LookResult& result, Doubt& doubt);
  double prediction_by_step(const Look& look, const LookResult& result, std::span<const double> terms);

  const ModeModel& model_;
  const ModeShape& shape_;
  HeldDesign design_;
  Extension extension_;
  double all_rows_;
  DoubtSums sums_;
  std::optional<Projection> projection_;
  std::vector<LookFamily> families_;
  std::vector<Expected> expected_;  // by the model, once it is asked for
};

}  // namespace mixstream
