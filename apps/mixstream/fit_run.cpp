#include "fit_run.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "column_choice.hpp"
#include "input/columns.hpp"
#include "input/read_ahead.hpp"
#include "mixstream/estimator/model_budget.hpp"
#include "mixstream/moments/state_file.hpp"
#include "parallel_fit.hpp"
#include "signals.hpp"

namespace mixstream {
namespace {

constexpr std::uint64_t smallest_part = 1 << 16;  // bytes of a file that are worth a thread

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

}  // namespace

FitRun::FitRun(const FitCommand& command)
    : RefusalListener({command.strict, command.missing == "error"}),
      command_(command),
      files_(command.files.empty() ? std::vector<std::string>{"-"} : command.files),
      output_(command.output.format(), colour_wanted(command.output.colour), command.output.explain),
      progress_(stderr_is_terminal() && !command.output.quiet, size_of(files_)) {}

int FitRun::run() {
  if (!read_words() || !check_files()) return status_;
  watch_signals();
  if (interval_ > 0.0) wake_every(interval_);
  read_files();
  if (status_ == exit_usage || !fits_at_end_) return status_;
  if (!session_) return status_ != exit_fitted ? status_ : exit_code_of_signal();
  return finish();
}

void FitRun::read_files() {
  for (std::size_t number = 0; number < files_.size() && goes_on(); ++number) read_file(number);
}

bool FitRun::goes_on() const {
  return status_ == exit_fitted && !output_.closed() && end_requested() == 0;
}

bool FitRun::fail(int code, const std::string& text) {
  progress_.clear();
  complain(text);
  status_ = code;
  return false;
}

bool FitRun::read_words() {
  EstimatorSettings base;
  base.solve.choice = {true, true};
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
  return !loaded_ || go_on_from(std::move(*loaded_), command_.load);
}

/// Reads the saved state; its settings become those that the words may change.
bool FitRun::load(EstimatorSettings& base) {
  const auto refuse = [&](const Refusal& refusal) {
    return fail(exit_data, fmt::format("'{}': {}", command_.load, refusal.text));
  };
  if (holds_groups(command_.load)) {
    Outcome<GroupReader> groups = GroupReader::open(command_.load);
    if (!groups) return refuse(groups.refusal());
    const std::string& column = groups.value().column();
    if (command_.group != column)
      return fail(exit_usage, fmt::format("'{}' holds a model for each value of \"{}\": say --group {}",
                                          command_.load, column, as_word(column)));
    loaded_groups_.emplace(std::move(groups).value());
  } else if (!command_.group.empty()) {
    return fail(exit_usage,
                fmt::format("'{}' holds one model for all rows: leave out --group", command_.load));
  }
  const Outcome<Bytes> bytes =
      loaded_groups_ ? Outcome<Bytes>(loaded_groups_->empty()) : mixstream::read_file(command_.load);
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

bool FitRun::go_on_from(Estimator estimator, const std::string& path) {
  const StateSettings state = estimator.state().settings();
  const std::size_t sample = settings_.state.reservoir_rows;
  if (settings_.state.memory != state.memory || (sample != 0 && sample != state.reservoir_rows)) {
    return fail(exit_usage, fmt::format("'{}' was made with another half-life, window or sample: leave "
                                        "these options out",
                                        path));
  }
  Outcome<FeatureMap> map = FeatureMap::parse(state.feature_map);
  if (!map) return fail(exit_data, fmt::format("'{}': {}", path, map.refusal().text));
  const Outcome<FeatureMap> asked =
      command_.features.empty() ? map : FeatureMap::parse(command_.features, map.value().columns());
  if (!asked) return fail(exit_usage, asked.refusal().text);
  const bool same_response = command_.response.empty() || command_.response == state.response;
  if (asked.value().text() != map.value().text() || !same_response) {
    return fail(exit_usage, fmt::format("'{}' was made with -y '{}' -x '{}': give the same or leave them out",
                                        path, state.response, state.feature_map));
  }
  settings_.state = state;
  start_session(std::move(map).value(), state.response);
  const auto count_refused = [this](const auto& one) {
    for (const auto& [reason, count] : one.refused()) refused_before_ += count;
  };
  if (plan_.group.empty()) {
    count_refused(estimator);
    session_->resume(std::move(estimator));
    return true;
  }
  session_->resume_at(estimator.state().next_position());
  for (const GroupEntry& entry : loaded_groups_->entries()) {
    Outcome<GroupModel> one = loaded_groups_->read(entry, settings_);
    if (!one)
      return fail(exit_data, fmt::format("'{}': group \"{}\": {}", path, entry.group, one.refusal().text));
    std::visit(count_refused, one.value());
    session_->resume_group(entry.group, std::move(one).value());
  }
  loaded_groups_.reset();
  return true;
}

/// What would fail at the end, or in the middle, fails here.
bool FitRun::check_files() {
  for (const std::string& path : files_) {
    if (path != "-" && ::access(path.c_str(), R_OK) != 0)
      return fail(exit_data, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  }
  for (const std::string& path : {command_.save, command_.report}) {
    if (path.empty()) continue;
    if (const Done writable = check_writable(path); !writable)
      return fail(exit_data, writable.refusal().text);
  }
  return true;
}

void FitRun::read_file(std::size_t number) {
  file_number_ = number;
  path_ = files_[number];
  if (path_ == "-" && !command_.output.quiet) say_that_it_waits();
  InputSettings settings = input_;
  settings.wake_descriptor = wake_descriptor();
  if (can_be_split()) settings.range.end -= 1;  // all of it, without moving the descriptor's own position
  Outcome<Input> opened = open_input(path_, settings);
  if (!opened) {
    const bool words = opened.refusal().reason == Reason::bad_settings;
    if (end_requested() == 0)
      fail(words ? exit_usage : exit_data, fmt::format("{}: {}", shown(path_), opened.refusal().text));
    return;
  }
  const bool by_words = !session_;
  if (!command_.output.quiet) {
    for (const std::string& note : opened.value().notes()) complain(shown(path_) + ": " + note);
  }
  if (all_numbers(opened.value().columns()))
    complain(
        "the first line is all numbers, and was taken for the columns' names: if it is a row, say "
        "--no-header");
  if (!session_ && !begin(opened.value())) return;
  session_->begin_input();
  Outcome<std::unique_ptr<RowReader>> reader = select(std::move(opened).value());
  if (!reader) {
    fail(by_words ? exit_usage : exit_data, fmt::format("{}: {}", shown(path_), reader.refusal().text));
    return;
  }
  std::unique_ptr<RowReader> rows = std::move(reader).value();
  if (file_end_ == 0 && plan_.group.empty()) {
    ReadAheadSettings ahead{.batch_rows = settings.batch_rows, .width = plan_.numbers().size(), .wake = wake};
    const bool raw = settings.format == Format::f64 || settings.format == Format::f32;
    if (raw) ahead.most_bytes = 1U << 20U;  // nothing to parse: little is gained
    rows = read_ahead(std::move(rows), ahead);
  }
  read_rows(*rows);
}

Outcome<std::unique_ptr<RowReader>> FitRun::select(Input input) const {
  return std::move(input).select(plan_.selection());
}

bool FitRun::can_be_split() {
  file_end_ = 0;
  if (command_.threads == 1 || !command_.group.empty()) return false;
  if (!shape_of(settings_.solve, settings_.state.layout).is_plain())
    return false;  // rows in order: one reader
  const Outcome<std::optional<ByteRange>> extent = splittable_extent(path_);
  if (!extent) return false;  // the reader will say why
  if (!extent.value() && !command_.output.quiet)
    complain(shown(path_) + " is no plain file: it is read by one thread");
  if (extent.value()) file_end_ = extent.value()->end;
  return extent.value().has_value();
}

/// Settles what the columns are, and makes the estimator.
bool FitRun::begin(Input& input) {
  Outcome<ColumnChoice> chosen = choose_columns(input, wanted_columns(), input_.numbers);
  if (!chosen) {
    const bool words = chosen.refusal().reason != Reason::input_output;
    return fail(words ? exit_usage : exit_data, fmt::format("{}: {}", shown(path_), chosen.refusal().text));
  }
  if (!command_.output.quiet) {
    for (const std::string& note : chosen.value().notes) complain(shown(path_) + ": " + note);
  }
  const FeatureMap& map = chosen.value().map;
  settings_.state.layout = {static_cast<int>(map.feature_count()), map.constant_feature()};
  settings_.state.feature_map = map.text();
  settings_.state.response = chosen.value().response;
  if (!map.lags().empty() && command_.threads > 1 && command_.group.empty())
    return fail(exit_usage,
                "lag(...) looks back at rows that another thread may have read: leave out --threads");
  if (const Done gate = command_.solve.resolve_gate(map.names(), settings_.solve); !gate)
    return fail(exit_usage, gate.refusal().text);
  if (command_.model_memory) {
    const Outcome<std::size_t> rows = sample_rows_within(settings_, *command_.model_memory << 10);
    if (!rows) return fail(exit_usage, "--model-memory: " + rows.refusal().text);
    settings_.state.reservoir_rows = rows.value();
  }
  if (const Outcome<Estimator> sound = Estimator::create(settings_); !sound)
    return fail(exit_usage, sound.refusal().text);
  start_session(map, chosen.value().response);
  return true;
}

WantedColumns FitRun::wanted_columns() const {
  return {command_.response,
          command_.features,
          {command_.weight, command_.time, command_.group, command_.sensor}};
}

void FitRun::start_session(FeatureMap map, const std::string& response) {
  settings_.solve.feature_names = map.names();
  plan_ = {std::move(map), response,        command_.weight,   command_.time,
           command_.group, command_.sensor, command_.unordered};
  std::size_t most_estimators = 1;
  if (!plan_.group.empty()) most_estimators = settings_.state.memory_budget / model_bytes(settings_).value();
  session_.emplace(plan_, settings_, command_.most_groups, most_estimators);
  if (!command_.report.empty()) session_->keep_history();
}

void FitRun::read_rows(RowReader& reader) {
  while (goes_on()) {
    const Outcome<Batch> outcome = reader.next();
    if (!outcome) {
      fail(exit_data, fmt::format("{}: {}", shown(path_), outcome.refusal().text));
      break;
    }
    tell_passed_over(outcome.value());
    if (outcome.value().end) break;
    absorb(outcome.value());
    answer();
    renew_page();
    const bool small = outcome.value().rows + outcome.value().refused.size() < input_.batch_rows / 8;
    const bool drained = small || (path_ == "-" && nothing_to_read(STDIN_FILENO));
    progress_.show(session_->rows(), bytes_before_ + reader.bytes_taken(), last_verdict_, drained);
    if (goes_on() && hand_over(reader)) return;
  }
  bytes_before_ += reader.bytes_taken();
  session_->end_input();
}

bool FitRun::hand_over(const RowReader& reader) {
  const bool worth_it = file_end_ >= reader.offset() + command_.threads * smallest_part;
  if (file_end_ == 0 || !worth_it || !ready_for_parts()) return false;
  read_parts(reader.offset());
  return true;
}

void FitRun::absorb(const Batch& batch) {
  const auto began = Clock::now();
  const double solved = session_->solve_seconds();
  if (!session_->absorb(batch, *this) && !output_.closed() && status_ == exit_fitted) status_ = exit_data;
  ingest_seconds_ += seconds_since(began) - (session_->solve_seconds() - solved);
}

bool FitRun::ready_for_parts() const {
  const MomentState& state = session_->estimator().state();
  const bool polishes =
      settings_.solve.method == FitMethod::standard && settings_.solve.polish != PolishKind::off;
  return state.pilot_is_fixed() && (!polishes || state.row_count() >= settings_.polish.first_check);
}

void FitRun::read_parts(std::uint64_t begin) {
  const auto began = Clock::now();
  const ParallelPlan plan{
      path_, input_, plan_, policy(), {begin, file_end_}, session_->next_position(), command_.threads};
  const std::uint64_t rows = session_->rows();
  const ParallelOutcome outcome =
      absorb_in_parallel(session_->estimator(), plan, [&](std::uint64_t more_rows, std::uint64_t more_bytes) {
        show_progress(rows + more_rows, bytes_before_ + begin + more_bytes);
      });
  ingest_seconds_ += seconds_since(began);
  bytes_before_ += file_end_;
  session_->end_inputs_at(outcome.end);
  for (const RefusedWords& refused : outcome.refused) tell(refused);
  if (!outcome.failure.empty()) fail(exit_data, fmt::format("{}: {}", shown(path_), outcome.failure));
}

int FitCommand::run() const {
  return FitRun(*this).run();
}

}  // namespace mixstream
