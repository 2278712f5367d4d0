// One pass over the rows: an estimator for each group, fits as they fall due, everything counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "input/rows.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/report/page.hpp"
#include "mixstream/rows/feature_map.hpp"

namespace mixstream {

/// Which columns of a batch are what. Selected are the map's columns, the response, and weight and time if
/// given.
struct RowPlan {
  FeatureMap map;
  std::string response;
  std::string weight;  ///< column, or empty
  std::string time;    ///< column, or empty
  std::string group;   ///< column, or empty

  std::vector<std::string> numbers() const;
};

class FitSession {
 public:
  using Publish = std::function<bool(const Report&)>;  ///< false: nobody listens any more

  FitSession(RowPlan plan, EstimatorSettings settings, std::size_t most_groups);

  /// Takes up a saved estimator for the one group of a session without groups.
  void resume(Estimator estimator);
  void begin_source(std::uint64_t source);

  /// From now on keeps what fits said, for the page: those that fall due and those that are asked for.
  /// Without groups also one at each doubling of the rows, which leaves no trace in the state.
  void keep_history() { keeps_history_ = true; }

  /// Absorbs the batch; publishes fits that fall due by row count. False when publishing failed.
  bool absorb(const Batch& batch, const Publish& publish);

  /// Fits of every group, without a trace in the state.
  std::vector<Report> fits(bool final);

  /// What the page shows of these fits: the groups with most rows.
  PageInput page(const std::vector<Report>& reports) const;

  std::uint64_t rows() const noexcept { return rows_; }
  std::uint64_t refused_groups() const noexcept {
    return refused_groups_;
  }  ///< rows of groups beyond the limit
  const std::map<std::string, Estimator, std::less<>>& estimators() const noexcept { return estimators_; }
  std::map<std::string, Estimator, std::less<>>& estimators() noexcept { return estimators_; }

 private:
  Estimator* estimator_for(std::string_view group);
  bool absorb_groups(const Batch& batch, const Publish& publish);
  bool absorb_row(Estimator& estimator, std::string_view group, std::span<const double> values,
                  const Publish& publish);
  void remember(const Report& report);

  RowPlan plan_;
  EstimatorSettings settings_;
  std::size_t most_groups_;
  std::uint64_t source_ = 0;
  std::map<std::string, Estimator, std::less<>> estimators_;
  std::map<std::string, FitHistory, std::less<>> histories_;
  bool keeps_history_ = false;
  std::vector<double> features_;
  std::uint64_t rows_ = 0;
  std::uint64_t refused_groups_ = 0;
};

}  // namespace mixstream
