#include "predict_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "exit_codes.hpp"
#include "fit_session.hpp"
#include "mixstream/likelihood/prediction.hpp"
#include "mixstream/modes/tracker.hpp"
#include "mixstream/report/counted.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "model_file.hpp"
#include "output.hpp"
#include "prediction_writer.hpp"
#include "signals.hpp"
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

/// Digits behind the point of a number that is known to about a hundredth of the noise.
int decimals_for(double deviation) {
  if (!(deviation > 0.0)) return -1;
  return std::clamp(2 - static_cast<int>(std::floor(std::log10(deviation))), 0, 15);
}

/// What the laws say of a row.
class Predictor {
 public:
  Predictor(const Models& models, FeatureMap map, double level)
      : models_(models),
        map_(std::move(map)),
        level_(level),
        inputs_(map_.input_count()),
        features_(map_.feature_count()) {
    for (const auto& [group, laws] : models_)
      most_components_ = std::max(most_components_, laws.mixture.component_count());
  }

  const FeatureMap& map() const noexcept { return map_; }

  std::vector<std::string> names() const {
    std::vector<std::string> names{"component"};
    for (std::size_t h = 0; h < most_components_; ++h) names.push_back(fmt::format("p{}", h + 1));
    names.insert(names.end(), {"expected", "low", "high"});
    return names;
  }

  /// The values of names(), or none and why.
  std::span<const PredictedValue> predict(std::string_view group, std::span<const double> values,
                                          std::optional<double> response, std::string& why) {
    std::copy_n(values.begin(), map_.columns().size(), inputs_.begin());
    const bool reaches = map_.lags().empty() || memory_of(group).fill(inputs_);
    const auto found = models_.find(group);
    why.clear();
    if (found == models_.end()) why = fmt::format("there is no model for group \"{}\"", group);
    const int fault = why.empty() ? map_.evaluate(inputs_, features_) : -1;
    if (fault >= 0 || (why.empty() && !reaches)) why = map_.fault_words(std::max(fault, 0), inputs_);
    if (!why.empty()) return {};
    const Mixture& mixture = found->second.mixture;
    probabilities_.resize(mixture.component_count());
    RowPrediction row = predict_row(mixture, features_, response, level_, probabilities_);
    if (found->second.model) follow_modes(group, found->second, response, row);
    predicted_.assign({{static_cast<double>(row.component + 1), 0}});
    for (const double p : probabilities_) predicted_.push_back({std::round(1e4 * p) / 1e4, -1});
    predicted_.resize(1 + most_components_, {std::numeric_limits<double>::quiet_NaN(), 0});
    const int decimals = decimals_for(std::sqrt(mixture.noise_variances[row.component]));
    for (const double value : {row.expected, row.interval.low, row.interval.high})
      predicted_.push_back({value, decimals});
    return predicted_;
  }

  void gap(std::string_view group) {
    if (!map_.lags().empty()) memory_of(group).gap();
    if (const auto chain = chains_.find(group); chain != chains_.end()) ++chain->second.missing;
  }
  void begin_input() {
    memories_.clear();
    chains_.clear();
  }

 private:
  /// Rows of a file, or of a group, in their order: probabilities given the rows so far.
  struct Chain {
    ModeTracker tracker;
    unsigned missing = 0;  ///< rows that could not be used since the last one
  };

  /// Rows in order: what the rows so far say of the law takes the place of what this row says alone.
  void follow_modes(std::string_view group, const FittedLaws& laws, std::optional<double> response,
                    RowPrediction& row) {
    auto chain = chains_.find(group);
    if (chain == chains_.end())
      chain = chains_.emplace(std::string(group), Chain{{laws.shape, *laws.model}}).first;
    Chain& state = chain->second;
    if (response) {
      const auto modes = state.tracker.follow({features_, *response}, 1 + std::exchange(state.missing, 0));
      std::ranges::copy(modes, probabilities_.begin());
    } else {
      state.tracker.ahead(1, probabilities_);
    }
    row.component =
        static_cast<std::size_t>(std::ranges::max_element(probabilities_) - probabilities_.begin());
    row.expected = 0.0;
    for (std::size_t h = 0; h < probabilities_.size(); ++h) {
      for (std::size_t j = 0; j < features_.size(); ++j)
        row.expected += probabilities_[h] * laws.mixture.law(h)[j] * features_[j];
    }
  }

  LagMemory& memory_of(std::string_view group) {
    const auto found = memories_.find(group);
    return found != memories_.end() ? found->second : memories_.emplace(group, map_).first->second;
  }

  const Models& models_;
  FeatureMap map_;
  double level_;
  std::size_t most_components_ = 0;
  std::vector<double> inputs_;
  std::vector<double> features_;
  std::vector<double> probabilities_;
  std::vector<PredictedValue> predicted_;
  std::map<std::string, LagMemory, std::less<>> memories_;
  std::map<std::string, Chain, std::less<>> chains_;
};

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
    predictor_.emplace(models_, std::move(map).value(), command_.level);
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
    for (const auto& [group, laws] : models_) doubtful += !laws.status.empty() && laws.status != "ok" ? 1 : 0;
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
    plan_ = {predictor_->map(), has_response ? response : "", "", "", command_.group};
    response_at_ = has_response ? std::optional(plan_.place_of(response)) : std::nullopt;
    Selection selection = plan_.selection();
    selection.keep_lines = true;
    writer_.emplace(opened.value(), predictor_->names());
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
      predictor_->gap(refused.text);
      std::string line(refused.line);
      const bool short_row = refused.fault == RowFault::ragged && refused.fields < refused.expected;
      if (short_row && !line.empty()) line.append(refused.expected - refused.fields, writer_->delimiter());
      leave_blank(line, name_of(refused.fault), shown + ": " + describe(refused));
    }
    for (; row < batch.rows; ++row) predict_row_of(batch, row, shown);
  }

  void predict_row_of(const Batch& batch, std::size_t i, const std::string& shown) {
    ++rows_;
    const std::string_view group = command_.group.empty() ? std::string_view() : batch.texts[i];
    const std::span<const double> values = batch.values(i);
    const auto response = response_at_ ? std::optional(values[*response_at_]) : std::nullopt;
    const std::span<const PredictedValue> predicted = predictor_->predict(group, values, response, why_);
    if (why_.empty())
      writer_->append(out_, batch.lines[i], predicted);
    else
      leave_blank(batch.lines[i],
                  why_.starts_with("there is no model") ? "without_model" : "undefined_feature",
                  fmt::format("{}: line {}: {}", shown, batch.places[i].line, why_));
  }

  void leave_blank(std::string_view line, const std::string& reason, const std::string& why) {
    ++reasons_[reason];
    if (!line.empty()) writer_->append(out_, line, {});
    if (left_out_++ < complaints_shown) complain(why + (line.empty() ? ": row left out" : ": no prediction"));
  }

  const PredictCommand& command_;
  FitOutput output_{OutputFormat::json, false};
  Models models_;
  std::optional<Predictor> predictor_;
  std::optional<PredictionWriter> writer_;
  InputSettings input_;
  RowPlan plan_;
  std::optional<std::size_t> response_at_;
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

int PredictCommand::run() const {
  if (no_response && !response.empty())
    return fail_with(exit_usage, "--no-response and -y contradict each other");
  return PredictRun(*this).run();
}

}  // namespace mixstream
