/* Models at rest from C: rows in blocks of any stride and split, merge, save and load, fits, predictions. */
#include "mixstream/mixstream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
#define CHECK(condition)                                              \
  do {                                                                \
    if (!(condition)) {                                               \
      ++failures;                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                 \
  } while (0)

enum { ROWS = 6000 };

static double x[ROWS];
static double y[ROWS];
static uint64_t numbers[ROWS];
static int numbered = 1; /* whether rows bring their numbers */

static double uniform(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) / 9007199254740992.0;
}

static double bell(uint64_t* state) { /* a normal, near enough: twelve uniforms */
  double sum = -6.0;
  int i;
  for (i = 0; i < 12; ++i) sum += uniform(state);
  return sum;
}

static void make_rows(void) {
  uint64_t state = 3;
  int i;
  for (i = 0; i < ROWS; ++i) {
    x[i] = bell(&state);
    y[i] = (uniform(&state) < 0.4 ? 1.0 + 2.0 * x[i] : -2.0 + 0.5 * x[i]) + 0.3 * bell(&state);
    numbers[i] = (uint64_t)i;
  }
}

/* Every other row is one of fifty. */
static void repeat_rows(void) {
  int i;
  for (i = 0; i < ROWS; i += 2) {
    x[i] = x[i % 50];
    y[i] = y[i % 50];
  }
}

static mixstream_model* new_model(const char* options) {
  char text[300];
  mixstream_status status = MIXSTREAM_INTERNAL;
  mixstream_model* model = mixstream_model_create(1, options, &status, text, sizeof text);
  CHECK(model != NULL && status == MIXSTREAM_OK);
  if (model == NULL) fprintf(stderr, "%s\n", text);
  return model;
}

static mixstream_block rows_between(int first, int end) {
  mixstream_block block;
  memset(&block, 0, sizeof block);
  block.size = sizeof block;
  block.row_count = (size_t)(end - first);
  block.feature_count = 1;
  block.features = x + first;
  block.row_stride = 1;
  block.feature_stride = 1;
  block.responses = y + first;
  block.positions = numbered ? numbers + first : NULL;
  return block;
}

static void absorb(mixstream_model* model, int first, int end) {
  const mixstream_block block = rows_between(first, end);
  uint64_t refused = 9;
  CHECK(mixstream_model_absorb(model, &block, &refused) == MIXSTREAM_OK && refused == 0);
}

static const char* plain = "{\"k\": 2, \"intercept\": true, \"polish\": \"off\", \"sample\": 500}";

/* Laws of a report, by their intercepts: 2 laws of 2 coefficients. */
static void read_laws(const char* json, double laws[4]) {
  const char* at = strstr(json, "\"coefficients\":[");
  int h;
  for (h = 0; h < 2 && at != NULL; ++h) {
    sscanf(at, "\"coefficients\":[%lf,%lf", &laws[2 * h], &laws[2 * h + 1]);
    at = strstr(at + 1, "\"coefficients\":[");
  }
  if (laws[0] < laws[2]) {
    for (h = 0; h < 2; ++h) {
      const double kept = laws[h];
      laws[h] = laws[2 + h];
      laws[2 + h] = kept;
    }
  }
}

static void check_refusals(void) {
  const char* wrong[] = {"{",
                         "[1]",
                         "{\"kk\": 3}",
                         "{\"k\": \"many\"}",
                         "{\"k\": 2.5}",
                         "{\"k\": true}",
                         "{\"modes\": \"odd\"}",
                         "{\"features\": [\"a\", \"b\"]}",
                         "{\"constant\": 4}"};
  char text[300];
  mixstream_status status;
  size_t i;
  mixstream_model* model;
  mixstream_block block = rows_between(0, 10);
  for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    status = MIXSTREAM_OK;
    text[0] = '\0';
    CHECK(mixstream_model_create(1, wrong[i], &status, text, sizeof text) == NULL);
    CHECK(status == MIXSTREAM_BAD_SETTINGS && strlen(text) > 10);
  }
  CHECK(mixstream_model_create(0, NULL, &status, NULL, 0) == NULL && status == MIXSTREAM_BAD_SETTINGS);
  CHECK(mixstream_model_load("nonsense", 8, NULL, &status, text, sizeof text) == NULL);
  CHECK(status == MIXSTREAM_BAD_SNAPSHOT && strlen(text) > 10);
  CHECK(mixstream_model_load(NULL, 0, NULL, &status, NULL, 0) == NULL && status == MIXSTREAM_BAD_SNAPSHOT);
  model = new_model(plain);
  block.feature_count = 3;
  CHECK(mixstream_model_absorb(model, &block, NULL) == MIXSTREAM_WRONG_WIDTH);
  block = rows_between(0, 10);
  block.size = 8;
  CHECK(mixstream_model_absorb(model, &block, NULL) == MIXSTREAM_BAD_ARGUMENT);
  CHECK(mixstream_model_absorb(model, NULL, NULL) == MIXSTREAM_BAD_ARGUMENT);
  CHECK(mixstream_model_merge(model, model) == MIXSTREAM_BAD_ARGUMENT);
  CHECK(mixstream_model_rows(model) == 0);
  CHECK(mixstream_model_fit(model, "{\"sample\": 9}", &status, text, sizeof text) == NULL);
  CHECK(status == MIXSTREAM_BAD_SETTINGS && strstr(text, "sample") != NULL);
  mixstream_model_destroy(model);
  mixstream_model_destroy(NULL);
}

