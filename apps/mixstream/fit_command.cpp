#include "fit_command.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>

#include "exit_codes.hpp"
#include "input/read_ahead.hpp"
#include "mixstream/moments/state_file.hpp"
#include "output.hpp"
#include "parallel_fit.hpp"
#include "refusals.hpp"
#include "signals.hpp"

namespace mixstream {
namespace {

constexpr std::size_t complaints_shown = 10;
constexpr std::chrono::seconds page_interval{5};
constexpr std::uint64_t smallest_part = 1 << 16;  // bytes of a file that are worth a thread

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point began) {
  return std::chrono::duration<double>(Clock::now() - began).count();
}

/// The bytes of all files together; 0 when some size is not known.
std::uint64_t size_of(const std::vector<std::string>& files) {
  std::uint64_t total = 0;
  for (const std::string& file : files) {
    struct stat status {};
    const int found = file == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(file.c_str(), &status);
    if (found != 0 || !S_ISREG(status.st_mode)) return 0;
    total += static_cast<std::uint64_t>(status.st_size);
  }
  return total;
}

std::string shown(const std::string& path) {
  return path == "-" ? "stdin" : path;
}

/// The run of one fit command, from the first header to the last report.
class FitRun final : public RefusalListener {
 public:
  explicit FitRun(const FitCommand& command)
      : RefusalListener({command.strict, command.missing == "error"}),
        command_(command),
        files_(command.files.empty() ? std::vector<std::string>{"-"} : command.files),
        output_(command.output.format(), colour_wanted(command.output.colour)),
        progress_(stderr_is_terminal() && !command.output.quiet, size_of(files_)) {}

  int run() {
    if (!read_words() || !check_files()) return status_;
    watch_signals();
    if (interval_ > 0.0) wake_every(interval_);
    for (std::size_t number = 0; number < files_.size() && goes_on(); ++number) read_file(number);
    if (status_ == exit_usage) return status_;
    if (!session_) return status_ != exit_fitted ? status_ : exit_code_of_signal();
    return finish();
  }

  bool fitted(const Report& report) override { return publish(report); }

 private:
  bool goes_on() const { return status_ == exit_fitted && !output_.closed() && end_requested() == 0; }

  bool fail(int code, const std::string& text) {
    progress_.clear();
    complain(text);
    status_ = code;
    return false;
  }

  bool read_words() {
    EstimatorSettings base;
    if (!command_.load.empty() && !load(base)) return false;
    Outcome<EstimatorSettings> settings = command_.settings(base);
    if (!settings) return fail(exit_usage, settings.refusal().text);
    settings_ = std::move(settings).value();
    Outcome<InputSettings> input = command_.input.settings();
    if (!input) return fail(exit_usage, input.refusal().text);
    input_ = std::move(input).value();
    input_.on_wake = [] {
      clear_wake();
      return end_requested() == 0;
    };
    const Outcome<double> interval = command_.interval_seconds();
    if (!interval) return fail(exit_usage, interval.refusal().text);
    interval_ = interval.value();
    if (!command_.report.empty() && !has_page()) return fail(exit_usage, to_html({}).refusal().text);
    return !loaded_ || go_on_from(base);
  }

  /// Reads the saved state; its settings become those that the words may change.
  bool load(EstimatorSettings& base) {
    const auto refuse = [&](const Refusal& refusal) {
      return fail(exit_data, fmt::format("'{}': {}", command_.load, refusal.text));
    };
    Outcome<Bytes> bytes = mixstream::read_file(command_.load);
    if (!bytes) return fail(exit_data, bytes.refusal().text);
    Outcome<SolveSettings> saved = Estimator::saved_solve_settings(bytes.value());
    if (!saved) return refuse(saved.refusal());
    Outcome<SolveSettings> solve = command_.solve.settings(saved.value());
    if (!solve) return fail(exit_usage, solve.refusal().text);
    base.solve = std::move(solve).value();
    base.every = command_.every;
    base.state.memory_budget = command_.memory << 20;
    Outcome<Estimator> estimator = Estimator::decode(bytes.value(), base);
    if (!estimator) return refuse(estimator.refusal());
    base.state = estimator.value().state().settings();
    loaded_ = std::move(estimator).value();
    return true;
  }

