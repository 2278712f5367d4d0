#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>

#include "mixstream/likelihood/likelihood.hpp"
#include "mixstream/likelihood/matching.hpp"
#include "mixstream/report/doubt_context.hpp"
#include "mixstream/report/fitted_laws.hpp"
#include "mixstream/report/json.hpp"
#include "mixstream/report/page.hpp"
#include "mixstream/report/page_view.hpp"
#include "mixstream/verdict/limits.hpp"

namespace mixstream {
namespace {

using Json = nlohmann::ordered_json;

/// Six digits are more than a screen shows.
Json rounded(double value) {
  if (!std::isfinite(value)) return nullptr;
  char text[32];
  std::snprintf(text, sizeof text, "%.5e", value);
  return std::strtod(text, nullptr);
}

Json rounded(std::span<const double> values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(rounded(value));
  return list;
}

Json range_json(ViewRange range) {
  return {rounded(range.low), rounded(range.high)};
}

/// Mean of x x' over the sample: differences of coefficients count as they move y.
std::vector<double> metric_of(const RowTable& rows) {
  const std::size_t d = rows.feature_count;
  std::vector<double> metric(d * d);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::span<const double> x = rows.row(i).features;
    for (std::size_t a = 0; a < d; ++a)
      for (std::size_t b = 0; b < d; ++b) metric[a * d + b] += x[a] * x[b] / static_cast<double>(rows.size());
  }
  return metric;
}

Json point_json(const HistoryPoint& point) {
  Json json{{"rows", point.rows}, {"status", name_of(point.status)}, {"k", point.components.size()}};
  json["j_per_dof"] = point.j_per_dof ? rounded(*point.j_per_dof) : Json(nullptr);
  json["components"] = Json::array();
  for (const ComponentReport& component : point.components) {
    Json one{{"weight", rounded(component.weight)}};
    one["weight_se"] = component.weight_error ? rounded(*component.weight_error) : Json(nullptr);
    one["coefficients"] = rounded(component.coefficients);
    one["coefficients_se"] = rounded(component.coefficient_errors);
    const double deviation = std::sqrt(component.noise_variance);
    one["noise_sd"] = rounded(deviation);
    one["noise_sd_se"] = component.noise_variance_error && deviation > 0.0
                             ? rounded(*component.noise_variance_error / (2.0 * deviation))
                             : Json(nullptr);
    json["components"].push_back(std::move(one));
  }
  return json;
}

Mixture mixture_of(const HistoryPoint& point, std::size_t feature_count) {
  Report report;
  report.components = point.components;
  report.features.resize(feature_count);
  return report.mixture();
}

/// The fits, oldest first, all with the labels of the newest: each is matched to the next one.
Json history_json(const PageModel& model) {
  const std::size_t d = model.report.features.size();
  const std::vector<double> metric =
      model.sample.rows.size() == 0 ? std::vector<double>{} : metric_of(model.sample.rows);
  std::vector<HistoryPoint> points(model.history.points().begin(), model.history.points().end());
  std::erase_if(points, [&](const HistoryPoint& point) { return point.rows >= model.report.rows; });
  points.push_back(history_point(model.report));
  Mixture newer = mixture_of(points.back(), d);
  for (std::size_t i = points.size() - 1; i-- > 0;) {
    if (points[i].components.size() != newer.component_count() || newer.component_count() == 0) continue;
    const std::vector<std::size_t> order = matching_order(newer, mixture_of(points[i], d), metric);
    std::vector<ComponentReport> ordered;
    for (const std::size_t from : order) ordered.push_back(points[i].components[from]);
    points[i].components = std::move(ordered);
    newer = mixture_of(points[i], d);
  }
  Json json = Json::array();
  for (const HistoryPoint& point : points) json.push_back(point_json(point));
  return json;
}

const char* name_of(ViewAxis::Kind kind) {
  switch (kind) {
    case ViewAxis::Kind::column:
      return "column";
    case ViewAxis::Kind::feature:
      return "feature";
    case ViewAxis::Kind::fitted:
      return "fitted";
  }
  return "unknown";
}

Json axis_json(const ViewAxis& axis) {
  Json json{{"kind", name_of(axis.kind)}, {"name", axis.name}};
  json["range"] = range_json(view_of(axis.values));
  json["x"] = rounded(axis.values);
  json["adjusted"] = axis.adjusted.empty() ? Json(nullptr) : rounded(axis.adjusted);
  if (!axis.adjusted.empty()) json["adjusted_range"] = range_json(view_of(axis.adjusted));
  json["held"] = Json::array();
  for (const auto& [name, median] : axis.held)
    json["held"].push_back({{"name", name}, {"median", rounded(median)}});
  json["grid"] = rounded(axis.grid);
  json["laws"] = Json::array();
  for (const std::vector<double>& law : axis.laws) json["laws"].push_back(rounded(law));
  if (axis.gate.empty()) return json;
  json["gate"] = Json::array();
  for (const std::vector<double>& weights : axis.gate) json["gate"].push_back(rounded(weights));
  return json;
}

/// The sample's rows come in random order, so the first ones are a sample too.
RowTable first_rows(const RowTable& rows, std::size_t count) {
  RowTable first;
  first.feature_count = rows.feature_count;
  for (std::size_t i = 0; i < std::min(count, rows.size()); ++i) first.add(rows.row(i));
  return first;
}

Json data_json(const PageModel& model, const RowShares& said, std::size_t points) {
  RowShares shares = said;
  const RowTable rows = first_rows(model.sample.rows, points);
  std::vector<double> probabilities(shares.mixture().component_count());
  std::vector<std::size_t> components(rows.size());
  Json certainty = Json::array();
  for (std::size_t i = 0; i < rows.size() && !probabilities.empty(); ++i) {
    shares.find(rows.row(i), probabilities);
    const auto largest = std::ranges::max_element(probabilities);
    components[i] = static_cast<std::size_t>(largest - probabilities.begin());
    certainty.push_back(std::round(*largest * 100.0) / 100.0);
  }
  Json json{{"held", model.sample.rows.size()}, {"y_range", range_json(view_of(rows.responses))}};
  json["y"] = rounded(rows.responses);
  json["component"] = components;
  json["probability"] = std::move(certainty);
  json["axes"] = Json::array();
  for (const ViewAxis& axis : axes_of(model.map, rows, shares, components))
    json["axes"].push_back(axis_json(axis));
  return json;
}

Json residuals_json(const RowTable& rows, const RowShares& shares) {
  Json json = Json::array();
  for (const ResidualHistogram& histogram : residual_histograms(rows, shares)) {
    json.push_back({{"half_width", rounded(histogram.half_width)},
                    {"density", rounded(histogram.density)},
                    {"outside", rounded(histogram.outside)},
                    {"rows", rounded(histogram.rows)}});
  }
  return json;
}

Json rows_json(const DenseMatrix& matrix, std::size_t columns) {
  Json json = Json::array();
  for (std::size_t i = 0; i < matrix.rows; ++i)
    json.push_back(rounded(std::span(matrix.values).subspan(i * matrix.columns, columns)));
  return json;
}

/// What modes did over the stream: only the page shows it.
Json modes_json(const ModesReport& modes) {
  std::size_t lengths = 0;  // up to the longest stay
  for (std::size_t h = 0; h < modes.stays.rows; ++h) {
    for (std::size_t i = 0; i < modes.stays.columns; ++i)
      if (modes.stays(h, i) > 0.0) lengths = std::max(lengths, i + 1);
  }
  return {{"strip", rows_json(modes.strip, modes.strip.columns)},
          {"last", modes.last},
          {"stays", rows_json(modes.stays, lengths)}};
}

/// What was looked for beside the model, ranked: the strongest few, with the words that explain those that
/// are raised.
Json doubts_json(const Report& report) {
  constexpr std::size_t most = 12;
  Json json = Json::array();
  const DoubtContext context = context_of(report);
  for (const Doubt& doubt : std::span(report.doubts).first(std::min(most, report.doubts.size()))) {
    Json one{{"title", doubt_title(doubt)}, {"raised", doubt.raised}};
    one["p"] = rounded(doubt.p);
    one["shift"] = rounded(doubt.shift);
    if (doubt.raised) {
      one["words"] = doubt_sentence(doubt, context);
      one["remedy"] = doubt_remedy(doubt, context);
    }
    json.push_back(std::move(one));
  }
  return json;
}

/// Laws that hardly a row of the sample is of, or that may not be there: their curves mean nothing.
Json negligible_json(const Report& report, std::size_t held) {
  Json json = Json::array();
  for (const ComponentReport& component : report.components) {
    const double uncertain = limits::weight_errors * component.weight_error.value_or(0.0);
    json.push_back(report.components.size() > 1 &&
                   (component.weight < std::max(uncertain, limits::least_weight) ||
                    component.weight * static_cast<double>(held) < 1.0));
  }
  return json;
}

Json model_json(const PageModel& model, std::size_t points) {
  const std::string line = to_json(model.report);
  std::optional<FittedLaws> gated;
  if (model.report.modes && model.report.modes->kind == Modes::gated) {
    if (Outcome<FittedLaws> laws = laws_from_json(line)) gated = std::move(laws).value();
  }
  const RowShares shares(model.report.mixture(), gated ? &*gated : nullptr);
  Json json;
  json["report"] = Json::parse(line);
  json["negligible"] = negligible_json(model.report, model.sample.rows.size());
  json["doubts"] = doubts_json(model.report);
  json["history"] = history_json(model);
  json["sample"] = data_json(model, shares, points);
  json["residuals"] = residuals_json(model.sample.rows, shares);
  if (model.report.modes) json["modes"] = modes_json(*model.report.modes);
  return json;
}

/// JSON in ASCII holds `<` only inside strings, where the escape means the same.
std::string without_markup(const std::string& json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string page_data(const PageInput& input, const PageSettings& settings) {
  Json json{{"schema", 1}, {"version", input.version}, {"models_left_out", input.models_left_out}};
  std::size_t axes = 0;
  for (const PageModel& model : input.models) axes += 1 + model.map.columns().size();
  const std::size_t points =
      std::clamp<std::size_t>(settings.most_points / std::max<std::size_t>(axes, 1), 100, 3000);
  json["models"] = Json::array();
  for (const PageModel& model : input.models) json["models"].push_back(model_json(model, points));
  return without_markup(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

}  // namespace mixstream
