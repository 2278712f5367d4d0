#include "row_predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace mixstream {
namespace {

/// Digits behind the point of a number that is known to about a hundredth of the noise.
int decimals_for(double deviation) {
  if (!(deviation > 0.0)) return -1;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(deviation))), 0, 15);
}

std::size_t likeliest(std::span<const double> probabilities) {
  return static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

}  // namespace

RowPredictor::RowPredictor(const Models& models, FeatureMap map, const Settings& settings)
    : models_(models),
      map_(std::move(map)),
      settings_(settings),
      inputs_(map_.input_count()),
      features_(map_.feature_count()),
      chains_(ChainSettings{most_chains, settings.gap_seconds}) {
  for (const auto& [group, laws] : models_)
    most_components_ = std::max(most_components_, laws.mixture.component_count());
}

bool RowPredictor::follows_modes() const noexcept {
  return std::ranges::any_of(models_, [](const auto& entry) {
    return entry.second.model.has_value() && entry.second.shape.remembers();
  });
}

std::vector<std::string> RowPredictor::names() const {
  std::vector<std::string> names{"component"};
  for (std::size_t h = 0; h < most_components_; ++h) names.push_back(fmt::format("p{}", h + 1));
  if (settings_.ahead > 0) names.emplace_back("left");
  names.insert(names.end(), {"expected", "low", "high"});
  return names;
}

std::span<const PredictedValue> RowPredictor::predict(const PredictedRow& row, std::string& why) {
  const std::string_view source = row.sensor.empty() ? row.group : row.sensor;
  std::copy_n(row.values.begin(), map_.columns().size(), inputs_.begin());
  const bool reaches = map_.lags().empty() || memory_of(source).fill(inputs_);
  const auto found = models_.find(row.group);
  why.clear();
  if (found == models_.end()) why = fmt::format("there is no model for group \"{}\"", row.group);
  const int fault = why.empty() ? map_.evaluate(inputs_, features_) : -1;
  if (fault >= 0 || (why.empty() && !reaches)) why = map_.fault_words(std::max(fault, 0), inputs_);
  if (!why.empty()) {
    if (found != models_.end()) chains_.skip(sensor_number(source));
    return {};
  }
  const FittedLaws& laws = found->second;
  probabilities_.resize(laws.mixture.component_count());
  RowPrediction said = said_of(laws, row);
  followed_ = nullptr;
  rows_left_ = std::numeric_limits<double>::quiet_NaN();
  if (laws.model) follow(laws, row, said);
  if (settings_.smooth) keep(laws, said);
  return values_of(laws, said);
}

/// What the row says by itself; with a gate its features choose the weights.
RowPrediction RowPredictor::said_of(const FittedLaws& laws, const PredictedRow& row) {
  const Mixture* mixture = &laws.mixture;
  if (laws.model && laws.shape.modes == Modes::gated) {
    at_x_ = laws.mixture;
    open_gate(*laws.model, laws.shape, features_, at_x_.weights);
    mixture = &at_x_;
  }
  return predict_row(*mixture, features_, row.response, settings_.level, probabilities_);
}

/// Rows in order: what the rows so far say of the law takes the place of what this row says alone.
void RowPredictor::follow(const FittedLaws& laws, const PredictedRow& row, RowPrediction& said) {
  const std::uint64_t source = sensor_number(row.sensor.empty() ? row.group : row.sensor);
  if (row.response) {
    const ChainTable::Step step = chains_.next(source, row.time);
    followed_ = &chain_of(step.slot, laws);
    followed_->coming.clear();
    std::ranges::copy(followed_->tracker.follow({features_, *row.response}, step.steps),
                      probabilities_.begin());
  } else if (const auto slot = chains_.slot_of(source)) {
    Chain& chain = chain_of(*slot, laws);
    if (chain.coming.empty())
      chain.coming.assign(chain.tracker.probabilities().begin(), chain.tracker.probabilities().end());
    chain.tracker.pass_on(features_, chain.coming);
    std::ranges::copy(chain.coming, probabilities_.begin());
    chains_.skip(source);
  }
  if (settings_.ahead > 0 && laws.shape.modes == Modes::persistent) {
    spare_.resize(probabilities_.size());
    rows_left_ = rows_left(laws.model->transitions, probabilities_);
    step_ahead(laws.model->transitions, settings_.ahead, probabilities_, spare_);
  }
  expected_.assign(probabilities_.size(), 0.0);
  for (std::size_t h = 0; h < expected_.size(); ++h) {
    for (std::size_t j = 0; j < features_.size(); ++j) expected_[h] += laws.mixture.law(h)[j] * features_[j];
  }
  mean_of_laws(expected_, said);
}

