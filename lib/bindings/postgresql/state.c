/* The aggregates: rows into models, models into models. */
#include "handle.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(pg_mixstream_absorb);
PG_FUNCTION_INFO_V1(pg_mixstream_add);
PG_FUNCTION_INFO_V1(pg_mixstream_combine);
PG_FUNCTION_INFO_V1(pg_mixstream_serialize);
PG_FUNCTION_INFO_V1(pg_mixstream_deserialize);
PG_FUNCTION_INFO_V1(pg_mixstream_final);

enum { STATE, RESPONSE, FEATURES, WEIGHT, ID, OPTIONS };

static bool is_given(FunctionCallInfo fcinfo, int argument) {
  return PG_NARGS() > argument && !PG_ARGISNULL(argument);
}

static Handle* state_of(FunctionCallInfo fcinfo, int argument) {
  return PG_ARGISNULL(argument) ? NULL : (Handle*)PG_GETARG_POINTER(argument);
}

static ArrayType* features_of(FunctionCallInfo fcinfo) {
  ArrayType* x = PG_ARGISNULL(FEATURES) ? NULL : PG_GETARG_ARRAYTYPE_P(FEATURES);
  if (x != NULL && ARR_NDIM(x) > 1) refuse(MIXSTREAM_WRONG_WIDTH, "the features of a row are one list");
  return x;
}

static void make_model(Handle* handle, FunctionCallInfo fcinfo, size_t width) {
  const Jsonb* options = is_given(fcinfo, OPTIONS) ? PG_GETARG_JSONB_P(OPTIONS) : NULL;
  char* text = options_text("\"intercept\":true", options);
  const mixstream_block no_rows = {.size = sizeof(mixstream_block), .feature_count = width};
  mixstream_status status;
  char words[400];
  handle->model = mixstream_model_create(width, text, &status, words, sizeof words);
  pfree(text);
  if (handle->model == NULL) refuse(status, words);
  status = mixstream_model_absorb(handle->model, &no_rows, NULL); /* from here on all rows are as wide */
  if (status != MIXSTREAM_OK) refuse(status, NULL);
}

/* The last argument of a row counts: NULL is a missing weight or id there, and none further in front. */
static bool is_whole(FunctionCallInfo fcinfo, const ArrayType* x) {
  return x != NULL && !ARR_HASNULL(x) && !PG_ARGISNULL(RESPONSE) &&
         (PG_NARGS() != WEIGHT + 1 || !PG_ARGISNULL(WEIGHT)) && (PG_NARGS() != ID + 1 || !PG_ARGISNULL(ID));
}

static double weight_of(FunctionCallInfo fcinfo) {
  return is_given(fcinfo, WEIGHT) ? PG_GETARG_FLOAT8(WEIGHT) : 1.0;
}

static void absorb_row(Handle* handle, FunctionCallInfo fcinfo, ArrayType* x, size_t width) {
  const double response = PG_GETARG_FLOAT8(RESPONSE);
  const double weight = weight_of(fcinfo);
  const uint64_t position = is_given(fcinfo, ID) ? (uint64_t)PG_GETARG_INT64(ID) : 0;
  mixstream_block block = {.size = sizeof(mixstream_block)};
  mixstream_status status;
  block.row_count = 1;
  block.feature_count = width;
  block.features = (const double*)ARR_DATA_PTR(x);
  block.feature_stride = 1;
  block.responses = &response;
  block.weights = &weight;
  block.positions = is_given(fcinfo, ID) ? &position : NULL;
  status = mixstream_model_absorb(handle->model, &block, NULL);
  if (status == MIXSTREAM_INTERRUPTED)
    heed_interrupts();
  else if (status != MIXSTREAM_OK)
    refuse(status, NULL);
}

Datum pg_mixstream_absorb(PG_FUNCTION_ARGS) {
  const MemoryContext context = aggregate_context(fcinfo);
  Handle* handle = state_of(fcinfo, STATE);
  ArrayType* x = features_of(fcinfo);
  const size_t width = x == NULL || ARR_NDIM(x) == 0 ? 0 : (size_t)ARR_DIMS(x)[0];
  if (handle == NULL && x == NULL) PG_RETURN_NULL(); /* no row has told the width yet */
  if (handle == NULL) {
    handle = handle_in(context);
    make_model(handle, fcinfo, width);
  }
  if (x != NULL && width != mixstream_model_width(handle->model)) refuse(MIXSTREAM_WRONG_WIDTH, NULL);
  if (is_whole(fcinfo, x))
    absorb_row(handle, fcinfo, x, width);
  else
    mixstream_model_refuse(handle->model, "missing");
  count_memory(handle);
  if (x != NULL) PG_FREE_IF_COPY(x, FEATURES);
  PG_RETURN_POINTER(handle);
}

/* Parts of one aggregate have rows of one width; of a stored state nobody knows it. */
static bool are_as_wide(const mixstream_model* one, const mixstream_model* other) {
  const size_t width = mixstream_model_width(one);
  const size_t others = mixstream_model_width(other);
  return width == others || width == 0 || others == 0;
}

/* The second model's rows enter the first; where there is none, the second moves to the aggregate. */
static Handle* joined(Handle* first, Handle* second, MemoryContext context) {
  mixstream_status status;
  if (first == NULL) {
    first = handle_in(context);
    first->model = second->model;
    second->model = NULL;
  } else {
    if (!are_as_wide(first->model, second->model)) refuse(MIXSTREAM_WRONG_WIDTH, NULL);
    status = mixstream_model_merge(first->model, second->model);
    if (status != MIXSTREAM_OK) refuse(status, mixstream_model_words(first->model));
    destroy_now(second);
  }
  count_memory(first);
  return first;
}

Datum pg_mixstream_combine(PG_FUNCTION_ARGS) {
  const MemoryContext context = aggregate_context(fcinfo);
  Handle* first = state_of(fcinfo, 0);
  Handle* second = state_of(fcinfo, 1);
  if (second != NULL && second->model != NULL) first = joined(first, second, context);
  if (first == NULL) PG_RETURN_NULL();
  PG_RETURN_POINTER(first);
}

Datum pg_mixstream_add(PG_FUNCTION_ARGS) {
  const MemoryContext context = aggregate_context(fcinfo);
  Handle* first = state_of(fcinfo, 0);
  if (!PG_ARGISNULL(1)) {
    bytea* bytes = PG_GETARG_BYTEA_P(1);
    Handle* second = handle_of_bytes(VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ, NULL, CurrentMemoryContext);
    first = joined(first, second, context);
    PG_FREE_IF_COPY(bytes, 1);
  }
  if (first == NULL) PG_RETURN_NULL();
  PG_RETURN_POINTER(first);
}

Datum pg_mixstream_serialize(PG_FUNCTION_ARGS) {
  const Handle* handle = (Handle*)PG_GETARG_POINTER(0);
  aggregate_context(fcinfo);
  PG_RETURN_BYTEA_P(packed(handle->model));
}

Datum pg_mixstream_deserialize(PG_FUNCTION_ARGS) {
  bytea* bytes = PG_GETARG_BYTEA_P(0);
  aggregate_context(fcinfo);
  PG_RETURN_POINTER(handle_of_bytes(VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ, NULL, CurrentMemoryContext));
}

Datum pg_mixstream_final(PG_FUNCTION_ARGS) {
  const Handle* handle = state_of(fcinfo, 0);
  aggregate_context(fcinfo);
  if (handle == NULL) PG_RETURN_NULL();
  PG_RETURN_POINTER(value_of(handle->model));
}
