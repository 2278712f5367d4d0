// One search for an accepted fit: what all its starts share. For .cpp files of this folder only.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/law_swaps.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/conditions.hpp"
#include "mixstream/refinement/examiner.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/refinement/sample_prior.hpp"

namespace mixstream {

/// Keeps references to what it is given. Allocates; one thread at a time.
class Search {
 public:
  Search(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
         const RefineSettings& settings);

  std::size_t condition_count() const noexcept { return conditions_.size(); }
  std::size_t parameter_count_needed() const noexcept { return parameters_; }
  bool accepted() const noexcept { return best_ && best_->accepted; }

  /// Whether the sample still holds every row.
  bool sample_is_stream() const noexcept { return tensor_.effective_rows < 1.001 * examiner_.sample_rows(); }

  /// Then no estimate knows more than EM's likeliest optimum. Where parameters are many the moments of so few
  /// rows stray from it, so it is taken as it is, and all search is for it.
  bool likeliest_is_answer() const noexcept {
    return sample_is_stream() && is_crowded(component_count_, parameters_);
  }

  /// The best fit there is, with J of the previous one beside it.
  std::optional<RefinedFit> best() const;

  /// Straight from the previous fit: its weights are nearly right already, so one round does.
  void try_previous(const Mixture& previous);

  /// From EM's optima, likeliest first, until one is accepted and no other is as likely. Then from where EM
  /// has hardly begun: on few rows it can leave the right valley that many rows would show. With two laws
  /// EM's optima have been enough.
  void try_batch(std::vector<Mixture> starts);

  /// Where few extreme rows carry the moments of order six, the sample cannot know how far those stray, and J
  /// of a right fit may be anything. Then the laws are refined by moments of lower order, whose J decides.
  void try_lower_order();

  /// Powers of y above the third bring the noise's fourth moment in: without them its shape matters less.
  /// Where they did no harm after all, the whole set agrees from there.
  void try_fall_back();

  /// While the sample holds every row, it knows more than J, for which those are few: whether noise of each
  /// law's own, or one law more, explains them far better.
  void compare_with_richer();

  /// Looks around an accepted fit by EM on the sample. With many laws the sample has many optima: one that is
  /// met only once says nothing of those never met, so other starts must come back to it, unless it is
  /// `known` from before. And optima that the sample does not exclude, one swap away or where those starts
  /// end, are refined: the moments of all rows may find them as good.
  void look_around(bool known);

 private:
  EmSettings per_component_noise() const;

  /// BIC that one law more gains; starts end with the first gain beyond doubt.
  double gain_of_one_more(const EmFit& own);

  /// BIC that the richer model gains on the sample; none where it has shrunk onto a few rows.
  double gain_of(const EmFit& richer, const EmFit& own) const;

  /// Few rows of the sample, once a search needs them.
  const RowBlocks& thin_rows();

  EmFit settled(const Mixture& start) { return fit_em(rows_, start, em_settings(settings_.warm_iterations)); }

  SwapSettings swap_settings() const;

  /// Swaps in a row that may bring nothing before a search ends.
  int patience() const { return static_cast<int>(component_count_ * (component_count_ + 1)); }

  /// Starts that look for rivals, at least: fewer where one takes seconds.
  int rival_starts() const noexcept;

  /// The likeliest of EM's optima, and what swaps of its laws lead to.
  std::vector<EmFit> improved(std::vector<EmFit> optima);

  Mixture random_start(Random& random) const;

  /// From a start of its own towards the optimum's likelihood, by EM and swaps.
  EmFit climbed(const Mixture& start, const EmFit& optimum, LawSwaps& swaps);

  double deviations_below(const EmFit& other, const EmFit& optimum) const;

  /// Refines from another optimum of the sample, unless that is known or hopeless.
  void consider(const EmFit& other, EmFit& optimum);

  /// From the best fit, beyond its errors.
  bool lies_apart(const Mixture& mixture) const;

  std::ptrdiff_t times_met(const EmFit& optimum) const;

  /// Accepted fits whose J is nearly the least.
  std::vector<RefinedFit> near_in_distance() const;

  /// Where J hardly decides, the sample does.
  void prefer_likelier(EmFit& optimum);

  /// Accepted fits that lie apart from the best beyond its errors, and that neither J nor the sample
  /// excludes.
  int count_rivals(const EmFit& optimum);

  std::size_t thin_stride(std::size_t rows) const;

  EmSettings em_settings(int iterations) const;

  double deviance(const EmFit& fit) const;

  double plausible_deviance() const;

  /// EM on few rows from every start, then on all rows from each optimum that is new; those that are not
  /// hopeless, best likelihood first.
  std::vector<EmFit> warmed(const std::vector<Mixture>& starts);

  bool is_known(const Mixture& mixture, const std::vector<Mixture>& seen) const;

  bool only_sample_complains() const noexcept;

  /// The moments agree but leave something open that the sample closes: so let it, near EM's optimum there.
  void refine_with_sample(const Mixture& optimum, const Mixture& start);

  /// EM's optimum as it is, held against the moments of the same rows: no estimate knows more of them.
  void take_optimum(const Mixture& optimum, const SamplePrior& known);

  /// The same for the optimum that this start leads to.
  void climb_from(const Mixture& start);

  void refine_from(const Mixture& start, int highest_power, int rounds, const SamplePrior* prior = nullptr);

  void compare(RefinedFit fit);

  /// Accepted before rejected; all conditions before some; then, of accepted fits, the lesser J, which all
  /// rows decide; of rejected ones, and while the sample holds every row, the likelier on the sample.
  bool beats(const RefinedFit& one, const RefinedFit& two) const;

  const MomentTensor& tensor_;
  const RowTable& sample_;
  const RefineSettings& settings_;
  std::size_t component_count_;
  std::size_t parameters_;
  DenseMatrix second_moment_;
  Conditions conditions_;
  Examiner examiner_;
  RowBlocks rows_;
  std::optional<RowBlocks> thin_rows_;
  std::vector<Mixture> seen_;        // optima of EM on all rows of the sample
  std::vector<Mixture> rough_seen_;  // and on few
  std::vector<Mixture> around_;      // where EM ended while looking around, one for each start
  std::vector<Mixture> considered_;  // and from where the moments were refined meanwhile
  std::vector<RefinedFit> accepted_;
  std::optional<RefinedFit> best_;
  struct Previous {
    double distance;
    std::size_t condition_count;
    int tried;  // refinements from there
  };
  std::optional<Previous> previous_;
  Complaints last_complaints_;
  int tried_ = 0;
  int refined_around_ = 0;
};

}  // namespace mixstream