/* Rows that are no numbers are counted one by one. */
static void check_bad_rows(void) {
  const double features[3] = {1.0, 2.0, 3.0};
  const double responses[3] = {1.0, NAN, INFINITY};
  mixstream_model* model = new_model(plain);
  mixstream_block block = rows_between(0, 3);
  uint64_t refused = 0;
  char* json;
  block.features = features;
  block.responses = responses;
  CHECK(mixstream_model_absorb(model, &block, &refused) == MIXSTREAM_OK && refused == 2);
  CHECK(mixstream_model_refuse(model, "missing") == MIXSTREAM_OK);
  CHECK(mixstream_model_rows(model) == 1);
  json = mixstream_model_inspect(model, NULL);
  CHECK(strstr(json, "\"missing\":1") != NULL && strstr(json, "\"not_a_number\":1") != NULL);
  mixstream_free(json);
  mixstream_model_destroy(model);
}

/* The same rows, as a matrix of columns with its constant, and row by row without it. */
static void check_strides(void) {
  static double columns[2 * 800];
  mixstream_model* one = new_model(plain);
  mixstream_model* other;
  mixstream_status status;
  mixstream_block block = rows_between(0, 800);
  size_t size[2];
  void* bytes[2];
  int i;
  for (i = 0; i < 800; ++i) {
    columns[i] = 1.0;
    columns[800 + i] = x[i];
  }
  absorb(one, 0, 300);
  absorb(one, 300, 800);
  other = mixstream_model_create(
      2, "{\"k\": 2, \"features\": [\"1\", \"x1\"], \"polish\": \"off\", \"sample\": 500}", &status, NULL, 0);
  block.feature_count = 2;
  block.features = columns;
  block.feature_stride = 800;
  CHECK(mixstream_model_absorb(other, &block, NULL) == MIXSTREAM_OK);
  bytes[0] = mixstream_model_save(one, &size[0], NULL);
  bytes[1] = mixstream_model_save(other, &size[1], NULL);
  CHECK(size[0] == size[1] && memcmp(bytes[0], bytes[1], size[0]) == 0);
  mixstream_free(bytes[0]);
  mixstream_free(bytes[1]);
  mixstream_model_destroy(one);
  mixstream_model_destroy(other);
}

/* Rows of the width that the first ones had: a leading 1 does not make a wider row the constant and the rest.
 */
static void check_width_of_rows(void) {
  const double wide[4] = {1.0, 77.0, 1.0, 78.0};
  const char* flat = "{\"k\": 2, \"features\": [\"1\", \"x1\"]}";
  const char* const made[2] = {plain, flat};
  mixstream_status status;
  mixstream_block block = rows_between(0, 2);
  size_t size = 0;
  int rows;
  int i;
  block.feature_count = 2;
  block.features = wide;
  block.row_stride = 2;
  for (rows = 1; rows < 2000; rows += 1500) {
    for (i = 0; i < 2; ++i) {
      mixstream_model* model = mixstream_model_create(i == 0 ? 1 : 2, made[i], &status, NULL, 0);
      mixstream_model* packed;
      void* bytes;
      CHECK(mixstream_model_width(model) == (i == 0 ? 1u : 0u));
      absorb(model, 0, rows);
      CHECK(mixstream_model_width(model) == 1);
      CHECK(mixstream_model_absorb(model, &block, NULL) == MIXSTREAM_WRONG_WIDTH);
      bytes = mixstream_model_pack(model, &size, NULL);
      packed = mixstream_model_load(bytes, size, NULL, &status, NULL, 0);
      mixstream_free(bytes);
      CHECK(mixstream_model_width(packed) == 1);
      CHECK(mixstream_model_absorb(packed, &block, NULL) == MIXSTREAM_WRONG_WIDTH);
      CHECK(mixstream_model_rows(packed) == (uint64_t)rows);
      mixstream_model_destroy(packed);
      bytes = mixstream_model_save(model, &size, NULL); /* a file does not know */
      packed = mixstream_model_load(bytes, size, NULL, &status, NULL, 0);
      mixstream_free(bytes);
      CHECK(mixstream_model_width(packed) == 0);
      CHECK(mixstream_model_absorb(packed, &block, NULL) == MIXSTREAM_OK &&
            mixstream_model_width(packed) == 2);
      mixstream_model_destroy(packed);
      mixstream_model_destroy(model);
    }
  }
}

