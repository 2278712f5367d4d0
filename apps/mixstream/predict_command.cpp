#include "predict_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "exit_codes.hpp"
#include "fit_session.hpp"
#include "mixstream/report/counted.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "model_file.hpp"
#include "output.hpp"
#include "prediction_writer.hpp"
#include "row_predictor.hpp"
#include "signals.hpp"
#include "time_unit.hpp"
#include "words.hpp"

namespace mixstream {
namespace {

constexpr std::uint64_t complaints_shown = 10;

Outcome<FeatureMap> map_of(const FittedLaws& laws) {
  std::string text = laws.map;
  for (const std::string& feature : laws.features) {
    if (laws.map.empty()) text += (text.empty() ? "" : ",") + feature;
  }
  return FeatureMap::parse(text);
}

class PredictRun {
 public:
  explicit PredictRun(const PredictCommand& command) : command_(command) {}

  int run() {
    Outcome<Models> models = read_models(command_.model);
    if (!models) return fail_with(exit_data, models.refusal().text);
    models_ = std::move(models).value();
    const bool grouped = models_.begin()->second.group.has_value();
    if (grouped && command_.group.empty())
      return fail_with(exit_usage, command_.model + " holds a model for each group: give --group COLUMN");
    if (!grouped && !command_.group.empty())
      return fail_with(exit_usage, command_.model + " holds one model for all rows: leave out --group");
    Outcome<FeatureMap> map = map_of(models_.begin()->second);
    if (!map) return fail_with(exit_data, command_.model + ": " + map.refusal().text);
    Outcome<double> gap = command_.gap_seconds();
    if (!gap) return fail_with(exit_usage, gap.refusal().text);
    predictor_.emplace(models_, std::move(map).value(),
                       RowPredictor::Settings{command_.level, gap.value(), command_.smooth, command_.ahead});
    if ((command_.smooth || command_.ahead > 0) && !predictor_->follows_modes())
      complain(command_.model +
               ": its rows are independent of each other: --smooth and --ahead say nothing new of them");
    Outcome<InputSettings> settings = command_.input.settings();
    if (!settings) return fail_with(exit_usage, settings.refusal().text);
    input_ = std::move(settings).value();
    warn_of_doubts();
    watch_signals();
    input_.wake_descriptor = wake_descriptor();
    input_.on_wake = [] {
      clear_wake();
      return end_requested() == 0;
    };
    return read_files();
  }

 private:
  void warn_of_doubts() const {
    std::size_t doubtful = 0;
    for (const auto& [group, laws] : models_)
      doubtful += !laws.status.empty() && laws.status != "ok" && laws.status != "approximate" ? 1 : 0;
    if (doubtful == 0) return;
    if (models_.size() == 1)
      complain(fmt::format("{}: the fit is {}, not ok: its predictions are as doubtful as its laws",
                           command_.model, models_.begin()->second.status));
    else
      complain(fmt::format("{}: {} of {} models are not ok: their predictions are as doubtful as their laws",
                           command_.model, doubtful, models_.size()));
  }

  int read_files() {
    const std::vector<std::string> files =
        command_.files.empty() ? std::vector<std::string>{"-"} : command_.files;
    for (const std::string& path : files) {
      if (path == "-") say_that_it_waits();
      const int status = read_file(path);
      if (end_requested() != 0) return exit_code_of_signal();
      if (status != exit_fitted || output_.closed()) return status;
    }
    if (left_out_ == 0) return exit_fitted;
    std::string reasons;
    for (const auto& [reason, count] : reasons_)
      reasons += fmt::format(", {} {}", mixstream::grouped(count), reason);
    complain(fmt::format("{} of {} without a prediction: {}", mixstream::grouped(left_out_),
                         counted(rows_, "row"), reasons.substr(2)));
    return 10 * left_out_ > rows_ ? exit_refused : exit_fitted;
  }

