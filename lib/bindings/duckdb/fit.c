/* What a state says: fits, its own figures, its moments. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool fail(duckdb_function_info info, mixstream_status status, const char* words) {
  char text[MOST_WORDS];
  say_refusal(text, status, words);
  duckdb_scalar_function_set_error(info, text);
  return false;
}

static mixstream_model* model_in(duckdb_function_info info, const Column* column, idx_t row) {
  mixstream_status status = MIXSTREAM_OK;
  char words[400] = "";
  size_t size = 0;
  const char* bytes = bytes_of(column, row, &size);
  mixstream_model* model = mixstream_model_load(bytes, size, NULL, &status, words, sizeof words);
  if (model == NULL) fail(info, status, words);
  return model;
}

/* Options of a call, NULL where it gives none; *text is to be freed. False: no memory. */
static bool options_in(const Column* k, const Column* options, idx_t row, char** text) {
  char first[32] = "";
  char* given = text_of(options, row);
  *text = NULL;
  if (given == NULL && !is_null(options, row)) return false;
  if (!is_null(k, row)) snprintf(first, sizeof first, "\"k\":%d", ((const int32_t*)k->data)[row]);
  if (given == NULL && first[0] == '\0') return true;
  *text = options_text(first, given);
  free(given);
  return *text != NULL;
}

typedef const char* (*Saying)(const mixstream_report*);

static bool fit_row(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result, idx_t row,
                    Saying say) {
  const Column state = column_of(chunk, 0), k = column_of(chunk, 1), options = column_of(chunk, 2);
  mixstream_status status = MIXSTREAM_OK;
  char words[400] = "";
  char* text = NULL;
  if (!options_in(&k, &options, row, &text)) return fail(info, MIXSTREAM_OUT_OF_MEMORY, NULL);
  mixstream_model* model = model_in(info, &state, row);
  mixstream_report* report =
      model == NULL ? NULL : mixstream_model_fit(model, text, &status, words, sizeof words);
  free(text);
  if (report != NULL)
    duckdb_vector_assign_string_element(result, row, say(report));
  else if (model != NULL)
    fail(info, status, words);
  const bool fitted = report != NULL;
  mixstream_report_destroy(report);
  mixstream_model_destroy(model);
  return fitted;
}

static void fit_rows(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result, Saying say) {
  const Column state = column_of(chunk, 0);
  const idx_t count = duckdb_data_chunk_get_size(chunk);
  for (idx_t row = 0; row < count; ++row) {
    if (is_null(&state, row))
      set_null(result, row);
    else if (!fit_row(info, chunk, result, row, say))
      return;
  }
}

static void fit(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result) {
  fit_rows(info, chunk, result, mixstream_report_json);
}

static void table(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result) {
  fit_rows(info, chunk, result, mixstream_report_table);
}

static bool inspect_row(duckdb_function_info info, const Column* state, duckdb_vector result, idx_t row) {
  mixstream_status status = MIXSTREAM_OK;
  mixstream_model* model = model_in(info, state, row);
  if (model == NULL) return false;
  char* found = mixstream_model_inspect(model, &status);
  mixstream_model_destroy(model);
  if (found == NULL) return fail(info, status, NULL);
  duckdb_vector_assign_string_element(result, row, found);
  mixstream_free(found);
  return true;
}

static void inspect(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result) {
  const Column state = column_of(chunk, 0);
  const idx_t count = duckdb_data_chunk_get_size(chunk);
  for (idx_t row = 0; row < count; ++row) {
    if (is_null(&state, row))
      set_null(result, row);
    else if (!inspect_row(info, &state, result, row))
      return;
  }
}

static bool moment_named(const Column* column, idx_t row, mixstream_moment* moment) {
  static const struct {
    const char* name;
    mixstream_moment moment;
  } known[] = {{"sigma", MIXSTREAM_SIGMA}, {"cross", MIXSTREAM_CROSS}, {"mean", MIXSTREAM_MEAN}};
  size_t size = 0;
  const char* name = bytes_of(column, row, &size);
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
    *moment = known[i].moment;
    if (size == strlen(known[i].name) && memcmp(name, known[i].name, size) == 0) return true;
  }
  return false;
}

/* Makes room for more numbers at the end of a list's child; the place of the first, NULL without memory. */
static double* more_numbers(duckdb_vector list, idx_t row, size_t count) {
  const idx_t before = duckdb_list_vector_get_size(list);
  if (duckdb_list_vector_reserve(list, before + count) != DuckDBSuccess ||
      duckdb_list_vector_set_size(list, before + count) != DuckDBSuccess)
    return NULL;
  duckdb_list_entry* entries = duckdb_vector_get_data(list);
  entries[row].offset = before;
  entries[row].length = count;
  return (double*)duckdb_vector_get_data(duckdb_list_vector_get_child(list)) + before;
}

