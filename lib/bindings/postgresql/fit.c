/* What a state says: fits, its own figures, its moments. */
#include "handle.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(pg_mixstream_fit);
PG_FUNCTION_INFO_V1(pg_mixstream_table);
PG_FUNCTION_INFO_V1(pg_mixstream_inspect);
PG_FUNCTION_INFO_V1(pg_mixstream_moments);

static Handle* handle_of_argument(FunctionCallInfo fcinfo, int argument) {
  struct varlena* value = PG_DETOAST_DATUM(PG_GETARG_DATUM(argument));
  return handle_of_bytes(VARDATA(value), VARSIZE(value) - VARHDRSZ, NULL, CurrentMemoryContext);
}

/* A report; the query may end it. */
static mixstream_report* report_of(const Handle* handle, const char* options) {
  mixstream_status status;
  char words[400];
  for (;;) {
    mixstream_report* report = mixstream_model_fit(handle->model, options, &status, words, sizeof words);
    if (report != NULL) return report;
    if (status != MIXSTREAM_INTERRUPTED) refuse(status, words);
    heed_interrupts();
  }
}

/* What `say` tells of the fit, as memory of PostgreSQL's. */
static char* fitted(FunctionCallInfo fcinfo, const char* (*say)(const mixstream_report*)) {
  Handle* handle = handle_of_argument(fcinfo, 0);
  const Jsonb* options = PG_ARGISNULL(2) ? NULL : PG_GETARG_JSONB_P(2);
  const char* k = PG_ARGISNULL(1) ? "" : psprintf("\"k\":%d", PG_GETARG_INT32(1));
  const bool asks = options != NULL || k[0] != '\0';
  mixstream_report* report = report_of(handle, asks ? options_text(k, options) : NULL);
  const Size size = strlen(say(report)) + 1;
  char* text = MemoryContextAllocExtended(CurrentMemoryContext, size, MCXT_ALLOC_NO_OOM);
  if (text != NULL) memcpy(text, say(report), size);
  mixstream_report_destroy(report);
  destroy_now(handle);
  if (text == NULL) refuse(MIXSTREAM_OUT_OF_MEMORY, NULL);
  return text;
}

Datum pg_mixstream_fit(PG_FUNCTION_ARGS) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(fitted(fcinfo, mixstream_report_json))));
}

Datum pg_mixstream_table(PG_FUNCTION_ARGS) {
  if (PG_ARGISNULL(0)) PG_RETURN_NULL();
  PG_RETURN_TEXT_P(cstring_to_text(fitted(fcinfo, mixstream_report_table)));
}

Datum pg_mixstream_inspect(PG_FUNCTION_ARGS) {
  Handle* handle = handle_of_argument(fcinfo, 0);
  mixstream_status status = MIXSTREAM_OK;
  char* found = mixstream_model_inspect(handle->model, &status);
  char* text;
  if (found == NULL) refuse(status, NULL);
  text = MemoryContextAllocExtended(CurrentMemoryContext, strlen(found) + 1, MCXT_ALLOC_NO_OOM);
  if (text != NULL) strcpy(text, found);
  mixstream_free(found);
  destroy_now(handle);
  if (text == NULL) refuse(MIXSTREAM_OUT_OF_MEMORY, NULL);
  PG_RETURN_DATUM(DirectFunctionCall1(jsonb_in, CStringGetDatum(text)));
}

static mixstream_moment moment_named(const char* name) {
  if (strcmp(name, "sigma") == 0) return MIXSTREAM_SIGMA;
  if (strcmp(name, "cross") == 0) return MIXSTREAM_CROSS;
  if (strcmp(name, "mean") == 0) return MIXSTREAM_MEAN;
  refuse(MIXSTREAM_BAD_ARGUMENT, "a moment is sigma, cross or mean");
}

Datum pg_mixstream_moments(PG_FUNCTION_ARGS) {
  Handle* handle = handle_of_argument(fcinfo, 0);
  const mixstream_moment moment = moment_named(text_to_cstring(PG_GETARG_TEXT_PP(1)));
  const int degree = PG_GETARG_INT32(2);
  size_t count = 0;
  double* values;
  Datum* numbers;
  mixstream_status status = mixstream_model_moments(handle->model, moment, degree, NULL, 0, &count);
  if (status != MIXSTREAM_TOO_LARGE) refuse(status, "a degree is 1, 2 or 3");
  values = palloc(count * sizeof(double));
  numbers = palloc(count * sizeof(Datum));
  status = mixstream_model_moments(handle->model, moment, degree, values, count, &count);
  if (status != MIXSTREAM_OK) refuse(status, NULL);
  destroy_now(handle);
  for (size_t i = 0; i < count; ++i) numbers[i] = Float8GetDatum(values[i]);
  PG_RETURN_ARRAYTYPE_P(
      construct_array(numbers, (int)count, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}