  int read_file(const std::string& path) {
    const std::string shown = path == "-" ? "stdin" : path;
    Outcome<Input> opened = open_input(path, input_);
    if (!opened)
      return end_requested() != 0 ? exit_data : fail_with(exit_data, shown + ": " + opened.refusal().text);
    const std::vector<std::string> columns = opened.value().columns();
    for (const std::string& note : opened.value().notes()) complain(shown + ": " + note);
    const std::string response =
        command_.response.empty() ? models_.begin()->second.response : command_.response;
    const bool found = std::ranges::find(columns, response) != columns.end();
    const bool has_response = !command_.no_response && (found || !command_.response.empty());
    if (!has_response && !command_.no_response)
      complain(
          fmt::format("{}: there is no column \"{}\": predicted from x alone, where the component is the "
                      "likeliest beforehand (say -y COLUMN, or --no-response)",
                      shown, response));
    if (command_.smooth && !has_response)
      return fail_with(exit_usage, shown + ": --smooth learns from y: say -y COLUMN");
    plan_ = {predictor_->map(), has_response ? response : "", "", command_.time, command_.group,
             command_.sensor};
    response_at_ = has_response ? std::optional(plan_.place_of(response)) : std::nullopt;
    time_at_ = command_.time.empty() ? std::nullopt : std::optional(plan_.place_of(command_.time));
    time_unit_ = {};
    Selection selection = plan_.selection();
    selection.keep_lines = true;
    if (writer_ && !writer_->continues(opened.value()))
      return fail_with(exit_data, shown +
                                      ": its columns are not those of the file before: its rows cannot "
                                      "stand under the same header; predict it by a call of its own");
    writer_.emplace(opened.value(), predictor_->names(), input_.numbers.decimal);
    predictor_->begin_input();
    Outcome<std::unique_ptr<RowReader>> reader = std::move(opened.value()).select(selection);
    if (!reader) return fail_with(exit_usage, shown + ": " + reader.refusal().text);
    if (!std::exchange(header_written_, true)) writer_->append_header(out_);
    return read_rows(*reader.value(), shown);
  }

  int read_rows(RowReader& reader, const std::string& shown) {
    while (end_requested() == 0) {
      const Outcome<Batch> outcome = reader.next();
      if (!outcome) return fail_with(exit_data, shown + ": " + outcome.refusal().text);
      clear_wake();
      const Batch& batch = outcome.value();
      predict(batch, shown);
      if (batch.end) write_held();
      if (!out_.empty() && !output_.write(out_)) return output_.closed() ? exit_fitted : exit_data;
      out_.clear();
      if (batch.end) break;
    }
    return exit_fitted;
  }

  /// Every row in its place, those that were refused too.
  void predict(const Batch& batch, const std::string& shown) {
    std::size_t row = 0;
    for (const RefusedRow& refused : batch.refused) {
      for (; row < std::min(refused.rows_before, batch.rows); ++row) predict_row_of(batch, row, shown);
      ++rows_;
      if (command_.sensor.empty())
        predictor_->gap(refused.text, {});
      else
        predictor_->gap({}, refused.text);
      leave_blank(refused.line, name_of(refused.fault), shown + ": " + describe(refused));
    }
    for (; row < batch.rows; ++row) predict_row_of(batch, row, shown);
  }

  void predict_row_of(const Batch& batch, std::size_t i, const std::string& shown) {
    ++rows_;
    const std::span<const double> values = batch.values(i);
    PredictedRow row{{}, {}, 0.0, values, {}};
    if (!command_.group.empty()) row.group = batch.texts[i];
    if (!command_.sensor.empty()) row.sensor = batch.texts[i];
    if (time_at_) row.time = time_unit_.in_seconds(values[*time_at_]);
    if (response_at_) row.response = values[*response_at_];
    const std::span<const PredictedValue> predicted = predictor_->predict(row, why_);
    if (!why_.empty())
      leave_blank(batch.lines[i],
                  why_.starts_with("there is no model") ? "without_model" : "undefined_feature",
                  fmt::format("{}: line {}: {}", shown, batch.places[i].line, why_));
    else if (command_.smooth)
      held_.push_back({std::string(batch.lines[i]), true});
    else
      writer_->append(out_, batch.lines[i], predicted);
  }

  void leave_blank(std::string_view line, const std::string& reason, const std::string& why) {
    ++reasons_[reason];
    if (!line.empty() && command_.smooth)
      held_.push_back({std::string(line), false});
    else if (!line.empty())
      writer_->append(out_, line, {});
    if (left_out_++ < complaints_shown) complain(why + (line.empty() ? ": row left out" : ": no prediction"));
  }

  /// The rows of an input that waited for its end.
  void write_held() {
    for (; !held_.empty(); held_.pop_front())
      writer_->append(out_, held_.front().line,
                      held_.front().predicted ? predictor_->smoothed() : std::span<const PredictedValue>{});
  }

