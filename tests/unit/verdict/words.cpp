#include "mixstream/verdict/words.hpp"

#include <doctest/doctest.h>

using namespace mixstream;

namespace {

Evidence agreeing() {
  Evidence evidence;
  evidence.component_count = 2;
  FitEvidence moments;
  moments.distance = 150.0;
  moments.dof = 100;
  moments.p_value = 0.3;
  moments.expected_ratio = 1.8;
  moments.deviance = 1.0;
  moments.expected_deviance = 8.0;
  evidence.moments = moments;
  evidence.doubts_sought = true;
  return evidence;
}

std::string words(const Evidence& evidence) {
  return words_of(judge(evidence), evidence);
}

bool says(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a fit that agrees is said to agree, unless chance hardly explains its J") {
  Evidence evidence = agreeing();
  CHECK(words(evidence) == "the moments agree with the fit (J/dof 1.50, p 0.3).");
  evidence.moments->p_value = 1e-6;
  CHECK(says(words(evidence), "more than chance explains"));
}

TEST_CASE("words tell a richer model that explains the rows") {
  Evidence evidence = agreeing();
  evidence.moments->one_law_more_gain = 20.0;
  CHECK(says(words(evidence), "3 of them explain the rows far better"));
  evidence.moments->own_noise_gain = 20.0;
  CHECK(says(words(evidence), "--noise per-law"));
}

TEST_CASE("words tell which moments were asked") {
  Evidence evidence = agreeing();
  evidence.moments->cubic = true;
  CHECK(says(words(evidence), "only y, y^2 and y^3 were matched"));
  evidence.moments->cubic = false;
  evidence.moments->lower_order = true;
  CHECK(says(words(evidence), "a few extreme rows"));
}

TEST_CASE("a doubt is told with its own sentence, and with how far the laws may be used") {
  Evidence evidence = agreeing();
  evidence.doubts = {{0.3, 0.35, true, "about +0.1 u^2 in every law: add it."}};
  CHECK(words(evidence) == "do not trust these laws: about +0.1 u^2 in every law: add it.");
  evidence.doubts.front().shift = 0.02;
  CHECK(words(evidence).starts_with("usable: about +0.1 u^2"));
}

TEST_CASE("moments that contradict laws which the held rows bear out are told with the bound") {
  Evidence evidence = agreeing();
  evidence.moments->distance = 5000.0;
  evidence.doubts = {{0.01, 0.04, false, ""}};
  CHECK(says(words(evidence), "more than 0.04 noise sd"));
  CHECK_FALSE(says(words(evidence), "agree"));
}

TEST_CASE("a misfit without a name is told with what the held rows leave open, and with no guess") {
  Evidence evidence = agreeing();
  evidence.moments->distance = 5000.0;
  evidence.doubts = {{0.3, 0.82, false, ""}};
  CHECK(says(words(evidence), "show no cause, and leave open that the laws are off by 0.82 noise sd"));
  CHECK_FALSE(says(words(evidence), "may be wrong"));
  evidence.doubts_sought = false;
  CHECK(says(words(evidence), "no rows are held that could show the cause"));
}

TEST_CASE("EM and a solver that breaks down are told in words of their own") {
  Evidence evidence;
  evidence.em = EmEvidence{500, 10, false};
  CHECK(words(evidence) == "EM on 500 sampled rows from 10 starts.");
  evidence.em->spurious = true;
  CHECK(words(evidence) == "EM on 500 sampled rows from 10 starts: every start ended in a spurious optimum.");
  Evidence broken;
  broken.breakdown = "no number";
  CHECK(words(broken) == "the solver broke down (no number): the data may be degenerate.");
  CHECK(judge(broken).status == FitStatus::poor_fit);
}

TEST_CASE("changes of mode are counted in words, few of them with what that means") {
  Evidence evidence;
  evidence.component_count = 2;
  evidence.dispersion = 1.02;
  evidence.largest_dispersion = 2.0;
  evidence.changes = 300.0;
  CHECK(words(evidence) ==
        "the rows agree with the model: their scores vary 1.02 times as much as it promises. 300 changes of "
        "mode "
        "were seen.");
  evidence.changes = 1.0;
  CHECK(words(evidence).ends_with("1 change of mode was seen: too few changes to know the weights well."));
}

TEST_CASE("no words for a distance below the errors it is held against") {
  Evidence evidence = agreeing();
  evidence.parted = true;
  evidence.parting = 0.6;
  CHECK_FALSE(says(words(evidence), "times as far apart"));
  CHECK_FALSE(says(words(evidence), "wrong optimum"));
  evidence.parting = 900.0;
  CHECK(says(words(evidence), "30 times as far apart as their errors"));
  CHECK(says(words(evidence), "wrong optimum"));
}

TEST_CASE("a J/dof that only heavy-tailed features explain is not told beside agreement") {
  Evidence evidence = agreeing();
  evidence.moments->distance = 1227.0;
  evidence.moments->expected_ratio = 14.0;
  evidence.moments->p_value = 0.65;
  CHECK(words(evidence) == "the moments agree with the fit (p 0.65).");
}

TEST_CASE("nobody is sent to a smaller k where the rows chose it") {
  Evidence evidence = agreeing();
  evidence.laws_coincide = true;
  CHECK(says(words(evidence), "Try -k 1, or wait for more rows."));
  evidence.count_chosen = true;
  CHECK_FALSE(says(words(evidence), "-k"));
  CHECK(words(evidence).ends_with("Wait for more rows."));
}
