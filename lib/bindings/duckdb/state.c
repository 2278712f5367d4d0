/* The aggregates: rows into models, models into models. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

enum { RESPONSE, FEATURES, WEIGHT, ID, OPTIONS };

/* What DuckDB keeps for a group. */
typedef struct State {
  uint64_t mark;  /* tells a state from other memory */
  Shared* shared; /* NULL: no row yet */
} State;

static const uint64_t mark_of_state = 0x6d69787374726561; /* "mixstrea" */

static State* state_at(duckdb_aggregate_state* states, idx_t i) {
  return (State*)states[i];
}

static idx_t state_size(duckdb_function_info info) {
  (void)info;
  return sizeof(State);
}

static void begin(duckdb_function_info info, duckdb_aggregate_state state) {
  (void)info;
  ((State*)state)->mark = mark_of_state;
  ((State*)state)->shared = NULL;
}

static void destroy(duckdb_aggregate_state* states, idx_t count) {
  for (idx_t i = 0; i < count; ++i) {
    let_go(state_at(states, i)->shared);
    state_at(states, i)->shared = NULL;
    state_at(states, i)->mark = 0;
  }
}

static bool fail(duckdb_function_info info, mixstream_status status, const char* words) {
  char text[MOST_WORDS];
  say_refusal(text, status, words);
  duckdb_aggregate_function_set_error(info, text);
  return false;
}

/* Whether there is a state for each row. For rows of an ordered aggregate or of a window DuckDB 1.4 gives the
 * address of one state and not the vector that its header promises: what stands behind it is other memory. */
static bool has_state_of_each_row(duckdb_aggregate_state* states, idx_t count) {
  enum { MOST = 16 };
  duckdb_aggregate_state others[MOST];
  const size_t asked = count - 1 < MOST ? (size_t)count - 1 : MOST;
  if (read_safely(others, states + 1, asked * sizeof others[0]) < asked * sizeof others[0]) return false;
  for (size_t i = 0; i < asked; ++i) {
    State state = {0, NULL};
    if (others[i] == states[0] || (i > 0 && others[i] == others[i - 1])) continue;
    if (read_safely(&state, others[i], sizeof state) < sizeof state || state.mark != mark_of_state)
      return false;
  }
  return true;
}

/* The arguments of a chunk. */
typedef struct Rows {
  duckdb_aggregate_state* states;
  idx_t stride; /* from a row's state to the next one's: 0 where one state takes all */
  Column response, features, weight, id, options;
  Lists x;
  idx_t column_count;
} Rows;

static Rows rows_of(duckdb_data_chunk chunk, duckdb_aggregate_state* states) {
  const idx_t count = duckdb_data_chunk_get_size(chunk);
  Rows rows;
  rows.states = states;
  rows.stride = count > 1 && has_state_of_each_row(states, count) ? 1 : 0;
  rows.response = column_of(chunk, RESPONSE);
  rows.features = column_of(chunk, FEATURES);
  rows.weight = column_of(chunk, WEIGHT);
  rows.id = column_of(chunk, ID);
  rows.options = column_of(chunk, OPTIONS);
  rows.x = lists_of(&rows.features);
  rows.column_count = duckdb_data_chunk_get_column_count(chunk);
  return rows;
}

static State* state_of(const Rows* rows, idx_t row) {
  return state_at(rows->states, row * rows->stride);
}

/* The last argument of a row counts: NULL is a missing weight or id there, and none further in front. */
static bool is_whole(const Rows* rows, idx_t row) {
  return !is_null(&rows->response, row) && !is_null(&rows->features, row) && !has_null(&rows->x, row) &&
         (rows->column_count != WEIGHT + 1 || !is_null(&rows->weight, row)) &&
         (rows->column_count != ID + 1 || !is_null(&rows->id, row));
}

/* Where rows from `first` on end that go to the model as one block: of one state, whole, their features one
 * behind the other, with weights or without, with numbers or without. */
static idx_t end_of_block(const Rows* rows, idx_t first, idx_t count) {
  const duckdb_list_entry* x = rows->x.entries;
  idx_t row = first + 1;
  while (row < count && state_of(rows, row) == state_of(rows, first) && is_whole(rows, row) &&
         x[row].length == x[first].length && x[row].offset == x[row - 1].offset + x[first].length &&
         is_null(&rows->weight, row) == is_null(&rows->weight, first) &&
         is_null(&rows->id, row) == is_null(&rows->id, first))
    ++row;
  return row;
}

