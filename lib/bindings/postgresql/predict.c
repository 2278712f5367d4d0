/* Predictions from the JSON of a fit. The fit is read once for as long as it stays the same. */
#include "handle.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(pg_mixstream_predict);

enum { FIT, FEATURES, RESPONSE, LEVEL };

/* What a call site remembers between rows. */
typedef struct Remembered {
  mixstream_predictor* predictor;
  Jsonb* fit;
  TupleDesc row_type;
  MemoryContextCallback at_end;
} Remembered;

static void forget(void* argument) {
  Remembered* remembered = argument;
  mixstream_predictor_destroy(remembered->predictor);
  remembered->predictor = NULL;
}

static Remembered* begin_remembering(FunctionCallInfo fcinfo) {
  const MemoryContext home = fcinfo->flinfo->fn_mcxt;
  Remembered* remembered = MemoryContextAllocZero(home, sizeof(Remembered));
  const MemoryContext before = MemoryContextSwitchTo(home);
  TupleDesc type;
  if (get_call_result_type(fcinfo, NULL, &type) != TYPEFUNC_COMPOSITE)
    elog(ERROR, "mixstream: mixstream_predict returns a row");
  remembered->row_type = BlessTupleDesc(CreateTupleDescCopy(type));
  MemoryContextSwitchTo(before);
  remembered->at_end.func = forget;
  remembered->at_end.arg = remembered;
  MemoryContextRegisterResetCallback(home, &remembered->at_end);
  fcinfo->flinfo->fn_extra = remembered;
  return remembered;
}

static void read_fit(Remembered* remembered, const Jsonb* fit, MemoryContext home) {
  mixstream_status status;
  char words[400];
  char* json = JsonbToCString(NULL, (JsonbContainer*)&fit->root, VARSIZE(fit));
  forget(remembered);
  if (remembered->fit != NULL) pfree(remembered->fit);
  remembered->fit = NULL;
  remembered->predictor = mixstream_predictor_create(json, &status, words, sizeof words);
  if (remembered->predictor == NULL) refuse(status, words);
  remembered->fit = MemoryContextAlloc(home, VARSIZE(fit));
  memcpy(remembered->fit, fit, VARSIZE(fit));
  pfree(json);
}

static Remembered* remembered_for(FunctionCallInfo fcinfo, const Jsonb* fit) {
  Remembered* remembered = fcinfo->flinfo->fn_extra;
  if (remembered == NULL) remembered = begin_remembering(fcinfo);
  if (remembered->fit == NULL || VARSIZE(remembered->fit) != VARSIZE(fit) ||
      memcmp(remembered->fit, fit, VARSIZE(fit)) != 0)
    read_fit(remembered, fit, fcinfo->flinfo->fn_mcxt);
  return remembered;
}

static Datum row_of(const Remembered* remembered, int32_t component, const double* probabilities,
                    const double* numbers) {
  const size_t k = mixstream_predictor_component_count(remembered->predictor);
  Datum* list = palloc(k * sizeof(Datum));
  Datum values[5];
  bool nulls[5] = {false, false, false, false, false};
  for (size_t h = 0; h < k; ++h) list[h] = Float8GetDatum(probabilities[h]);
  values[0] = Int32GetDatum(component + 1);
  values[1] = PointerGetDatum(
      construct_array(list, (int)k, FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
  for (int i = 0; i < 3; ++i) values[2 + i] = Float8GetDatum(numbers[i]);
  return HeapTupleGetDatum(heap_form_tuple(remembered->row_type, values, nulls));
}

/* As mixstream_state takes rows: without the constant that stands before them. */
static void check_width(const mixstream_predictor* predictor, size_t width) {
  const size_t wanted = mixstream_predictor_width(predictor);
  if (width == wanted) return;
  refuse(MIXSTREAM_WRONG_WIDTH,
         psprintf("the row has %zu features and the fit %zu, without the constant that "
                  "stands before them",
                  width, wanted));
}

/* NULL where nothing can be predicted: a feature is missing or not finite. */
Datum pg_mixstream_predict(PG_FUNCTION_ARGS) {
  Remembered* remembered;
  ArrayType* x;
  mixstream_block block = {.size = sizeof(mixstream_block)};
  mixstream_prediction into = {.size = sizeof(mixstream_prediction)};
  mixstream_status status;
  double response = NAN;
  double numbers[3];
  double* probabilities;
  int32_t component = -1;
  if (PG_ARGISNULL(FIT) || PG_ARGISNULL(FEATURES) || PG_ARGISNULL(LEVEL)) PG_RETURN_NULL();
  x = PG_GETARG_ARRAYTYPE_P(FEATURES);
  if (ARR_HASNULL(x)) PG_RETURN_NULL();
  remembered = remembered_for(fcinfo, PG_GETARG_JSONB_P(FIT));
  if (!PG_ARGISNULL(RESPONSE)) response = PG_GETARG_FLOAT8(RESPONSE);
  probabilities = palloc(mixstream_predictor_component_count(remembered->predictor) * sizeof(double));
  block.row_count = 1;
  block.feature_count = ARR_NDIM(x) == 1 ? (size_t)ARR_DIMS(x)[0] : 0;
  check_width(remembered->predictor, block.feature_count);
  block.features = (const double*)ARR_DATA_PTR(x);
  block.feature_stride = 1;
  block.responses = &response;
  into.level = PG_GETARG_FLOAT8(LEVEL);
  into.components = &component;
  into.probabilities = probabilities;
  into.expected = &numbers[0];
  into.low = &numbers[1];
  into.high = &numbers[2];
  mixstream_predictor_restart(remembered->predictor); /* rows come in any order here */
  status = mixstream_predict(remembered->predictor, &block, &into);
  if (status != MIXSTREAM_OK) refuse(status, NULL);
  if (component < 0) PG_RETURN_NULL();
  PG_RETURN_DATUM(row_of(remembered, component, probabilities, numbers));
}
