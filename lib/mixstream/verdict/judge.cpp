#include "mixstream/verdict/judge.hpp"

#include <algorithm>
#include <array>
#include <boost/math/distributions/chi_squared.hpp>

#include "mixstream/verdict/limits.hpp"

namespace mixstream {
namespace {

/// What the moments say, unless the model is none of theirs.
bool complains(const Evidence& e, bool Complaints::*sign) noexcept {
  return e.moments && complaints_of(*e.moments).*sign;
}

double largest_raised(const Evidence& e) noexcept {
  double largest = -1.0;
  for (const DoubtEvidence& doubt : e.doubts)
    if (doubt.raised) largest = std::max(largest, doubt.shift);
  return largest;
}

double largest_bound(const Evidence& e) noexcept {
  double largest = 0.0;
  for (const DoubtEvidence& doubt : e.doubts) largest = std::max(largest, doubt.bound);
  return largest;
}

bool bounded(const Evidence& e) noexcept {
  return e.doubts_sought && largest_bound(e) < limits::largest_bound;
}

bool accepts(const Evidence& e) noexcept {
  return e.moments && !complaints_of(*e.moments).any();
}

/// Signs of laws from the moments say nothing of laws that the likelihood chose instead.
bool of_moments(const Evidence& e, bool Complaints::*sign) noexcept {
  return !e.laws_by_likelihood && complains(e, sign);
}

bool loses_law(const Evidence& e) noexcept {
  return e.least_weight < limits::weight_errors * e.least_weight_error ||
         e.least_weight < limits::least_weight;
}

using E = const Evidence&;
constexpr std::array<Rule, finding_count> table{{
    {Finding::broken_down, FitStatus::poor_fit, [](E e) noexcept { return !e.breakdown.empty(); }},
    {Finding::spurious, FitStatus::poor_fit, [](E e) noexcept { return e.em && e.em->spurious; }},
    {Finding::collapsed_law, FitStatus::poor_fit,
     [](E e) noexcept { return loses_law(e) && e.laws_by_likelihood; }},
    {Finding::lost_law, FitStatus::lost_component, loses_law},
    {Finding::laws_coincide, FitStatus::lost_component, [](E e) noexcept { return e.laws_coincide; }},
    {Finding::one_law_more, FitStatus::poor_fit,
     [](E e) noexcept { return e.law_missing || complains(e, &Complaints::count); }},
    {Finding::own_noise, FitStatus::poor_fit, [](E e) noexcept { return complains(e, &Complaints::noise); }},
    {Finding::undetermined, FitStatus::poor_fit,
     [](E e) noexcept { return of_moments(e, &Complaints::standard_errors); }},
    {Finding::unlikely, FitStatus::poor_fit,
     [](E e) noexcept { return of_moments(e, &Complaints::likelihood); }},
    {Finding::not_met_again, FitStatus::poor_fit,
     [](E e) noexcept { return complains(e, &Complaints::search); }},
    {Finding::rivals, FitStatus::poor_fit, [](E e) noexcept { return accepts(e) && e.moments->rivals > 0; }},
    {Finding::parted, FitStatus::poor_fit, [](E e) noexcept { return accepts(e) && e.parted; }},
    {Finding::tail_rows, FitStatus::poor_fit,
     [](E e) noexcept { return e.tail_suspected && complains(e, &Complaints::distance); }},
    {Finding::large_doubt, FitStatus::poor_fit,
     [](E e) noexcept { return largest_raised(e) >= e.tolerance; }},
    {Finding::unbounded_misfit, FitStatus::poor_fit,
     [](E e) noexcept { return complains(e, &Complaints::distance) && !bounded(e); }},
    {Finding::bounded_misfit, FitStatus::approximate,
     [](E e) noexcept { return complains(e, &Complaints::distance) && bounded(e); }},
    {Finding::small_doubt, FitStatus::approximate,
     [](E e) noexcept { return largest_raised(e) >= 0.0 && largest_raised(e) < e.tolerance; }},
    {Finding::scattered, FitStatus::approximate,
     [](E e) noexcept { return e.dispersion && *e.dispersion > e.largest_dispersion; }},
    {Finding::many_refused, FitStatus::approximate,
     [](E e) noexcept { return e.refused_share > limits::largest_refused_share; }},
    {Finding::few_changes, FitStatus::ok,
     [](E e) noexcept { return e.changes && *e.changes < limits::few_changes; }},
    {Finding::lower_order, FitStatus::ok, [](E e) noexcept { return accepts(e) && e.moments->lower_order; }},
    {Finding::cubic, FitStatus::ok, [](E e) noexcept { return accepts(e) && e.moments->cubic; }},
    {Finding::doubtful_chance, FitStatus::ok,
     [](E e) noexcept {
       return accepts(e) && e.moments->dof > 0 && e.moments->p_value < limits::doubtful_p;
     }},
}};

}  // namespace

std::span<const Rule> rules() noexcept {
  return table;
}

Judgement judge(const Evidence& evidence) {
  Judgement judgement;
  for (const Rule& rule : table) {
    if (!rule.holds(evidence)) continue;
    if (judgement.findings.empty()) judgement.status = rule.status;
    judgement.findings.push_back(rule.finding);
  }
  return judgement;
}

Misfit misfit_of(const Evidence& evidence) noexcept {
  const double shift = std::max(largest_raised(evidence), 0.0);
  double prediction = 0.0;
  for (const DoubtEvidence& doubt : evidence.doubts)
    if (doubt.raised) prediction = std::max(prediction, doubt.prediction);
  return {shift, std::max(largest_bound(evidence), shift), prediction};
}

double largest_distance(double dof) {
  return boost::math::quantile(
      boost::math::complement(boost::math::chi_squared(dof), limits::rejected_right_fits));
}

Complaints complaints_of(const FitEvidence& e) noexcept {
  Complaints complaints;
  complaints.distance =
      e.dof > 0 && !(e.distance < e.expected_ratio * largest_distance(static_cast<double>(e.dof)));
  complaints.standard_errors = !(e.line_error < limits::largest_line_error);
  const bool unexpected = !(e.deviance < limits::largest_deviance(e.expected_deviance)) &&
                          !(e.climbed_deviance < limits::largest_deviance(e.parameters));
  complaints.likelihood = !(e.loss < limits::largest_loss) || unexpected;
  complaints.noise = e.own_noise_gain > limits::beyond_doubt;
  complaints.count = !complaints.noise && e.one_law_more_gain > limits::beyond_doubt;
  complaints.search = !e.met_again;
  return complaints;
}

const char* name_of(Finding finding) noexcept {
  constexpr std::array<const char*, finding_count> names{
      "broken_down",  "spurious",     "collapsed_law",    "lost_law",       "laws_coincide",  "one_law_more",
      "own_noise",    "undetermined", "unlikely",         "not_met_again",  "rivals",         "parted",
      "tail_rows",    "large_doubt",  "unbounded_misfit", "bounded_misfit", "small_doubt",    "scattered",
      "many_refused", "few_changes",  "lower_order",      "cubic",          "doubtful_chance"};
  return names[static_cast<std::size_t>(finding)];
}

}  // namespace mixstream
