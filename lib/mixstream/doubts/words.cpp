#include "mixstream/doubts/words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mixstream/core/plain_number.hpp"
#include "mixstream/doubts/terms.hpp"

namespace mixstream {
namespace {

std::string with_sign(double value) {
  return (value < 0.0 ? "" : "+") + plain_number(value);
}

std::string shift_words(const Doubt& doubt) {
  if (doubt.prediction >= 0.005 && doubt.prediction > 1.5 * doubt.shift)
    return fmt::format("{} sd in what is expected of a row", plain_number(doubt.prediction));
  if (doubt.shift < 0.005) return "it hardly moves the laws";
  return fmt::format("{} noise sd at most", plain_number(doubt.shift));
}

/// By what the odds of the laws grow tenfold.
std::string gate_words(const Doubt& doubt) {
  const double tenfold = std::log(10.0) / std::max(std::abs(doubt.size), 1e-12);
  return fmt::format("{} chooses the law: {} more of it changes the odds tenfold: {}", doubt.term,
                     plain_number(tenfold), shift_words(doubt));
}

std::string spread_words(const Doubt& doubt) {
  const double percent = 100.0 * std::expm1(std::clamp(doubt.size, -20.0, 20.0));
  if (std::abs(percent) < 1000.0)
    return fmt::format("the noise changes by {} % per unit of {}: {}", with_sign(percent), doubt.term,
                       shift_words(doubt));
  return fmt::format("the noise doubles with every {} of {}: {}", plain_number(std::log(2.0) / doubt.size),
                     doubt.term, shift_words(doubt));
}

std::string tail_words(const Doubt& doubt) {
  if (doubt.size <= 0.0)
    return fmt::format("large residuals are rarer than Gaussian ones: {}", shift_words(doubt));
  return fmt::format(
      "outliers: large residuals are as frequent as under Student t with {} degrees of freedom: {}",
      plain_number(1.0 / doubt.size), shift_words(doubt));
}

std::string law_words(const Doubt& doubt) {
  return doubt.law ? fmt::format("law {}", *doubt.law + 1) : "every law";
}

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  std::string result;
  for (std::size_t i = 0; i < words.size(); ++i) result += (i == 0 ? "" : between) + words[i];
  return result;
}

/// A term of degree 3 means little without those of degree 2 that divide it: they come along.
std::string term_remedy(const Doubt& doubt, const DoubtContext& context) {
  std::vector<std::string> added;
  const Powers wanted = powers_of(doubt.term);
  for (const Term& term : missing_terms(context.features, 10000)) {
    if (term.name == doubt.term || (!term.factors.empty() && divides(powers_of(term.name), wanted)))
      added.push_back(term.name);
  }
  if (added.empty()) added.push_back(doubt.term);
  std::vector<std::string> map = context.features;
  map.insert(map.end(), added.begin(), added.end());
  return "add " + joined(added, " and ") + ": -x '" + joined(map, ",") + "'";
}

/// A feature of the row before.
std::string lagged(const std::string& feature) {
  std::vector<std::string> factors;
  for (const auto& [column, power] : powers_of(feature))
    factors.push_back("lag(" + column + ",1)" + (power != 1 ? "^" + std::to_string(power) : ""));
  return factors.empty() ? "1" : joined(factors, "*");
}

std::string percent(double share) {
  return plain_number(100.0 * share) + " %";
}

/// Drops each row whose response is that of the row before it.
std::string unstuck_remedy(const std::string& response) {
  return fmt::format(
      "leave out the rows in which {0} is stuck: awk -F, 'NR == 1 {{ for (i = 1; i <= NF; ++i) if ($i == "
      "\"{0}\") c = i }} $c != last; {{ last = $c }}' FILE, and fit what is left",
      response);
}

std::string coincide_words(const Doubt& doubt) {
  if (!doubt.law) return "two laws may coincide";
  if (!doubt.other_law)
    return fmt::format("law {} has {} of the rows: too few to be sure of", *doubt.law + 1,
                       percent(doubt.size));
  return fmt::format("laws {} and {} coincide: {} noise sd apart, less than their errors", *doubt.law + 1,
                     *doubt.other_law + 1, plain_number(doubt.size));
}

}  // namespace