static double largest_difference(const mixstream_model* one, const mixstream_model* two) {
  double a[16];
  double b[16];
  size_t needed = 0;
  double largest = 0.0;
  size_t i;
  int degree;
  for (degree = 1; degree <= 3; ++degree) {
    CHECK(mixstream_model_moments(one, MIXSTREAM_SIGMA, degree, a, 16, &needed) == MIXSTREAM_OK);
    CHECK(mixstream_model_moments(two, MIXSTREAM_SIGMA, degree, b, 16, &needed) == MIXSTREAM_OK);
    for (i = 0; i < needed; ++i) largest = fmax(largest, fabs(a[i] - b[i]) / (1.0 + fabs(a[i])));
  }
  return largest;
}

static void fit_laws(const mixstream_model* model, double laws[4]) {
  mixstream_status status;
  mixstream_report* report = mixstream_model_fit(model, NULL, &status, NULL, 0);
  CHECK(report != NULL && status == MIXSTREAM_OK);
  read_laws(mixstream_report_json(report), laws);
  mixstream_report_destroy(report);
}

/* Any split of rows, with or without numbers of their own: the same moments, sample and laws, few rows or
 * many. */
static void check_splits(int cut, int end) {
  mixstream_model* whole = new_model(plain);
  mixstream_model* first = new_model(plain);
  mixstream_model* second = new_model(plain);
  double laws[2][4];
  int i;
  absorb(whole, 0, end);
  absorb(first, cut, end);
  absorb(second, 0, cut);
  CHECK(mixstream_model_merge(first, second) == MIXSTREAM_OK);
  CHECK(mixstream_model_rows(first) == (uint64_t)end && mixstream_model_rows(second) == (uint64_t)cut);
  CHECK(largest_difference(whole, first) < 1e-10);
  fit_laws(whole, laws[0]);
  fit_laws(first, laws[1]);
  for (i = 0; i < 4; ++i) CHECK(fabs(laws[0][i] - laws[1][i]) < 1e-8);
  if (end > 2000) CHECK(fabs(laws[0][0] - 1.0) < 0.1 && fabs(laws[0][1] - 2.0) < 0.1);
  mixstream_model_destroy(whole);
  mixstream_model_destroy(first);
  mixstream_model_destroy(second);
}

static void check_merge_refused(void) {
  mixstream_model* one = new_model(plain);
  mixstream_model* other = new_model("{\"k\": 2, \"intercept\": true, \"sample\": 400}");
  absorb(one, 0, 100);
  absorb(other, 0, 2000);
  CHECK(mixstream_model_merge(one, other) == MIXSTREAM_CANNOT_MERGE && mixstream_model_rows(one) == 100);
  CHECK(strlen(mixstream_model_words(one)) > 10);
  mixstream_model_destroy(one);
  mixstream_model_destroy(other);
}

