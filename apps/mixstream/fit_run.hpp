// The run of one fit command, from the first header to the last report.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "column_choice.hpp"
#include "exit_codes.hpp"
#include "fit_command.hpp"
#include "group_file.hpp"
#include "refusals.hpp"

namespace mixstream {

inline double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// How a path is named in messages.
inline std::string shown(const std::string& path) {
  return path == "-" ? "stdin" : path;
}

/// What the end of a run needs of its last fits, one at a time: of ten thousand groups little more than laws.
struct LastFits {
  std::size_t fits = 0;
  std::size_t without_laws = 0;
  std::uint64_t rows = 0;
  std::uint64_t refused = 0;  ///< but for the first rows of lags
  std::uint64_t refused_of_no_group = 0;
  std::vector<Report> laws;  ///< of groups: name, rows, status and components
  PageReports page;

  void add(const Report& report, bool keeps_laws);
  bool fitted() const noexcept { return fits > 0 && without_laws == 0; }
};

/// Reads the files in order, by one thread or several. A program that reads them in another way overrides
/// read_files, and perhaps hand_over, and has the rest: words, loading, columns, fits, page, saving.
class FitRun : public RefusalListener {
 public:
  explicit FitRun(const FitCommand& command);

  int run();  ///< the exit code
  bool fitted(const Report& report) override { return publish(report); }

 protected:
  using Clock = std::chrono::steady_clock;

  virtual void read_files();
  /// Asked after each batch of a file; true: the rest of it is no more this run's to read. Here: parts for
  /// the threads.
  virtual bool hand_over(const RowReader& reader);

  bool goes_on() const;
  bool fail(int code, const std::string& text);  ///< says it and ends the run with this code; false
  void read_file(std::size_t number);
  Outcome<std::unique_ptr<RowReader>> select(Input input) const;
  /// The first rows are read in order: they fix the pilot, and the anchor of the polish where there is one.
  bool ready_for_parts() const;
  /// Begins the session at a state, if the words do not ask for something else.
  bool go_on_from(Estimator estimator, const std::string& path);
  void tell(const RefusedWords& refused) override;
  void answer();      ///< does what signals and the clock ask for
  void renew_page();  ///< a stream that never ends has a page too
  virtual void publish_all();
  virtual std::uint64_t rows_seen() const { return session_->rows(); }
  bool publish(const Report& report);
  void show_progress(std::uint64_t rows, std::uint64_t bytes);
  void count_ingest(double seconds) noexcept { ingest_seconds_ += seconds; }
  void leave_without_fit() noexcept {
    fits_at_end_ = false;
  }  ///< what was read is no beginning of the stream

  Outcome<Estimator> decode(std::span<const std::byte> bytes) const {  ///< a saved one, as the words want it
    return Estimator::decode(bytes, settings_);
  }
  FitSession& session() { return *session_; }
  const FitSession& session() const { return *session_; }
  const FitCommand& command() const noexcept { return command_; }
  const std::vector<std::string>& files() const noexcept { return files_; }
  const RowPlan& plan() const noexcept { return plan_; }
  const InputSettings& input_settings() const noexcept { return input_; }
  std::size_t file_number() const noexcept { return file_number_; }  ///< being read
  void set_path(const std::string& path) { path_ = path; }           ///< of the rows that are told of
  int status() const noexcept { return status_; }
  RefusalPolicy policy() const { return {command_.strict, command_.missing == "error"}; }

 private:
  bool read_words();
  bool load(EstimatorSettings& base);
  bool check_files();
  bool can_be_split();
  bool begin(Input& input);
  WantedColumns wanted_columns() const;
  void start_session(FeatureMap map, const std::string& response);
  void read_rows(RowReader& reader);
  void absorb(const Batch& batch);
  void tell_passed_over(const Batch& batch);
  void read_parts(std::uint64_t begin);
  int finish();
  Done write_page(PageReports reports);
  void write_last_page(const PageReports& reports);
  void tell_unfitted(const Report& report) const;
  bool too_many_refused(const LastFits& last) const;
  void save();

  const FitCommand& command_;
  std::vector<std::string> files_;
  FitOutput output_;
  Progress progress_;
  EstimatorSettings settings_;
  InputSettings input_;
  RowPlan plan_;
  std::optional<Estimator> loaded_;
  std::optional<GroupReader> loaded_groups_;
  std::optional<FitSession> session_;
  int status_ = exit_fitted;
  bool fits_at_end_ = true;
  double interval_ = 0.0;
  double ingest_seconds_ = 0.0;
  std::size_t file_number_ = 0;
  std::string path_;            // being read
  std::uint64_t file_end_ = 0;  // of a file that is read in parts; else 0
  std::uint64_t bytes_before_ = 0;
  std::uint64_t rows_fitted_ = 0;
  std::size_t complaints_ = 0;
  RefusalCauses causes_;
  std::uint64_t refused_before_ = 0;  // in the state that was loaded
  std::uint64_t comments_ = 0;        // lines passed over
  std::string last_verdict_;
  bool page_is_old_ = false;  // a fit was published since it was written
  bool page_failed_ = false;
  Clock::time_point last_page_{};
  Clock::time_point last_interval_ = Clock::now();
};

}  // namespace mixstream