std::string doubt_title(const Doubt& doubt) {
  switch (doubt.kind) {
    case DoubtKind::missing_term:
      return doubt.term + " missing in every law";
    case DoubtKind::missing_term_of_one_law:
      return doubt.term + " missing in one law";
    case DoubtKind::gate:
      return doubt.term + " chooses the law";
    case DoubtKind::persistence:
      return "laws that last";
    case DoubtKind::unequal_noise:
      return "noise unequal between laws";
    case DoubtKind::growing_noise:
      return "noise that follows " + doubt.term;
    case DoubtKind::skewed_noise:
      return "skewed noise";
    case DoubtKind::tails:
      return "outliers or heavy tails";
    case DoubtKind::memory:
      return "noise that remembers";
    case DoubtKind::stuck:
      return "values that repeat";
    case DoubtKind::rounding:
      return "rounding coarser than the noise";
    case DoubtKind::too_many_laws:
      return "a law too many";
    case DoubtKind::too_few_laws:
      return "a law too few";
    case DoubtKind::delay:
      return doubt.size < 0.0 ? "features one row late" : "the response one row late";
  }
  return "unknown";
}

std::string doubt_sentence(const Doubt& doubt, const DoubtContext& context) {
  const std::string& y = context.response;
  switch (doubt.kind) {
    case DoubtKind::missing_term:
    case DoubtKind::missing_term_of_one_law:
      return fmt::format("about {} {} in {}: {}", with_sign(doubt.size), doubt.term, law_words(doubt),
                         shift_words(doubt));
    case DoubtKind::gate:
      return gate_words(doubt);
    case DoubtKind::persistence:
      return fmt::format("a law holds for a while: one change of law in about {} rows",
                         plain_number(doubt.size));
    case DoubtKind::unequal_noise:
      return fmt::format("the noisiest law has {} times the noise of the quietest: {}",
                         plain_number(doubt.size), shift_words(doubt));
    case DoubtKind::growing_noise:
      return spread_words(doubt);
    case DoubtKind::skewed_noise:
      return fmt::format("the noise leans to {} values (skewness {}): {}", doubt.size > 0 ? "large" : "small",
                         plain_number(doubt.size), shift_words(doubt));
    case DoubtKind::tails:
      return tail_words(doubt);
    case DoubtKind::memory:
      return fmt::format("a row keeps {} of the noise of the row before", percent(doubt.size));
    case DoubtKind::stuck:
      return fmt::format("{} repeats its value in {} of rows: {}", y, percent(doubt.size),
                         shift_words(doubt));
    case DoubtKind::rounding:
      if (doubt.size == 0.0) return fmt::format("{} is not rounded", y);
      return fmt::format("{} comes in steps of {}, the noise is {}", y, plain_number(doubt.size),
                         plain_number(context.noise));
    case DoubtKind::too_many_laws:
      return coincide_words(doubt);
    case DoubtKind::too_few_laws:
      return fmt::format("a further law would have about {} of the rows: {}", percent(doubt.size),
                         shift_words(doubt));
    case DoubtKind::delay:
      return fmt::format("{} follows the features of the row {}", y, doubt.size < 0.0 ? "after" : "before");
  }
  return {};
}

std::string doubt_remedy(const Doubt& doubt, const DoubtContext& context) {
  switch (doubt.kind) {
    case DoubtKind::missing_term:
    case DoubtKind::missing_term_of_one_law:
      return term_remedy(doubt, context);
    case DoubtKind::gate:
      return "--modes gated";
    case DoubtKind::persistence:
      return "--modes persistent";
    case DoubtKind::unequal_noise:
      return "--noise per-law";
    case DoubtKind::tails:
      return doubt.size > 0.0 ? "--noise tails" : "the errors are on the safe side";
    case DoubtKind::memory:
      return "--noise memory";
    case DoubtKind::growing_noise:
      return fmt::format("fit log({}), or give rows the weight 1/variance", context.response);
    case DoubtKind::skewed_noise:
      return fmt::format("fit log({}) or its root", context.response);
    case DoubtKind::stuck:
      return unstuck_remedy(context.response);
    case DoubtKind::rounding:
      return "read the sensor at a finer resolution";
    case DoubtKind::too_many_laws:
      return fmt::format("-k {}", std::max<std::size_t>(context.laws, 2) - 1);
    case DoubtKind::too_few_laws:
      return fmt::format("-k {}", context.laws + 1);
    case DoubtKind::delay: {
      if (doubt.size < 0.0)
        return fmt::format("the features come a row late: move {} by one row", context.response);
      std::vector<std::string> features;
      for (const std::string& feature : context.features) features.push_back(lagged(feature));
      return "-x '" + joined(features, ",") + "'";
    }
  }
  return {};
}

}  // namespace mixstream
