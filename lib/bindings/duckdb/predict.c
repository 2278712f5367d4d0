/* Predictions from the JSON of a fit. The fit is read once for as long as it stays the same in a chunk. */
#include "model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIT, FEATURES, RESPONSE, LEVEL };
enum { COMPONENT, PROBABILITIES, EXPECTED, LOW, HIGH, PARTS };

static const char* const part_names[PARTS] = {"component", "probabilities", "expected", "low", "high"};

static bool fail(duckdb_function_info info, mixstream_status status, const char* words) {
  char text[MOST_WORDS];
  say_refusal(text, status, words);
  duckdb_scalar_function_set_error(info, text);
  return false;
}

/* A call over a chunk. */
typedef struct Call {
  duckdb_function_info info;
  Column fit, features, response, level;
  Lists x;
  duckdb_vector result, parts[PARTS];
  mixstream_predictor* predictor;
  const char* json; /* of the predictor */
  size_t json_size;
  size_t laws;
} Call;

static Call call_of(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result) {
  Call call = {.info = info, .result = result};
  call.fit = column_of(chunk, FIT);
  call.features = column_of(chunk, FEATURES);
  call.response = column_of(chunk, RESPONSE);
  call.level = column_of(chunk, LEVEL);
  call.x = lists_of(&call.features);
  for (idx_t part = 0; part < PARTS; ++part) call.parts[part] = duckdb_struct_vector_get_child(result, part);
  return call;
}

static bool read_fit(Call* call, idx_t row) {
  mixstream_status status = MIXSTREAM_OUT_OF_MEMORY;
  char words[400] = "";
  size_t size = 0;
  const char* json = bytes_of(&call->fit, row, &size);
  if (call->predictor != NULL && size == call->json_size && memcmp(json, call->json, size) == 0) return true;
  mixstream_predictor_destroy(call->predictor);
  call->predictor = NULL;
  char* text = text_of(&call->fit, row);
  if (text != NULL) call->predictor = mixstream_predictor_create(text, &status, words, sizeof words);
  free(text);
  if (call->predictor == NULL) return fail(call->info, status, words);
  call->json = json; /* the chunk outlives the call */
  call->json_size = size;
  call->laws = mixstream_predictor_component_count(call->predictor);
  return true;
}

static void nothing_known(Call* call, idx_t row) {
  duckdb_list_entry* entries = duckdb_vector_get_data(call->parts[PROBABILITIES]);
  entries[row].offset = duckdb_list_vector_get_size(call->parts[PROBABILITIES]);
  entries[row].length = 0;
  for (idx_t part = 0; part < PARTS; ++part) set_null(call->parts[part], row);
  set_null(call->result, row);
}

static double* number(Call* call, idx_t part, idx_t row) {
  return (double*)duckdb_vector_get_data(call->parts[part]) + row;
}

/* Room for the probabilities of a row, at the end of the list's child. */
static double* probabilities_for(Call* call, idx_t row) {
  const duckdb_vector list = call->parts[PROBABILITIES];
  const idx_t before = duckdb_list_vector_get_size(list);
  if (duckdb_list_vector_reserve(list, before + call->laws) != DuckDBSuccess ||
      duckdb_list_vector_set_size(list, before + call->laws) != DuckDBSuccess)
    return NULL;
  duckdb_list_entry* entries = duckdb_vector_get_data(list);
  entries[row].offset = before;
  entries[row].length = call->laws;
  return (double*)duckdb_vector_get_data(duckdb_list_vector_get_child(list)) + before;
}

/* As mixstream_state takes rows: without the constant that stands before them. */
static bool has_width(const Call* call, idx_t row) {
  char words[200];
  const size_t width = call->x.entries[row].length;
  const size_t wanted = mixstream_predictor_width(call->predictor);
  if (width == wanted) return true;
  snprintf(words, sizeof words,
           "the row has %zu features and the fit %zu, without the constant that stands before them", width,
           wanted);
  return fail(call->info, MIXSTREAM_WRONG_WIDTH, words);
}

