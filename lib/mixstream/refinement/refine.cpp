#include "mixstream/refinement/refine.hpp"

#include <stdexcept>
#include <utility>

#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/candidates.hpp"
#include "mixstream/refinement/search.hpp"

namespace mixstream {
namespace {

Done check_input(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count) {
  if (component_count == 0) return Refusal{Reason::bad_settings, "a mixture needs at least one component"};
  if (sample.feature_count != static_cast<std::size_t>(tensor.layout().feature_count)) {
    return Refusal{Reason::wrong_shape, "the sample's rows do not have the tensor's number of features"};
  }
  if (sample.size() < 2 || !(tensor.effective_rows > 0.0)) {
    return Refusal{Reason::too_few_rows, "refinement needs rows; absorb some first"};
  }
  return std::monostate{};
}

Outcome<RefinedFit> searched(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
                             std::span<const Mixture> starts, const RefineSettings& settings,
                             const Mixture* previous) {
  const SearchProblem problem(tensor, sample, component_count, settings);
  if (problem.conditions.size() < problem.parameters) {
    return Refusal{
        Reason::not_identifiable,
        "there are more parameters than independent moments; take fewer components or more features"};
  }
  Found found;
  if (previous) found = from_previous(problem, std::move(found), *previous);
  const bool known =
      found.accepted() && settings.previous_was_met &&
      !(settings.seek_rivals && problem.likeliest_is_answer());  // more rows, another likeliest
  std::vector<double> known_noise;
  if (settings.noise == NoiseModel::known) {
    known_noise = previous ? previous->noise_variances : starts.front().noise_variances;
  }
  Random random(settings.seed);
  bool enough = known;
  for (const int number : {settings.first_starts, settings.more_starts}) {
    if (enough) break;
    found = from_starts(problem, std::move(found),
                        filled_up(tensor, component_count, starts, number, known_noise, random));
    if (settings.fall_back) found = by_low_powers(problem, std::move(found));
    found = by_lower_order(problem, std::move(found));
    enough = found.accepted();
    starts = {};
  }
  if (found.accepted() && component_count >= many_laws && (!known || settings.seek_rivals))
    found = looked_around(problem, std::move(found), known);
  std::optional<RefinedFit> best = answer(beside_richer(problem, std::move(found)));
  if (!best) return Refusal{Reason::numerical, "no start led to a finite fit; look for outliers"};
  return *std::move(best);
}

}  // namespace

Outcome<RefinedFit> refine(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
                           std::span<const Mixture> starts, const RefineSettings& settings,
                           const Mixture* previous) {
  const Done input = check_input(tensor, sample, component_count);
  if (!input) return input.refusal();
  if (settings.noise == NoiseModel::known && starts.empty() && !previous) {
    return Refusal{Reason::bad_settings, "with known noise a start must carry the noise variances"};
  }
  try {
    return searched(tensor, sample, component_count, starts, settings, previous);
  } catch (const std::runtime_error& error) {
    return Refusal{Reason::numerical,
                   std::string(error.what()) + "; look for outliers or features without scale"};
  }
}

}  // namespace mixstream
