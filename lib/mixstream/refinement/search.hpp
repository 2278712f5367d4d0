// One search for an accepted fit, as a pipeline: a problem that stays, what was found so far, and stages that
// take the one and give more of the other. For .cpp files of this folder and their tests.
//
// Every stage allocates, and costs refinements and runs of EM; none keeps anything but what it returns.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/law_swaps.hpp"
#include "mixstream/refinement/conditions.hpp"
#include "mixstream/refinement/examiner.hpp"
#include "mixstream/refinement/refine.hpp"
#include "mixstream/refinement/sample_prior.hpp"

namespace mixstream {

/// What all stages share. Keeps references to what it is given.
struct SearchProblem {
  SearchProblem(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
                const RefineSettings& settings);

  const MomentTensor& tensor;
  const RowTable& sample;
  const RefineSettings& settings;
  std::size_t component_count;
  std::size_t parameters;
  DenseMatrix second_moment;
  Conditions conditions;
  Examiner examiner;
  RowBlocks rows;
  RowBlocks thin_rows;  ///< few of them, for starts

  /// Whether the sample still holds every row.
  bool sample_is_stream() const noexcept;

  /// Then no estimate knows more than EM's likeliest optimum. Where parameters are many the moments of so few
  /// rows stray from it, so it is taken as it is, and all search is for it.
  bool likeliest_is_answer() const noexcept;

  /// Swaps in a row that may bring nothing before a search ends.
  int patience() const noexcept { return static_cast<int>(component_count * (component_count + 1)); }

  EmSettings em(int iterations) const;
  SwapSettings swaps() const;
  EmFit settled(const Mixture& start) const { return fit_em(rows, start, em(settings.warm_iterations)); }
};

struct Found {
  std::optional<RefinedFit> best;
  std::vector<RefinedFit> fits;  ///< all that were accepted, each once
  /// Of EM on the sample: mean log-likelihood of the likeliest, and the optima met on all rows and on few.
  double likeliest = -std::numeric_limits<double>::infinity();
  std::vector<Mixture> optima;
  std::vector<Mixture> rough_optima;
  int tried = 0;          ///< refinements
  Complaints complaints;  ///< about the last of them; none where it led nowhere

  struct Previous {
    double distance;
    std::size_t condition_count;
    int tried;  ///< refinements from there
  };
  std::optional<Previous> previous;

  bool accepted() const noexcept { return best && best->accepted; }
  bool only_sample_complains() const noexcept {
    return !accepted() && complaints.any() && !complaints.distance;
  }
};

/// With what EM has reached.
Found saw(Found found, double mean_log_likelihood);

/// With the fit refined from a start, if it is finite and not hopeless beside the best one.
struct RefineFrom {
  int highest_power = highest_response_power;
  int rounds = 3;
  const SamplePrior* prior = nullptr;
};
Found refined(const SearchProblem& problem, Found found, const Mixture& start, const RefineFrom& how = {});

/// Straight from the previous fit: its weights are nearly right already, so one round does.
Found from_previous(const SearchProblem& problem, Found found, const Mixture& previous);

/// EM on few rows from every start, then on all rows from each optimum that is new: into `optima`, ranked.
struct Warmed {
  Found found;
  std::vector<EmFit> optima;
};
Warmed warmed(const SearchProblem& problem, Found found, const std::vector<Mixture>& starts);

/// From EM's optima, likeliest first, until one is accepted and no other is as likely. Then from where EM
/// has hardly begun: on few rows it can leave the right valley that many rows would show. With two laws
/// EM's optima have been enough.
Found from_starts(const SearchProblem& problem, Found found, std::vector<Mixture> starts);

/// Where few extreme rows carry the moments of order six, the sample cannot know how far those stray, and J
/// of a right fit may be anything. Then the laws are refined by moments of lower order, whose J decides.
Found by_lower_order(const SearchProblem& problem, Found found);

/// Powers of y above the third bring the noise's fourth moment in: without them its shape matters less.
/// Where they did no harm after all, the whole set agrees from there.
Found by_low_powers(const SearchProblem& problem, Found found);

/// While the sample holds every row, it knows more than J, for which those are few: whether noise of each
/// law's own, or one law more, explains them far better.
Found beside_richer(const SearchProblem& problem, Found found);

/// Looks around an accepted fit by EM on the sample. With many laws the sample has many optima: one that is
/// met only once says nothing of those never met, so other starts must come back to it, unless it is
/// `known` from before. And optima that the sample does not exclude, one swap away or where those starts
/// end, are refined: the moments of all rows may find them as good.
Found looked_around(const SearchProblem& problem, Found found, bool known);

/// The best fit there is, with J of the previous one beside it.
std::optional<RefinedFit> answer(Found found);

}  // namespace mixstream