static mixstream_status predict_row(Call* call, idx_t row, int32_t* component) {
  const duckdb_list_entry x = call->x.entries[row];
  const double response = is_null(&call->response, row) ? NAN : ((const double*)call->response.data)[row];
  mixstream_block block = {.size = sizeof(mixstream_block)};
  mixstream_prediction into = {.size = sizeof(mixstream_prediction), .level = 0.95};
  if (call->level.vector != NULL) into.level = ((const double*)call->level.data)[row];
  block.row_count = 1;
  block.feature_count = x.length;
  block.features = call->x.numbers + x.offset;
  block.feature_stride = 1;
  block.responses = &response;
  into.components = component;
  into.probabilities = probabilities_for(call, row);
  if (into.probabilities == NULL) return MIXSTREAM_OUT_OF_MEMORY;
  into.expected = number(call, EXPECTED, row);
  into.low = number(call, LOW, row);
  into.high = number(call, HIGH, row);
  mixstream_predictor_restart(call->predictor); /* rows come in any order here */
  return mixstream_predict(call->predictor, &block, &into);
}

/* NULL where nothing can be predicted: a feature is missing or not finite. */
static bool answer(Call* call, idx_t row) {
  int32_t component = -1;
  const bool asks_level = call->level.vector != NULL;
  if (is_null(&call->fit, row) || is_null(&call->features, row) || has_null(&call->x, row) ||
      (asks_level && is_null(&call->level, row))) {
    nothing_known(call, row);
    return true;
  }
  if (!read_fit(call, row) || !has_width(call, row)) return false;
  const mixstream_status status = predict_row(call, row, &component);
  if (status != MIXSTREAM_OK) return fail(call->info, status, NULL);
  if (component < 0)
    nothing_known(call, row);
  else
    ((int32_t*)duckdb_vector_get_data(call->parts[COMPONENT]))[row] = component + 1;
  return true;
}

static void predict(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result) {
  Call call = call_of(info, chunk, result);
  const idx_t count = duckdb_data_chunk_get_size(chunk);
  for (idx_t row = 0; row < count && answer(&call, row); ++row) {
  }
  mixstream_predictor_destroy(call.predictor);
}

static duckdb_logical_type answer_type(void) {
  duckdb_logical_type parts[PARTS];
  duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_DOUBLE);
  const char* names[PARTS];
  for (int part = 0; part < PARTS; ++part) {
    names[part] = part_names[part];
    parts[part] = part == PROBABILITIES ? duckdb_create_list_type(number)
                                        : duckdb_create_logical_type(part == COMPONENT ? DUCKDB_TYPE_INTEGER
                                                                                       : DUCKDB_TYPE_DOUBLE);
  }
  duckdb_logical_type type = duckdb_create_struct_type(parts, names, PARTS);
  for (int part = 0; part < PARTS; ++part) duckdb_destroy_logical_type(&parts[part]);
  duckdb_destroy_logical_type(&number);
  return type;
}

static duckdb_logical_type argument_type(int argument) {
  static const duckdb_type types[] = {DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_LIST, DUCKDB_TYPE_DOUBLE,
                                      DUCKDB_TYPE_DOUBLE};
  if (argument != FEATURES) return duckdb_create_logical_type(types[argument]);
  duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_DOUBLE);
  duckdb_logical_type list = duckdb_create_list_type(number);
  duckdb_destroy_logical_type(&number);
  return list;
}

bool add_predict(duckdb_connection connection) {
  duckdb_scalar_function_set set = duckdb_create_scalar_function_set("mixstream_predict");
  duckdb_logical_type result = answer_type();
  bool added = true;
  for (int last = FEATURES; last <= LEVEL; ++last) {
    duckdb_scalar_function function = duckdb_create_scalar_function();
    duckdb_scalar_function_set_name(function, "mixstream_predict");
    for (int i = 0; i <= last; ++i) {
      duckdb_logical_type type = argument_type(i);
      duckdb_scalar_function_add_parameter(function, type);
      duckdb_destroy_logical_type(&type);
    }
    duckdb_scalar_function_set_return_type(function, result);
    duckdb_scalar_function_set_function(function, predict);
    duckdb_scalar_function_set_special_handling(function);
    added = added && duckdb_add_scalar_function_to_set(set, function) == DuckDBSuccess;
    duckdb_destroy_scalar_function(&function);
  }
  added = added && duckdb_register_scalar_function_set(connection, set) == DuckDBSuccess;
  duckdb_destroy_logical_type(&result);
  duckdb_destroy_scalar_function_set(&set);
  return added;
}
