#include "mixstream/verdict_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace mixstream {
namespace {

constexpr double telling_ratio = 1.1;  // of J, below which the sample's tails are no excuse
constexpr double doubtful_p = 1e-4;    // an accepted fit with less is not said to agree

double ratio_of(const RefinedFit& fit) {
  return fit.distance / static_cast<double>(std::max<std::size_t>(fit.dof, 1));
}

std::string accepted_words(const RefinedFit& fit) {
  if (fit.lower_order) {
    return fmt::format(
        "the moments of lower order agree with the fit (J/dof {:.2f}, p {:.2g}); those of order six do not, "
        "but "
        "they hang on a few extreme rows.",
        ratio_of(fit), fit.p_value);
  }
  const char* const matched = fit.conditions.starts_with("q<=3")
                                  ? "; the noise is not Gaussian, so only y, y^2 and y^3 were matched"
                                  : "";
  if (fit.dof > 0 && fit.p_value < doubtful_p && fit.expected_ratio < telling_ratio) {
    return fmt::format(
        "accepted with a doubt: J/dof {:.2f} is more than chance explains (p {:.2g}). More rows decide; try "
        "another "
        "number of laws, too{}.",
        ratio_of(fit), fit.p_value, matched);
  }
  if (fit.dof > 0 && fit.p_value < doubtful_p) {
    return fmt::format(
        "accepted with a doubt: J/dof {:.2f} is more than chance explains (p {:.2g}), but weights from a "
        "sample with such tails can be wrong by a factor of {:.1f}; a larger --sample decides{}.",
        ratio_of(fit), fit.p_value, fit.expected_ratio, matched);
  }
  return fmt::format("the moments agree with the fit (J/dof {:.2f}, p {:.2g}){}.", ratio_of(fit), fit.p_value,
                     matched);
}

}  // namespace

std::string verdict_words(const RefinedFit& fit, bool tail_suspected) {
  if (fit.accepted) return accepted_words(fit);
  if (tail_suspected) {
    return "do not trust these laws: rows far outside the bulk have ruined the moments. Look at the largest "
           "rows; fewer of them could be set aside.";
  }
  if (fit.complaints.count) {
    return fmt::format("do not trust these laws: {} of them explain the rows far better.",
                       fit.mixture.component_count() + 1);
  }
  if (fit.complaints.noise) {
    return "do not trust these laws: noise of each law's own explains the rows far better (noise "
           "per-component).";
  }
  const std::string against = fit.complaints.text();
  return fmt::format(
      "do not trust these laws: {} speak{} against them (J/dof {:.2f}, p {:.2g}). The number of laws may be "
      "wrong, a feature missing, {}outliers large, or which law holds may depend on x.",
      against, against.find(',') == std::string::npos && !against.ends_with('s') ? "s" : "", ratio_of(fit),
      fit.p_value,
      fit.noise == NoiseModel::shared ? "the noise unequal between laws (noise per-component), " : "");
}

std::string lost_words() {
  return "the moments agree with the fit, but one component is not there: try a smaller k.";
}

std::string doubted_words() {
  return "do not trust these laws yet: other starts met different ones that explain the moments and the "
         "sample of rows as well. More rows decide, or a larger --sample.";
}

std::string parted_words(double distance) {
  return fmt::format(
      "do not trust these laws: the moments and the scores of the rows lead to different ones ({:.1f} times "
      "as far apart as their errors allow). One of them is a wrong optimum: try a smaller k, a larger sample "
      "or "
      "another seed.",
      std::sqrt(distance));
}

std::string modes_words(const Report& report, double dispersion) {
  constexpr double few_changes = 50.0;  // weights then err by more than a seventh of themselves
  std::string words;
  if (report.status == FitStatus::lost_component) {
    words = fmt::format(
        "{} laws explain the rows as well: two of these coincide, or one was hardly ever seen. Try -k {}, or "
        "wait for more rows.",
        report.component_count - 1, report.component_count - 1);
  } else if (report.status == FitStatus::poor_fit) {
    words = fmt::format(
        "do not trust the errors of these laws: what rows say varies {:.1f} times as much from stretch to "
        "stretch as the model promises. {}",
        dispersion,
        report.noise_memory
            ? "A feature may be missing, or laws change slowly."
            : "The noise may remember the row before (--noise memory), a feature may be missing, "
              "or laws change slowly.");
  } else {
    words = fmt::format(
        "the rows agree with the model: their scores vary {:.2f} times as much as it promises.", dispersion);
  }
  if (!report.modes || report.modes->kind != Modes::persistent) return words;
  words += fmt::format(" {:.0f} change{} of mode {} seen", report.modes->changes,
                       std::round(report.modes->changes) == 1.0 ? "" : "s",
                       std::round(report.modes->changes) == 1.0 ? "was" : "were");
  words += report.modes->changes < few_changes ? ": too few changes to know the weights well." : ".";
  return words;
}

}  // namespace mixstream
