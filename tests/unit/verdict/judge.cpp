// The table of the verdict: one row a finding, with evidence that shows it and nothing else.
#include "mixstream/verdict/judge.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

using namespace mixstream;

namespace {

/// A fit without fault: J at its expectation, small errors, nothing lost.
Evidence faultless() {
  Evidence evidence;
  evidence.component_count = 2;
  FitEvidence moments;
  moments.distance = 100.0;
  moments.dof = 100;
  moments.p_value = 0.48;
  moments.line_error = 0.01;
  moments.deviance = moments.climbed_deviance = 5.0;
  moments.expected_deviance = 8.0;
  moments.parameters = 8.0;
  evidence.moments = moments;
  evidence.least_weight = 0.3;
  evidence.least_weight_error = 0.01;
  evidence.doubts_sought = true;
  return evidence;
}

struct Case {
  Finding finding;
  FitStatus status;
  std::function<void(Evidence&)> change;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {Finding::broken_down, FitStatus::poor_fit,
       [](Evidence& e) { e.breakdown = "a matrix is not finite"; }},
      {Finding::spurious, FitStatus::poor_fit,
       [](Evidence& e) {
         e.em = EmEvidence{500, 10, true};
       }},
      {Finding::collapsed_law, FitStatus::poor_fit,
       [](Evidence& e) {
         e.least_weight = 0.019;
         e.laws_by_likelihood = true;
       }},
      {Finding::lost_law, FitStatus::lost_component, [](Evidence& e) { e.least_weight = 0.019; }},
      {Finding::laws_coincide, FitStatus::lost_component, [](Evidence& e) { e.laws_coincide = true; }},
      {Finding::one_law_more, FitStatus::poor_fit, [](Evidence& e) { e.moments->one_law_more_gain = 10.1; }},
      {Finding::one_law_more, FitStatus::poor_fit, [](Evidence& e) { e.law_missing = true; }},
      {Finding::own_noise, FitStatus::poor_fit, [](Evidence& e) { e.moments->own_noise_gain = 10.1; }},
      {Finding::undetermined, FitStatus::poor_fit, [](Evidence& e) { e.moments->line_error = 0.51; }},
      {Finding::unlikely, FitStatus::poor_fit, [](Evidence& e) { e.moments->loss = 0.26; }},
      {Finding::unlikely, FitStatus::poor_fit,
       [](Evidence& e) { e.moments->deviance = e.moments->climbed_deviance = 29.0; }},
      {Finding::not_met_again, FitStatus::poor_fit, [](Evidence& e) { e.moments->met_again = false; }},
      {Finding::rivals, FitStatus::poor_fit, [](Evidence& e) { e.moments->rivals = 1; }},
      {Finding::parted, FitStatus::poor_fit, [](Evidence& e) { e.parted = true; }},
      {Finding::tail_rows, FitStatus::poor_fit,
       [](Evidence& e) {
         e.moments->distance = 1000.0;
         e.tail_suspected = true;
       }},
      {Finding::large_doubt, FitStatus::poor_fit,
       [](Evidence& e) {
         e.doubts = {{0.11, 0.12, true, "u^2 is missing."}};
       }},
      {Finding::unbounded_misfit, FitStatus::poor_fit,
       [](Evidence& e) {
         e.moments->distance = 1000.0;
         e.doubts = {{0.05, 0.51, false, ""}};
       }},
      {Finding::bounded_misfit, FitStatus::approximate,
       [](Evidence& e) {
         e.moments->distance = 1000.0;
         e.doubts = {{0.05, 0.49, false, ""}};
       }},
      {Finding::small_doubt, FitStatus::approximate,
       [](Evidence& e) {
         e.doubts = {{0.09, 0.3, true, "u^2 is missing."}};
       }},
      {Finding::scattered, FitStatus::approximate,
       [](Evidence& e) {
         e.moments.reset();
         e.dispersion = 2.0;
         e.largest_dispersion = 1.9;
       }},
      {Finding::many_refused, FitStatus::approximate, [](Evidence& e) { e.refused_share = 0.11; }},
      {Finding::few_changes, FitStatus::ok, [](Evidence& e) { e.changes = 49.0; }},
      {Finding::lower_order, FitStatus::ok, [](Evidence& e) { e.moments->lower_order = true; }},
      {Finding::cubic, FitStatus::ok, [](Evidence& e) { e.moments->cubic = true; }},
      {Finding::doubtful_chance, FitStatus::ok, [](Evidence& e) { e.moments->p_value = 1e-5; }},
  };
  return all;
}

}  // namespace