static bool make_model(duckdb_function_info info, State* state, const Rows* rows, idx_t row) {
  mixstream_status status = MIXSTREAM_OUT_OF_MEMORY;
  char words[400] = "";
  mixstream_model* model = NULL;
  char* given = text_of(&rows->options, row);
  char* text = options_text("\"intercept\":true", given);
  if (text != NULL)
    model = mixstream_model_create(rows->x.entries[row].length, text, &status, words, sizeof words);
  free(text);
  free(given);
  if (model == NULL) return fail(info, status, words);
  const mixstream_block no_rows = {.size = sizeof(mixstream_block),
                                   .feature_count = rows->x.entries[row].length};
  mixstream_model_absorb(model, &no_rows, NULL); /* from here on all rows are as wide */
  state->shared = share_model(model);
  return state->shared != NULL || fail(info, MIXSTREAM_OUT_OF_MEMORY, NULL);
}

static mixstream_status absorb(mixstream_model* model, const Rows* rows, idx_t first, idx_t last) {
  const duckdb_list_entry x = rows->x.entries[first];
  mixstream_block block = {.size = sizeof(mixstream_block)};
  block.row_count = last - first;
  block.feature_count = x.length;
  block.features = rows->x.numbers + x.offset;
  block.row_stride = (ptrdiff_t)x.length;
  block.feature_stride = 1;
  block.responses = (const double*)rows->response.data + first;
  if (!is_null(&rows->weight, first)) block.weights = (const double*)rows->weight.data + first;
  if (!is_null(&rows->id, first)) block.positions = (const uint64_t*)rows->id.data + first;
  return mixstream_model_absorb(model, &block, NULL);
}

/* Rows [first, last) of one block, or one row that is not whole. */
static bool take(duckdb_function_info info, const Rows* rows, State* state, idx_t first, idx_t last) {
  char text[MOST_WORDS];
  mixstream_status status = MIXSTREAM_OK;
  if (state->shared == NULL && is_null(&rows->features, first))
    return true; /* no row has told the width yet */
  if (state->shared == NULL && !make_model(info, state, rows, first)) return false;
  mixstream_model* model = own(&state->shared, text);
  if (model == NULL) {
    duckdb_aggregate_function_set_error(info, text);
    return false;
  }
  if (!is_null(&rows->features, first) && rows->x.entries[first].length != mixstream_model_width(model))
    status = MIXSTREAM_WRONG_WIDTH;
  else if (is_whole(rows, first))
    status = absorb(model, rows, first, last);
  else
    mixstream_model_refuse(model, "missing");
  return status == MIXSTREAM_OK || fail(info, status, NULL);
}

static void update_state(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_aggregate_state* states) {
  const Rows rows = rows_of(chunk, states);
  const idx_t count = duckdb_data_chunk_get_size(chunk);
  for (idx_t first = 0, last = 0; first < count; first = last) {
    last = is_whole(&rows, first) ? end_of_block(&rows, first, count) : first + 1;
    if (!take(info, &rows, state_of(&rows, first), first, last)) return;
  }
}

/* The other's rows enter the state; an empty one holds the other's model with it. */
static bool join(duckdb_function_info info, State* state, Shared* other) {
  char text[MOST_WORDS];
  if (state->shared == NULL) {
    state->shared = hold(other);
    return true;
  }
  mixstream_model* model = own(&state->shared, text);
  if (model == NULL) {
    duckdb_aggregate_function_set_error(info, text);
    return false;
  }
  const mixstream_status status = merge_shared(model, other);
  return status == MIXSTREAM_OK || fail(info, status, mixstream_model_words(model));
}

static void combine(duckdb_function_info info, duckdb_aggregate_state* source, duckdb_aggregate_state* target,
                    idx_t count) {
  for (idx_t i = 0; i < count; ++i) {
    Shared* other = state_at(source, i)->shared;
    if (other != NULL && !join(info, state_at(target, i), other)) return;
  }
}

