// One pass over the rows: an estimator for each group, fits as they fall due, everything counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "group_file.hpp"
#include "input/input.hpp"
#include "mixstream/estimator.hpp"
#include "mixstream/model/few_rows.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/report/page.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "mixstream/rows/repeated_contents.hpp"
#include "time_unit.hpp"

namespace mixstream {

/// Which columns of a batch are what. Selected are the map's columns, the response, and weight and time if
/// given, each once.
struct RowPlan {
  FeatureMap map;
  std::string response;
  std::string weight;      ///< column, or empty
  std::string time;        ///< column, or empty
  std::string group;       ///< column, or empty
  std::string sensor;      ///< column, or empty; not with a group
  bool unordered = false;  ///< what a row holds is its number, not its place; not with a group

  /// The column that is read as text: the group's or the sensor's.
  const std::string& text() const noexcept { return group.empty() ? sensor : group; }

  std::vector<std::string> numbers() const;
  std::size_t place_of(const std::string& name) const;  ///< among the numbers
  /// What to read of a row. It refers to the plan, which must outlive the reader.
  Selection selection() const;
};

/// Hears what happens while rows are absorbed, in the order of the rows. An answer of false ends it there.
class SessionListener {
 public:
  virtual ~SessionListener() = default;
  virtual bool fitted(const Report& report) = 0;                    ///< a fit that fell due by row count
  virtual bool refused(const RefusedRow& row) = 0;                  ///< before it became numbers
  virtual bool refused(RowFault fault, const RowPlace& place) = 0;  ///< its numbers cannot be used
  /// A feature has no value: the log of a negative number; expected: a lag that reaches before the first row.
  virtual bool refused_feature(std::string words, const RowPlace& place, bool expected) = 0;
  virtual bool refused_group(std::string_view group, const RowPlace& place) = 0;  ///< one group too many
};

/// Of the fits of all groups those that the page shows: of the groups with most rows.
class PageReports {
 public:
  void add(Report report);
  const std::vector<Report>& list() const noexcept { return reports_; }  ///< most rows first
  std::vector<Report>& list() noexcept { return reports_; }
  std::size_t seen() const noexcept { return seen_; }

 private:
  std::vector<Report> reports_;
  std::size_t seen_ = 0;
};

/// A row's position, on which the sample depends, is its number in the stream, refused rows counted: so the
/// same rows have one sample in any format, with any line ends, compressed or not, in any cut into resumed
/// parts, split of a file or list of files. Of a plan without order it is what the row holds: then in any
/// order, too.
class FitSession {
 public:
  /// Throws std::runtime_error when the settings are refused: Estimator::create was not asked first.
  /// most_estimators: groups of more than FewRows::most_rows rows.
  FitSession(RowPlan plan, EstimatorSettings settings, std::size_t most_groups,
             std::size_t most_estimators = 1);

  /// Takes up an estimator for the one group of a session without groups.
  void resume(Estimator estimator);

  /// Takes up a group's model, whatever the number of groups.
  void resume_group(const std::string& group, GroupModel model);
  /// The stream goes on there.
  void resume_at(std::uint64_t position) { position_ = position; }
  /// Writes a file of all groups.
  Done save_groups(const std::string& path) const;

  /// Rows that follow come from another input; and after them.
  void begin_input();
  void end_inputs_at(std::uint64_t position);
  void end_input() { end_inputs_at(next_position()); }

  /// Rows that follow come from a part of a stream that another session leads, whose first row has this
  /// position; no chain goes on into it.
  void begin_part(std::uint64_t source, std::uint64_t position);

  std::uint64_t first_position() const noexcept { return position_; }  ///< of the input or part being read
  /// Of the row behind the last one absorbed or refused.
  std::uint64_t next_position() const noexcept { return position_ + rows_of_input_; }

  /// Makes the fits that are due after rows were added from elsewhere. False: the listener ended it.
  bool fit_if_due(SessionListener& listener);
  /// Rows until then, or until the next fit that only the history asks for; 0: now.
  std::uint64_t rows_until_fit() const;