  /// Begins the session at the loaded state, if the words do not ask for something else.
  bool go_on_from(const EstimatorSettings& base) {
    const StateSettings& state = base.state;
    if (settings_.state.memory != state.memory || settings_.state.reservoir_rows != state.reservoir_rows) {
      return fail(exit_usage, fmt::format("'{}' was made with another half-life, window or sample: leave "
                                          "these options out",
                                          command_.load));
    }
    Outcome<FeatureMap> map = FeatureMap::parse(state.feature_map);
    if (!map) return fail(exit_data, fmt::format("'{}': {}", command_.load, map.refusal().text));
    const Outcome<FeatureMap> asked = command_.features.empty() ? map : FeatureMap::parse(command_.features);
    if (!asked) return fail(exit_usage, asked.refusal().text);
    const bool same_response = command_.response.empty() || command_.response == state.response;
    if (asked.value().text() != map.value().text() || !same_response) {
      return fail(exit_usage,
                  fmt::format("'{}' was made with -y '{}' -x '{}': give the same or leave them out",
                              command_.load, state.response, state.feature_map));
    }
    start_session(std::move(map).value(), state.response);
    session_->resume(std::move(*loaded_));
    return true;
  }

  /// What would fail at the end, or in the middle, fails here.
  bool check_files() {
    for (const std::string& path : files_) {
      if (path != "-" && ::access(path.c_str(), R_OK) != 0)
        return fail(exit_data, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    }
    for (const std::string& path : {command_.save, command_.report}) {
      if (path.empty()) continue;
      if (const Verdict writable = check_writable(path); !writable)
        return fail(exit_data, writable.refusal().text);
    }
    return true;
  }

  void read_file(std::size_t number) {
    path_ = files_[number];
    InputSettings settings = input_;
    settings.wake_descriptor = wake_descriptor();
    const bool in_parts = can_be_split();
    if (in_parts) settings.range.end -= 1;  // all of it, without moving the descriptor's own position
    Outcome<Input> opened = open_input(path_, settings);
    if (!opened) {
      const bool words = opened.refusal().reason == Reason::bad_settings;
      if (end_requested() == 0)
        fail(words ? exit_usage : exit_data, fmt::format("{}: {}", shown(path_), opened.refusal().text));
      return;
    }
    const bool by_words = !session_;
    if (!session_ && !begin(opened.value().columns())) return;
    Outcome<std::unique_ptr<RowReader>> reader =
        std::move(opened.value()).select({plan_.numbers(), plan_.group, false});
    if (!reader) {
      fail(by_words ? exit_usage : exit_data, fmt::format("{}: {}", shown(path_), reader.refusal().text));
      return;
    }
    std::unique_ptr<RowReader> rows = std::move(reader).value();
    if (!in_parts && plan_.group.empty()) rows = read_ahead(std::move(rows), settings.batch_rows, wake);
    read_rows(*rows, in_parts);
  }

  bool can_be_split() {
    if (command_.threads == 1) return false;
    const Outcome<std::optional<ByteRange>> extent = splittable_extent(path_);
    if (!extent) return false;  // the reader will say why
    if (!extent.value() && !command_.output.quiet)
      complain(shown(path_) + " is no plain file: it is read by one thread");
    file_end_ = extent.value() ? extent.value()->end : 0;
    return extent.value().has_value();
  }

  /// Settles what the columns are, and makes the estimator.
  bool begin(const std::vector<std::string>& columns) {
    const std::string response =
        command_.response.empty() && !columns.empty() ? columns.back() : command_.response;
    std::vector<std::string> others;
    for (const std::string& column : columns) {
      const auto is = [&](const std::string& name) { return column == name; };
      const bool taken = is(response) || is(command_.weight) || is(command_.time) || is(command_.group);
      if (!taken) others.push_back(column);
    }
    Outcome<FeatureMap> map =
        command_.features.empty() ? FeatureMap::plain(others) : FeatureMap::parse(command_.features, columns);
    if (!map) return fail(exit_usage, map.refusal().text);
    settings_.state.layout = {static_cast<int>(map.value().feature_count()), map.value().constant_feature()};
    settings_.state.feature_map = map.value().text();
    settings_.state.response = response;
    if (const Outcome<Estimator> sound = Estimator::create(settings_); !sound)
      return fail(exit_usage, sound.refusal().text);
    start_session(FeatureMap::parse(map.value().text()).value(), response);  // over the columns in use
    return true;
  }

  void start_session(FeatureMap map, const std::string& response) {
    settings_.solve.feature_names = map.names();
    plan_ = {std::move(map), response, command_.weight, command_.time, command_.group};
    most_groups_ = command_.most_groups;
    if (!plan_.group.empty()) {
      const std::uint64_t each = bytes_needed(settings_.state).value();
      most_groups_ = std::min<std::uint64_t>(most_groups_, settings_.state.memory_budget / each);
    }
    session_.emplace(plan_, settings_, most_groups_);
    if (!command_.report.empty()) session_->keep_history();
  }

  void read_rows(RowReader& reader, bool in_parts) {
    std::uint64_t row_bytes = 0;  // up to the last row seen
    while (goes_on()) {
      const Outcome<Batch> outcome = reader.next();
      if (!outcome) {
        fail(exit_data, fmt::format("{}: {}", shown(path_), outcome.refusal().text));
        break;
      }
      const Batch& batch = outcome.value();
      if (batch.end) break;
      absorb(batch);
      if (!batch.places.empty()) row_bytes = std::max(row_bytes, batch.places.back().offset + 1);
      if (!batch.refused.empty()) row_bytes = std::max(row_bytes, batch.refused.back().place.offset + 1);
      answer();
      renew_page();
      progress_.show(session_->rows(), bytes_before_ + reader.bytes_taken(), last_verdict_);
      const bool worth_it = file_end_ >= row_bytes + command_.threads * smallest_part;
      if (in_parts && worth_it && ready_for_parts()) return read_parts(row_bytes);
    }
    bytes_before_ += reader.bytes_taken();
  }

  void absorb(const Batch& batch) {
    const auto began = Clock::now();
    const double solved = session_->solve_seconds();
    if (!session_->absorb(batch, *this) && !output_.closed() && status_ == exit_fitted) status_ = exit_data;
    ingest_seconds_ += seconds_since(began) - (session_->solve_seconds() - solved);
  }

  /// The first rows are read in order: they fix the pilot, and the anchor of the polish where there is one.
  bool ready_for_parts() const {
    const MomentState& state = session_->estimator().state();
    const bool polishes =
        settings_.solve.method == FitMethod::standard && settings_.solve.polish != PolishKind::off;
    return state.pilot_is_fixed() && (!polishes || state.row_count() >= settings_.polish.first_check);
  }

  void read_parts(std::uint64_t begin) {
    const auto began = Clock::now();
    const ParallelPlan plan{
        path_,           input_, plan_, {command_.strict, command_.missing == "error"}, {begin, file_end_},
        command_.threads};
    const std::uint64_t rows = session_->rows();
    const ParallelOutcome outcome = absorb_in_parallel(
        session_->estimator(), plan, [&](std::uint64_t more_rows, std::uint64_t more_bytes) {
          progress_.show(rows + more_rows, bytes_before_ + begin + more_bytes, last_verdict_);
        });
    ingest_seconds_ += seconds_since(began);
    bytes_before_ += file_end_;
    for (const RefusedWords& refused : outcome.refused) tell(refused);
    if (!outcome.failure.empty()) fail(exit_data, fmt::format("{}: {}", shown(path_), outcome.failure));
  }

  void tell(const RefusedWords& refused) override {
    if (refused.fatal) {
      fail(exit_data, fmt::format("{}: {}", shown(path_), with_place(refused, path_)));
      return;
    }
    if (refused.missing || command_.output.quiet || complaints_ > complaints_shown) return;
    progress_.clear();
    if (complaints_++ == complaints_shown)
      complain("more refused rows follow; they are counted, not shown");
    else
      complain(fmt::format("{}: {}: row refused", shown(path_), with_place(refused, path_)));
  }

  bool publish(const Report& report) {
    progress_.clear();
    last_verdict_ = name_of(report.status);
    page_is_old_ = true;
    Report timed = report;
    timed.ingest_seconds = ingest_seconds_;
    if (output_.write(timed)) return true;
    if (!output_.closed()) status_ = exit_data;
    return false;
  }

  void publish_all() {
    rows_fitted_ = session_->rows();
    for (const Report& report : session_->fits(false)) {
      if (!publish(report)) return;
    }
  }

  /// Does what signals and the clock ask for.
  void answer() {
    clear_wake();
    if (take_fit_request()) publish_all();
    if (interval_ <= 0.0 || seconds_since(last_interval_) < interval_) return;
    if (session_->rows() == rows_fitted_) return;  // silence; the clock stays due
    last_interval_ = Clock::now();
    publish_all();
  }

  /// The last fit and the saved state, whatever ended the reading.
  int finish() {
    progress_.clear();
    bool fitted = true;
    if (!output_.closed() || !command_.report.empty()) {
      const std::vector<Report> reports = session_->fits(true);
      fitted = !reports.empty();
      for (const Report& report : reports) {
        if (!output_.closed()) publish(report);
        fitted = fitted && !report.components.empty();
        tell_unfitted(report);
      }
      write_last_page(reports);
    }
    save();
    if (status_ != exit_fitted) return status_;
    if (exit_code_of_signal() != 0) return exit_code_of_signal();
    return fitted ? exit_fitted : exit_not_identifiable;
  }

  Verdict write_page(std::vector<Report> reports) {
    for (Report& report : reports) report.ingest_seconds = ingest_seconds_;
    PageInput input = session_->page(reports);
    input.version = MIXSTREAM_VERSION;
    const Outcome<std::string> page = to_html(input);
    if (!page) return page.refusal();
    return write_file(command_.report, std::as_bytes(std::span(page.value())));
  }

  void write_last_page(const std::vector<Report>& reports) {
    if (command_.report.empty()) return;
    if (const Verdict verdict = write_page(reports); !verdict) fail(exit_data, verdict.refusal().text);
  }

  /// A stream that never ends has a page too: renewed with its fits, but not all the time.
  void renew_page() {
    if (command_.report.empty() || !page_is_old_ || Clock::now() - last_page_ < page_interval) return;
    page_is_old_ = false;
    last_page_ = Clock::now();
    if (const Verdict verdict = write_page(session_->fits(false)); !verdict && !page_failed_) {
      page_failed_ = true;
      complain(verdict.refusal().text);
    }
  }

  void tell_unfitted(const Report& report) const {
    if (!report.components.empty() || command_.output.quiet) return;
    complain(report.group ? *report.group + ": " + report.words : report.words);
    if (report.rows == 0 && !report.refused.empty())
      complain("every row was refused: choose the columns with -y and -x");
  }

  void save() {
    if (command_.save.empty()) return;
    if (const Verdict verdict = write_file(command_.save, session_->estimator().encode()); !verdict)
      fail(exit_data, verdict.refusal().text);
  }

  const FitCommand& command_;
  std::vector<std::string> files_;
  FitOutput output_;
  Progress progress_;
  EstimatorSettings settings_;
  InputSettings input_;
  RowPlan plan_;
  std::optional<Estimator> loaded_;
  std::optional<FitSession> session_;
  std::size_t most_groups_ = 1;
  int status_ = exit_fitted;
  double interval_ = 0.0;
  double ingest_seconds_ = 0.0;
  std::string path_;            // being read
  std::uint64_t file_end_ = 0;  // of a file that is read in parts
  std::uint64_t bytes_before_ = 0;
  std::uint64_t rows_fitted_ = 0;
  std::size_t complaints_ = 0;
  std::string last_verdict_;
  bool page_is_old_ = false;  // a fit was published since it was written
  bool page_failed_ = false;
  Clock::time_point last_page_{};
  Clock::time_point last_interval_ = Clock::now();
};

}  // namespace

int FitCommand::run() const {
  return FitRun(*this).run();
}

}  // namespace mixstream