/* Saved, packed and loaded again a model goes on as if it had never been away. */
static void check_save(int rows) {
  mixstream_model* model = new_model(plain);
  mixstream_model* copies[2];
  void* bytes;
  void* packed;
  void* again;
  size_t size = 0;
  size_t packed_size = 0;
  size_t again_size = 0;
  mixstream_status status;
  int i;
  absorb(model, 0, rows);
  bytes = mixstream_model_save(model, &size, &status);
  CHECK(bytes != NULL && status == MIXSTREAM_OK);
  packed = mixstream_model_pack(model, &packed_size, &status);
  CHECK(packed != NULL && packed_size <= size + 32); /* what says that it is packed, and how wide rows are */
  copies[0] = mixstream_model_load(bytes, size, NULL, &status, NULL, 0);
  copies[1] = mixstream_model_load(packed, packed_size, NULL, &status, NULL, 0);
  absorb(model, rows, rows + 50);
  again = mixstream_model_save(model, &again_size, NULL);
  for (i = 0; i < 2; ++i) {
    size_t copy_size = 0;
    void* copy;
    CHECK(copies[i] != NULL && mixstream_model_rows(copies[i]) == (uint64_t)rows);
    absorb(copies[i], rows, rows + 50);
    copy = mixstream_model_save(copies[i], &copy_size, NULL);
    CHECK(copy_size == again_size && memcmp(copy, again, again_size) == 0);
    mixstream_free(copy);
    mixstream_model_destroy(copies[i]);
  }
  for (i = 0; i < (int)packed_size; ++i) { /* one bit of each byte; the state's own bits have a test */
    ((unsigned char*)packed)[i] ^= (unsigned char)(1u << (i % 8));
    CHECK(mixstream_model_load(packed, packed_size, NULL, &status, NULL, 0) == NULL);
    ((unsigned char*)packed)[i] ^= (unsigned char)(1u << (i % 8));
  }
  mixstream_free(bytes);
  mixstream_free(packed);
  mixstream_free(again);
  mixstream_model_destroy(model);
}

/* While rows are few a model is small. */
static void check_memory(void) {
  mixstream_model* model = new_model(plain);
  absorb(model, 0, 20);
  CHECK(mixstream_model_memory(model) < 8000);
  absorb(model, 20, 3000);
  CHECK(mixstream_model_memory(model) > 20000);
  mixstream_model_destroy(model);
}

static void check_fit_with_options(void) {
  mixstream_model* model = new_model("{\"k\": 1, \"intercept\": true, \"response\": \"power\"}");
  mixstream_status status;
  mixstream_report* report;
  double laws[4];
  absorb(model, 0, ROWS);
  report = mixstream_model_fit(model, NULL, &status, NULL, 0);
  CHECK(report != NULL && strstr(mixstream_report_json(report), "\"k\":1,") != NULL);
  mixstream_report_destroy(report);
  report = mixstream_model_fit(model, "{\"k\": 2, \"noise\": \"per-law\"}", &status, NULL, 0);
  CHECK(report != NULL && status == MIXSTREAM_OK);
  CHECK(strstr(mixstream_report_json(report), "\"noise\":\"per-law\"") != NULL);
  CHECK(strstr(mixstream_report_json(report), "\"response\":\"power\"") != NULL);
  CHECK(strstr(mixstream_report_table(report), "power") != NULL);
  read_laws(mixstream_report_json(report), laws);
  CHECK(fabs(laws[0] - 1.0) < 0.1 && fabs(laws[1] - 2.0) < 0.1 && fabs(laws[2] + 2.0) < 0.1);
  mixstream_report_destroy(report);
  mixstream_model_destroy(model);
}

static void check_predictions(void) {
  mixstream_model* model = new_model(plain);
  mixstream_block block = rows_between(0, 3);
  mixstream_prediction into;
  mixstream_status status;
  mixstream_report* report;
  mixstream_predictor* predictor;
  const double features[3] = {3.0, 3.0, NAN};
  const double constants[4] = {1.0, 3.0, 2.0, 3.0};
  const double responses[3] = {7.0, -0.5, 1.0};
  int32_t laws[3];
  double p[6];
  double expected[3];
  absorb(model, 0, ROWS);
  report = mixstream_model_fit(model, NULL, &status, NULL, 0);
  predictor = mixstream_predictor_create(mixstream_report_json(report), &status, NULL, 0);
  CHECK(predictor != NULL && mixstream_predictor_component_count(predictor) == 2);
  CHECK(mixstream_predictor_feature_count(predictor) == 2);
  memset(&into, 0, sizeof into);
  into.size = sizeof into;
  into.level = 0.95;
  into.components = laws;
  into.probabilities = p;
  into.expected = expected;
  block.features = features;
  block.responses = responses;
  CHECK(mixstream_predict(predictor, &block, &into) == MIXSTREAM_OK);
  CHECK(laws[0] >= 0 && laws[1] >= 0 && laws[0] != laws[1] && laws[2] == -1);
  CHECK(p[laws[0]] > 0.99 && p[2 + laws[1]] > 0.99 && isnan(p[4]) && isnan(expected[2]));
  CHECK(fabs(expected[0] - 7.0) < 0.2 && fabs(expected[1] + 0.5) < 0.2);
  block.responses = NULL;
  CHECK(mixstream_predict(predictor, &block, &into) == MIXSTREAM_OK);
  CHECK(fabs(p[0] + p[1] - 1.0) < 1e-12 && fabs(expected[0] - (0.4 * 7.0 - 0.6 * 0.5)) < 0.2);
  CHECK(mixstream_predictor_width(predictor) == 1);
  for (block.feature_count = 2; block.feature_count < 4; ++block.feature_count)
    CHECK(mixstream_predict(predictor, &block, &into) == MIXSTREAM_WRONG_WIDTH);
  mixstream_predictor_destroy(predictor);
  predictor = mixstream_predictor_create(mixstream_report_json(report), &status, NULL, 0);
  block.row_count = 2;
  block.feature_count = 2;
  block.row_stride = 2;
  block.features = constants;
  CHECK(mixstream_predict(predictor, &block, &into) == MIXSTREAM_OK && laws[0] >= 0 && laws[1] == -1);
  CHECK(mixstream_predictor_create("{}", &status, NULL, 0) == NULL && status == MIXSTREAM_BAD_SETTINGS);
  mixstream_predictor_destroy(predictor);
  mixstream_report_destroy(report);
  mixstream_model_destroy(model);
}

