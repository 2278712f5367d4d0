// The C interface of models at rest: a thin coat over Model and Predictor that lets no exception out.
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mixstream/c_interface/shared.hpp"
#include "mixstream/core/interrupt.hpp"
#include "mixstream/estimator/inspection.hpp"
#include "mixstream/mixstream.h"
#include "mixstream/model/model.hpp"
#include "mixstream/model/predictor.hpp"
#include "mixstream/moments/state.hpp"
#include "mixstream/report/fitted_laws.hpp"
#include "mixstream/report/json.hpp"
#include "mixstream/report/page.hpp"
#include "mixstream/report/text.hpp"
#include "mixstream/version.hpp"  // made by meson

struct mixstream_model {
  mixstream::Model model;
  std::vector<double> features;  // of the row in hand, where they do not stand one behind the other
  std::array<char, 512> words{};
};

struct mixstream_report {
  mixstream::Report report;
  std::string json;
  std::string table;
};

struct mixstream_predictor {
  mixstream::Predictor predictor;
  std::optional<std::size_t> constant;  // its place; first it may be left out
  std::optional<std::size_t> width;     // of the rows so far
  std::vector<double> features;
  std::vector<double> probabilities;
};

namespace {

using namespace mixstream;
using mixstream::c_interface::copy_moments;
using mixstream::c_interface::guarded;
using mixstream::c_interface::say;
using mixstream::c_interface::status_of;

thread_local Interrupter::Question wanted = nullptr;
thread_local void* wanted_context = nullptr;

/// Makes a handle by `make`, which returns Outcome<Handle*> and whose refusal becomes status and text.
template <class Handle, class Make>
Handle* made(mixstream_status* status, char* text, std::size_t text_size, Make make) noexcept {
  Handle* handle = nullptr;
  say(text, text_size, "");
  const mixstream_status result = guarded([&]() -> mixstream_status {
    Outcome<Handle*> outcome = make();
    if (outcome) {
      handle = outcome.value();
      return MIXSTREAM_OK;
    }
    say(text, text_size, outcome.refusal().text);
    return status_of(outcome.refusal().reason);
  });
  if (handle == nullptr && text != nullptr && text_size > 0 && *text == '\0')
    say(text, text_size, mixstream_status_text(result));
  if (status != nullptr) *status = result;
  return handle;
}

std::string_view options_of(const char* options) noexcept {
  return options == nullptr ? std::string_view() : std::string_view(options);
}

bool is_sound(const mixstream_block* block) noexcept {
  return block != nullptr && block->size == sizeof *block &&
         (block->row_count == 0 || block->features != nullptr);
}

/// The features of a row, one behind the other; `apart` holds them where they are not.
std::span<const double> features_of(const mixstream_block& block, std::size_t i, std::vector<double>& apart) {
  const double* first = block.features + static_cast<std::ptrdiff_t>(i) * block.row_stride;
  if (block.feature_stride == 1) return {first, block.feature_count};
  apart.resize(block.feature_count);
  for (std::size_t j = 0; j < block.feature_count; ++j)
    apart[j] = first[static_cast<std::ptrdiff_t>(j) * block.feature_stride];
  return apart;
}

Row row_of(const mixstream_block& block, std::size_t i, std::vector<double>& apart) {
  Row row{features_of(block, i, apart)};
  if (block.responses != nullptr) row.response = block.responses[i];
  if (block.weights != nullptr) row.weight = block.weights[i];
  if (block.times != nullptr) row.time = block.times[i];
  if (block.sensors != nullptr) row.sensor = block.sensors[i];
  return row;
}

/// Bytes for the caller to free; null: no memory.
template <class Content>
void* given_away(const Content& content, std::size_t* size) {
  void* bytes = std::malloc(content.size() + 1);
  if (bytes == nullptr) throw std::bad_alloc();
  std::memcpy(bytes, content.data(), content.size());
  static_cast<char*>(bytes)[content.size()] = '\0';
  if (size != nullptr) *size = content.size();
  return bytes;
}

template <class Make>
void* given_bytes(const mixstream_model* model, std::size_t* size, mixstream_status* status,
                  Make make) noexcept {
  void* bytes = nullptr;
  const mixstream_status result = model == nullptr ? MIXSTREAM_BAD_ARGUMENT : guarded([&] {
    bytes = given_away(make(model->model), size);
    return MIXSTREAM_OK;
  });
  if (status != nullptr) *status = result;
  return bytes;
}

Sample sample_of(const Model& model) {
  return model.with_estimator([](const Estimator& estimator) { return estimator.state().sample(); });
}

std::optional<std::size_t> constant_of(const FittedLaws& laws) {
  const auto found = std::ranges::find(laws.features, "1");
  if (found == laws.features.end()) return {};
  return static_cast<std::size_t>(found - laws.features.begin());
}

std::size_t least_width(const mixstream_predictor& predictor) noexcept {
  return predictor.predictor.feature_count() - (predictor.constant == 0U ? 1 : 0);
}

/// The first rows settle the width, with the constant or without it.
bool settle_width(mixstream_predictor& predictor, std::size_t width) noexcept {
  if (predictor.width) return width == *predictor.width;
  const bool fits = width == predictor.predictor.feature_count() || width == least_width(predictor);
  if (fits) predictor.width = width;
  return fits;
}

bool is_sound(const Row& row, std::optional<std::size_t> constant) noexcept {
  bool sound = !std::isinf(row.response) && (!constant || row.features[*constant] == 1.0);
  for (const double value : row.features) sound = sound && std::isfinite(value);
  return sound;
}

void put(const mixstream_prediction& into, std::size_t i, const RowPrediction& row,
         std::span<const double> probabilities) noexcept {
  if (into.components != nullptr) into.components[i] = static_cast<int32_t>(row.component);
  if (into.expected != nullptr) into.expected[i] = row.expected;
  if (into.low != nullptr) into.low[i] = row.interval.low;
  if (into.high != nullptr) into.high[i] = row.interval.high;
  if (into.probabilities != nullptr)
    std::ranges::copy(probabilities, into.probabilities + i * probabilities.size());
}

void put_nothing(const mixstream_prediction& into, std::size_t i, std::span<double> probabilities) noexcept {
  constexpr double nothing = std::numeric_limits<double>::quiet_NaN();
  std::ranges::fill(probabilities, nothing);
  put(into, i, {0, nothing, {nothing, nothing}}, probabilities);
  if (into.components != nullptr) into.components[i] = -1;
}

void predict_row_of(mixstream_predictor& handle, const mixstream_block& block, std::size_t i,
                    const mixstream_prediction& into) {
  const bool whole = block.feature_count == handle.predictor.feature_count();
  Row row = row_of(block, i, handle.features);
  if (!whole) {  // the constant goes before the others
    std::vector<double> features(row.features.begin(), row.features.end());
    features.insert(features.begin(), 1.0);
    handle.features = std::move(features);
    row.features = handle.features;
  }
  if (!is_sound(row, handle.constant)) {
    handle.predictor.skip(row.sensor);
    return put_nothing(into, i, handle.probabilities);
  }
  const bool known = block.responses != nullptr && !std::isnan(row.response);
  const RowPrediction predicted =
      handle.predictor.predict(row.sensor, row.features, known ? std::optional(row.response) : std::nullopt,
                               into.level, handle.probabilities);
  put(into, i, predicted, handle.probabilities);
}

}  // namespace