  struct Held {
    std::string line;
    bool predicted;
  };

  const PredictCommand& command_;
  FitOutput output_{OutputFormat::json, false};
  Models models_;
  std::optional<RowPredictor> predictor_;
  std::optional<PredictionWriter> writer_;
  InputSettings input_;
  RowPlan plan_;
  std::optional<std::size_t> response_at_;
  std::optional<std::size_t> time_at_;
  TimeUnit time_unit_;
  std::deque<Held> held_;  // until the end of the input: --smooth
  bool header_written_ = false;
  std::uint64_t rows_ = 0;
  std::uint64_t left_out_ = 0;
  std::map<std::string, std::uint64_t> reasons_;
  std::string why_;
  std::string out_;
};

}  // namespace

void PredictCommand::add_to(CLI::App& command) {
  command.add_option("files", files, "Files to read; none or -: standard input");
  command.add_option("-m,--model", model, "A fit: the output of mixstream fit --json")
      ->type_name("FILE")
      ->required();
  command.add_option("-y,--response", response, "Column of the response; default: the one of the fit")
      ->type_name("COLUMN");
  command.add_flag("--no-response", no_response, "Predict from x alone, also where the response is there");
  command.add_option("--group", group, "Column that chooses among the models of mixstream fit --group")
      ->type_name("COLUMN");
  command
      .add_option("--sensor", sensor,
                  "Column that names the sensor of a row: modes and noise persist within a sensor")
      ->type_name("COLUMN");
  command.add_option("--time", time, "Column with the row's time, for --gap")->type_name("COLUMN");
  command.add_option("--gap", gap, "A silence longer than this, such as 10s, begins a sensor's modes anew");
  command.add_flag(
      "--smooth", smooth,
      "Probabilities given all rows of a file, those that follow too; the file is held in memory");
  command
      .add_option(
          "--ahead", ahead,
          "Probabilities of the laws so many rows later, and the rows that the mode is expected to last")
      ->check(CLI::Range(1U, RowPredictor::most_ahead));
  command.add_option("--level", level, "Of the predictive interval; default: 0.95")
      ->check(CLI::Range(0.0, 1.0));
  input.add_to(command);
  command.footer(
      "Every row comes out in its own format, CSV as CSV and NDJSON as NDJSON, with more columns behind its "
      "own:\n"
      "component (the likeliest law), p1 .. pk (probabilities of the laws), expected (y without its noise; "
      "given the "
      "likely\n"
      "laws if y is there), low and high (the interval that holds y with probability --level given x "
      "alone).\n"
      "Of a fit whose modes persist the probabilities are those given the rows so far, in the order of the "
      "file.\n"
      "They are "
      "blank\n"
      "where nothing can be predicted, and called mixstream_component and so on where the row has such "
      "columns.\n\n"
      "Examples:\n"
      "  mixstream fit -k 2 -y y rows.csv > fit.json; mixstream predict -m fit.json rows.csv > labelled.csv\n"
      "  tail -n +1 -f new.csv | mixstream predict -m fit.json --no-response\n\n"
      "Exit: 0, also with some blanks (counted on stderr), 1 file error, 2 wrong words, 4 more than a tenth "
      "blank.");
}

Done PredictCommand::check_words() const {
  const auto refuse = [](std::string text) { return Refusal{Reason::bad_settings, std::move(text)}; };
  if (no_response && !response.empty()) return refuse("--no-response and -y contradict each other");
  if (no_response && smooth) return refuse("--smooth learns from y: leave out --no-response");
  if (ahead > 0 && smooth) return refuse("--smooth looks back and --ahead forward: one of the two");
  if (!group.empty() && !sensor.empty())
    return refuse("--group and --sensor do not go together: each group is a stream of its own");
  if (gap.empty() != time.empty()) return refuse("--gap and --time go together: the rows' own clock");
  return std::monostate{};
}

Outcome<double> PredictCommand::gap_seconds() const {
  if (gap.empty()) return 0.0;
  const Outcome<Length> length = parse_length(gap, "--gap");
  if (!length) return length.refusal();
  return length.value().value;
}

int PredictCommand::run() const {
  if (const Done done = check_words(); !done) return fail_with(exit_usage, done.refusal().text);
  return PredictRun(*this).run();
}

}  // namespace mixstream