/* Rows in order: a law holds for some hundred rows; the report and the filter say so. */
static void check_modes(void) {
  mixstream_model* model =
      new_model("{\"k\": 2, \"intercept\": true, \"modes\": \"persistent\", \"noise\": \"shared\"}");
  static double features[20000];
  static double responses[20000];
  mixstream_block block = rows_between(0, 1);
  mixstream_status status;
  mixstream_report* report;
  uint64_t state = 11;
  double p[2] = {0.0, 0.0};
  int law = 0;
  int i;
  for (i = 0; i < 20000; ++i) {
    if (uniform(&state) < 0.01) law = 1 - law;
    features[i] = bell(&state);
    responses[i] = (law == 0 ? 1.0 + 2.0 * features[i] : -2.0 + 0.5 * features[i]) + 0.3 * bell(&state);
  }
  block.row_count = 20000;
  block.features = features;
  block.responses = responses;
  block.positions = NULL;
  CHECK(mixstream_model_absorb(model, &block, NULL) == MIXSTREAM_OK);
  report = mixstream_model_fit(model, NULL, &status, NULL, 0);
  CHECK(report != NULL && strstr(mixstream_report_json(report), "\"kind\":\"persistent\"") != NULL);
  CHECK(mixstream_model_modes(model, 0, p, 2) == MIXSTREAM_OK && fabs(p[0] + p[1] - 1.0) < 1e-12);
  CHECK(fmax(p[0], p[1]) > 0.9);
  CHECK(mixstream_model_modes(model, 7, p, 2) == MIXSTREAM_NO_FIT_YET);
  mixstream_report_destroy(report);
  mixstream_model_destroy(model);
}

/* Says yes once it was asked often enough. */
struct Patience {
  int asked;
  int until;
};
static int patience_ends(void* context) {
  struct Patience* patience = (struct Patience*)context;
  return ++patience->asked > patience->until;
}

/* An interrupted fit leaves no trace: the next one says what an undisturbed one says. */
static void check_interrupts(void) {
  mixstream_model* model = new_model("{\"k\": 3, \"intercept\": true}");
  struct Patience patience = {0, 0};
  mixstream_status status = MIXSTREAM_OK;
  mixstream_report* report;
  size_t size[2];
  void* before;
  void* after;
  absorb(model, 0, 4000);
  before = mixstream_model_save(model, &size[0], NULL);
  mixstream_interrupt_by(patience_ends, &patience);
  for (patience.until = 0; patience.until < 12; ++patience.until) {
    patience.asked = 0;
    report = mixstream_model_fit(model, NULL, &status, NULL, 0);
    if (report != NULL) break; /* it was done before patience ended */
    CHECK(status == MIXSTREAM_INTERRUPTED);
  }
  CHECK(patience.until > 0);
  mixstream_report_destroy(report);
  mixstream_interrupt_by(NULL, NULL);
  after = mixstream_model_save(model, &size[1], NULL);
  CHECK(size[0] == size[1] && memcmp(before, after, size[0]) == 0);
  mixstream_free(before);
  mixstream_free(after);
  mixstream_model_destroy(model);
}

