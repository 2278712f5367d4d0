#include "fit_command.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <span>

#include "exit_codes.hpp"
#include "mixstream/moments/state_file.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace mixstream {
namespace {

constexpr std::size_t complaints_shown = 10;
constexpr std::chrono::seconds page_interval{5};

/// The bytes of all files together; 0 when some size is not known.
std::uint64_t size_of(const std::vector<std::string>& files) {
  std::uint64_t total = 0;
  for (const std::string& file : files) {
    struct stat status {};
    if (file == "-" || ::stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    total += static_cast<std::uint64_t>(status.st_size);
  }
  return total;
}

/// The run of one fit command, from the first header to the last report.
class FitRun {
 public:
  explicit FitRun(const FitCommand& command)
      : command_(command),
        files_(command.files.empty() ? std::vector<std::string>{"-"} : command.files),
        output_(command.output.format(), colour_wanted(command.output.colour)),
        progress_(stderr_is_terminal() && !command.output.quiet, size_of(files_)) {}

  int run() {
    if (const Verdict verdict = read_words(); !verdict) return fail(exit_usage, verdict.refusal().text);
    watch_signals();
    for (std::size_t number = 0; number < files_.size() && status_ == exit_fitted; ++number)
      read_file(number);
    if (!session_) return status_ != exit_fitted ? status_ : fail(exit_data, "there were no rows");
    if (output_.closed()) return exit_fitted;
    return finish();
  }

 private:
  int fail(int code, const std::string& text) {
    progress_.clear();
    complain(text);
    status_ = code;
    return code;
  }

  Verdict read_words() {
    Outcome<SolveSettings> solve = command_.solve.settings();
    if (!solve) return solve.refusal();
    settings_.solve = std::move(solve).value();
    Outcome<InputSettings> input = command_.input.settings();
    if (!input) return input.refusal();
    input_ = std::move(input).value();
    settings_.every = command_.every;
    settings_.state.reservoir_rows = command_.sample_rows;
    settings_.state.seed = settings_.solve.seed;
    settings_.state.memory_budget = command_.memory << 20;
    if (!command_.interval.empty()) {
      const Outcome<Length> interval = parse_length(command_.interval, "--interval");
      if (!interval) return interval.refusal();
      if (!interval.value().seconds)
        return Refusal{Reason::bad_settings, "--interval takes a time such as 10s"};
      interval_ = interval.value().value;
    }
    if (!command_.group.empty() && (!command_.load.empty() || !command_.save.empty())) {
      return Refusal{Reason::bad_settings,
                     "--group and --save or --load do not go together: a state file holds one model"};
    }
    if (!command_.report.empty() && !has_page()) return to_html({}).refusal();
    return read_memory();
  }

  Verdict read_memory() {
    Memory& memory = settings_.state.memory;
    if (!command_.half_life.empty()) {
      const Outcome<Length> length = parse_length(command_.half_life, "--half-life");
      if (!length) return length.refusal();
      if (length.value().seconds && command_.time.empty()) {
        return Refusal{Reason::bad_settings,
                       "a half-life in time needs --time COLUMN: the rows' own clock, in seconds"};
      }
      memory.kind = length.value().seconds ? Memory::Kind::half_life_seconds : Memory::Kind::half_life_rows;
      memory.length = length.value().value;
    }
    if (!command_.window.empty()) {
      const Outcome<Length> length = parse_length(command_.window, "--window");
      if (!length) return length.refusal();
      if (length.value().seconds) return Refusal{Reason::bad_settings, "--window takes a number of rows"};
      memory.kind = Memory::Kind::window_rows;
      memory.length = length.value().value;
    }
    return std::monostate{};
  }

  void read_file(std::size_t number) {
    const std::string& path = files_[number];
    InputSettings settings = input_;
    settings.wake_descriptor = wake_descriptor();
    settings.on_wake = [] { return end_requested() == 0; };
    Outcome<Input> opened = open_input(path, settings);
    if (!opened) {
      if (end_requested() == 0) fail(exit_data, fmt::format("{}: {}", shown(path), opened.refusal().text));
      return;
    }
    if (!session_) {
      if (const Verdict verdict = begin(opened.value().columns()); !verdict) {
        const bool words = verdict.refusal().reason == Reason::bad_settings ||
                           verdict.refusal().reason == Reason::bad_feature_map;
        fail(words ? exit_usage : exit_data, verdict.refusal().text);
        return;
      }
    }
    if (!resumed_ || number > 0) session_->begin_source(number);
    Outcome<std::unique_ptr<RowReader>> reader =
        std::move(opened.value()).select({plan_.numbers(), plan_.group, false});
    if (!reader) {
      fail(exit_usage, fmt::format("{}: {}", shown(path), reader.refusal().text));
      return;
    }
    read_rows(*reader.value(), path);
    bytes_before_ += reader.value()->bytes_taken();
  }

  static std::string shown(const std::string& path) { return path == "-" ? "stdin" : path; }

  /// Settles what the columns are, and makes or loads the estimator.
  Verdict begin(const std::vector<std::string>& columns) {
    plan_.response = command_.response.empty() && !columns.empty() ? columns.back() : command_.response;
    plan_.weight = command_.weight;
    plan_.time = command_.time;
    plan_.group = command_.group;
    std::vector<std::string> others;
    for (const std::string& column : columns) {
      const bool taken =
          column == plan_.response || column == plan_.weight || column == plan_.time || column == plan_.group;
      if (!taken) others.push_back(column);
    }
    Outcome<FeatureMap> map =
        command_.features.empty() ? FeatureMap::plain(others) : FeatureMap::parse(command_.features, columns);
    if (!map) return map.refusal();
    plan_.map = with_used_columns(map.value());
    settings_.state.layout = {static_cast<int>(plan_.map.feature_count()), plan_.map.constant_feature()};
    settings_.state.feature_map = plan_.map.text();
    settings_.state.response = plan_.response;
    settings_.solve.feature_names = plan_.map.names();
    if (Outcome<Estimator> sound = Estimator::create(settings_); !sound) return sound.refusal();
    session_.emplace(plan_, settings_, plan_.group.empty() ? 1 : command_.most_groups);
    if (!command_.report.empty()) session_->keep_history();
    return command_.load.empty() ? Verdict(std::monostate{}) : load();
  }

  /// The same map over only those columns that it uses: the reader skips the others.
  static FeatureMap with_used_columns(const FeatureMap& map) { return FeatureMap::parse(map.text()).value(); }

  Verdict load() {
    Outcome<Bytes> bytes = mixstream::read_file(command_.load);
    if (!bytes) return bytes.refusal();
    Outcome<Estimator> estimator = Estimator::decode(bytes.value(), settings_);
    if (!estimator)
      return Refusal{estimator.refusal().reason, "'" + command_.load + "': " + estimator.refusal().text};
    const StateSettings& loaded = estimator.value().state().settings();
    if (loaded.feature_map != settings_.state.feature_map || loaded.response != plan_.response) {
      return Refusal{Reason::cannot_merge, fmt::format("'{}' was made with {} ~ {}; give the same -y and -x",
                                                       command_.load, loaded.response, loaded.feature_map)};
    }
    session_->resume(std::move(estimator).value());
    resumed_ = true;
    return std::monostate{};
  }

  void read_rows(RowReader& reader, const std::string& path) {
    const auto publish = [this](const Report& report) { return publish_report(report); };
    while (status_ == exit_fitted) {
      const Outcome<Batch> batch = reader.next();
      if (!batch) {
        fail(exit_data, fmt::format("{}: {}", shown(path), batch.refusal().text));
        return;
      }
      if (batch.value().end) return;
      const auto began = std::chrono::steady_clock::now();
      if (!session_->absorb(until_fatal(batch.value()), publish))
        status_ = output_.closed() ? exit_fitted : exit_data;
      ingest_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
      tell_refused(batch.value(), path);
      answer_signals();
      if (output_.closed() || end_requested() != 0) return;
      answer_clock();
      renew_page();
      progress_.show(session_->rows(), bytes_before_ + reader.bytes_taken(), last_verdict_);
    }
  }

  bool is_fatal(const RefusedRow& row) const {
    return command_.strict || (row.fault == RowFault::missing_value && command_.missing == "error");
  }

  /// The batch up to the first refused row that ends the run: what came before it is kept.
  Batch until_fatal(Batch batch) const {
    for (std::size_t i = 0; i < batch.refused.size(); ++i) {
      if (!is_fatal(batch.refused[i])) continue;
      batch.rows = batch.refused[i].rows_before;
      batch.refused = batch.refused.first(i + 1);
      break;
    }
    return batch;
  }

  void tell_refused(const Batch& batch, const std::string& path) {
    for (const RefusedRow& row : batch.refused) {
      if (is_fatal(row)) {
        fail(exit_data, fmt::format("{}: {}", shown(path), describe(row)));
        return;
      }
      if (command_.output.quiet || (row.fault == RowFault::missing_value && command_.missing == "skip"))
        continue;
      if (complaints_++ == complaints_shown)
        complain("more refused rows follow; they are counted, not shown");
      if (complaints_ > complaints_shown) continue;
      progress_.clear();
      complain(fmt::format("{}: {}: row refused", shown(path), describe(row)));
    }
  }

  bool publish_report(const Report& report) {
    progress_.clear();
    last_verdict_ = name_of(report.status);
    page_is_old_ = true;
    Report timed = report;
    timed.ingest_seconds = ingest_seconds_;
    return output_.write(timed);
  }

  void publish_all(bool final) {
    for (const Report& report : session_->fits(final)) {
      if (!publish_report(report)) return;
    }
  }

  void answer_signals() {
    if (take_fit_request()) publish_all(false);
    clear_wake();
  }

  void answer_clock() {
    if (interval_ <= 0.0) return;
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::duration<double>(now - last_fit_).count() < interval_) return;
    last_fit_ = now;
    publish_all(false);
  }

  /// The last fit and the saved state, whatever ended the reading.
  int finish() {
    progress_.clear();
    std::vector<Report> reports = session_->fits(true);
    bool fitted = !reports.empty();
    for (const Report& report : reports) {
      if (!publish_report(report) && !output_.closed()) status_ = exit_data;
      fitted = fitted && !report.components.empty();
      if (report.components.empty() && !command_.output.quiet) complain(report.words);
    }
    if (session_->refused_groups() > 0) {
      complain(fmt::format("{} rows of groups beyond --max-groups {} were refused",
                           session_->refused_groups(), command_.most_groups));
    }
    save();
    if (!command_.report.empty()) {
      if (const Verdict verdict = write_page(reports); !verdict) fail(exit_data, verdict.refusal().text);
    }
    if (status_ != exit_fitted) return status_;
    if (end_requested() != 0) return end_requested() == SIGINT ? exit_interrupted : exit_terminated;
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

  /// A stream that never ends has a page too: renewed with its fits, but not all the time.
  void renew_page() {
    const auto now = std::chrono::steady_clock::now();
    if (command_.report.empty() || !page_is_old_ || now - last_page_ < page_interval) return;
    page_is_old_ = false;
    last_page_ = now;
    if (const Verdict verdict = write_page(session_->fits(false)); !verdict && !page_failed_) {
      page_failed_ = true;
      complain(verdict.refusal().text);
    }
  }

  void save() {
    if (command_.save.empty() || session_->estimators().empty()) return;
    const Bytes bytes = session_->estimators().begin()->second.encode();
    if (const Verdict verdict = write_file(command_.save, bytes); !verdict)
      fail(exit_data, verdict.refusal().text);
  }

  const FitCommand& command_;
  std::vector<std::string> files_;
  FitOutput output_;
  Progress progress_;
  EstimatorSettings settings_;
  InputSettings input_;
  RowPlan plan_;
  std::optional<FitSession> session_;
  bool resumed_ = false;
  int status_ = exit_fitted;
  double interval_ = 0.0;
  double ingest_seconds_ = 0.0;
  std::uint64_t bytes_before_ = 0;
  std::size_t complaints_ = 0;
  std::string last_verdict_;
  bool page_is_old_ = false;  // a fit was published since it was written
  bool page_failed_ = false;
  std::chrono::steady_clock::time_point last_page_{};
  std::chrono::steady_clock::time_point last_fit_ = std::chrono::steady_clock::now();
};

}  // namespace

void FitCommand::add_to(CLI::App& command) {
  command.add_option("-y,--response", response, "Column of the response; default: the last column");
  command.add_option("-x,--features", features,
                     "Features as products of powers of columns; default: 1 and every other column");
  solve.add_to(command);
  command.add_option("--every", every, "A fit every so many rows, as they arrive");
  command.add_option("--interval", interval, "A fit every so often, such as 10s");
  auto* fading =
      command.add_option("--half-life", half_life, "Forget: rows (50000) or time (10m, with --time)");
  command.add_option("--window", window, "Remember only the last so many rows")->excludes(fading);
  command.add_option("--weight", weight, "Column with row weights");
  command.add_option("--time", time, "Column with the row's time in seconds, for a half-life in time");
  command.add_option("--group", group, "One model for each value of this column");
  command.add_option("--max-groups", most_groups, "Rows of further groups are refused");
  command.add_option("--na", missing, "A row with a missing value: skip (and count) or error")
      ->check(CLI::IsMember({"skip", "error"}));
  command.add_flag("--strict", strict, "Stop at the first row that cannot be used");
  command.add_option("--save", save, "Save the state to this file at the end");
  command.add_option(
      "--report", report,
      "Write a page with plots to this file (HTML, self-contained); renewed with the fits of --every");
  command.add_option("--load", load, "Go on from a saved state");
  command.add_option("--sample", sample_rows, "Rows kept as a sample");
  command.add_option("--memory", memory, "MiB that a model may take");
  input.add_to(command);
  output.add_to(command);
  command.add_option("files", files, "Files to read, in order; none or -: standard input");
  command.footer(
      "Examples:\n"
      "  mixstream simulate -k 2 -x 1,t,t^4 -n 100000 | mixstream fit -k 2 -y y -x 1,t,t^4\n"
      "  tail -f pump.csv | mixstream fit -k 3 -y power -x 1,flow,flow^2 --every 1000\n"
      "  mixstream fit -k auto -y demand -x 1,temperature day*.csv.gz --save demand.mix\n"
      "  mixstream fit -k 2 -y power -x 1,flow pump.csv --report pump.html\n\n"
      "Output: one JSON object a line (a table on a terminal); fields are described in the manual page.\n"
      "Exit: 0 fitted (also poor_fit), 1 data or file error, 2 wrong words, 3 not identifiable or too few "
      "rows.");
}

int FitCommand::run() const {
  return FitRun(*this).run();
}

}  // namespace mixstream
