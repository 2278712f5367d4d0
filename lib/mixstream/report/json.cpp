#include "mixstream/report/json.hpp"
#include "mixstream/report/doubt_context.hpp"
#include "mixstream/report/fitted_laws.hpp"
#include "mixstream/report/gate_words.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "mixstream/core/noise_words.hpp"
#include "mixstream/regression/nuclear.hpp"
#include "mixstream/tensor/spectral.hpp"
#include "mixstream/verdict/judge.hpp"

namespace mixstream {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}
Json number(const std::optional<double>& value) {
  return value ? number(*value) : Json(nullptr);
}

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(number(value));
  return list;
}

Json counts_json(const std::vector<std::pair<std::string, std::uint64_t>>& counts) {
  Json json = Json::object();
  for (const auto& [reason, count] : counts) json[reason] = count;
  return json;
}

Json component_json(const ComponentReport& component) {
  Json json;
  json["weight"] = number(component.weight);
  json["weight_se"] = number(component.weight_error);
  json["coefficients"] = numbers(component.coefficients);
  json["coefficients_se"] =
      component.coefficient_errors.empty() ? Json(nullptr) : numbers(component.coefficient_errors);
  json["noise_variance"] = number(component.noise_variance);
  json["noise_variance_se"] = number(component.noise_variance_error);
  return json;
}

Json test_json(const MomentTest& test) {
  Json json;
  json["value"] = number(test.value);
  json["dof"] = test.dof;
  json["p"] = number(test.p_value);
  json["expected_ratio"] = number(test.expected_ratio);
  json["conditions"] = test.conditions;
  return json;
}

Json identifiability_json(const Identifiability& identifiability) {
  Json json;
  json["spectral"] = identifiability.spectral;
  json["smallest_eigenvalues"] = Json::array();
  json["kappa"] = Json::array();
  json["lambda_asked"] = Json::array();
  json["dependent_features"] = Json::array();
  for (const PowerDiagnosis& power : identifiability.powers) {
    json["smallest_eigenvalues"].push_back(number(power.smallest_eigenvalue));
    json["kappa"].push_back(number(power.convexity));
    json["lambda_asked"].push_back(number(power.penalty_asked));
    for (const Dependence& dependence : power.dependences)
      json["dependent_features"].push_back(dependence.monomials);
  }
  return json;
}

Json regression_json(const NuclearFit& fit) {
  return {{"lambda", number(fit.penalty)},
          {"objective", number(fit.objective)},
          {"primal_residual", number(fit.primal_residual)},
          {"dual_residual", number(fit.dual_residual)},
          {"iterations", fit.iterations},
          {"converged", fit.converged}};
}

Json spectral_json(const SpectralFit& fit) {
  Json json;
  json["agreement"] = number(fit.agreement);
  json["warnings"] = Json::array();
  for (const SpectralWarning warning : fit.warnings) json["warnings"].push_back(name_of(warning));
  if (fit.second) json["m2"] = regression_json(*fit.second);
  if (fit.third) json["m3"] = regression_json(*fit.third);
  return json;
}

