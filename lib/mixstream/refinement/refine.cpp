#include "mixstream/refinement/refine.hpp"

#include <stdexcept>
#include <utility>

#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/search.hpp"
#include "mixstream/refinement/starts.hpp"

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

/// Given starts, filled up to `number` with random ones, which take the known noise where there is one.
std::vector<Mixture> filled_up(const MomentTensor& tensor, std::size_t component_count,
                               std::span<const Mixture> starts, int number,
                               const std::vector<double>& known_noise, Random& random) {
  std::vector<Mixture> result(starts.begin(), starts.end());
  const auto wanted = static_cast<std::size_t>(number);
  if (result.size() >= wanted) return result;
  for (Mixture& start : random_starts(tensor, component_count, wanted - result.size(), random)) {
    if (!known_noise.empty()) start.noise_variances = known_noise;
    result.push_back(std::move(start));
  }
  return result;
}

Outcome<RefinedFit> searched(const MomentTensor& tensor, const RowTable& sample, std::size_t component_count,
                             std::span<const Mixture> starts, const RefineSettings& settings,
                             const Mixture* previous) {
  Search search(tensor, sample, component_count, settings);
  if (search.condition_count() < search.parameter_count_needed()) {
    return Refusal{
        Reason::not_identifiable,
        "there are more parameters than independent moments; take fewer components or more features"};
  }
  if (previous) search.try_previous(*previous);
  const bool known = search.accepted() && settings.previous_was_met &&
                     !(settings.seek_rivals && search.likeliest_is_answer());  // more rows, another likeliest
  std::vector<double> known_noise;
  if (settings.noise == NoiseModel::known) {
    known_noise = previous ? previous->noise_variances : starts.front().noise_variances;
  }
  Random random(settings.seed);
  bool found = known;
  for (const int number : {settings.first_starts, settings.more_starts}) {
    if (found) break;
    search.try_batch(filled_up(tensor, component_count, starts, number, known_noise, random));
    if (settings.fall_back) search.try_fall_back();
    search.try_lower_order();
    found = search.accepted();
    starts = {};
  }
  if (search.accepted() && component_count >= many_laws && (!known || settings.seek_rivals))
    search.look_around(known);
  search.compare_with_richer();
  std::optional<RefinedFit> best = search.best();
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