extern "C" {

void mixstream_interrupt_by(mixstream_question question, void* context) {
  wanted = question;
  wanted_context = context;
}

void mixstream_free(void* bytes) {
  std::free(bytes);
}

mixstream_model* mixstream_model_create(size_t feature_count, const char* options, mixstream_status* status,
                                        char* text, size_t text_size) {
  return made<mixstream_model>(status, text, text_size, [&]() -> Outcome<mixstream_model*> {
    Outcome<ModelOptions> read = read_model_options(feature_count, options_of(options));
    if (!read) return read.refusal();
    Outcome<Model> model = Model::create(std::move(read).value());
    if (!model) return model.refusal();
    return new mixstream_model{std::move(model).value(), {}};
  });
}

mixstream_model* mixstream_model_load(const void* bytes, size_t byte_count, const char* options,
                                      mixstream_status* status, char* text, size_t text_size) {
  return made<mixstream_model>(status, text, text_size, [&]() -> Outcome<mixstream_model*> {
    if (bytes == nullptr) return Refusal{Reason::bad_snapshot, "there are no bytes to load"};
    Outcome<Model> model =
        Model::decode({static_cast<const std::byte*>(bytes), byte_count}, options_of(options));
    if (!model) return model.refusal();
    return new mixstream_model{std::move(model).value(), {}};
  });
}

void mixstream_model_destroy(mixstream_model* model) {
  delete model;
}

mixstream_status mixstream_model_absorb(mixstream_model* model, const mixstream_block* block,
                                        uint64_t* refused) {
  if (refused != nullptr) *refused = 0;
  if (model == nullptr || !is_sound(block) || (block->row_count > 0 && block->responses == nullptr))
    return MIXSTREAM_BAD_ARGUMENT;
  if (!model->model.settle_width(block->feature_count)) return MIXSTREAM_WRONG_WIDTH;
  const Interrupter interrupter(wanted, wanted_context);
  return guarded([&] {
    for (std::size_t i = 0; i < block->row_count; ++i) {
      const auto position =
          block->positions == nullptr ? std::nullopt : std::optional<std::uint64_t>(block->positions[i]);
      const RowFault fault = model->model.absorb(row_of(*block, i, model->features), position);
      if (fault != RowFault::none && refused != nullptr) ++*refused;
    }
    return MIXSTREAM_OK;
  });
}

mixstream_status mixstream_model_refuse(mixstream_model* model, const char* reason) {
  if (model == nullptr || reason == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    model->model.count_refused(reason);
    return MIXSTREAM_OK;
  });
}

