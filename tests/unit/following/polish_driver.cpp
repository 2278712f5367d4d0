#include "mixstream/following/polish_driver.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "mixstream/core/random.hpp"
#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/parameters.hpp"
#include "mixstream/rows/simulation.hpp"
#include "support/allocation_count.hpp"

using namespace mixstream;

namespace {

constexpr std::size_t parameters = 8;  // k = 2, d = 3, shared noise

/// A stream, a sample of it, and a fit to that sample with the sample's own information.
struct Stream {
  Simulation simulation{{.map = FeatureMap::parse("1,t,t^4").value(), .component_count = 2, .seed = 9}};
  RowTable sample;
  RefinedFit refined;

  Stream() : sample(simulation.table(4000)) {
    refined.mixture = fit_em(sample, simulation.truth()).mixture;
    refined.information = {parameters, parameters, std::vector<double>(parameters * parameters)};
    std::vector<double> probabilities(2);
    std::vector<double> score(parameters);
    for (std::size_t i = 0; i < sample.size(); ++i) {
      row_score(refined.mixture, sample.row(i), NoiseModel::shared, probabilities, score);
      for (std::size_t p = 0; p < parameters; ++p) {
        for (std::size_t q = 0; q < parameters; ++q) refined.information(p, q) += score[p] * score[q];
      }
    }
    refined.accepted = true;
  }
  void feed(PolishDriver& driver, std::size_t rows) {
    for (std::size_t i = 0; i < rows; ++i) driver.absorb(simulation.next());
  }
};

/// The fit with its laws moved by so many standard errors each way.
RefinedFit moved(RefinedFit fit, double standard_errors) {
  for (std::size_t i = 0; i < fit.mixture.coefficients.size(); ++i)
    fit.mixture.coefficients[i] +=
        (i % 2 == 0 ? 1.0 : -1.0) * standard_errors / std::sqrt(fit.information(i, i));
  return fit;
}

}  // namespace

TEST_CASE(
    "checks fall due at the first count, twice, at four times it and at every fourfold, whatever happens "
    "between") {
  Stream stream;
  PolishDriver driver({.first_check = 1000});
  CHECK_FALSE(driver.should_check(999));
  CHECK(driver.should_check(1000));
  driver.reconcile(stream.refined, stream.sample, 1000);
  CHECK_FALSE(driver.should_check(1999));
  CHECK(driver.should_check(2000));
  driver.reconcile(stream.refined, stream.sample, 9000);
  CHECK_FALSE(driver.should_check(15999));
  CHECK(driver.should_check(16000));
}

TEST_CASE("a stream that forgets is checked once it has forgotten what it knew, however old its polish is") {
  Stream stream;
  PolishDriver driver({.first_check = 1000, .memory_rows = 5000});
  driver.reconcile(stream.refined, stream.sample, 9000);
  CHECK(driver.next_check() == 14000);
  PolishDriver brief({.first_check = 1000, .memory_rows = 100});
  brief.reconcile(stream.refined, stream.sample, 9000);
  CHECK(brief.next_check() == 10000);
}

TEST_CASE("a fit with rivals puts the polish in doubt until a check finds none, and checks come sooner") {
  Stream stream;
  PolishDriver driver({.first_check = 1000});
  RefinedFit doubted = stream.refined;
  doubted.rivals = 2;
  CHECK(driver.reconcile(doubted, stream.sample, 9000) == Reconciled::started);
  CHECK(driver.in_doubt());
  CHECK(driver.next_check() == 16000);
  driver.reconcile(doubted, stream.sample, 16000);
  CHECK(driver.next_check() == 32000);
  CHECK(PolishDriver::restore(driver.state(), {}).value().in_doubt());
  PolishDriver other;
  other.take_schedule(driver.schedule());
  CHECK(other.in_doubt());
  RefinedFit rejected = stream.refined;
  rejected.accepted = false;
  driver.reconcile(rejected, stream.sample, 32000);
  CHECK(driver.in_doubt());
  driver.reconcile(stream.refined, stream.sample, 64000);
  CHECK_FALSE(driver.in_doubt());
  CHECK(driver.next_check() == 256000);
}

TEST_CASE("an accepted fit begins a polish, a rejected one neither begins nor ends it") {
  Stream stream;
  PolishDriver driver;
  RefinedFit rejected = moved(stream.refined, 50.0);
  rejected.accepted = false;
  CHECK(driver.reconcile(rejected, stream.sample, 1) == Reconciled::not_started);
  CHECK(driver.polish() == nullptr);
  CHECK(driver.reconcile(stream.refined, stream.sample, 2) == Reconciled::started);
  stream.feed(driver, 20000);
  CHECK(driver.reconcile(rejected, stream.sample, 3) == Reconciled::kept);
  CHECK(driver.polish()->rows() == 20000);
  CHECK(driver.resets() == 0);
}

