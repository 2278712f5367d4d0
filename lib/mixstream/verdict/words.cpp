#include "mixstream/verdict/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mixstream {
namespace {

double ratio_of(const FitEvidence& moments) {
  return moments.distance / static_cast<double>(std::max<std::size_t>(moments.dof, 1));
}

std::string chance(const Evidence& e) {
  return fmt::format("J/dof {:.2f}, p {:.2g}", ratio_of(*e.moments), e.moments->p_value);
}

/// Features with heavy tails make J/dof of right fits large, too: beside "agree" it would only puzzle.
std::string agreeing_chance(const Evidence& e) {
  constexpr double usual = 2.0;
  return ratio_of(*e.moments) < usual ? chance(e) : fmt::format("p {:.2g}", e.moments->p_value);
}

double largest_bound(const Evidence& e) {
  double largest = 0.0;
  for (const DoubtEvidence& doubt : e.doubts) largest = std::max(largest, doubt.bound);
  return largest;
}

/// The strongest doubt that is raised and as large as it must be.
const DoubtEvidence* first_raised(const Evidence& e, double least) {
  for (const DoubtEvidence& doubt : e.doubts)
    if (doubt.raised && doubt.shift >= least) return &doubt;
  return nullptr;
}

std::string doubt_words(const Evidence& e, double least) {
  const DoubtEvidence* doubt = first_raised(e, least);
  return doubt != nullptr ? doubt->sentence : std::string();
}

/// A cause where the held rows name one; otherwise what they leave open.
std::string cause_words(const Evidence& e) {
  const std::string named = doubt_words(e, 0.0);
  if (!named.empty()) return named;
  if (!e.doubts_sought) return "no rows are held that could show the cause.";
  return fmt::format(
      "the rows that are held show no cause, and leave open that the laws are off by {:.2f} noise sd. More "
      "rows tell.",
      largest_bound(e));
}

std::string scattered_words(const Evidence& e) {
  return fmt::format(
      "what rows say varies {:.1f} times as much from stretch to stretch as the model promises; the errors "
      "are "
      "widened by that. {}",
      *e.dispersion,
      e.noise_remembers
          ? "A feature may be missing, or laws change slowly."
          : "The noise may remember the row before (--noise memory), a feature may be missing, or "
            "laws change slowly.");
}

/// Two estimates of the same laws disagree: they lie apart, or only one of them suits the moments.
std::string parted_words(double parting) {
  const double errors = std::sqrt(std::max(parting, 0.0));
  if (errors < 2.0)
    return "do not trust these laws yet: the moments of all rows contradict what the scores of the rows lead "
           "to, though both are nearly the same laws. More rows decide.";
  return fmt::format(
      "do not trust these laws: the moments and the scores of the rows lead to different ones, {:.0f} times "
      "as far apart as their errors. One of the two is a wrong optimum: give another --seed.",
      errors);
}

std::string em_words(const Evidence& e) {
  return fmt::format("EM on {} sampled rows from {} starts", e.em->rows, e.em->starts);
}

/// The sentence of a finding that decides.
std::string sentence(Finding finding, const Evidence& e) {
  const std::size_t k = e.component_count;
  switch (finding) {
    case Finding::broken_down:
      return fmt::format("the solver broke down ({}): the data may be degenerate.", e.breakdown);
    case Finding::spurious:
      return em_words(e) + ": every start ended in a spurious optimum.";
    case Finding::collapsed_law:
      return "do not trust these laws: one of them has collapsed onto a few rows, and the moments contradict "
             "all of them. Look at the largest rows, or let the noise have tails (--noise tails).";
    case Finding::lost_law:
      return "one law is not there: its weight is within its own error. Fewer laws explain the rows as well.";
    case Finding::laws_coincide:
      return fmt::format(
          "{} the rows as well: two of these coincide, or one was hardly ever seen. {}ait for more rows.",
          k == 2 ? std::string("one law explains") : fmt::format("{} laws explain", k - 1),
          e.count_chosen ? std::string("W") : fmt::format("Try -k {}, or w", k - 1));
    case Finding::one_law_more:
      return fmt::format("do not trust these laws: {} of them explain the rows far better.", k + 1);
    case Finding::own_noise:
      return "do not trust these laws: noise of each law's own explains the rows far better (--noise "
             "per-law).";
    case Finding::undetermined:
      return "do not trust these laws: the rows do not determine them, their errors are as large as the "
             "response itself. Wait for more rows, or ask for fewer laws.";
    case Finding::unlikely:
      return "do not trust these laws: other laws explain the sample of rows far better, but not the moments "
             "of all rows. Wait for more rows.";
    case Finding::not_met_again:
      return "do not trust these laws yet: no other start of the search came back to them. More rows decide.";
    case Finding::rivals:
      return "do not trust these laws yet: other starts met different ones that explain the rows as well. "
             "More rows decide.";
    case Finding::parted:
      return parted_words(e.parting);
    case Finding::tail_rows:
      return "do not trust these laws: rows far outside the bulk have ruined the moments. Look at the "
             "largest rows, or let the noise have tails (--noise tails).";
    case Finding::large_doubt:
      return "do not trust these laws: " + doubt_words(e, e.tolerance);
    case Finding::unbounded_misfit:
      return fmt::format("do not trust these laws: the moments of all rows contradict them ({}): {}",
                         chance(e), cause_words(e));
    case Finding::bounded_misfit:
      return fmt::format(
          "usable with care: the moments of all rows contradict the model ({}), but the rows that are held "
          "exclude that what is missing moves the laws by more than {:.2f} noise sd.",
          chance(e), largest_bound(e));
    case Finding::small_doubt:
      return "usable: " + doubt_words(e, 0.0);
    case Finding::scattered:
      return "usable with care: " + scattered_words(e);
    case Finding::many_refused:
      return fmt::format("{:.0f} % of the rows were refused: the laws are those of the others only.",
                         100.0 * e.refused_share);
    default:
      return {};
  }
}

/// What else a reader should know, beside what decided.
std::string remark(Finding finding, const Evidence& e) {
  switch (finding) {
    case Finding::few_changes:
      return "too few changes to know the weights well.";
    case Finding::lower_order:
      return "Moments of order six hang on a few extreme rows and were left out.";
    case Finding::cubic:
      return "The noise is not Gaussian, so only y, y^2 and y^3 were matched.";
    case Finding::doubtful_chance:
      return "That is more than chance explains: more rows decide.";
    case Finding::many_refused:
      return sentence(Finding::many_refused, e);
    default:
      return {};
  }
}

std::string agreement(const Evidence& e) {
  if (e.em) return em_words(e) + ".";
  if (e.dispersion)
    return fmt::format(
        "the rows agree with the model: their scores vary {:.2f} times as much as it promises.",
        *e.dispersion);
  if (e.moments && e.moments->dof > 0)
    return fmt::format("the moments agree with the fit ({}).", agreeing_chance(e));
  return "nothing speaks against the fit.";
}

std::string changes_words(double changes) {
  const bool one = std::round(changes) == 1.0;
  return fmt::format("{:.0f} change{} of mode {} seen", changes, one ? "" : "s", one ? "was" : "were");
}

}  // namespace

std::string words_of(const Judgement& judgement, const Evidence& evidence) {
  std::string words;
  if (judgement.status != FitStatus::ok) words = sentence(judgement.findings.front(), evidence);
  if (words.empty()) words = agreement(evidence);
  const auto has = [&](Finding finding) {
    return std::ranges::find(judgement.findings, finding) != judgement.findings.end();
  };
  if (evidence.changes) {
    words += " " + changes_words(*evidence.changes);
    words += has(Finding::few_changes) ? ": " : ".";
  }
  for (std::size_t i = judgement.status == FitStatus::ok ? 0 : 1; i < judgement.findings.size(); ++i) {
    const std::string more = remark(judgement.findings[i], evidence);
    if (!more.empty()) words += (words.ends_with(": ") ? "" : " ") + more;
  }
  return words;
}

}  // namespace mixstream
