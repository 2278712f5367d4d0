/* R's calls over mixstream.h. What the library makes hangs on an external pointer with a finalizer before R
 * can jump away, so an error or an interruption leaks nothing. */
#define R_NO_REMAP
#include <R.h>
#include <R_ext/Rdynload.h>
#include <Rinternals.h>
#include <mixstream/mixstream.h>
#include <stdlib.h>
#include <string.h>

enum { rows_a_step = 65536, text_size = 2048 };

/* ---- handles ---- */

static void destroy_model(SEXP pointer) {
  mixstream_model_destroy(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

static void destroy_report(SEXP pointer) {
  mixstream_report_destroy(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

static void destroy_predictor(SEXP pointer) {
  mixstream_predictor_destroy(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

static void free_bytes(SEXP pointer) {
  mixstream_free(R_ExternalPtrAddr(pointer));
  R_ClearExternalPtr(pointer);
}

/* An empty owner: made before what it will own, since making it may jump. */
static SEXP owner(R_CFinalizer_t finalizer) {
  SEXP pointer = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(pointer, finalizer, TRUE);
  UNPROTECT(1);
  return pointer;
}

static mixstream_model* model_of(SEXP pointer) {
  mixstream_model* model = TYPEOF(pointer) == EXTPTRSXP ? R_ExternalPtrAddr(pointer) : NULL;
  if (model == NULL) Rf_error("this is no model of mixstream, or one whose memory is gone");
  return model;
}

/* ---- refusals and interruptions ---- */

static void ask_r(void* unused) {
  (void)unused;
  R_CheckUserInterrupt(); /* may jump: to R_ToplevelExec */
}

static int is_interrupted(void* unused) {
  (void)unused;
  return R_ToplevelExec(ask_r, NULL) ? 0 : 1;
}

static void refuse(mixstream_status status, const char* words) {
  if (status == MIXSTREAM_INTERRUPTED) Rf_error("interrupted");
  Rf_error("%s", words != NULL && *words != '\0' ? words : mixstream_status_text(status));
}

static void check(mixstream_status status, const char* words) {
  if (status != MIXSTREAM_OK) refuse(status, words);
}

static const char* text_of(SEXP text) {
  return TYPEOF(text) == STRSXP && XLENGTH(text) == 1 ? Rf_translateCharUTF8(STRING_ELT(text, 0)) : "";
}

/* ---- models ---- */

static SEXP new_model(SEXP feature_count, SEXP options) {
  char text[text_size];
  mixstream_status status = MIXSTREAM_OK;
  const size_t count = (size_t)Rf_asInteger(feature_count);
  const char* words = text_of(options);
  SEXP pointer = PROTECT(owner(destroy_model));
  R_SetExternalPtrAddr(pointer, mixstream_model_create(count, words, &status, text, sizeof text));
  if (R_ExternalPtrAddr(pointer) == NULL) refuse(status, text);
  UNPROTECT(1);
  return pointer;
}

static SEXP load_model(SEXP bytes) {
  char text[text_size];
  mixstream_status status = MIXSTREAM_OK;
  SEXP pointer;
  if (TYPEOF(bytes) != RAWSXP) Rf_error("the model holds no bytes: it was not made by mixstream()");
  pointer = PROTECT(owner(destroy_model));
  R_SetExternalPtrAddr(
      pointer, mixstream_model_load(RAW(bytes), (size_t)XLENGTH(bytes), NULL, &status, text, sizeof text));
  if (R_ExternalPtrAddr(pointer) == NULL) refuse(status, text);
  UNPROTECT(1);
  return pointer;
}

static SEXP bytes_of(SEXP pointer) {
  size_t size = 0;
  mixstream_status status = MIXSTREAM_OK;
  SEXP bytes;
  SEXP result;
  const mixstream_model* model = model_of(pointer);
  bytes = PROTECT(owner(free_bytes));
  R_SetExternalPtrAddr(bytes, mixstream_model_save(model, &size, &status));
  if (R_ExternalPtrAddr(bytes) == NULL) refuse(status, NULL);
  result = PROTECT(Rf_allocVector(RAWSXP, (R_xlen_t)size));
  memcpy(RAW(result), R_ExternalPtrAddr(bytes), size);
  free_bytes(bytes);
  UNPROTECT(2);
  return result;
}

/* ---- rows ---- */

static const double* doubles_or_null(SEXP values) {
  return values == R_NilValue ? NULL : REAL(values);
}

static uint64_t* whole_numbers(SEXP values, R_xlen_t count, const char* name) {
  uint64_t* numbers;
  R_xlen_t i;
  if (values == R_NilValue) return NULL;
  numbers = (uint64_t*)R_alloc((size_t)count, sizeof *numbers);
  for (i = 0; i < count; ++i) {
    const double value = REAL(values)[i];
    if (!(value >= 0.0 && value < 9007199254740992.0 && value == (double)(uint64_t)value))
      Rf_error("%s takes whole numbers from 0 on: the one of row %ld is %g", name, (long)i + 1, value);
    numbers[i] = (uint64_t)value;
  }
  return numbers;
}

/* A matrix of R, column by column, as it lies. */
static mixstream_block block_of(SEXP x) {
  mixstream_block block;
  memset(&block, 0, sizeof block);
  block.size = sizeof block;
  block.row_count = (size_t)Rf_nrows(x);
  block.feature_count = (size_t)Rf_ncols(x);
  block.features = REAL(x);
  block.row_stride = 1;
  block.feature_stride = (ptrdiff_t)block.row_count;
  return block;
}

/* Rows from `first` on, as many as a step takes. */
static mixstream_block step_of(const mixstream_block* all, size_t first) {
  mixstream_block step = *all;
  const size_t left = all->row_count - first;
  step.row_count = left < rows_a_step ? left : rows_a_step;
  step.features += first;
  if (step.responses != NULL) step.responses += first;
  if (step.weights != NULL) step.weights += first;
  if (step.times != NULL) step.times += first;
  if (step.sensors != NULL) step.sensors += first;
  if (step.positions != NULL) step.positions += first;
  return step;
}

static SEXP absorb(SEXP pointer, SEXP x, SEXP y, SEXP weights, SEXP times, SEXP sensors, SEXP positions) {
  mixstream_model* model = model_of(pointer);
  mixstream_block all = block_of(x);
  uint64_t refused_here = 0;
  double refused = 0.0;
  size_t first;
  mixstream_status status = MIXSTREAM_OK;
  all.responses = REAL(y);
  all.weights = doubles_or_null(weights);
  all.times = doubles_or_null(times);
  all.sensors = whole_numbers(sensors, XLENGTH(y), "sensor");
  all.positions = whole_numbers(positions, XLENGTH(y), "row");
  mixstream_interrupt_by(is_interrupted, NULL);
  for (first = 0; first < all.row_count && status == MIXSTREAM_OK; first += rows_a_step) {
    const mixstream_block step = step_of(&all, first);
    status =
        is_interrupted(NULL) ? MIXSTREAM_INTERRUPTED : mixstream_model_absorb(model, &step, &refused_here);
    refused += (double)refused_here;
  }
  mixstream_interrupt_by(NULL, NULL);
  check(status, NULL);
  return Rf_ScalarReal(refused);
}

static SEXP merge(SEXP pointer, SEXP other) {
  mixstream_model* model = model_of(pointer);
  const mixstream_status status = mixstream_model_merge(model, model_of(other));
  check(status, mixstream_model_words(model));
  return R_NilValue;
}

/* ---- fits ---- */

/* The report as JSON and as a table. */
static SEXP fit(SEXP pointer) {
  char text[text_size];
  mixstream_status status = MIXSTREAM_OK;
  const mixstream_model* model = model_of(pointer);
  const mixstream_report* report;
  SEXP result;
  SEXP handle = PROTECT(owner(destroy_report));
  mixstream_interrupt_by(is_interrupted, NULL);
  R_SetExternalPtrAddr(handle, mixstream_model_fit(model, NULL, &status, text, sizeof text));
  mixstream_interrupt_by(NULL, NULL);
  report = R_ExternalPtrAddr(handle);
  if (report == NULL) refuse(status, text);
  result = PROTECT(Rf_allocVector(STRSXP, 2));
  SET_STRING_ELT(result, 0, Rf_mkCharCE(mixstream_report_json(report), CE_UTF8));
  SET_STRING_ELT(result, 1, Rf_mkCharCE(mixstream_report_table(report), CE_UTF8));
  destroy_report(handle);
  UNPROTECT(2);
  return result;
}

static SEXP named_list(int count, const char* const* names) {
  SEXP list = PROTECT(Rf_allocVector(VECSXP, count));
  SEXP labels = PROTECT(Rf_allocVector(STRSXP, count));
  int i;
  for (i = 0; i < count; ++i) SET_STRING_ELT(labels, i, Rf_mkChar(names[i]));
  Rf_setAttrib(list, R_NamesSymbol, labels);
  UNPROTECT(2);
  return list;
}

/* A column of the list, kept by it. */
static SEXP column(SEXP list, int at, SEXPTYPE type, R_xlen_t count) {
  SEXP values = Rf_allocVector(type, count);
  SET_VECTOR_ELT(list, at, values);
  return values;
}

/* Laws count from 1; NA where a row cannot be predicted. */
static void count_from_one(SEXP components) {
  R_xlen_t i;
  for (i = 0; i < XLENGTH(components); ++i) {
    const int component = INTEGER(components)[i];
    INTEGER(components)[i] = component < 0 ? NA_INTEGER : component + 1;
  }
}

static SEXP predict(SEXP json, SEXP x, SEXP y, SEXP level) {
  static const char* const names[] = {"component", "probabilities", "expected", "low", "high"};
  char text[text_size];
  mixstream_status status = MIXSTREAM_OK;
  mixstream_block block = block_of(x);
  mixstream_prediction into;
  const R_xlen_t n = (R_xlen_t)block.row_count;
  const char* report = text_of(json);
  SEXP result = PROTECT(named_list(5, names));
  SEXP handle = PROTECT(owner(destroy_predictor));
  mixstream_predictor* predictor = mixstream_predictor_create(report, &status, text, sizeof text);
  R_SetExternalPtrAddr(handle, predictor);
  if (predictor == NULL) refuse(status, text);
  block.responses = doubles_or_null(y);
  memset(&into, 0, sizeof into);
  into.size = sizeof into;
  into.level = Rf_asReal(level);
  into.components = INTEGER(column(result, 0, INTSXP, n));
  into.probabilities =
      REAL(column(result, 1, REALSXP, n * (R_xlen_t)mixstream_predictor_component_count(predictor)));
  into.expected = REAL(column(result, 2, REALSXP, n));
  into.low = REAL(column(result, 3, REALSXP, n));
  into.high = REAL(column(result, 4, REALSXP, n));
  status = mixstream_predict(predictor, &block, &into);
  destroy_predictor(handle);
  check(status,
        status == MIXSTREAM_WRONG_WIDTH ? "newdata makes another number of terms than the model has" : NULL);
  count_from_one(VECTOR_ELT(result, 0));
  UNPROTECT(2);
  return result;
}

/* ---- what the state holds ---- */

static SEXP moments(SEXP pointer, SEXP degree) {
  static const char* const names[] = {"sigma", "cross", "mean"};
  const mixstream_model* model = model_of(pointer);
  const int32_t p = Rf_asInteger(degree);
  SEXP result = PROTECT(named_list(3, names));
  int kind;
  for (kind = 0; kind < 3; ++kind) {
    size_t needed = 0;
    SEXP values;
    mixstream_model_moments(model, (mixstream_moment)kind, p, NULL, 0, &needed);
    values = column(result, kind, REALSXP, (R_xlen_t)needed);
    check(mixstream_model_moments(model, (mixstream_moment)kind, p, REAL(values), needed, &needed),
          "moments have degree 1, 2 or 3");
  }
  UNPROTECT(1);
  return result;
}

static SEXP sample(SEXP pointer) {
  static const char* const names[] = {"x", "y", "weights"};
  const mixstream_model* model = model_of(pointer);
  const R_xlen_t d = (R_xlen_t)mixstream_model_feature_count(model);
  size_t needed = 0;
  double *x, *y, *weights;
  SEXP result = PROTECT(named_list(3, names));
  mixstream_model_sample(model, NULL, NULL, NULL, 0, &needed);
  x = REAL(column(result, 0, REALSXP, (R_xlen_t)needed * d));
  y = REAL(column(result, 1, REALSXP, (R_xlen_t)needed));
  weights = REAL(column(result, 2, REALSXP, (R_xlen_t)needed));
  check(mixstream_model_sample(model, x, y, weights, needed, &needed), NULL);
  UNPROTECT(1);
  return result;
}

static SEXP modes(SEXP pointer, SEXP sensor, SEXP count) {
  const mixstream_model* model = model_of(pointer);
  SEXP result = PROTECT(Rf_allocVector(REALSXP, Rf_asInteger(count)));
  check(mixstream_model_modes(model, (uint64_t)Rf_asReal(sensor), REAL(result), (size_t)XLENGTH(result)),
        "no modes are followed: they are where modes = \"persistent\" was said or chosen, after some "
        "thousand rows, "
        "and for sensors that have had rows");
  UNPROTECT(1);
  return result;
}

static const R_CallMethodDef calls[] = {{"new_model", (DL_FUNC)&new_model, 2},
                                        {"load_model", (DL_FUNC)&load_model, 1},
                                        {"bytes", (DL_FUNC)&bytes_of, 1},
                                        {"absorb", (DL_FUNC)&absorb, 7},
                                        {"merge", (DL_FUNC)&merge, 2},
                                        {"fit", (DL_FUNC)&fit, 1},
                                        {"predict", (DL_FUNC)&predict, 4},
                                        {"moments", (DL_FUNC)&moments, 2},
                                        {"sample", (DL_FUNC)&sample, 1},
                                        {"modes", (DL_FUNC)&modes, 3},
                                        {NULL, NULL, 0}};

void R_init_mixstream(DllInfo* library) {
  R_registerRoutines(library, NULL, calls, NULL, NULL);
  R_useDynamicSymbols(library, FALSE);
  R_forceSymbols(library, TRUE);
}
