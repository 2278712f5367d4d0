#include "stream.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "mixstream/likelihood/em.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/modes/start.hpp"

namespace doubts_study {
namespace {

using namespace mixstream;

constexpr double noise = 0.5;  // in the coordinates of u, v, y
/// What the user sees of u, v and y.
struct Units {
  double flow_shift = 20.0, flow_scale = 5.0, head_shift = 3.0, head_scale = 0.5;
  double power_shift = 100.0, power_scale = 10.0;
};
constexpr Units no_units{0.0, 1.0, 0.0, 1.0, 0.0, 1.0};
constexpr std::size_t stretch = 50;
constexpr std::size_t sample_rows = 5000;

using Generator = std::mt19937_64;
double normal(Generator& generator) {
  return std::normal_distribution<>()(generator);
}
double uniform(Generator& generator) {
  return std::uniform_real_distribution<>()(generator);
}

struct Column {
  double hidden = 0.0;
  double value = 0.0;
};

/// Laws in (1, u, v), or (1, u, u^2), rejected while two are nearer than `apart` noise sd.
std::vector<std::vector<double>> draw_laws(const Recipe& recipe, std::size_t count, Generator& generator) {
  for (;;) {
    std::vector<std::vector<double>> laws(count, std::vector<double>(3));
    for (auto& law : laws) {
      for (double& value : law) value = 1.5 * normal(generator);
    }
    double least = 1e300;
    for (std::size_t g = 0; g < count; ++g) {
      for (std::size_t h = 0; h < g; ++h) {
        const double a = laws[g][0] - laws[h][0], b = laws[g][1] - laws[h][1], c = laws[g][2] - laws[h][2];
        const double square =
            recipe.normal_column ? a * a + b * b + 3 * c * c + 2 * a * c : a * a + (b * b + c * c) / 3;
        least = std::min(least, std::sqrt(square) / noise);
      }
    }
    if (least >= recipe.apart) return laws;
  }
}

class Maker {
 public:
  Maker(const Recipe& recipe, std::uint64_t seed)
      : recipe_(recipe), units_(recipe.bare ? no_units : Units{}), generator_(seed) {
    true_laws_ = recipe.laws + (recipe.rare > 0.0 ? 1 : 0);
    laws_ = draw_laws(recipe, recipe.laws, generator_);
    const double base[] = {0.4, 0.35, 0.25, 0.2};
    weights_.assign(base, base + recipe.laws);
    if (recipe.leave_one_out) {  // the last law beside the one before it
      laws_.back() = laws_[laws_.size() - 2];
      laws_.back()[0] += recipe.near * noise;
    }
    if (recipe.rare > 0.0) {
      laws_.push_back(laws_.front());
      laws_.back()[0] += recipe.rare_apart * noise;
      for (double& weight : weights_) weight *= 1.0 - recipe.rare;
      weights_.push_back(recipe.rare * std::accumulate(weights_.begin(), weights_.end(), 0.0) /
                         (1.0 - recipe.rare));
    }
    const double total = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    double same = 0.0;
    for (double& weight : weights_) {
      weight /= total;
      same += weight * weight;
    }
    if (recipe.between_changes > 0.0) stay_ = 1.0 - 1.0 / recipe.between_changes / (1.0 - same);
  }

  Stream make() {
    Stream stream;
    stream.features = recipe_.normal_column ? std::vector<std::string>{"1", "flow", "flow^2"}
                                            : std::vector<std::string>{"1", "flow", "head"};
    stream.rows.feature_count = 3;
    stream.gate_per_unit = recipe_.gate / units_.flow_scale;
    set_truth(stream);
    for (std::size_t t = 0; t < recipe_.rows; ++t) add_row(stream);
    if (recipe_.stuck > 0.0) stick(stream);
    return stream;
  }

 private:
  void move(Column& column) {
    const double kept = recipe_.wander;
    column.hidden = kept * column.hidden + std::sqrt(1.0 - kept * kept) * normal(generator_);
    column.value = recipe_.normal_column ? column.hidden : std::erf(column.hidden / std::sqrt(2.0));
    if (recipe_.levels > 0) {
      const auto count = static_cast<double>(recipe_.levels);
      const double place = std::min(std::floor(0.5 * (column.value + 1.0) * count), count - 1.0);
      column.value = -1.0 + 2.0 * place / (count - 1.0);
    }
  }