  /// From now on keeps what fits said, for the page: those that fall due and those that are asked for.
  /// Without groups also one at each doubling of the rows, which leaves no trace in the state.
  void keep_history() { keeps_history_ = true; }

  /// Absorbs the batch, up to the row at which the listener ends it. False: it did.
  bool absorb(const Batch& batch, SessionListener& listener);

  /// A fit of every group, by so many threads, visited one after the other in the order of the names, without
  /// a trace in the state: nobody holds those of ten thousand groups. False: the visitor ended it.
  bool each_fit(bool final, std::size_t threads, const std::function<bool(Report)>& visit);

  /// What the page shows of these fits.
  PageInput page(const PageReports& reports) const;

  const RowPlan& plan() const noexcept { return plan_; }
  std::uint64_t rows() const { return plan_.group.empty() ? estimator().state().row_count() : rows_; }
  double solve_seconds() const noexcept { return solve_seconds_; }  ///< of fits that fell due
  /// The only one of a session without groups.
  Estimator& estimator() { return estimators_.at(""); }
  const Estimator& estimator() const { return estimators_.at(""); }

 private:
  /// One of the two.
  struct GroupRef {
    const std::string* name;
    const FewRows* small = nullptr;
    const Estimator* large = nullptr;
  };

  std::vector<GroupRef> groups() const;  // by name
  Estimator make_estimator() const;
  Estimator* estimator_for(std::string_view group);
  FewRows* small_group_for(std::string_view group, std::span<const double> values);
  Sample sample_of(const std::string& group) const;
  Estimator poured(const FewRows& small) const;
  bool absorb_small(FewRows& small, const Batch& batch, std::size_t i, SessionListener& listener);
  template <class Counted>
  bool make_row(Counted& counted, const Batch& batch, std::size_t i, SessionListener& listener, Row& row);
  bool absorb_rows(const Batch& batch, std::size_t from, std::size_t to, SessionListener& listener);
  bool absorb_grouped_rows(const Batch& batch, std::size_t from, std::size_t to, SessionListener& listener);
  bool absorb_row(Estimator& estimator, const Batch& batch, std::size_t i, SessionListener& listener);
  template <class Counted>
  bool find_features(Counted& counted, const Batch& batch, std::size_t i, SessionListener& listener);
  std::optional<std::uint64_t> sensor_of(std::string_view name) const;
  LagMemory& memory_of(std::string_view group);
  bool scheduled_fit(Estimator& estimator, std::string_view group, SessionListener& listener);
  void describe(Report& report, std::string_view group) const;
  std::uint64_t number_of(const Row& row);
  std::uint64_t rows_until_look(const Estimator& estimator) const;
  void remember(const Report& report);

  RowPlan plan_;
  EstimatorSettings settings_;
  std::size_t most_groups_;
  std::uint64_t position_ = 0;       // of the first row of the input or part being read
  std::uint64_t rows_of_input_ = 0;  // absorbed or refused so far
  std::size_t inputs_begun_ = 0;
  std::map<std::string, Estimator, std::less<>> estimators_;
  std::map<std::string, FewRows, std::less<>> small_groups_;  // that have no estimator yet
  bool keeps_small_groups_ = false;
  std::size_t most_estimators_ = 1;
  std::map<std::string, std::uint64_t, std::less<>> refused_;  // of rows without a group's estimator
  std::map<std::string, FitHistory, std::less<>> histories_;
  bool keeps_history_ = false;
  std::uint64_t last_look_ = 0;  // row count of the last fit made for the history alone
  std::vector<double> features_;
  std::size_t response_at_;  // in a row of numbers; likewise below
  std::size_t weight_at_;
  std::size_t time_at_;
  bool columns_are_features_;  // each as it is: nothing to evaluate
  bool goes_on_ = true;
  TimeUnit time_unit_;
  std::vector<double> inputs_;                              // of the map, where it has lags
  std::map<std::string, LagMemory, std::less<>> memories_;  // by group
  std::uint64_t rows_ = 0;                                  // of all groups
  double solve_seconds_ = 0.0;
  std::optional<std::uint64_t> first_content_;  // of a plan without order
  RepeatedContents contents_;
};

}  // namespace mixstream