mixstream_status mixstream_model_merge(mixstream_model* model, const mixstream_model* other) {
  if (model == nullptr || other == nullptr || model == other) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    const Done done = model->model.merge(other->model);
    if (done) return MIXSTREAM_OK;
    say(model->words.data(), model->words.size(), done.refusal().text);
    return status_of(done.refusal().reason);
  });
}

const char* mixstream_model_words(const mixstream_model* model) {
  return model == nullptr ? "" : model->words.data();
}

uint64_t mixstream_model_rows(const mixstream_model* model) {
  return model == nullptr ? 0 : model->model.rows();
}

size_t mixstream_model_feature_count(const mixstream_model* model) {
  return model == nullptr ? 0 : model->model.feature_count();
}

size_t mixstream_model_width(const mixstream_model* model) {
  return model == nullptr ? 0 : model->model.width().value_or(0);
}

size_t mixstream_model_memory(const mixstream_model* model) {
  return model == nullptr ? 0 : model->model.bytes();
}

void* mixstream_model_save(const mixstream_model* model, size_t* byte_count, mixstream_status* status) {
  return given_bytes(model, byte_count, status, [](const Model& one) { return one.encode(); });
}

void* mixstream_model_pack(const mixstream_model* model, size_t* byte_count, mixstream_status* status) {
  return given_bytes(model, byte_count, status, [](const Model& one) { return one.pack(); });
}

char* mixstream_model_inspect(const mixstream_model* model, mixstream_status* status) {
  return static_cast<char*>(given_bytes(model, nullptr, status, [](const Model& one) {
    return one.with_estimator(
        [](const Estimator& estimator) { return inspection_json(estimator, estimator.encode().size()); });
  }));
}

mixstream_status mixstream_model_moments(const mixstream_model* model, mixstream_moment moment,
                                         int32_t degree, double* values, size_t capacity, size_t* needed) {
  if (model == nullptr || needed == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    return model->model.with_estimator([&](const Estimator& estimator) {
      return copy_moments(estimator.state().moments(), moment, degree, values, capacity, *needed);
    });
  });
}

mixstream_status mixstream_model_sample(const mixstream_model* model, double* features, double* responses,
                                        double* weights, size_t capacity, size_t* needed) {
  if (model == nullptr || needed == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    const RowTable rows = sample_of(model->model).rows;
    *needed = rows.size();
    const bool room = features != nullptr && responses != nullptr && weights != nullptr;
    if (!room || capacity < rows.size()) return MIXSTREAM_TOO_LARGE;
    std::ranges::copy(rows.features, features);
    std::ranges::copy(rows.responses, responses);
    std::ranges::copy(rows.weights, weights);
    return MIXSTREAM_OK;
  });
}

