#include "model.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Shared {
  mixstream_model* model;
  atomic_uint holders;
  pthread_mutex_t lock;
};

static const char* hint_for(mixstream_status status) {
  switch (status) {
    case MIXSTREAM_OUT_OF_MEMORY:
      return "Use fewer features, a smaller \"sample\" in the options, or fewer groups at once.";
    case MIXSTREAM_BAD_SNAPSHOT:
      return "A state is what mixstream_state returns, or a file of the tool's --save.";
    case MIXSTREAM_UNKNOWN_VERSION:
      return "Load the version of the extension that wrote it, or a later one.";
    case MIXSTREAM_CANNOT_MERGE:
      return "Make all states with the same features, response and options.";
    case MIXSTREAM_WRONG_WIDTH:
      return "Give every row a list of the same length, the constant left out.";
    default:
      return "docs/guide/duckdb.md lists the functions and their options.";
  }
}

void say_refusal(char* text, mixstream_status status, const char* words) {
  if (words == NULL || words[0] == '\0') words = mixstream_status_text(status);
  snprintf(text, MOST_WORDS, "mixstream: %s\n%s", words, hint_for(status));
}

Shared* share_model(mixstream_model* model) {
  Shared* shared = malloc(sizeof *shared);
  if (shared != NULL && pthread_mutex_init(&shared->lock, NULL) == 0) {
    shared->model = model;
    atomic_init(&shared->holders, 1);
    return shared;
  }
  free(shared);
  mixstream_model_destroy(model);
  return NULL;
}

Shared* hold(Shared* shared) {
  atomic_fetch_add(&shared->holders, 1);
  return shared;
}

void let_go(Shared* shared) {
  if (shared == NULL || atomic_fetch_sub(&shared->holders, 1) != 1) return;
  mixstream_model_destroy(shared->model);
  pthread_mutex_destroy(&shared->lock);
  free(shared);
}

static Shared* copy_of(Shared* shared, char* text) {
  mixstream_status status = MIXSTREAM_OK;
  char words[400] = "";
  size_t size = 0;
  mixstream_model* model = NULL;
  Shared* copy = NULL;
  pthread_mutex_lock(&shared->lock);
  void* bytes = mixstream_model_pack(shared->model, &size, &status);
  pthread_mutex_unlock(&shared->lock);
  if (bytes != NULL) model = mixstream_model_load(bytes, size, NULL, &status, words, sizeof words);
  mixstream_free(bytes);
  if (model != NULL) {
    status = MIXSTREAM_OUT_OF_MEMORY;
    copy = share_model(model);
  }
  if (copy == NULL) say_refusal(text, status, words);
  return copy;
}

mixstream_model* own(Shared** shared, char* text) {
  if (atomic_load(&(*shared)->holders) > 1) {
    Shared* copy = copy_of(*shared, text);
    if (copy == NULL) return NULL;
    let_go(*shared);
    *shared = copy;
  }
  return (*shared)->model;
}

/* Parts of one aggregate have rows of one width; of a stored state nobody knows it. */
static bool are_as_wide(const mixstream_model* one, const mixstream_model* other) {
  const size_t width = mixstream_model_width(one);
  const size_t others = mixstream_model_width(other);
  return width == others || width == 0 || others == 0;
}

mixstream_status merge_shared(mixstream_model* model, Shared* other) {
  pthread_mutex_lock(&other->lock);
  const mixstream_status status =
      are_as_wide(model, other->model) ? mixstream_model_merge(model, other->model) : MIXSTREAM_WRONG_WIDTH;
  pthread_mutex_unlock(&other->lock);
  return status;
}

void* save_shared(Shared* shared, size_t* size, mixstream_status* status) {
  pthread_mutex_lock(&shared->lock);
  void* bytes = mixstream_model_save(shared->model, size, status);
  pthread_mutex_unlock(&shared->lock);
  return bytes;
}

Column column_of(duckdb_data_chunk chunk, idx_t index) {
  Column column = {NULL, NULL, NULL};
  if (index >= duckdb_data_chunk_get_column_count(chunk)) return column;
  column.vector = duckdb_data_chunk_get_vector(chunk, index);
  column.data = duckdb_vector_get_data(column.vector);
  column.validity = duckdb_vector_get_validity(column.vector);
  return column;
}

static bool is_missing(uint64_t* validity, idx_t row) {
  return validity != NULL && (validity[row / 64] >> (row % 64) & 1U) == 0;
}

bool is_null(const Column* column, idx_t row) {
  return column->vector == NULL || is_missing(column->validity, row);
}

const char* bytes_of(const Column* column, idx_t row, size_t* size) {
  duckdb_string_t* text = (duckdb_string_t*)column->data + row;
  *size = duckdb_string_t_length(*text);
  return duckdb_string_t_data(text);
}

char* text_of(const Column* column, idx_t row) {
  size_t size = 0;
  if (is_null(column, row)) return NULL;
  const char* bytes = bytes_of(column, row, &size);
  char* text = malloc(size + 1);
  if (text == NULL) return NULL;
  memcpy(text, bytes, size);
  text[size] = '\0';
  return text;
}

void set_null(duckdb_vector vector, idx_t row) {
  duckdb_vector_ensure_validity_writable(vector);
  duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector), row);
}

char* options_text(const char* first, const char* options) {
  const char* rest = options == NULL ? "{}" : options + strspn(options, " \t\r\n");
  const char* inside = rest[0] == '{' ? rest + 1 + strspn(rest + 1, " \t\r\n") : NULL;
  const size_t room = strlen(first) + strlen(rest) + 4;
  char* text = malloc(room);
  if (text == NULL) return NULL;
  if (inside == NULL) /* no object: the library says so */
    snprintf(text, room, "%s", rest);
  else
    snprintf(text, room, "{%s%s%s", first, first[0] == '\0' || inside[0] == '}' ? "" : ",", inside);
  return text;
}

Lists lists_of(const Column* column) {
  Lists lists = {NULL, NULL, NULL};
  if (column->vector == NULL) return lists;
  const duckdb_vector child = duckdb_list_vector_get_child(column->vector);
  lists.entries = column->data;
  lists.numbers = duckdb_vector_get_data(child);
  lists.validity = duckdb_vector_get_validity(child);
  return lists;
}

bool has_null(const Lists* lists, idx_t row) {
  if (lists->validity == NULL) return false;
  const duckdb_list_entry entry = lists->entries[row];
  for (idx_t i = 0; i < entry.length; ++i)
    if (is_missing(lists->validity, entry.offset + i)) return true;
  return false;
}
