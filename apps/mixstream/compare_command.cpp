#include "compare_command.hpp"

#include <fmt/format.h>

#include <cmath>

#include "exit_codes.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "model_file.hpp"
#include "output.hpp"
#include "words.hpp"

namespace mixstream {
namespace {

std::string comparison(const FittedLaws& fit, const FittedLaws& truth) {
  const Mixture found = relabelled(fit.mixture, matching_order(truth.mixture, fit.mixture));
  std::string out = fmt::format("{:<12}", "");
  for (std::size_t h = 0; h < found.component_count(); ++h)
    out += fmt::format(
        "   {:>22}", fmt::format("law {} {}", h + 1, truth.status.empty() ? "found (true)" : "here (there)"));
  const auto line = [&](const std::string& name, auto value) {
    out += fmt::format("\n{:<12}", name);
    for (std::size_t h = 0; h < found.component_count(); ++h) {
      out +=
          fmt::format("   {:>22}", fmt::format("{:.4f} ({:.4f})", value(found, h), value(truth.mixture, h)));
    }
  };
  line("weight", [](const Mixture& mixture, std::size_t h) { return mixture.weights[h]; });
  for (std::size_t f = 0; f < fit.features.size(); ++f) {
    line(fit.features[f], [f](const Mixture& mixture, std::size_t h) { return mixture.law(h)[f]; });
  }
  line("noise sd",
       [](const Mixture& mixture, std::size_t h) { return std::sqrt(mixture.noise_variances[h]); });
  return out + fmt::format("\n{} of all coefficients together, |B* - B|: {:.4f}\n",
                           truth.status.empty() ? "error" : "difference",
                           coefficient_error(truth.mixture, found));
}

}  // namespace

void CompareCommand::add_to(CLI::App& command) {
  command.add_option("-m,--model", model, "A fit: the output of mixstream fit --json")
      ->type_name("FILE")
      ->required();
  command
      .add_option("--truth", truth, "The true laws: written by mixstream simulate --truth, or another fit")
      ->type_name("FILE")
      ->required();
  command.footer(
      "Example:\n  mixstream simulate -k 2 -x 1,t --truth truth.json | mixstream fit -k 2 -y y -x 1,t > "
      "fit.json\n"
      "  mixstream compare -m fit.json --truth truth.json");
}

int CompareCommand::run() const {
  const Outcome<FittedLaws> fit = read_model(model);
  const Outcome<FittedLaws> right = read_model(truth);
  for (const auto* laws : {&fit, &right}) {
    if (!*laws) return fail_with(exit_data, laws->refusal().text);
  }
  if (fit.value().features != right.value().features ||
      fit.value().mixture.component_count() != right.value().mixture.component_count()) {
    return fail_with(exit_data, "the two have different features or numbers of laws");
  }
  FitOutput out(OutputFormat::table, false);
  return out.write(comparison(fit.value(), right.value())) || out.closed() ? exit_fitted : exit_data;
}

}  // namespace mixstream