static void finish(duckdb_function_info info, duckdb_aggregate_state* states, duckdb_vector result,
                   idx_t count, idx_t offset) {
  for (idx_t i = 0; i < count; ++i) {
    Shared* shared = state_at(states, i)->shared;
    mixstream_status status = MIXSTREAM_OK;
    size_t size = 0;
    if (shared == NULL) {
      set_null(result, offset + i);
      continue;
    }
    void* bytes = save_shared(shared, &size, &status);
    if (bytes == NULL) {
      fail(info, status, NULL);
      return;
    }
    duckdb_vector_assign_string_element_len(result, offset + i, bytes, size);
    mixstream_free(bytes);
  }
}

static bool join_bytes(duckdb_function_info info, State* state, const Column* column, idx_t row) {
  size_t size = 0;
  const char* bytes = bytes_of(column, row, &size);
  mixstream_status status = MIXSTREAM_OK;
  char words[400] = "";
  mixstream_model* model = mixstream_model_load(bytes, size, NULL, &status, words, sizeof words);
  if (model == NULL) return fail(info, status, words);
  Shared* other = share_model(model);
  if (other == NULL) return fail(info, MIXSTREAM_OUT_OF_MEMORY, NULL);
  const bool joined = join(info, state, other);
  let_go(other);
  return joined;
}

static void update_merge(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_aggregate_state* states) {
  const Rows rows = rows_of(chunk, states);
  const idx_t count = duckdb_data_chunk_get_size(chunk);
  for (idx_t row = 0; row < count; ++row)
    if (!is_null(&rows.response, row) && !join_bytes(info, state_of(&rows, row), &rows.response, row)) return;
}

static duckdb_aggregate_function aggregate(const char* name, duckdb_aggregate_update_t update) {
  duckdb_aggregate_function function = duckdb_create_aggregate_function();
  duckdb_logical_type blob = duckdb_create_logical_type(DUCKDB_TYPE_BLOB);
  duckdb_aggregate_function_set_name(function, name);
  duckdb_aggregate_function_set_return_type(function, blob);
  duckdb_aggregate_function_set_functions(function, state_size, begin, update, combine, finish);
  duckdb_aggregate_function_set_destructor(function, destroy);
  duckdb_aggregate_function_set_special_handling(function); /* rows with NULL come too: they are counted */
  duckdb_destroy_logical_type(&blob);
  return function;
}

bool add_state(duckdb_connection connection) {
  static const duckdb_type types[] = {DUCKDB_TYPE_DOUBLE, DUCKDB_TYPE_LIST, DUCKDB_TYPE_DOUBLE,
                                      DUCKDB_TYPE_BIGINT, DUCKDB_TYPE_VARCHAR};
  duckdb_aggregate_function_set set = duckdb_create_aggregate_function_set("mixstream_state");
  duckdb_logical_type number = duckdb_create_logical_type(DUCKDB_TYPE_DOUBLE);
  bool added = true;
  for (int last = FEATURES; last <= OPTIONS; ++last) {
    duckdb_aggregate_function function = aggregate("mixstream_state", update_state);
    for (int i = 0; i <= last; ++i) {
      duckdb_logical_type type =
          i == FEATURES ? duckdb_create_list_type(number) : duckdb_create_logical_type(types[i]);
      duckdb_aggregate_function_add_parameter(function, type);
      duckdb_destroy_logical_type(&type);
    }
    added = added && duckdb_add_aggregate_function_to_set(set, function) == DuckDBSuccess;
    duckdb_destroy_aggregate_function(&function);
  }
  added = added && duckdb_register_aggregate_function_set(connection, set) == DuckDBSuccess;
  duckdb_destroy_logical_type(&number);
  duckdb_destroy_aggregate_function_set(&set);
  return added;
}

bool add_merge(duckdb_connection connection) {
  duckdb_aggregate_function function = aggregate("mixstream_merge", update_merge);
  duckdb_logical_type blob = duckdb_create_logical_type(DUCKDB_TYPE_BLOB);
  duckdb_aggregate_function_add_parameter(function, blob);
  const bool added = duckdb_register_aggregate_function(connection, function) == DuckDBSuccess;
  duckdb_destroy_logical_type(&blob);
  duckdb_destroy_aggregate_function(&function);
  return added;
}
