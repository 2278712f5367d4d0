#include "mixstream/modes/start.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "mixstream/core/yield_point.hpp"
#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/linalg/packed.hpp"

namespace mixstream {
namespace {

constexpr std::size_t rows_between_yields = 256;
constexpr double enough_gain = 0.01;  // nats, of a whole step
// Where features choose the law, gate and laws move against each other along a narrow valley, and a model
// that is somewhat wrong makes whole steps too long: more passes, to a closer end.
constexpr int more_for_gates = 6;
constexpr double closer_for_gates = 0.1;
constexpr double shortest_share = 1e-3;
constexpr int rounds_for_shares = 20;

/// Calls visit(row, slot, steps) for every held row, in order.
template <typename Visit>
void for_each_row(const HeldRows& held, Visit visit) {
  std::vector<bool> seen(held.slots + 1);
  for (std::size_t i = 0; i < held.runs->size(); ++i) {
    if (i % rows_between_yields == 0) yield_point();
    RunRow run = held.runs->row(i, seen);
    run.row.weight *= held.run_unit;
    visit(run.row, run.slot, run.steps);
  }
  for (std::size_t i = 0; held.sample != nullptr && i < held.sample->size(); ++i) {
    if (i % rows_between_yields == 0) yield_point();
    visit(held.sample->row(i), held.slots, 0U);
  }
}

/// Each law's density of the sample's rows one by one, k numbers a row, relative to the likeliest.
std::vector<double> densities_of(const ModeModel& model, const ModeShape& shape, const RowTable& sample) {
  Mixture laws = model.laws;
  const double of_a_row = (shape.noise_shape.tails ? 1.25 : 1.0) / (1.0 - model.memory * model.memory);
  for (double& variance : laws.noise_variances) variance *= of_a_row;
  const std::size_t k = laws.component_count();
  std::vector<double> densities(sample.size() * k);
  for (std::size_t i = 0; i < sample.size(); ++i) {
    if (i % rows_between_yields == 0) yield_point();
    const auto row = std::span(densities).subspan(i * k, k);
    responsibilities(laws, sample.row(i), row);
    for (std::size_t h = 0; h < k; ++h) row[h] /= std::max(laws.weights[h], 1e-12);
  }
  return densities;
}

/// The shares of the sample's rows that the laws, as they are, most likely made.
std::vector<double> shares_of(const ModeModel& model, const ModeShape& shape, const RowTable& sample) {
  const std::vector<double> densities = densities_of(model, shape, sample);
  const std::size_t k = shape.component_count;
  std::vector<double> shares = model.laws.weights;
  std::vector<double> made(k);
  for (int round = 0; round < rounds_for_shares; ++round) {
    yield_point();
    std::ranges::fill(made, 0.0);
    for (std::size_t at = 0; at < densities.size(); at += k) {
      double total = 0.0;
      for (std::size_t h = 0; h < k; ++h) total += shares[h] * densities[at + h];
      const double weight = sample.row(at / k).weight / std::max(total, 1e-300);
      for (std::size_t h = 0; h < k; ++h) made[h] += weight * shares[h] * densities[at + h];
    }
    double all = 0.0;
    for (double& share : made) all += share += 0.5;  // none is 0
    for (std::size_t h = 0; h < k; ++h) shares[h] = made[h] / all;
  }
  return shares;
}

/// Runs and rows drawn from one stream begin in modes that depend on each other: of a few stays of a mode all
/// of them would tell, as if each were news of how often modes change. So they begin in the shares that they
/// make likeliest.
void begin_in_shares(ModePolish& polish, const HeldRows& held) {
  if (polish.shape().modes == Modes::persistent && held.sample != nullptr && held.sample->size() > 0)
    polish.begin_chains_in(shares_of(polish.anchor(), polish.shape(), *held.sample));
}

/// All held rows at one anchor.
ModePolish pass(const ModeModel& model, const ModeShape& shape, const HeldRows& held) {
  ModePolishSettings settings;
  settings.first_move = settings.move_every = ~std::uint64_t{0} >> 1;  // the anchor stays
  settings.most_chains = held.slots + 1;
  ModePolish polish(model, shape, settings);
  begin_in_shares(polish, held);
  for_each_row(held, [&](const Row& row, std::size_t slot, unsigned steps) {
    polish.absorb(row, {slot, steps});
  });
  return polish;
}

/// The model a share of the way from one to the other.
ModeModel between(const ModePolish& one, const ModePolish& two, double share) {
  std::vector<double> theta = one.parameters();
  for (std::size_t q = 0; q < theta.size(); ++q) theta[q] += share * (two.parameters()[q] - theta[q]);
  ModeModel model = one.anchor();
  from_parameters(theta, one.shape(), model);
  return model;
}

/// What is no longer finite cannot be restored: its moves are refused, and it says so itself.
ModePolish restored(const ModePolishState& state, const ModePolish& before) {
  Outcome<ModePolish> polish = ModePolish::restore(state);
  return polish ? std::move(polish).value() : before;
}

/// The held rows' optimum is where their scores lead straight to the answer, those of the ways too. A count
/// of changes would stand for more than the rows tell where laws lie close: modes are then known by halves.
ModePolish scoring_ways(const ModePolish& polish) {
  if (polish.shape().modes != Modes::persistent) return polish;
  ModePolishState state = polish.state();
  std::ranges::fill(state.free, 1.0);
  return restored(state, polish);
}

/// Ways that were seen too rarely for that follow their counts, and what their scores said is left out.
ModePolish counting_rare_ways(const ModePolish& polish) {
  if (polish.shape().modes != Modes::persistent) return polish;
  ModePolishState state = polish.state();
  const ModeShape& shape = state.shape;
  const std::size_t k = shape.component_count;
  for (std::size_t i = 0; i < k; ++i) {
    for (std::size_t j = 0; j < k; ++j) {
      const double seen = std::min(state.sums.counts[i * k + j], state.sums.counts[i * k + i]);
      if (j == i || seen > ModePolish::enough_seen) continue;
      const std::size_t q = shape.cell(i, j);
      state.free[q] = state.sums.gradient[q] = 0.0;
      for (std::size_t p = 0; p < state.free.size(); ++p)
        state.sums.information[packed_index(std::max(p, q), std::min(p, q))] = 0.0;
    }
  }
  return restored(state, polish);
}

}  // namespace

double HeldRows::weight() const {
  double total = 0.0;
  for_each_row(*this, [&](const Row& row, std::size_t, unsigned) { total += row.weight; });
  return total;
}

ModeModel sticky_start(const Mixture& mixture, const ModeShape& shape, const HeldRows& held) {
  if (shape.modes != Modes::persistent) return model_from(mixture, shape);
  constexpr std::size_t grid = 15;
  const std::size_t k = mixture.component_count();
  std::vector<double> filtered((held.slots + 1) * grid * k);
  std::vector<double> total(grid);
  std::vector<double> relative(k);
  const auto follow = [&](const Row& row, std::size_t slot, unsigned steps) {
    responsibilities(mixture, row, relative);
    for (std::size_t h = 0; h < k; ++h) relative[h] /= std::max(mixture.weights[h], 1e-12);  // ~ N_h
    for (std::size_t g = 0; g < grid; ++g) {
      double* f = filtered.data() + (slot * grid + g) * k;
      const double stay =
          steps == 0 ? 0.0 : std::pow(1.0 - std::exp2(-static_cast<double>(g)), static_cast<double>(steps));
      double sum = 0.0;
      for (std::size_t h = 0; h < k; ++h)
        sum += f[h] = (stay * f[h] + (1.0 - stay) * mixture.weights[h]) * relative[h];
      for (std::size_t h = 0; h < k; ++h) f[h] /= std::max(sum, 1e-300);
      total[g] += std::log(std::max(sum, 1e-300));
    }
  };
  for_each_row({held.runs, nullptr, held.slots}, follow);
  const auto best = static_cast<double>(std::ranges::max_element(total) - total.begin());
  return model_from(mixture, shape, 0.999 * (1.0 - std::exp2(-best)));
}

double likelihood_of(const ModeModel& model, const ModeShape& shape, const HeldRows& held) {
  return pass(model, shape, held).log_likelihood();
}

SettledModel settle(const ModeModel& start, const ModeShape& shape, const HeldRows& held, int passes) {
  ModePolish best = pass(start, shape, held);
  ModePolish moved = best;
  moved.move_anchor();
  const bool gated = shape.modes == Modes::gated;
  const double enough = gated ? closer_for_gates * enough_gain : enough_gain;
  if (gated) passes *= more_for_gates;
  double share = 1.0;  // of a step; where the model is wrong whole ones may lead too far again and again
  for (int i = 0; i < passes && share > shortest_share; ++i) {
    ModePolish trial = pass(between(best, moved, share), shape, held);
    const double gain = trial.log_likelihood() - best.log_likelihood();
    if (!(gain > -1e-3)) {
      share *= 0.5;
      continue;
    }
    best = std::move(trial);
    if (gain < enough * share) break;
    moved = best;
    moved.move_anchor();
    share = std::min(1.0, 1.4 * share);
  }
  return {best.anchor(), best.log_likelihood()};
}

SettledModel settle(const Mixture& laws, const ModeShape& shape, const HeldRows& held) {
  ModeModel start = sticky_start(laws, shape, held);
  SettledModel result = settle(start, shape, held);
  if (!shape.noise_shape.memory) return result;
  start.memory = 0.6;
  for (double& variance : start.laws.noise_variances) variance *= 1.0 - 0.36;
  if (shape.noise == NoiseModel::known) start.laws.noise_variances = laws.noise_variances;
  SettledModel other = settle(start, shape, held);
  return other.log_likelihood > result.log_likelihood ? other : result;
}

ModePolish polish_of_runs(const ModeModel& model, const ModeShape& shape, const HeldRows& held,
                          const ModePolishSettings& settings) {
  ModePolishSettings patient = settings;
  patient.first_move = patient.move_every = ~std::uint64_t{0} >> 1;  // what few rows say must not move it
  ModePolish polish = scoring_ways(ModePolish(model, shape, patient));
  begin_in_shares(polish, held);
  for_each_row({held.runs, nullptr, held.slots}, [&](const Row& row, std::size_t slot, unsigned steps) {
    polish.absorb(row, {slot, steps});
  });
  polish = counting_rare_ways(polish);
  polish.begin_moving(settings);
  return polish;
}

}  // namespace mixstream