RowPredictor::Chain& RowPredictor::chain_of(std::size_t slot, const FittedLaws& laws) {
  if (slot >= trackers_.size()) trackers_.resize(slot + 1);
  std::optional<Chain>& chain = trackers_[slot];
  if (!chain || chain->laws != &laws) chain.emplace(Chain{&laws, {laws.shape, *laws.model}, {}});
  return *chain;
}

/// The likeliest law, and the mean of what the laws expect.
void RowPredictor::mean_of_laws(std::span<const double> expected, RowPrediction& said) const {
  said.component = likeliest(probabilities_);
  said.expected = 0.0;
  for (std::size_t h = 0; h < expected.size(); ++h) said.expected += probabilities_[h] * expected[h];
}

void RowPredictor::keep(const FittedLaws& laws, const RowPrediction& said) {
  Waiting waiting{&laws, nullptr, 0, said, probabilities_, {}};
  if (followed_ != nullptr) {
    if (followed_->kept == nullptr) followed_->kept = &kept_.emplace_back(Kept{&laws, {}, {}, {}});
    Kept& kept = *followed_->kept;
    waiting.kept = &kept;
    waiting.at = kept.begins.size();
    waiting.expected = expected_;
    const std::span<const double> pairs = followed_->tracker.pairs();
    kept.filtered.insert(kept.filtered.end(), probabilities_.begin(), probabilities_.end());
    kept.pairs.insert(kept.pairs.end(), pairs.begin(), pairs.end());
    kept.begins.push_back(followed_->tracker.begun_here() ? 1 : 0);
  }
  waiting_.push_back(std::move(waiting));
}

std::span<const PredictedValue> RowPredictor::smoothed() {
  if (!std::exchange(ended_, true)) {
    for (Kept& kept : kept_) {
      kept.filtered =
          mixstream::smoothed(kept.laws->mixture.component_count(), kept.filtered, kept.pairs, kept.begins);
      kept.pairs = {};
    }
  }
  Waiting row = std::move(waiting_.front());
  waiting_.pop_front();
  probabilities_ = std::move(row.probabilities);
  if (row.kept != nullptr) {
    const std::size_t k = probabilities_.size();
    std::copy_n(row.kept->filtered.begin() + static_cast<std::ptrdiff_t>(row.at * k), k,
                probabilities_.begin());
    mean_of_laws(row.expected, row.said);
  }
  return values_of(*row.laws, row.said);
}

std::span<const PredictedValue> RowPredictor::values_of(const FittedLaws& laws, const RowPrediction& said) {
  predicted_.assign({{static_cast<double>(said.component + 1), 0}});
  for (const double p : probabilities_) predicted_.push_back({std::round(1e4 * p) / 1e4, -1});
  predicted_.resize(1 + most_components_, {std::numeric_limits<double>::quiet_NaN(), 0});
  if (settings_.ahead > 0) predicted_.push_back({rows_left_, 1});
  const int decimals = decimals_for(std::sqrt(laws.mixture.noise_variances[said.component]));
  for (const double value : {said.expected, said.interval.low, said.interval.high})
    predicted_.push_back({value, decimals});
  return predicted_;
}

void RowPredictor::gap(std::string_view group, std::string_view sensor) {
  const std::string_view source = sensor.empty() ? group : sensor;
  if (!map_.lags().empty()) memory_of(source).gap();
  chains_.skip(sensor_number(source));
}

void RowPredictor::begin_input() {
  memories_.clear();
  chains_.cut();
  trackers_.clear();
  kept_.clear();
  waiting_.clear();
  ended_ = false;
}

LagMemory& RowPredictor::memory_of(std::string_view source) {
  const auto found = memories_.find(source);
  return found != memories_.end() ? found->second : memories_.emplace(source, map_).first->second;
}

}  // namespace mixstream
