// Each stage of the search by itself: what it takes and what it adds to what was found.
#include "mixstream/refinement/search.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/refinement/candidates.hpp"
#include "mixstream/refinement/hausman.hpp"
#include "mixstream/refinement/starts.hpp"
#include "support/kept.hpp"

using namespace mixstream;
using namespace experiments;

namespace {

const Setting plane{"plane", "1,u,v", 2};

/// 20,000 rows of two planes, 5,000 of them held, and the truth in pilot coordinates.
struct Stream {
  explicit Stream(std::size_t rows = 20000, const Setting& setting = plane)
      : drawn(draw(setting, rows, 41)),
        kept(keep(drawn)),
        truth(to_pilot(drawn.truth, drawn.layout, kept.pilot)),
        problem(kept.tensor, kept.sample, setting.k, settings) {}

  RefineSettings settings;
  Drawn drawn;
  Kept kept;
  Mixture truth;
  SearchProblem problem;
};

}  // namespace

TEST_CASE("a refinement from the truth is accepted, and is counted once however often it is met") {
  const Stream stream;
  Found found = refined(stream.problem, {}, stream.truth);
  REQUIRE(found.accepted());
  CHECK(found.tried == 1);
  CHECK_FALSE(found.complaints.any());
  found = refined(stream.problem, std::move(found), stream.truth);
  CHECK(found.tried == 2);
  CHECK(found.fits.size() == 1);
}

TEST_CASE("a start from which nothing can be refined leaves what was found") {
  const Stream stream;
  Found found = refined(stream.problem, {}, stream.truth);
  const double distance = found.best->distance;
  Mixture far = stream.truth;
  for (double& coefficient : far.coefficients) coefficient *= 1e200;
  found = refined(stream.problem, std::move(found), far);
  CHECK(found.tried == 2);
  CHECK_FALSE(found.complaints.any());
  CHECK(found.best->distance == distance);
}

TEST_CASE("the previous fit is refined once, and its J stands beside the answer's") {
  const Stream stream;
  const auto best = answer(from_previous(stream.problem, {}, stream.truth));
  REQUIRE(best);
  CHECK(best->accepted);
  REQUIRE(best->previous_distance);
  CHECK(*best->previous_distance >= best->distance);
  CHECK_FALSE(best->elsewhere);
}

TEST_CASE("starts that end in one optimum make one candidate, and the likeliest leads") {
  const Stream stream;
  Random random(1);
  std::vector<Mixture> starts = random_starts(stream.kept.tensor, 2, 6, random);
  starts.push_back(starts.front());
  const Warmed warm = warmed(stream.problem, {}, starts);
  REQUIRE(!warm.optima.empty());
  CHECK(warm.optima.size() < starts.size());
  CHECK(warm.found.optima.size() >= warm.optima.size());
  CHECK(warm.optima.front().mean_log_likelihood == warm.found.likeliest);
  for (std::size_t i = 0; i < warm.found.optima.size(); ++i) {
    const std::span<const Mixture> others(warm.found.optima.data(), i);
    CHECK_FALSE(is_known(warm.found.optima[i], others, stream.problem.second_moment));
  }
}

TEST_CASE("random starts lead to an accepted fit near the truth") {
  const Stream stream;
  Random random(2);
  const Found found = from_starts(stream.problem, {}, random_starts(stream.kept.tensor, 2, 8, random));
  REQUIRE(found.accepted());
  CHECK(hausman_distance(*found.best, stream.truth) < hausman_limit(stream.problem.parameters));
}

TEST_CASE("other moments are tried only where J complains") {
  const Stream stream;
  const Found found = refined(stream.problem, {}, stream.truth);
  CHECK(by_low_powers(stream.problem, found).tried == 1);
  CHECK(by_lower_order(stream.problem, found).tried == 1);
  Found rejected = found;
  rejected.best->accepted = false;
  rejected.best->complaints.distance = true;
  CHECK(by_low_powers(stream.problem, rejected).tried > 1);
}

TEST_CASE("a richer model is asked about only while the sample holds every row") {
  const Stream many;
  const Found found = refined(many.problem, {}, many.truth);
  CHECK(beside_richer(many.problem, found).best->one_law_more_gain == FitEvidence::not_asked);
  const Stream few(2000);
  REQUIRE(few.problem.sample_is_stream());
  const Found held = beside_richer(few.problem, refined(few.problem, {}, few.truth));
  REQUIRE(held.best);
  CHECK(held.best->one_law_more_gain > FitEvidence::not_asked);
  CHECK(held.best->one_law_more_gain < 10.0);
}

TEST_CASE("looking around the right three laws comes back to them and finds no rival") {
  const Stream stream(20000, {"three", "1,u,v", 3});
  const Found found = refined(stream.problem, {}, stream.truth);
  REQUIRE(found.accepted());
  const Found around = looked_around(stream.problem, found, false);
  CHECK(around.accepted());
  CHECK(around.best->rivals == 0);
  CHECK(around.best->met_again);
  CHECK(around.likeliest > -10.0);
}

TEST_CASE("nothing found is no answer") {
  CHECK_FALSE(answer({}).has_value());
}
