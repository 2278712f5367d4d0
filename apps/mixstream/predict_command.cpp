#include "predict_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "exit_codes.hpp"
#include "mixstream/likelihood/prediction.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "model_file.hpp"
#include "output.hpp"
#include "signals.hpp"
#include "words.hpp"

namespace mixstream {
namespace {

constexpr std::uint64_t complaints_shown = 10;

Outcome<FeatureMap> map_of(const FittedLaws& laws) {
  std::string text;
  for (const std::string& feature : laws.features) text += (text.empty() ? "" : ",") + feature;
  return FeatureMap::parse(text);
}

/// What the laws say of a row, as the end of a CSV line.
class Predictor {
 public:
  Predictor(const Models& models, FeatureMap map, double level)
      : models_(models), map_(std::move(map)), level_(level), features_(map_.feature_count()) {
    for (const auto& [group, laws] : models_)
      most_components_ = std::max(most_components_, laws.mixture.component_count());
  }

  const FeatureMap& map() const noexcept { return map_; }

  void append_header(std::string& out, char separator) const {
    out += "component";
    for (std::size_t h = 0; h < most_components_; ++h) out += fmt::format("{}p{}", separator, h + 1);
    out += fmt::format("{0}expected{0}low{0}high\n", separator);
  }

  /// False when there is no model for the group.
  bool append(std::string& out, char separator, std::string_view group, std::span<const double> values,
              bool has_response) {
    const auto found = models_.find(group);
    if (found == models_.end()) return false;
    const Mixture& mixture = found->second.mixture;
    map_.evaluate(values, features_);
    probabilities_.resize(mixture.component_count());
    const RowPrediction row =
        predict_row(mixture, features_, has_response ? std::optional(values.back()) : std::nullopt, level_,
                    probabilities_);
    const auto place = std::back_inserter(out);
    fmt::format_to(place, "{}", row.component + 1);
    for (const double p : probabilities_) fmt::format_to(place, "{}{:.6g}", separator, p);
    out.append(most_components_ - probabilities_.size(), separator);
    fmt::format_to(place, "{0}{1:.10g}{0}{2:.10g}{0}{3:.10g}\n", separator, row.expected, row.interval.low,
                   row.interval.high);
    return true;
  }

 private:
  const Models& models_;
  FeatureMap map_;
  double level_;
  std::size_t most_components_ = 0;
  std::vector<double> features_;
  std::vector<double> probabilities_;
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
    watch_signals();
    input_.wake_descriptor = wake_descriptor();
    input_.on_wake = [] {
      clear_wake();
      return end_requested() == 0;
    };
    return read_files();
  }

 private:
  int read_files() {
    const std::vector<std::string> files =
        command_.files.empty() ? std::vector<std::string>{"-"} : command_.files;
    for (const std::string& path : files) {
      const int status = read_file(path);
      if (end_requested() != 0) return exit_code_of_signal();
      if (status != exit_fitted || output_.closed()) return status;
    }
    return left_out_ == 0 ? exit_fitted : exit_data;
  }

  int read_file(const std::string& path) {
    const std::string shown = path == "-" ? "stdin" : path;
    Outcome<Input> opened = open_input(path, input_);
    if (!opened)
      return end_requested() != 0 ? exit_data : fail_with(exit_data, shown + ": " + opened.refusal().text);
    const std::vector<std::string> columns = opened.value().columns();
    echo_ = opened.value().format() == Format::csv;
    separator_ = echo_ ? opened.value().delimiter() : ',';
    const std::string response =
        command_.response.empty() ? models_.begin()->second.response : command_.response;
    const bool found = std::ranges::find(columns, response) != columns.end();
    has_response_ = !command_.no_response && (found || !command_.response.empty());
    if (!has_response_ && !command_.no_response)
      complain(
          fmt::format("{}: there is no column \"{}\": predicted from x alone, where the component is the "
                      "likeliest beforehand (say -y COLUMN, or --no-response)",
                      shown, response));
    Selection selection{predictor_->map().columns(), command_.group, echo_};
    if (has_response_) selection.numbers.push_back(response);
    Outcome<std::unique_ptr<RowReader>> reader = std::move(opened.value()).select(selection);
    if (!reader) return fail_with(exit_usage, shown + ": " + reader.refusal().text);
    write_header(columns);
    return read_rows(*reader.value(), shown);
  }

  void write_header(const std::vector<std::string>& columns) {
    if (header_written_) return;
    header_written_ = true;
    if (echo_) {
      for (const std::string& column : columns) out_ += csv_field(column, separator_) + separator_;
    }
    predictor_->append_header(out_, separator_);
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

  void predict(const Batch& batch, const std::string& shown) {
    for (std::size_t i = 0; i < batch.rows; ++i) {
      const std::size_t before = out_.size();
      const std::string_view group = command_.group.empty() ? std::string_view() : batch.texts[i];
      if (echo_) (out_ += batch.lines[i]) += separator_;
      if (predictor_->append(out_, separator_, group, batch.values(i), has_response_)) continue;
      out_.resize(before);
      leave_out(
          fmt::format("{}: line {}: there is no model for group \"{}\"", shown, batch.places[i].line, group));
    }
    for (const RefusedRow& row : batch.refused) leave_out(shown + ": " + describe(row));
  }

  void leave_out(const std::string& why) {
    if (left_out_++ < complaints_shown) complain(why + ": row left out");
  }

  const PredictCommand& command_;
  FitOutput output_{OutputFormat::json, false};
  Models models_;
  std::optional<Predictor> predictor_;
  InputSettings input_;
  bool has_response_ = false;
  bool header_written_ = false;
  bool echo_ = false;
  char separator_ = ',';
  std::uint64_t left_out_ = 0;
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
      "CSV rows are echoed with more columns: component (the likeliest law), p1 .. pk (probabilities of the "
      "laws),\n"
      "expected (y without its noise; given the likely laws if y is there), low and high (the interval that "
      "holds y\n"
      "with probability --level given x alone). Other formats get these columns as CSV, without the row.\n\n"
      "Examples:\n"
      "  mixstream fit -k 2 -y y rows.csv > fit.json; mixstream predict -m fit.json rows.csv > labelled.csv\n"
      "  tail -n +1 -f new.csv | mixstream predict -m fit.json --no-response\n\n"
      "Exit: 0 every row predicted, 1 file error or rows left out (said on stderr), 2 wrong words.");
}

int PredictCommand::run() const {
  if (no_response && !response.empty())
    return fail_with(exit_usage, "--no-response and -y contradict each other");
  return PredictRun(*this).run();
}

}  // namespace mixstream