/* While all rows are held the sample is the rows, in another order, each of weight 1. */
static void check_sample(void) {
  mixstream_model* model = new_model("{\"k\": 2, \"intercept\": true}");
  static double features[2 * 600], responses[600], weights[600];
  double sum = 0.0, kept = 0.0;
  size_t needed = 0;
  int i;
  absorb(model, 0, 600);
  CHECK(mixstream_model_sample(model, NULL, NULL, NULL, 0, &needed) == MIXSTREAM_TOO_LARGE && needed == 600);
  CHECK(mixstream_model_sample(model, features, responses, weights, 599, &needed) == MIXSTREAM_TOO_LARGE);
  CHECK(mixstream_model_sample(model, features, responses, weights, 600, &needed) == MIXSTREAM_OK);
  CHECK(mixstream_model_sample(NULL, features, responses, weights, 600, &needed) == MIXSTREAM_BAD_ARGUMENT);
  for (i = 0; i < 600; ++i) {
    sum += x[i] * y[i];
    kept += features[2 * i + 1] * responses[i];
    CHECK(features[2 * i] == 1.0 && weights[i] == 1.0);
  }
  CHECK(fabs(sum - kept) < 1e-9 * fabs(sum));
  mixstream_model_destroy(model);
}

/* Rows of a map are the map's rows one by one, whatever the strides. */
static void check_map_rows(void) {
  mixstream_map* map = mixstream_map_create("1,u*v,lag(u,1)", NULL, 0, NULL, NULL, 0);
  mixstream_map* again = mixstream_map_create("1,u*v,lag(u,1)", NULL, 0, NULL, NULL, 0);
  const double columns[] = {2.0, 3.0, 5.0, 7.0, 11.0, 13.0}; /* u, then v */
  double features[9], one[3];
  mixstream_block block;
  int i;
  memset(&block, 0, sizeof block);
  block.size = sizeof block;
  block.row_count = 3;
  block.feature_count = 2;
  block.features = columns;
  block.row_stride = 1;
  block.feature_stride = 3;
  CHECK(mixstream_map_rows(map, &block, features) == MIXSTREAM_OK);
  CHECK(features[1] == 14.0 && features[4] == 33.0 && features[7] == 65.0);
  CHECK(isnan(features[2]) && features[5] == 2.0 && features[8] == 3.0);
  for (i = 0; i < 3; ++i) {
    const double values[] = {columns[i], columns[3 + i]};
    mixstream_map_row(again, values, 2, one, 3);
    CHECK(one[1] == features[3 * i + 1]);
  }
  block.feature_count = 3;
  CHECK(mixstream_map_rows(map, &block, features) == MIXSTREAM_WRONG_WIDTH);
  CHECK(mixstream_map_rows(map, NULL, features) == MIXSTREAM_BAD_ARGUMENT);
  mixstream_map_destroy(map);
  mixstream_map_destroy(again);
}

/* A page, or a refusal that says why there is none. */
static void check_page(void) {
  char text[300] = "";
  mixstream_status status = MIXSTREAM_INTERNAL;
  mixstream_model* model = new_model("{\"k\": 2, \"intercept\": true}");
  mixstream_report* report;
  char* page;
  absorb(model, 0, 2000);
  report = mixstream_model_fit(model, NULL, NULL, NULL, 0);
  page = mixstream_report_page(report, model, &status, text, sizeof text);
  CHECK(page != NULL ? strstr(page, "</html>") != NULL && status == MIXSTREAM_OK : *text != '\0');
  CHECK(mixstream_report_page(NULL, model, &status, text, sizeof text) == NULL && *text != '\0');
  mixstream_free(page);
  mixstream_report_destroy(report);
  mixstream_model_destroy(model);
}

int main(void) {
  make_rows();
  check_refusals();
  check_bad_rows();
  check_strides();
  check_width_of_rows();
  for (; numbered >= 0; --numbered) {
    check_splits(10, 60);
    check_splits(100, 3000);
    check_splits(2600, ROWS);
    check_splits(2500, 3000);
    check_save(40);
    check_save(700);
    check_save(3000);
  }
  repeat_rows();
  check_save(700);
  check_save(3000);
  make_rows();
  numbered = 1;
  check_merge_refused();
  check_memory();
  check_fit_with_options();
  check_predictions();
  check_modes();
  check_interrupts();
  check_sample();
  check_map_rows();
  check_page();
  return failures == 0 ? 0 : 1;
}