  void choose(double u) {
    if (stay_ > 0.0 && begun_ && uniform(generator_) < stay_) return;
    begun_ = true;
    std::vector<double> weights = weights_;
    if (recipe_.gate > 0.0) {
      weights.front() *= std::exp(recipe_.gate * u);
      weights.back() *= std::exp(-recipe_.gate * u);
    }
    law_ = static_cast<std::size_t>(std::discrete_distribution<>(weights.begin(), weights.end())(generator_));
  }

  double draw_noise(double u) {
    double z = normal(generator_);
    if (recipe_.freedom > 0.0) {
      const double chi = std::chi_squared_distribution<>(recipe_.freedom)(generator_);
      z *= std::sqrt((recipe_.freedom - 2.0) / chi);
    }
    if (recipe_.gamma_shape > 0.0) {
      const double shape = recipe_.gamma_shape;
      z = (std::gamma_distribution<>(shape)(generator_) - shape) / std::sqrt(shape);
    }
    if (recipe_.outliers > 0.0 && uniform(generator_) < recipe_.outliers) z *= 8.0;
    last_noise_ = recipe_.memory * last_noise_ + std::sqrt(1.0 - recipe_.memory * recipe_.memory) * z;
    const double own = (law_ == 0 ? recipe_.ratio : 1.0) * std::exp(0.5 * recipe_.growth * u);
    return noise * own * last_noise_;
  }

  double says(std::size_t h, double u, double v) const {
    const auto& law = laws_[std::min(h, laws_.size() - 1)];
    const double curve = recipe_.curve + (h == 0 ? recipe_.curve_of_one : 0.0);
    const double third = recipe_.normal_column ? u * u : v;
    return law[0] + law[1] * u + law[2] * third + noise * (curve * u * u + recipe_.product * u * v);
  }

  void add_row(Stream& stream) {
    const double u_before = u_.value, v_before = v_.value;
    move(u_);
    move(v_);
    choose(u_.value);
    const bool late = recipe_.late && stream.rows.size() > 0;
    const double u = late ? u_before : u_.value, v = late ? v_before : v_.value;
    double y = says(law_, u, v) + draw_noise(u);
    if (recipe_.step > 0.0) y = recipe_.step * noise * std::round(y / (recipe_.step * noise));
    const double flow = units_.flow_shift + units_.flow_scale * u_.value;
    const double x[] = {
        1.0, flow, recipe_.normal_column ? flow * flow : units_.head_shift + units_.head_scale * v_.value};
    stream.rows.add({x, units_.power_shift + units_.power_scale * y, 1.0});
    for (std::size_t h = 0; h < stream.truth.component_count(); ++h)
      stream.law_values.push_back(units_.power_shift + units_.power_scale * says(h, u, v));
  }

  /// Stretches in which y keeps its first value.
  void stick(Stream& stream) {
    const auto count = static_cast<std::size_t>(recipe_.stuck * static_cast<double>(recipe_.rows) / stretch);
    for (std::size_t i = 0; i < count; ++i) {
      const auto first =
          static_cast<std::size_t>(uniform(generator_) * static_cast<double>(recipe_.rows - stretch));
      for (std::size_t j = 1; j < stretch; ++j)
        stream.rows.responses[first + j] = stream.rows.responses[first];
    }
  }

  void set_truth(Stream& stream) const {
    std::size_t k = recipe_.laws - (recipe_.leave_one_out ? 1 : 0);
    stream.truth = empty_mixture(k + (recipe_.one_too_many ? 1 : 0), 3);
    for (std::size_t h = 0; h < stream.truth.component_count(); ++h) {
      const auto& law = laws_[std::min(h, k - 1)];
      auto raw = stream.truth.law(h);
      raw[0] = units_.power_shift + units_.power_scale * law[0] +
               (h == k ? 0.3 * noise * units_.power_scale : 0.0);
      const double by_flow = units_.power_scale * law[1] / units_.flow_scale;
      raw[1] = by_flow;
      raw[0] -= by_flow * units_.flow_shift;
      if (recipe_.normal_column) {  // u^2 = (flow - 20)^2 / 25
        const double square = units_.power_scale * law[2] / (units_.flow_scale * units_.flow_scale);
        raw[2] = square;
        raw[1] -= 2.0 * square * units_.flow_shift;
        raw[0] += square * units_.flow_shift * units_.flow_shift;
      } else {
        raw[2] = units_.power_scale * law[2] / units_.head_scale;
        raw[0] -= raw[2] * units_.head_shift;
      }
      stream.truth.weights[h] = weights_[std::min(h, k - 1)];
      stream.truth.noise_variances[h] = noise * noise * units_.power_scale * units_.power_scale;
      stream.noise.push_back(noise * units_.power_scale * (h == 0 ? recipe_.ratio : 1.0));
    }
    const double total = std::accumulate(stream.truth.weights.begin(), stream.truth.weights.end(), 0.0);
    for (double& weight : stream.truth.weights) weight /= total;
  }