TEST_CASE(
    "a fit that only lacks another start begins a polish tentatively, and does not end a confirmed one") {
  Stream stream;
  RefinedFit unmet = stream.refined;
  unmet.accepted = false;
  unmet.complaints.search = true;
  RefinedFit elsewhere = unmet;  // J speaks against it too
  elsewhere.complaints.distance = true;
  CHECK(PolishDriver().reconcile(elsewhere, stream.sample, 1000) == Reconciled::not_started);
  PolishDriver driver({.first_check = 1000});
  CHECK(driver.reconcile(unmet, stream.sample, 9000) == Reconciled::started);
  CHECK(driver.tentative());
  CHECK(driver.next_check() == 16000);
  CHECK(PolishDriver::restore(driver.state(), {}).value().tentative());
  PolishDriver other;
  other.take_schedule(driver.schedule());
  CHECK(other.tentative());
  stream.feed(driver, 30000);
  CHECK(driver.reconcile(unmet, stream.sample, 16000) == Reconciled::kept);
  CHECK(driver.tentative());
  CHECK(driver.next_check() == 32000);
  CHECK(driver.reconcile(stream.refined, stream.sample, 32000) == Reconciled::kept);
  CHECK_FALSE(driver.tentative());
  CHECK(driver.next_check() == 128000);
  CHECK(driver.polish()->rows() == 30000);
  CHECK(driver.reconcile(unmet, stream.sample, 128000) == Reconciled::kept);
  CHECK_FALSE(driver.tentative());
}

TEST_CASE("a tentative polish gives way to another fit that only lacks another start, where they disagree") {
  Stream stream;
  RefinedFit unmet = stream.refined;
  unmet.accepted = false;
  unmet.complaints.search = true;
  RefinedFit wrong = unmet;
  for (std::size_t j = 0; j < 3; ++j)
    wrong.mixture.law(0)[j] = wrong.mixture.law(1)[j] =
        0.5 * (wrong.mixture.law(0)[j] + wrong.mixture.law(1)[j]);
  for (double& variance : wrong.mixture.noise_variances) variance = 2.0;
  PolishDriver driver;
  CHECK(driver.reconcile(wrong, stream.sample, 1) == Reconciled::started);
  stream.feed(driver, 5000);
  CHECK(driver.reconcile(unmet, stream.sample, 2) == Reconciled::reset);
  CHECK(driver.tentative());
}

TEST_CASE("a polish at a wrong optimum is reset, one that agrees is kept") {
  Stream stream;
  PolishDriver driver;
  RefinedFit wrong = stream.refined;  // both laws alike: a saddle that scores never leave
  for (std::size_t j = 0; j < 3; ++j)
    wrong.mixture.law(0)[j] = wrong.mixture.law(1)[j] =
        0.5 * (wrong.mixture.law(0)[j] + wrong.mixture.law(1)[j]);
  for (double& variance : wrong.mixture.noise_variances) variance = 2.0;
  CHECK(driver.reconcile(wrong, stream.sample, 1) == Reconciled::started);
  stream.feed(driver, 5000);
  CHECK(driver.reconcile(stream.refined, stream.sample, 2) == Reconciled::reset);
  CHECK(driver.resets() == 1);
  stream.feed(driver, 30000);
  CHECK(driver.reconcile(stream.refined, stream.sample, 3) == Reconciled::kept);
}

TEST_CASE("the likeliest fit to all rows begins a polish anew, though the two agree") {
  Stream stream;
  PolishDriver driver;
  driver.reconcile(stream.refined, stream.sample, 1);
  stream.feed(driver, 5000);
  CHECK(driver.reconcile(stream.refined, stream.sample, 2) == Reconciled::kept);
  RefinedFit likeliest = stream.refined;
  likeliest.likeliest = true;
  CHECK(driver.reconcile(likeliest, stream.sample, 3) == Reconciled::reset);
  CHECK(driver.polish()->rows() == 0);
  likeliest.accepted = false;
  likeliest.complaints.distance = true;
  stream.feed(driver, 100);
  CHECK(driver.reconcile(likeliest, stream.sample, 4) == Reconciled::kept);
}

