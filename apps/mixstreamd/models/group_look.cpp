#include "group_look.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "mixstream/likelihood/law_shift.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/matching.hpp"

namespace mixstream {
namespace {

std::optional<LawReading> reading_of(const RowTable& recent, const std::optional<KnownLaws>& known,
                                     NoiseModel noise) {
  if (!known || recent.size() == 0) return std::nullopt;
  const LawShift shift = shift_of_laws(recent, known->laws, noise, known->rows);
  return LawReading{shift.deviations, shift.size, shift.component};
}

}  // namespace

GroupLook look_at(GroupCopy copy, const EstimatorSettings& settings, const std::optional<KnownLaws>& fleet,
                  const std::optional<KnownLaws>& before) {
  GroupLook look;
  look.rows = copy.rows;
  const Report report = estimator_in(copy, settings)->fit();
  look.status = report.status;
  if (is_usable(report.status) && !report.components.empty()) {
    Mixture own = report.mixture();
    if (fleet && fleet->laws.component_count() == own.component_count())
      own = relabelled(own, matching_order(fleet->laws, own));
    look.laws = KnownLaws{std::move(own), report.effective_rows};
  }
  look.drift = reading_of(copy.recent, look.laws ? look.laws : before, settings.solve.noise);
  look.departure = reading_of(copy.recent, fleet, settings.solve.noise);
  if (fleet && copy.recent.size() > 0) {
    std::vector<double> probabilities(fleet->laws.component_count());
    responsibilities(fleet->laws, copy.recent.row(copy.recent.size() - 1), probabilities);
    const auto likeliest = std::ranges::max_element(probabilities);
    look.mode = static_cast<std::size_t>(likeliest - probabilities.begin());
    look.mode_probability = *likeliest;
  }
  return look;
}

}  // namespace mixstream
