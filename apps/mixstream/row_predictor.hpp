// What fitted laws say of rows, one after the other: for mixstream predict.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mixstream/likelihood/prediction.hpp"
#include "mixstream/modes/chains.hpp"
#include "mixstream/modes/modes_now.hpp"
#include "mixstream/modes/tracker.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "model_file.hpp"
#include "prediction_writer.hpp"

namespace mixstream {

/// Where a row is, and whose it is.
struct PredictedRow {
  std::string_view group;   ///< which model
  std::string_view sensor;  ///< whose rows it follows
  double time = 0.0;
  std::span<const double> values;  ///< of the map's columns
  std::optional<double> response;
};

/// One thread at a time. `models` must outlive it.
class RowPredictor {
 public:
  /// Sensors, and groups, whose rows are followed at once; the one that has been silent longest gives way.
  static constexpr std::size_t most_chains = 4096;
  static constexpr unsigned most_ahead = 100000;

  struct Settings {
    double level = 0.95;       ///< of the predictive interval
    double gap_seconds = 0.0;  ///< as in ChainSettings
    bool smooth = false;       ///< what is said of each row is kept for smoothed()
    unsigned ahead = 0;        ///< probabilities are those so many rows later
  };

  RowPredictor(const Models& models, FeatureMap map, const Settings& settings);

  const FeatureMap& map() const noexcept { return map_; }
  std::vector<std::string> names() const;  ///< of the predicted values

  /// The values of names(), until the next call; or none and why.
  std::span<const PredictedValue> predict(const PredictedRow& row, std::string& why);
  /// The same of the i-th row that was predicted of this input, given all of its rows. Each once, in order,
  /// after the last.
  std::span<const PredictedValue> smoothed();
  bool follows_modes() const noexcept;  ///< whether some model's rows depend on the row before

  /// A row of the group or sensor could not be read.
  void gap(std::string_view group, std::string_view sensor);
  void begin_input();

 private:
  /// What was said of the rows of one chain after the other.
  struct Kept {
    const FittedLaws* laws = nullptr;
    std::vector<double> filtered;  // n x k
    std::vector<double> pairs;     // n x k x k
    std::vector<unsigned char> begins;
  };
  struct Chain {
    const FittedLaws* laws;
    ModeTracker tracker;
    std::vector<double> coming;  // of the last row without y, since the last one with y; empty: none
    Kept* kept = nullptr;
  };
  /// A row whose prediction waits for those after it.
  struct Waiting {
    const FittedLaws* laws;
    Kept* kept;  // null: nothing is remembered from row to row
    std::size_t at;
    RowPrediction said;
    std::vector<double> probabilities;
    std::vector<double> expected;  // law by law
  };

  RowPrediction said_of(const FittedLaws& laws, const PredictedRow& row);
  void follow(const FittedLaws& laws, const PredictedRow& row, RowPrediction& said);
  Chain& chain_of(std::size_t slot, const FittedLaws& laws);
  void keep(const FittedLaws& laws, const RowPrediction& said);
  void mean_of_laws(std::span<const double> expected, RowPrediction& said) const;
  std::span<const PredictedValue> values_of(const FittedLaws& laws, const RowPrediction& said);
  LagMemory& memory_of(std::string_view source);

  const Models& models_;
  FeatureMap map_;
  Settings settings_;
  std::size_t most_components_ = 0;
  std::vector<double> inputs_;
  std::vector<double> features_;
  std::vector<double> probabilities_;
  std::vector<double> expected_;
  double rows_left_ = 0.0;  // of the mode of the last row
  Mixture at_x_;            // of a gated model
  std::vector<double> spare_;
  std::vector<PredictedValue> predicted_;
  std::map<std::string, LagMemory, std::less<>> memories_;
  ChainTable chains_;
  std::vector<std::optional<Chain>> trackers_;  // by slot
  Chain* followed_ = nullptr;                   // by the last row
  std::deque<Kept> kept_;
  std::deque<Waiting> waiting_;
  bool ended_ = false;
};

}  // namespace mixstream