TEST_CASE("where polish and fit disagree, the rows of the sample decide") {
  Stream stream;
  PolishDriver driver;
  CHECK(driver.reconcile(stream.refined, stream.sample, 1) == Reconciled::started);
  stream.feed(driver, 30000);
  // An accepted fit far off, and far worse on the sample: the polish stays.
  CHECK(hausman_distance(moved(stream.refined, 30.0), driver.polish()->anchor()) > 100.0);
  CHECK(driver.reconcile(moved(stream.refined, 30.0), stream.sample, 2) == Reconciled::kept);
}

TEST_CASE("the distance counts standard errors and does not mind labels") {
  Stream stream;
  CHECK(hausman_distance(stream.refined, stream.refined.mixture) == 0.0);
  const std::vector<std::size_t> swapped{1, 0};
  const Mixture far = moved(stream.refined, 5.0).mixture;
  CHECK(hausman_distance(stream.refined, relabelled(far, swapped)) ==
        doctest::Approx(hausman_distance(stream.refined, far)));
  CHECK(std::isinf(hausman_distance(stream.refined, Mixture{1, {1.0}, {1.0}, {1.0}})));
}

TEST_CASE("the likelihood gain is the mean difference of log densities with its standard error") {
  Stream stream;
  const Mixture rival = moved(stream.refined, 10.0).mixture;
  const LikelihoodGain gain = likelihood_gain(stream.refined.mixture, rival, stream.sample);
  CHECK(gain.mean == doctest::Approx(mean_log_likelihood(stream.refined.mixture, stream.sample) -
                                     mean_log_likelihood(rival, stream.sample)));
  CHECK(gain.deviations() > 4.0);
  CHECK(likelihood_gain(rival, stream.refined.mixture, stream.sample).deviations() ==
        doctest::Approx(-gain.deviations()));
}

TEST_CASE("a polish worse than the refined fit is not reported") {
  Stream stream;
  PolishDriver driver;
  CHECK_FALSE(driver.fit_to_report(stream.refined, stream.sample).has_value());
  RefinedFit wrong = stream.refined;
  wrong.mixture = Mixture{3, {0.5, 0.5}, {0.1, 0.0, 0.0, 0.1, 0.0, 0.0}, {2.0, 2.0}};
  driver.reconcile(wrong, stream.sample, 1);
  stream.feed(driver, 5000);
  CHECK_FALSE(driver.fit_to_report(stream.refined, stream.sample).has_value());
  driver.reconcile(stream.refined, stream.sample, 2);
  CHECK(driver.fit_to_report(stream.refined, stream.sample).has_value());
}

TEST_CASE("a polish that began behind a burst gives way to the moments of all its rows") {
  Stream stream;
  PolishDriver driver;
  driver.reconcile(stream.refined, stream.sample, 1);
  stream.feed(driver, 100);
  RefinedFit later = stream.refined;
  for (double& value : later.information.values) value *= 40.0;
  CHECK_FALSE(driver.fit_to_report(later, stream.sample).has_value());
  CHECK(driver.fit_to_report(stream.refined, stream.sample).has_value());
  stream.feed(driver, 30000);
  CHECK(driver.fit_to_report(later, stream.sample).has_value());
}

TEST_CASE("a fit whose noise has vanished is only a place to begin looking") {
  Stream stream;
  RefinedFit broken = stream.refined;
  for (double& variance : broken.mixture.noise_variances) variance = 1e-200;
  PolishDriver driver;
  CHECK(driver.reconcile(broken, stream.sample, 1) == Reconciled::started);
  stream.feed(driver, 30000);
  CHECK(driver.reconcile(broken, stream.sample, 2) == Reconciled::kept);
  const auto fit = driver.fit_to_report(broken, stream.sample);
  REQUIRE(fit.has_value());
  CHECK(fit->mixture.noise_variances[0] == doctest::Approx(0.1).epsilon(0.1));
}

TEST_CASE("a polish beats the fit it began at") {
  Stream stream;
  PolishDriver driver;
  driver.reconcile(stream.refined, stream.sample, 1);
  stream.feed(driver, 100000);
  const auto fit = driver.fit_to_report(stream.refined, stream.sample);
  REQUIRE(fit.has_value());
  const RowTable fresh = stream.simulation.table(50000);
  CHECK(mean_log_likelihood(fit->mixture, fresh) > mean_log_likelihood(stream.refined.mixture, fresh));
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(std::abs(fit->mixture.coefficients[i] - stream.simulation.truth().coefficients[i]) <
          5.0 * fit->standard_errors[i]);
    CHECK(fit->standard_errors[i] < 0.3 / std::sqrt(stream.refined.information(i, i)) * 2.0);
  }
}

