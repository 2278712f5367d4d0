/* Models inside DuckDB: the states of aggregates, columns of a chunk, refusals. */
#ifndef MIXSTREAM_DUCKDB_MODEL_H
#define MIXSTREAM_DUCKDB_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <duckdb_extension.h>

#include "mixstream/mixstream.h"

DUCKDB_EXTENSION_EXTERN

enum { MOST_WORDS = 700 };

/* Why a call is refused, for a person: what is wrong and what to do. words NULL: what the status says. */
void say_refusal(char* text, mixstream_status status, const char* words);

/* A model that several states hold: combining gives a state to an empty one without a copy, and whoever
 * changes a model that others hold changes a copy. Reading takes the lock, since DuckDB combines the parts of
 * a window from many threads. */
typedef struct Shared Shared;

/* Takes the model; NULL, and the model is gone, where there is no memory. */
Shared* share_model(mixstream_model* model);
Shared* hold(Shared* shared);
/* NULL is fine. The last one destroys the model. */
void let_go(Shared* shared);
/* The model for changing, in *shared a copy if others hold it; NULL and words where that fails. */
mixstream_model* own(Shared** shared, char* text);
/* Adds the other's rows to the model; MIXSTREAM_WRONG_WIDTH where rows of the two are not as wide. */
mixstream_status merge_shared(mixstream_model* model, Shared* other);
/* The bytes of the state; mixstream_free gives them back. */
void* save_shared(Shared* shared, size_t* size, mixstream_status* status);

/* Copies memory that may not be there; how many bytes there were. open_guard comes first. */
bool open_guard(void);
size_t read_safely(void* into, const void* from, size_t size);

/* A column of a chunk. */
typedef struct Column {
  duckdb_vector vector;
  const void* data;
  uint64_t* validity; /* NULL: every row has a value */
} Column;

/* A column that the call does not have: every row is NULL. */
Column column_of(duckdb_data_chunk chunk, idx_t index);
bool is_null(const Column* column, idx_t row);
/* Text or bytes of a row; no end mark. */
const char* bytes_of(const Column* column, idx_t row, size_t* size);
/* The same with an end mark; free() gives it back. NULL where the row is or there is no memory. */
char* text_of(const Column* column, idx_t row);
void set_null(duckdb_vector vector, idx_t row);

/* Options as JSON text: `first`, such as "\"k\":3", before what the text says. free() gives it back. */
char* options_text(const char* first, const char* options);

/* Numbers of rows of a LIST(DOUBLE). */
typedef struct Lists {
  const duckdb_list_entry* entries;
  const double* numbers;
  uint64_t* validity;
} Lists;

Lists lists_of(const Column* column);
bool has_null(const Lists* lists, idx_t row);

/* What the extension brings. */
bool add_state(duckdb_connection connection);
bool add_merge(duckdb_connection connection);
bool add_fits(duckdb_connection connection);
bool add_predict(duckdb_connection connection);

#endif