mixstream_status mixstream_model_modes(const mixstream_model* model, uint64_t sensor, double* probabilities,
                                       size_t component_count) {
  if (model == nullptr || probabilities == nullptr) return MIXSTREAM_BAD_ARGUMENT;
  return guarded([&] {
    const bool known = model->model.with_estimator([&](const Estimator& estimator) {
      return estimator.modes(sensor, {probabilities, component_count});
    });
    return known ? MIXSTREAM_OK : MIXSTREAM_NO_FIT_YET;
  });
}

mixstream_report* mixstream_model_fit(const mixstream_model* model, const char* options,
                                      mixstream_status* status, char* text, size_t text_size) {
  mixstream_status fitted = MIXSTREAM_OK;
  const Interrupter interrupter(wanted, wanted_context);
  auto* const handle = made<mixstream_report>(status, text, text_size, [&]() -> Outcome<mixstream_report*> {
    if (model == nullptr) return Refusal{Reason::bad_settings, "there is no model to fit"};
    Outcome<Report> report = model->model.fit(options_of(options));
    if (!report) return report.refusal();
    fitted = status_of(report.value().status);
    std::string json = to_json(report.value());
    std::string table = to_text(report.value());
    return new mixstream_report{std::move(report).value(), std::move(json), std::move(table)};
  });
  if (handle != nullptr && status != nullptr) *status = fitted;
  return handle;
}

void mixstream_report_destroy(mixstream_report* report) {
  delete report;
}

const char* mixstream_report_json(const mixstream_report* report) {
  return report == nullptr ? "" : report->json.c_str();
}

const char* mixstream_report_table(const mixstream_report* report) {
  return report == nullptr ? "" : report->table.c_str();
}

char* mixstream_report_page(const mixstream_report* report, const mixstream_model* model,
                            mixstream_status* status, char* text, size_t text_size) {
  return made<char>(status, text, text_size, [&]() -> Outcome<char*> {
    if (report == nullptr || model == nullptr)
      return Refusal{Reason::bad_settings, "there is no report to show"};
    Outcome<FeatureMap> map = FeatureMap::parse(model->model.feature_map());
    if (!map) return map.refusal();
    PageInput input;
    input.models.push_back({report->report, FitHistory(), sample_of(model->model), std::move(map).value()});
    input.version = MIXSTREAM_VERSION;
    const Outcome<std::string> page = to_html(input);
    if (!page) return page.refusal();
    return static_cast<char*>(given_away(page.value(), nullptr));
  });
}

mixstream_predictor* mixstream_predictor_create(const char* json, mixstream_status* status, char* text,
                                                size_t text_size) {
  return made<mixstream_predictor>(status, text, text_size, [&]() -> Outcome<mixstream_predictor*> {
    if (json == nullptr) return Refusal{Reason::bad_settings, "there is no report to predict from"};
    Outcome<FittedLaws> laws = laws_from_json(json);
    if (!laws) return laws.refusal();
    const std::optional<std::size_t> constant = constant_of(laws.value());
    const std::size_t k = laws.value().mixture.component_count();
    return new mixstream_predictor{
        Predictor(std::move(laws).value()), constant, {}, {}, std::vector<double>(k)};
  });
}

void mixstream_predictor_destroy(mixstream_predictor* predictor) {
  delete predictor;
}

size_t mixstream_predictor_component_count(const mixstream_predictor* predictor) {
  return predictor == nullptr ? 0 : predictor->predictor.component_count();
}

size_t mixstream_predictor_feature_count(const mixstream_predictor* predictor) {
  return predictor == nullptr ? 0 : predictor->predictor.feature_count();
}

size_t mixstream_predictor_width(const mixstream_predictor* predictor) {
  return predictor == nullptr ? 0 : least_width(*predictor);
}

mixstream_status mixstream_predict(mixstream_predictor* predictor, const mixstream_block* block,
                                   const mixstream_prediction* into) {
  const bool sound = predictor != nullptr && is_sound(block) && into != nullptr && into->size == sizeof *into;
  if (!sound) return MIXSTREAM_BAD_ARGUMENT;
  if (!settle_width(*predictor, block->feature_count)) return MIXSTREAM_WRONG_WIDTH;
  return guarded([&] {
    for (std::size_t i = 0; i < block->row_count; ++i) predict_row_of(*predictor, *block, i, *into);
    return MIXSTREAM_OK;
  });
}

void mixstream_predictor_restart(mixstream_predictor* predictor) {
  if (predictor != nullptr) predictor->predictor.begin_chains();
}

}  // extern "C"
