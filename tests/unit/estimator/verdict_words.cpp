#include "mixstream/verdict_words.hpp"

#include <doctest/doctest.h>

using namespace mixstream;

namespace {

RefinedFit accepted_fit(double p_value) {
  RefinedFit fit;
  fit.distance = 150.0;
  fit.dof = 100;
  fit.p_value = p_value;
  fit.expected_ratio = 1.8;
  fit.conditions = "order6";
  fit.accepted = true;
  return fit;
}

bool says(const std::string& words, const char* part) {
  return words.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an accepted fit is said to agree, unless chance hardly explains its J") {
  CHECK(verdict_words(accepted_fit(0.3), false) == "the moments agree with the fit (J/dof 1.50, p 0.3).");
  const std::string doubt = verdict_words(accepted_fit(1e-6), false);
  CHECK(doubt.starts_with("accepted with a doubt: J/dof 1.50"));
  CHECK(says(doubt, "p 1e-06"));
  CHECK(says(doubt, "a factor of 1.8"));
}

TEST_CASE("words tell a richer model that explains the rows") {
  RefinedFit fit = accepted_fit(0.3);
  fit.accepted = false;
  fit.mixture.weights = {0.5, 0.5};
  fit.complaints.noise = true;
  CHECK(says(verdict_words(fit, false), "noise per-component"));
  fit.complaints.count = true;
  CHECK(says(verdict_words(fit, false), "3 of them explain the rows far better"));
}

TEST_CASE("a doubt that no tail explains asks for rows, not for a larger sample") {
  RefinedFit fit = accepted_fit(1e-6);
  fit.expected_ratio = 1.02;
  const std::string words = verdict_words(fit, false);
  CHECK(words.starts_with("accepted with a doubt: J/dof 1.50"));
  CHECK(says(words, "More rows decide"));
  CHECK_FALSE(says(words, "--sample"));
}

TEST_CASE("words tell noise that is not Gaussian") {
  RefinedFit fit = accepted_fit(0.3);
  fit.conditions = "q<=3";
  CHECK(says(verdict_words(fit, false), "only y, y^2 and y^3 were matched"));
}

TEST_CASE("words tell when only moments of lower order were asked") {
  RefinedFit fit = accepted_fit(0.3);
  fit.lower_order = true;
  const std::string words = verdict_words(fit, false);
  CHECK(words.starts_with("the moments of lower order agree with the fit (J/dof 1.50, p 0.3)"));
  CHECK(says(words, "a few extreme rows"));
}

TEST_CASE("a rejected fit is told by its complaints, or by its tail") {
  RefinedFit fit = accepted_fit(1e-9);
  fit.accepted = false;
  fit.complaints.search = true;
  const std::string one = verdict_words(fit, false);
  CHECK(says(one, "other starts, which end in other laws, speak against"));
  CHECK(says(one, "noise unequal"));
  fit.complaints.distance = true;
  fit.noise = NoiseModel::per_component;
  const std::string two = verdict_words(fit, false);
  CHECK(says(two, "J, other starts, which end in other laws, speak against"));
  CHECK_FALSE(says(two, "noise unequal"));
  CHECK(says(verdict_words(fit, true), "rows far outside the bulk"));
}