TEST_CASE("rows of bins that are left out do not enter, and a polish that holds such rows begins anew") {
  Stream stream;
  PolishDriver driver;
  driver.reconcile(stream.refined, stream.sample, 1, 0b11);
  for (int i = 0; i < 300; ++i) driver.absorb(stream.simulation.next(), static_cast<std::size_t>(i % 3));
  CHECK(driver.polish()->rows() == 200);
  CHECK(driver.state().rows == 300);
  CHECK(driver.reconcile(stream.refined, stream.sample, 2, 0b111) == Reconciled::kept);
  CHECK(driver.reconcile(stream.refined, stream.sample, 3, 0b101) == Reconciled::reset);
  CHECK(driver.polish()->rows() == 0);
}

TEST_CASE("a restored driver continues bit for bit, and no row allocates") {
  Stream stream;
  const PolishDriverSettings settings{
      .first_check = 1000, .scoring = {.move_every = 1000}, .drift = {.settle_rows = 2000}};
  PolishDriver continuous(settings);
  continuous.reconcile(stream.refined, stream.sample, 1000);
  PolishDriver first(settings);
  first.reconcile(stream.refined, stream.sample, 1000);
  const RowTable rows = stream.simulation.table(70000);
  const std::size_t before = allocation_count();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    continuous.forget(0.9999);
    continuous.absorb(rows.row(i));
  }
  CHECK(allocation_count() == before);
  for (std::size_t i = 0; i < 33333; ++i) {
    first.forget(0.9999);
    first.absorb(rows.row(i));
  }
  Outcome<PolishDriver> restored = PolishDriver::restore(first.state(), settings);
  REQUIRE(restored);
  CHECK(restored.value().state() == first.state());
  for (std::size_t i = 33333; i < rows.size(); ++i) {
    restored.value().forget(0.9999);
    restored.value().absorb(rows.row(i));
  }
  CHECK(restored.value().state() == continuous.state());
  PolishDriverState half = first.state();
  half.drift.reset();
  CHECK_FALSE(PolishDriver::restore(half, settings));
}

TEST_CASE(
    "J of the moments rejects a mixture far from the refined fit, by the fit's own weights and no further") {
  RefinedFit refined;
  refined.mixture = {2, {0.5, 0.5}, {1.0, 2.0, -1.0, 0.5}, {0.1, 0.1}};
  const std::size_t parameters = 6;  // four coefficients, log-odds, log variance
  refined.information = {parameters, parameters, std::vector<double>(parameters * parameters)};
  for (std::size_t i = 0; i < parameters; ++i) refined.information(i, i) = 100.0;
  refined.distance = 20.0;
  refined.dof = 20;
  refined.condition_count = 26;
  Mixture moved = refined.mixture;
  CHECK_FALSE(moments_reject(refined, moved));
  moved.coefficients[1] += 0.8;  // J + 64, above the 69 that one right fit in 100,000 exceeds
  CHECK(moments_reject(refined, moved));
  refined.expected_ratio = 2.0;
  CHECK_FALSE(moments_reject(refined, moved));
  refined.expected_ratio = 1.0;
  refined.cubic = true;
  CHECK_FALSE(moments_reject(refined, moved));
  // J taken at the fit before decides where there is one: a bent valley is not what the quadratic form says.
  refined.cubic = false;
  refined.previous_distance = 50.0;
  CHECK(parting(refined, moved) == doctest::Approx(30.0 / 6.0));
  CHECK_FALSE(moments_reject(refined, moved));
  refined.previous_distance = 84.0;
  CHECK(moments_reject(refined, refined.mixture));
  refined.previous_distance = 19.0;  // weights change from round to round
  CHECK(parting(refined, moved) == 0.0);
  refined.previous_distance.reset();
  CHECK(parting(refined, moved) == doctest::Approx(hausman_distance(refined, moved)));
  CHECK(lies_apart(refined, moved));  // 64 / 6 a parameter
  refined.previous_distance = 55.0;   // a chi-square of six exceeds 33 in one of 100,000
  CHECK(lies_apart(refined, refined.mixture));
  refined.previous_distance = 45.0;
  CHECK_FALSE(lies_apart(refined, moved));
  CHECK_FALSE(found_elsewhere(refined, moved));
  refined.elsewhere = true;
  CHECK(found_elsewhere(refined, moved));
  CHECK_FALSE(found_elsewhere(refined, refined.mixture));
}
