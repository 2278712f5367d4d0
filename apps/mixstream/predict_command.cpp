#include "predict_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "exit_codes.hpp"
#include "mixstream/refinement/likelihood.hpp"
#include "mixstream/refinement/prediction.hpp"
#include "mixstream/rows/feature_map.hpp"
#include "model_file.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace mixstream {
namespace {

class PredictRun {
 public:
  explicit PredictRun(const PredictCommand& command) : command_(command) {}

  int run() {
    Outcome<FittedLaws> laws = read_model(command_.model);
    if (!laws) return fail(exit_data, laws.refusal().text);
    laws_ = std::move(laws).value();
    std::string text;
    for (const std::string& feature : laws_.features) text += (text.empty() ? "" : ",") + feature;
    Outcome<FeatureMap> map = FeatureMap::parse(text);
    if (!map) return fail(exit_data, command_.model + ": " + map.refusal().text);
    map_ = std::move(map).value();
    features_.resize(map_.feature_count());
    probabilities_.resize(laws_.mixture.component_count());
    watch_signals();
    const std::vector<std::string> files =
        command_.files.empty() ? std::vector<std::string>{"-"} : command_.files;
    for (const std::string& path : files) {
      const int status = read_file(path);
      if (status != exit_fitted || end_requested() != 0) return status;
    }
    return refused_ == 0 ? exit_fitted : exit_data;
  }

 private:
  static int fail(int code, const std::string& text) {
    complain(text);
    return code;
  }

  int read_file(const std::string& path) {
    Outcome<InputSettings> settings = command_.input.settings();
    if (!settings) return fail(exit_usage, settings.refusal().text);
    settings.value().wake_descriptor = wake_descriptor();
    settings.value().on_wake = [] { return end_requested() == 0; };
    Outcome<Input> opened = open_input(path, settings.value());
    if (!opened) return fail(exit_data, path + ": " + opened.refusal().text);
    const std::vector<std::string> columns = opened.value().columns();
    const bool text_rows = opened.value().format() == Format::csv;
    const char delimiter = opened.value().delimiter();
    const std::string response = command_.response.empty() ? laws_.response : command_.response;
    has_response_ = std::find(columns.begin(), columns.end(), response) != columns.end();
    Selection selection{map_.columns(), "", text_rows};
    if (has_response_) selection.numbers.push_back(response);
    Outcome<std::unique_ptr<RowReader>> reader = std::move(opened.value()).select(selection);
    if (!reader) return fail(exit_usage, path + ": " + reader.refusal().text);
    separator_ = text_rows ? delimiter : ',';
    write_header(columns, text_rows && settings.value().header);
    return read_rows(*reader.value(), path, text_rows);
  }

  void write_header(const std::vector<std::string>& columns, bool echo) {
    if (header_written_) return;
    header_written_ = true;
    if (echo) {
      for (const std::string& column : columns) out_ += column + separator_;
    }
    out_ += "component";
    for (std::size_t h = 0; h < laws_.mixture.component_count(); ++h)
      out_ += fmt::format("{}p{}", separator_, h + 1);
    out_ += fmt::format("{0}expected{0}low{0}high\n", separator_);
  }

  int read_rows(RowReader& reader, const std::string& path, bool echo) {
    for (;;) {
      const Outcome<Batch> batch = reader.next();
      if (!batch) return fail(exit_data, path + ": " + batch.refusal().text);
      for (std::size_t i = 0; i < batch.value().rows; ++i) {
        if (echo) (out_ += batch.value().lines[i]) += separator_;
        write_prediction(batch.value().values(i));
      }
      for (const RefusedRow& row : batch.value().refused) {
        if (refused_++ < 10) complain(fmt::format("{}: {}: row left out", path, describe(row)));
      }
      if (!flush()) return exit_fitted;  // nobody reads any more
      if (batch.value().end || end_requested() != 0) return exit_fitted;
    }
  }

  void write_prediction(std::span<const double> values) {
    map_.evaluate(values, features_);
    const Mixture& mixture = laws_.mixture;
    if (has_response_) {
      responsibilities(mixture, {features_, values.back()}, probabilities_);
    } else {
      std::copy(mixture.weights.begin(), mixture.weights.end(), probabilities_.begin());
    }
    const auto likeliest =
        std::max_element(probabilities_.begin(), probabilities_.end()) - probabilities_.begin();
    fmt::format_to(std::back_inserter(out_), "{}", likeliest + 1);
    for (const double p : probabilities_) fmt::format_to(std::back_inserter(out_), "{}{:.6g}", separator_, p);
    const Interval interval = predictive_interval(mixture, features_, command_.level);
    const double expected = has_response_ ? posterior_mean() : expected_response(mixture, features_);
    fmt::format_to(std::back_inserter(out_), "{0}{1:.10g}{0}{2:.10g}{0}{3:.10g}\n", separator_, expected,
                   interval.low, interval.high);
  }

  /// sum_h P(h | x, y) beta_h . x: what y would be without its noise.
  double posterior_mean() const {
    double mean = 0.0;
    for (std::size_t h = 0; h < probabilities_.size(); ++h) {
      for (std::size_t f = 0; f < features_.size(); ++f)
        mean += probabilities_[h] * laws_.mixture.law(h)[f] * features_[f];
    }
    return mean;
  }

  bool flush() {
    const bool written =
        std::fwrite(out_.data(), 1, out_.size(), stdout) == out_.size() && std::fflush(stdout) == 0;
    out_.clear();
    return written;
  }

  const PredictCommand& command_;
  FittedLaws laws_;
  FeatureMap map_;
  bool has_response_ = false;
  bool header_written_ = false;
  char separator_ = ',';
  std::uint64_t refused_ = 0;
  std::vector<double> features_;
  std::vector<double> probabilities_;
  std::string out_;
};

}  // namespace

void PredictCommand::add_to(CLI::App& command) {
  command.add_option("-m,--model", model, "A fit: the output of mixstream fit --json")->required();
  command.add_option("-y,--response", response, "Column of the response; default: the one of the fit");
  command.add_option("--level", level, "Of the predictive interval")->check(CLI::Range(0.0, 1.0));
  input.add_to(command);
  command.add_option("files", files, "Files to read; none or -: standard input");
  command.footer(
      "Each row is echoed with: component (the likeliest law), p1 .. pk, expected y (given the likely laws "
      "if y is there),\n"
      "and the interval that holds y with probability --level given x.\n\n"
      "Example:\n  mixstream fit -k 2 -y y rows.csv > fit.json; mixstream predict -m fit.json rows.csv");
}

int PredictCommand::run() const {
  return PredictRun(*this).run();
}

}  // namespace mixstream