static mixstream_status moments_of(const mixstream_model* model, mixstream_moment moment, int32_t degree,
                                   duckdb_vector result, idx_t row) {
  size_t count = 0;
  const mixstream_status status = mixstream_model_moments(model, moment, degree, NULL, 0, &count);
  if (status != MIXSTREAM_TOO_LARGE) return status;
  double* numbers = more_numbers(result, row, count);
  if (numbers == NULL) return MIXSTREAM_OUT_OF_MEMORY;
  return mixstream_model_moments(model, moment, degree, numbers, count, &count);
}

static bool moments_row(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result, idx_t row) {
  const Column state = column_of(chunk, 0), name = column_of(chunk, 1), degree = column_of(chunk, 2);
  mixstream_moment moment;
  if (!moment_named(&name, row, &moment))
    return fail(info, MIXSTREAM_BAD_ARGUMENT, "a moment is sigma, cross or mean");
  mixstream_model* model = model_in(info, &state, row);
  if (model == NULL) return false;
  const mixstream_status status = moments_of(model, moment, ((const int32_t*)degree.data)[row], result, row);
  mixstream_model_destroy(model);
  if (status == MIXSTREAM_BAD_ARGUMENT) return fail(info, status, "a degree is 1, 2 or 3");
  return status == MIXSTREAM_OK || fail(info, status, NULL);
}

static void moments(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result) {
  const Column state = column_of(chunk, 0), name = column_of(chunk, 1), degree = column_of(chunk, 2);
  const idx_t count = duckdb_data_chunk_get_size(chunk);
  for (idx_t row = 0; row < count; ++row) {
    if (is_null(&state, row) || is_null(&name, row) || is_null(&degree, row))
      set_null(result, row);
    else if (!moments_row(info, chunk, result, row))
      return;
  }
}

/* A function of its first `least`, `least` + 1 .. `most` arguments; takes the result's type. */
static bool add(duckdb_connection connection, const char* name, const duckdb_type* types, int least, int most,
                duckdb_logical_type result, duckdb_scalar_function_t run) {
  duckdb_scalar_function_set set = duckdb_create_scalar_function_set(name);
  bool added = true;
  for (int count = least; count <= most; ++count) {
    duckdb_scalar_function function = duckdb_create_scalar_function();
    duckdb_scalar_function_set_name(function, name);
    for (int i = 0; i < count; ++i) {
      duckdb_logical_type type = duckdb_create_logical_type(types[i]);
      duckdb_scalar_function_add_parameter(function, type);
      duckdb_destroy_logical_type(&type);
    }
    duckdb_scalar_function_set_return_type(function, result);
    duckdb_scalar_function_set_function(function, run);
    duckdb_scalar_function_set_special_handling(function); /* NULL has a meaning */
    added = added && duckdb_add_scalar_function_to_set(set, function) == DuckDBSuccess;
    duckdb_destroy_scalar_function(&function);
  }
  added = added && duckdb_register_scalar_function_set(connection, set) == DuckDBSuccess;
  duckdb_destroy_scalar_function_set(&set);
  duckdb_destroy_logical_type(&result);
  return added;
}

static duckdb_logical_type json_type(void) {
  duckdb_logical_type type = duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR);
  duckdb_logical_type_set_alias(type, "JSON");
  return type;
}

static duckdb_logical_type numbers_type(void) {
  duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_DOUBLE);
  duckdb_logical_type type = duckdb_create_list_type(number);
  duckdb_destroy_logical_type(&number);
  return type;
}

bool add_fits(duckdb_connection connection) {
  static const duckdb_type asked[] = {DUCKDB_TYPE_BLOB, DUCKDB_TYPE_INTEGER, DUCKDB_TYPE_VARCHAR};
  static const duckdb_type named[] = {DUCKDB_TYPE_BLOB, DUCKDB_TYPE_VARCHAR, DUCKDB_TYPE_INTEGER};
  return add(connection, "mixstream_fit", asked, 1, 3, json_type(), fit) &&
         add(connection, "mixstream_table", asked, 1, 3, duckdb_create_logical_type(DUCKDB_TYPE_VARCHAR),
             table) &&
         add(connection, "mixstream_inspect", asked, 1, 1, json_type(), inspect) &&
         add(connection, "mixstream_moments", named, 3, 3, numbers_type(), moments);
}