TEST_CASE("a fit without fault is ok, and nothing is found") {
  CHECK(judge(faultless()).status == FitStatus::ok);
  CHECK(judge(faultless()).findings.empty());
}

TEST_CASE("each sign alone is found by its name, with its status") {
  std::vector<bool> shown(finding_count);
  for (const Case& one : cases()) {
    CAPTURE(name_of(one.finding));
    Evidence evidence = faultless();
    one.change(evidence);
    const Judgement judgement = judge(evidence);
    CHECK(judgement.status == one.status);
    REQUIRE_FALSE(judgement.findings.empty());
    CHECK(judgement.findings.front() == one.finding);
    shown[static_cast<std::size_t>(one.finding)] = true;
  }
  for (const Rule& rule : rules()) {
    CAPTURE(name_of(rule.finding));
    CHECK(shown[static_cast<std::size_t>(rule.finding)]);
  }
}

TEST_CASE("of two signs the graver one decides, and both are told") {
  Evidence evidence = faultless();
  evidence.refused_share = 0.5;
  evidence.doubts = {{0.2, 0.3, true, "u^2 is missing."}};
  const Judgement judgement = judge(evidence);
  CHECK(judgement.status == FitStatus::poor_fit);
  CHECK(judgement.findings == std::vector{Finding::large_doubt, Finding::many_refused});
}

TEST_CASE("what speaks against laws of the moments says nothing of laws that the likelihood chose") {
  Evidence evidence = faultless();
  evidence.moments->line_error = 1e9;
  evidence.moments->loss = 1e9;
  evidence.laws_by_likelihood = true;
  CHECK(judge(evidence).findings.empty());
}

TEST_CASE("numbers that are no numbers are never ok") {
  Evidence evidence = faultless();
  evidence.moments->distance = std::nan("");
  evidence.doubts_sought = false;
  CHECK(judge(evidence).status == FitStatus::poor_fit);
  evidence = faultless();
  evidence.moments->line_error = std::nan("");
  CHECK(judge(evidence).status == FitStatus::poor_fit);
}

TEST_CASE("the table in the docs has the rows of the table in code, in the same order") {
  const char* const folder = std::getenv("MIXSTREAM_DOCS");
  REQUIRE(folder != nullptr);
  std::ifstream page(std::string(folder) + "/method/verdict.md");
  REQUIRE(page.good());
  std::vector<std::string> rows;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("| `")) continue;
    std::istringstream cells(line);
    std::string bar;
    std::string finding;
    std::string status;
    cells >> bar >> finding >> bar >> status;
    rows.push_back(finding + " " + status);
  }
  std::vector<std::string> wanted;
  for (const Rule& rule : rules())
    wanted.push_back(std::string("`") + name_of(rule.finding) + "` `" + name_of(rule.status) + "`");
  CHECK(rows == wanted);
}

TEST_CASE("how far laws may be off is what was found, and what the held rows leave open") {
  Evidence evidence = faultless();
  CHECK(misfit_of(evidence).shift == 0.0);
  CHECK(misfit_of(evidence).open == 0.0);
  evidence.doubts = {{0.02, 0.09, false, ""}, {0.04, 0.06, true, "u^2"}};
  CHECK(misfit_of(evidence).shift == 0.04);
  CHECK(misfit_of(evidence).open == 0.09);
}