Json rows_json(const DenseMatrix& matrix) {
  Json rows = Json::array();
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    Json row = Json::array();
    for (std::size_t j = 0; j < matrix.columns; ++j) row.push_back(number(matrix(i, j)));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json modes_json(const ModesReport& modes) {
  Json json{{"kind", name_of(modes.kind)}};
  if (modes.kind == Modes::gated) {
    json["gate"] = modes.gate;
    json["gamma"] = rows_json(modes.gate_coefficients);
    json["gamma_se"] = rows_json(modes.gate_errors);
    json["takeovers"] = takeovers(modes);
    return json;
  }
  json["transitions"] = rows_json(modes.transitions);
  json["transitions_se"] = rows_json(modes.transition_errors);
  json["dwell"] = numbers(modes.dwells);
  json["dwell_se"] = numbers(modes.dwell_errors);
  json["changes"] = number(modes.changes);
  json["seen_share"] = numbers(modes.seen_shares);
  json["now"] = numbers(modes.now);
  json["chains_cut"] = modes.chains_cut;
  return json;
}

Json chosen_json(const ChosenModel& chosen) {
  Json json{{"row", chosen.row},
            {"modes", name_of(chosen.modes)},
            {"noise", noise_words(chosen.noise, chosen.noise_shape)},
            {"gain", number(chosen.gain)}};
  if (!chosen.because.empty()) json["because"] = chosen.because;
  return json;
}

Json model_json(const ModelReport& model) {
  Json json{{"modes", name_of(model.modes)}, {"noise", noise_words(model.noise, model.noise_shape)}};
  if (model.by_held_rows) json["chosen_by"] = "held rows";
  if (model.chosen.empty()) return json;
  json["chosen_by"] = "trial";
  json["trials_won"] = Json::array();
  for (const ChosenModel& chosen : model.chosen) json["trials_won"].push_back(chosen_json(chosen));
  return json;
}

Json doubt_json(const Doubt& doubt, const DoubtContext& context) {
  Json json{{"kind", name_of(doubt.kind)}};
  if (!doubt.term.empty()) json["term"] = doubt.term;
  if (doubt.law) json["law"] = *doubt.law + 1;
  if (doubt.other_law) json["other_law"] = *doubt.other_law + 1;
  json["raised"] = doubt.raised;
  json["p"] = number(doubt.p);
  json["adjusted_p"] = number(doubt.adjusted_p);
  json["size"] = number(doubt.size);
  json["shift"] = number(doubt.shift);
  json["prediction"] = number(doubt.prediction);
  json["shift_in_errors"] = number(doubt.shift_in_errors);
  json["words"] = doubt_sentence(doubt, context);
  json["remedy"] = doubt_remedy(doubt, context);
  return json;
}

/// The raised doubts, how many were looked for, and how far they move the laws.
void add_doubts(const Report& report, Json& json) {
  json["findings"] = Json::array();
  for (const Finding finding : report.findings) json["findings"].push_back(name_of(finding));
  json["doubts"] = Json::array();
  const DoubtContext context = context_of(report);
  for (const Doubt& doubt : report.doubts) {
    if (doubt.raised) json["doubts"].push_back(doubt_json(doubt, context));
  }
  json["misfit"] = {{"looked_for", report.doubts.size()},
                    {"shift", number(report.misfit.shift)},
                    {"open", number(report.misfit.open)},
                    {"prediction", number(report.misfit.prediction)},
                    {"tolerance", number(report.tolerance)}};
}

Json candidate_json(const Candidate& candidate) {
  return {{"k", candidate.component_count},
          {"log_likelihood", number(candidate.log_likelihood)},
          {"bic", number(candidate.bic)},
          {"j_per_dof", number(candidate.j_per_dof)},
          {"chosen", candidate.chosen},
          {"modes", name_of(candidate.modes)},
          {"noise", noise_words(candidate.noise, candidate.noise_shape)},
          {"probability", number(candidate.probability)}};
}

/// One noise variance for all when they are equal.
Json shared_noise(const Report& report) {
  for (const ComponentReport& component : report.components) {
    if (component.noise_variance != report.components[0].noise_variance) return nullptr;
  }
  return report.components.empty() ? Json(nullptr) : number(report.components[0].noise_variance);
}

Json condition_of(const Identifiability& identifiability) {
  return identifiability.powers.empty() ? Json(nullptr) : number(identifiability.powers[0].condition);
}

Json noise_json(const Report& report) {
  Json json = Json::object();
  if (report.noise_memory) {
    json["memory"] = number(report.noise_memory);
    json["memory_se"] = number(report.noise_memory_error);
  }
  if (report.degrees_of_freedom) json["degrees_of_freedom"] = number(report.degrees_of_freedom);
  return json;
}

Json drift_json(const std::vector<DriftEvent>& events) {
  Json json = Json::array();
  for (const DriftEvent& event : events) {
    json.push_back({{"row", event.row},
                    {"sign", name_of(event.sign)},
                    {"deviations", number(event.deviations)},
                    {"nats_per_row", number(event.nats_per_row)}});
  }
  return json;
}

}  // namespace