  Recipe recipe_;
  Units units_;
  Generator generator_;
  std::size_t true_laws_ = 0;
  std::vector<std::vector<double>> laws_;
  std::vector<double> weights_;
  double stay_ = 0.0;
  Column u_, v_;
  std::size_t law_ = 0;
  bool begun_ = false;
  double last_noise_ = 0.0;
};

/// Laws of the fit against what they truly say, whichever is which.
double true_shift(const Stream& stream, const Mixture& raw) {
  const std::size_t k = raw.component_count();
  const auto order = matching_order(stream.truth, raw);
  double largest = 0.0;
  for (std::size_t h = 0; h < k; ++h) {
    double square = 0.0;
    for (std::size_t t = 0; t < stream.rows.size(); ++t) {
      double value = -stream.law_values[t * k + h];
      for (std::size_t j = 0; j < 3; ++j) value += raw.law(order[h])[j] * stream.rows.features[t * 3 + j];
      square += value * value;
    }
    largest =
        std::max(largest, std::sqrt(square / static_cast<double>(stream.rows.size())) / stream.noise[h]);
  }
  return largest;
}

/// All rows as one run.
Runs all_in_order(const RowTable& rows, std::size_t most) {
  Runs runs(rows.feature_count, most);
  for (std::size_t t = 0; t < rows.size(); ++t) runs.add(rows.row(t), {0, t == 0 ? 0U : 1U});
  return runs;
}

}  // namespace

Stream make_stream(const Recipe& recipe, std::uint64_t seed) {
  return Maker(recipe, seed).make();
}

Fitted fit_stream(const Recipe& recipe, const Stream& stream, std::uint64_t seed) {
  Fitted fitted{.shape = {}, .model = {}, .layout = {3, 0}, .pilot = {}, .sample = {}, .runs = Runs(3)};
  fitted.pilot = pilot_from(stream.rows, fitted.layout);
  const RowTable rows = to_pilot(stream.rows, fitted.layout, fitted.pilot);
  const Mixture start = to_pilot(stream.truth, fitted.layout, fitted.pilot);
  fitted.shape.component_count = start.component_count();
  fitted.shape.feature_count = 3;
  fitted.shape.modes = recipe.modes;
  fitted.shape.noise_shape.tails = recipe.tails;
  if (recipe.modes == Modes::gated) fitted.shape.gate = {0, 1};
  if (fitted.shape.is_plain()) {
    const EmFit em =
        fit_em(rows, start, {.max_iterations = 2000, .stop_below_gain = 1e-11, .extrapolated = true});
    fitted.model = model_from(em.mixture, fitted.shape);
  } else {
    const Runs all = all_in_order(rows, rows.size() + 512);
    const HeldRows held{&all, nullptr, 1};
    fitted.model = settle(sticky_start(start, fitted.shape, held), fitted.shape, held, 40).model;
  }
  fitted.runs = all_in_order(rows, 5120);
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), 0);
  Generator generator(seed ^ 0x5851f42d4c957f2dULL);
  std::shuffle(order.begin(), order.end(), generator);
  fitted.sample.feature_count = 3;
  for (std::size_t i = 0; i < std::min(sample_rows, order.size()); ++i) fitted.sample.add(rows.row(order[i]));
  fitted.shift = true_shift(stream, to_raw(fitted.model.laws, fitted.layout, fitted.pilot));
  return fitted;
}

std::vector<Doubt> doubts_of(const Stream& stream, const Fitted& fitted) {
  DoubtRows rows;
  rows.sample = &fitted.sample;
  rows.runs = &fitted.runs;
  rows.rows = stream.rows.size();
  rows.layout = &fitted.layout;
  rows.pilot = &fitted.pilot;
  rows.features = stream.features;
  return look_for_doubts(fitted.model, fitted.shape, rows);
}

}  // namespace doubts_study
