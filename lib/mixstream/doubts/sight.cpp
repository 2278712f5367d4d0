#include "mixstream/doubts/sight.hpp"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace mixstream {
namespace {

constexpr double cut = 4.0;

/// A score needs no digits beyond those of double: long ones cost ten times as much.
using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;
using Normal = boost::math::normal_distribution<double, InDouble>;
using Student = boost::math::students_t_distribution<double, InDouble>;

/// The mean of the clipped He4 under N(0, 1). Beyond the cut it is He4(4) = 163 instead of z^4 - 6 z^2 + 3,
/// whose tail integral is 2 (z^3 - 3 z) phi(z) at the cut: so the mean is 163 P(|z| > 4) - 2 (4^3 - 3 * 4)
/// phi(4).
double mean_of_fourth() noexcept {
  const double tail = std::erfc(cut / std::sqrt(2.0));
  const double density = std::exp(-0.5 * cut * cut) / std::sqrt(2.0 * std::acos(-1.0));
  return (cut * cut * cut * cut - 6.0 * cut * cut + 3.0) * tail -
         2.0 * (cut * cut * cut - 3.0 * cut) * density;
}

}  // namespace

double clipped_third(double z) noexcept {
  const double t = std::clamp(z, -cut, cut);
  return t * t * t - 3.0 * t;
}

double clipped_fourth(double z) noexcept {
  static const double mean = mean_of_fourth();
  const double square = std::min(z * z, cut * cut);
  return square * square - 6.0 * square + 3.0 - mean;
}

Sighting::Sighting(const ModeModel& model, const ModeShape& shape, std::size_t slots)
    : filter_(shape),
      k_(shape.component_count),
      chains_(slots * filter_.chain_size()),
      before_(slots),
      chances_(k_),
      posterior_(k_),
      influence_(k_),
      spread_(k_),
      score_(filter_.stride()),
      used_(k_),
      spare_(k_),
      last_(shape.feature_count + 1) {
  filter_.set_anchor(model);
  for (RowBefore& before : before_) {
    before.posterior.resize(k_);
    before.influence.resize(k_);
    before.features.resize(shape.feature_count);
  }
  sight_.chances = chances_;
  sight_.posterior = posterior_;
  sight_.influence = influence_;
  sight_.spread = spread_;
  sight_.score = std::span(score_).first(shape.parameters());
}

void Sighting::find_chances(const Row& row, std::span<const double> chain, unsigned steps) noexcept {
  const ModeModel& model = filter_.anchor();
  if (shape().modes == Modes::gated) {
    double top = -1e300;
    for (std::size_t h = 0; h < k_; ++h) {
      chances_[h] = 0.0;
      for (std::size_t w = 0; w < shape().gate.size(); ++w)
        chances_[h] += model.gate(h, w) * row.features[shape().gate[w]];
      top = std::max(top, chances_[h]);
    }
    double total = 0.0;
    for (double& chance : chances_) total += chance = std::exp(chance - top);
    for (double& chance : chances_) chance /= total;
    return;
  }
  std::ranges::copy(model.laws.weights, chances_.begin());
  if (shape().modes != Modes::persistent || steps == 0) return;
  std::copy_n(chain.begin(), k_, chances_.begin());
  for (unsigned step = 0; step < steps; ++step) {
    std::ranges::copy(chances_, spare_.begin());
    std::ranges::fill(chances_, 0.0);
    for (std::size_t i = 0; i < k_; ++i) {
      for (std::size_t j = 0; j < k_; ++j) chances_[j] += spare_[i] * model.transitions(i, j);
    }
  }
}

/// A Student residual as the normal one of the same probability.
double Sighting::normal_score(double z) const noexcept {
  if (!shape().noise_shape.tails) return z;
  const double far = -std::abs(z);  // the lower tail keeps its digits
  const double below = std::max(boost::math::cdf(Student(model().degrees_of_freedom), far), 1e-15);
  return std::copysign(boost::math::quantile(Normal(), below), z);
}

/// The sums over q_ij. `last`: features and response of the row before, where the noise remembers them.
void Sighting::find_sums(const Row& row, std::span<const double> last, unsigned steps) noexcept {
  const ModeModel& model = filter_.anchor();
  const bool pairs = shape().noise_shape.memory && steps > 0;
  const double rho = model.memory;
  const double kept = pairs ? std::pow(rho, static_cast<double>(steps)) : 0.0;
  const double fresh = shape().noise_shape.memory ? (1.0 - kept * kept) / (1.0 - rho * rho) : 1.0;
  const double nu = model.degrees_of_freedom;
  std::ranges::fill(influence_, 0.0);
  std::ranges::fill(spread_, 0.0);
  sight_.centre = sight_.third = sight_.fourth = 0.0;
  const auto residual = [&](std::size_t h, std::span<const double> features, double response) {
    const auto law = model.laws.law(h);
    for (std::size_t j = 0; j < law.size(); ++j) response -= law[j] * features[j];
    return response;
  };
  for (std::size_t j = 0; j < k_; ++j) {
    const double sd = std::sqrt(std::max(model.laws.noise_variances[j] * fresh, 1e-300));
    const double now = residual(j, row.features, row.response);
    for (std::size_t i = 0; i < (pairs ? k_ : 1); ++i) {
      const double share = pairs ? filter_.pairs()[i * k_ + j] : posterior_[j];
      const double then = pairs ? residual(i, last.first(last.size() - 1), last.back()) : 0.0;
      const double z = (now - kept * then) / sd;
      const double psi = shape().noise_shape.tails ? (nu + 1.0) * z / (nu + z * z) : z;
      influence_[j] += share * psi / sd;
      spread_[j] += 0.5 * share * (psi * z - 1.0);
      sight_.centre += share * psi;
      const double normal = normal_score(z);
      sight_.third += share * clipped_third(normal) / 6.0;
      sight_.fourth += share * clipped_fourth(normal) / 4.0;
    }
  }
}

const Sight& Sighting::see(const Row& row, std::size_t slot, unsigned steps) noexcept {
  if (steps > ModeFilter::longest_gap) steps = 0;
  const auto chain = std::span(chains_).subspan(slot * filter_.chain_size(), filter_.chain_size());
  before_[slot].known = before_[slot].known && steps == 1;
  find_chances(row, chain, steps);
  std::ranges::copy(chain.last(last_.size()), last_.begin());
  sight_.log_density = filter_.advance(chain, row, steps, score_, used_);
  std::ranges::copy(filter_.filtered(chain), posterior_.begin());
  find_sums(row, last_, steps);
  return sight_;
}

void Sighting::remember(const Row& row, std::size_t slot) noexcept {
  RowBefore& before = before_[slot];
  before.known = true;
  std::ranges::copy(posterior_, before.posterior.begin());
  std::ranges::copy(influence_, before.influence.begin());
  std::ranges::copy(row.features, before.features.begin());
  before.response = row.response;
  before.centre = sight_.centre;
}

}  // namespace mixstream