std::string to_json(const Report& report) {
  Json json;
  json["schema"] = 1;
  json["final"] = report.final;
  if (report.group) json["group"] = *report.group;
  json["rows"] = report.rows;
  json["refused"] = counts_json(report.refused);
  if (report.stream) {
    json["stream"] = {{"rows", report.stream->rows},
                      {"groups", report.stream->groups},
                      {"refused", counts_json(report.stream->refused)}};
  }
  json["effective_rows"] = number(report.effective_rows);
  json["k"] = report.component_count;
  json["features"] = report.features;
  if (!report.feature_map.empty()) json["map"] = report.feature_map;
  json["response"] = report.response;
  json["components"] = Json::array();
  for (const ComponentReport& component : report.components)
    json["components"].push_back(component_json(component));
  json["noise_variance"] = shared_noise(report);
  json["noise_source"] = report.noise_source;
  json["method"] = name_of(report.method);
  json["stage"] = name_of(report.stage);
  json["status"] = name_of(report.status);
  json["words"] = report.words;
  if (report.model) json["model"] = model_json(*report.model);
  if (!report.doubts.empty() || !report.findings.empty()) add_doubts(report, json);
  json["set_aside"] = report.set_aside;
  json["log_likelihood"] = number(report.log_likelihood);
  json["bic"] = number(report.bic);
  json["m2_spectrum"] = numbers(report.identifiability.second_spectrum);
  json["m2_spectrum_se"] = numbers(report.identifiability.second_spectrum_errors);
  json["condition"] = condition_of(report.identifiability);
  json["j"] = report.moment_test ? test_json(*report.moment_test) : Json(nullptr);
  if (report.modes) json["modes"] = modes_json(*report.modes);
  if (report.noise_memory || report.degrees_of_freedom) json["noise"] = noise_json(report);
  if (!report.moment_test && report.stage == FitStage::polished)
    json["j_reason"] = "J belongs to independent rows with Gaussian noise";
  json["identifiability"] = identifiability_json(report.identifiability);
  if (report.spectral) json["spectral"] = spectral_json(*report.spectral);
  if (!report.candidates.empty()) {
    json["candidates"] = Json::array();
    for (const Candidate& candidate : report.candidates)
      json["candidates"].push_back(candidate_json(candidate));
    if (const std::string reason = count_reason(report); !reason.empty()) json["k_reason"] = reason;
  }
  if (!report.drift.empty()) json["drift"] = drift_json(report.drift);
  json["seconds"] = {{"ingest", number(report.ingest_seconds)}, {"solve", number(report.solve_seconds)}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace {

DenseMatrix matrix_from(const Json& rows, std::size_t height, std::size_t width) {
  DenseMatrix matrix{height, width, std::vector<double>(height * width)};
  for (std::size_t i = 0; i < height; ++i) {
    for (std::size_t j = 0; j < width; ++j) matrix(i, j) = rows.at(i).at(j).get<double>();
  }
  return matrix;
}

/// The parts of the model that belong to rows in order. Throws what the JSON library throws.
void read_modes(const Json& json, FittedLaws& laws) {
  const std::size_t k = laws.mixture.component_count();
  laws.shape = {k, laws.features.size(), Modes::independent, {}, NoiseModel::per_component, {}};
  ModeModel model{laws.mixture, {}, {}};
  if (json.contains("modes")) {
    const Json& modes = json.at("modes");
    const bool gated = modes.at("kind") == "gated";
    laws.shape.modes = gated ? Modes::gated : Modes::persistent;
    if (!gated) model.transitions = matrix_from(modes.at("transitions"), k, k);
    for (const auto& name : gated ? modes.at("gate") : Json::array()) {
      const auto found = std::ranges::find(laws.features, name.get<std::string>());
      if (found == laws.features.end()) throw Json::out_of_range::create(403, "gate", nullptr);
      laws.shape.gate.push_back(static_cast<std::size_t>(found - laws.features.begin()));
    }
    if (gated) model.gate = matrix_from(modes.at("gamma"), k, laws.shape.gate.size());
  }
  if (json.contains("noise")) {
    const Json& noise = json.at("noise");
    laws.shape.noise_shape = {noise.contains("degrees_of_freedom"), noise.contains("memory")};
    if (laws.shape.noise_shape.tails) model.degrees_of_freedom = noise.at("degrees_of_freedom").get<double>();
    if (laws.shape.noise_shape.memory) model.memory = noise.at("memory").get<double>();
    for (double& variance : model.laws.noise_variances) variance *= 1.0 - model.memory * model.memory;
  }
  if (!laws.shape.is_plain()) laws.model = std::move(model);
}

}  // namespace

Outcome<FittedLaws> laws_from_json(std::string_view line) {
  const auto refuse = [](const std::string& what) {
    return Refusal{Reason::bad_settings, "this is not a fit of mixstream: " + what};
  };
  try {
    const Json json = Json::parse(line);
    if (json.at("schema") != 1) return refuse("its schema is not 1");
    FittedLaws laws{empty_mixture(json.at("components").size(), json.at("features").size()),
                    json.at("features").get<std::vector<std::string>>(),
                    json.at("response").get<std::string>()};
    if (json.contains("group")) laws.group = json.at("group").get<std::string>();
    laws.map = json.value("map", "");
    laws.status = json.value("status", "");
    if (laws.mixture.component_count() == 0)
      return refuse("it holds no components (status " + json.value("status", "") + ")");
    for (std::size_t h = 0; h < laws.mixture.component_count(); ++h) {
      const Json& component = json.at("components")[h];
      laws.mixture.weights[h] = component.at("weight").get<double>();
      laws.mixture.noise_variances[h] = component.at("noise_variance").get<double>();
      const auto coefficients = component.at("coefficients").get<std::vector<double>>();
      if (coefficients.size() != laws.features.size())
        return refuse("a law has not one coefficient for each feature");
      std::copy(coefficients.begin(), coefficients.end(), laws.mixture.law(h).begin());
    }
    read_modes(json, laws);
    return laws;
  } catch (const nlohmann::json::exception&) {
    return refuse("it is no JSON object with schema, features, response and components");
  }
}

}  // namespace mixstream
