/* The C interface from C: laws found, bad input refused with a code and a text, nothing changed by it. */
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

static void absorb_rows(mixstream_loop* loop, int rows, uint64_t seed) {
  uint64_t state = seed;
  int i;
  for (i = 0; i < rows; ++i) {
    double x[2];
    double y;
    x[0] = 1.0;
    x[1] = bell(&state);
    y = (uniform(&state) < 0.4 ? 1.0 + 2.0 * x[1] : -2.0 + 0.5 * x[1]) + 0.3 * bell(&state);
    CHECK(mixstream_absorb(loop, x, 2, y) == MIXSTREAM_OK);
  }
}

static mixstream_settings line_settings(void) {
  mixstream_settings settings;
  mixstream_settings_init(&settings);
  settings.feature_count = 2;
  settings.constant_feature = 0;
  settings.sample_rows = 1000;
  settings.refit_every_rows = 4000;
  return settings;
}

static void check_refusals(void) {
  char text[200];
  mixstream_status status;
  mixstream_settings settings = line_settings();
  const double x[2] = {1.0, 2.0};
  double p[2] = {7.0, 7.0};
  size_t component = 9;
  mixstream_loop* loop;
  settings.feature_count = 0;
  CHECK(mixstream_create(&settings, &status, text, sizeof text) == NULL);
  CHECK(status == MIXSTREAM_BAD_SETTINGS && strlen(text) > 10);
  CHECK(mixstream_create(NULL, &status, text, sizeof text) == NULL && status == MIXSTREAM_BAD_ARGUMENT);
  settings = line_settings();
  loop = mixstream_create(&settings, &status, text, sizeof text);
  CHECK(loop != NULL && status == MIXSTREAM_OK);
  CHECK(mixstream_absorb(loop, x, 1, 1.0) == MIXSTREAM_WRONG_WIDTH);
  CHECK(mixstream_absorb(loop, x, 2, sqrt(-1.0)) == MIXSTREAM_NOT_A_NUMBER);
  CHECK(mixstream_absorb(loop, NULL, 2, 1.0) == MIXSTREAM_BAD_ARGUMENT);
  CHECK(mixstream_rows(loop) == 0);
  CHECK(mixstream_classify(loop, x, 2, 1.0, &component) == MIXSTREAM_NO_FIT_YET && component == 9);
  CHECK(mixstream_probabilities(loop, x, 2, 1.0, p, 2) == MIXSTREAM_NO_FIT_YET && p[0] == 7.0);
  CHECK(mixstream_refit(loop) == MIXSTREAM_NOTHING_TO_DO);
  CHECK(strcmp(mixstream_status_name(MIXSTREAM_NOT_A_NUMBER), "not_a_number") == 0);
  CHECK(strlen(mixstream_status_text(MIXSTREAM_CANNOT_MERGE)) > 10);
  CHECK(mixstream_load("nonsense", 8, &settings, &status, text, sizeof text) == NULL);
  CHECK(status == MIXSTREAM_BAD_SNAPSHOT && strlen(text) > 10);
  mixstream_destroy(loop);
  mixstream_destroy(NULL);
}

static void check_merge_and_save(mixstream_loop* loop) {
  mixstream_status status;
  mixstream_settings settings = line_settings();
  mixstream_loop* other;
  mixstream_loop* loaded;
  const double x[2] = {1.0, 3.0};
  size_t component = 9;
  size_t needed = 0;
  void* bytes;
  const uint64_t rows = mixstream_rows(loop);
  settings.sample_rows = 77;
  other = mixstream_create(&settings, &status, NULL, 0);
  absorb_rows(other, 400, 5);
  CHECK(mixstream_merge(loop, other) == MIXSTREAM_CANNOT_MERGE && mixstream_rows(loop) == rows);
  CHECK(strlen(mixstream_words(loop)) > 10);
  mixstream_destroy(other);
  settings = line_settings();
  settings.source = 1;
  other = mixstream_create(&settings, &status, NULL, 0);
  absorb_rows(other, 400, 5);
  CHECK(mixstream_merge(loop, other) == MIXSTREAM_OK && mixstream_rows(loop) == rows + 400);
  mixstream_destroy(other);
  CHECK(mixstream_save(loop, NULL, 0, &needed) == MIXSTREAM_TOO_LARGE && needed > 0);
  bytes = malloc(needed);
  CHECK(mixstream_save(loop, bytes, needed, &needed) == MIXSTREAM_OK);
  loaded = mixstream_load(bytes, needed, &settings, &status, NULL, 0);
  CHECK(loaded != NULL && mixstream_rows(loaded) == rows + 400);
  mixstream_destroy(loaded);
  mixstream_settings_init(&settings); /* a width of 0: that of the bytes counts */
  loaded = mixstream_load(bytes, needed, &settings, &status, NULL, 0);
  CHECK(loaded != NULL && mixstream_classify(loaded, x, 2, 1.0, &component) != MIXSTREAM_WRONG_WIDTH);
  CHECK(mixstream_classify(loaded, x, 1, 1.0, &component) == MIXSTREAM_WRONG_WIDTH);
  mixstream_destroy(loaded);
  settings.polish = 256;
  CHECK(mixstream_load(bytes, needed, &settings, &status, NULL, 0) == NULL &&
        status == MIXSTREAM_BAD_ARGUMENT);
  free(bytes);
}

/* Two rows whose moments are known: (1, 2) with y = 3, (1, 4) with y = 5. */
static void check_moments(void) {
  const mixstream_settings settings = line_settings();
  const double rows[2][2] = {{1.0, 2.0}, {1.0, 4.0}};
  const double sigma[4] = {1.0, 3.0, 3.0, 10.0};
  const double mean[3] = {1.0, 3.0 * sqrt(2.0), 10.0};
  double values[9];
  size_t needed = 0;
  size_t i;
  mixstream_loop* loop = mixstream_create(&settings, NULL, NULL, 0);
  CHECK(mixstream_absorb(loop, rows[0], 2, 3.0) == MIXSTREAM_OK);
  CHECK(mixstream_absorb(loop, rows[1], 2, 5.0) == MIXSTREAM_OK);
  CHECK(mixstream_moments(loop, MIXSTREAM_SIGMA, 3, values, 9, &needed) == MIXSTREAM_TOO_LARGE &&
        needed == 16);
  CHECK(mixstream_moments(loop, MIXSTREAM_SIGMA, 4, values, 9, &needed) == MIXSTREAM_BAD_ARGUMENT);
  CHECK(mixstream_moments(loop, MIXSTREAM_SIGMA, 1, values, 9, &needed) == MIXSTREAM_OK && needed == 4);
  for (i = 0; i < 4; ++i) CHECK(fabs(values[i] - sigma[i]) < 1e-12);
  CHECK(mixstream_moments(loop, MIXSTREAM_CROSS, 1, values, 9, &needed) == MIXSTREAM_OK && needed == 2);
  CHECK(fabs(values[0] - 4.0) < 1e-12 && fabs(values[1] - 13.0) < 1e-12);
  CHECK(mixstream_moments(loop, MIXSTREAM_MEAN, 2, values, 9, &needed) == MIXSTREAM_OK && needed == 3);
  for (i = 0; i < 3; ++i) CHECK(fabs(values[i] - mean[i]) < 1e-12);
  mixstream_destroy(loop);
}

/* The feature language: values of a row, in whatever a column stands for, become features. */
static void check_map(void) {
  const char* columns[3] = {"Flow (m3/h)", "t", "mode"};
  const char* words = "1,Flow (m3/h),log(t),max(0,t-18),mode==\"eco\",lag(t,1)";
  char text[200];
  double features[6];
  double row[3] = {5.0, 20.0, 0.0};
  mixstream_status status = MIXSTREAM_INTERNAL;
  mixstream_map* map = mixstream_map_create(words, columns, 3, &status, text, sizeof text);
  CHECK(map != NULL && status == MIXSTREAM_OK);
  CHECK(mixstream_map_feature_count(map) == 6 && mixstream_map_column_count(map) == 3);
  CHECK(mixstream_map_constant(map) == 0 && strcmp(mixstream_map_feature(map, 2), "log(t)") == 0);
  CHECK(strcmp(mixstream_map_column(map, 0), "Flow (m3/h)") == 0 && mixstream_map_column(map, 3) == NULL);
  row[2] = mixstream_map_code(map, 2, "eco");
  CHECK(mixstream_map_code(map, 2, "fast") != row[2] && isnan(mixstream_map_code(map, 1, "eco")));
  CHECK(mixstream_map_row(map, row, 3, features, 6) == MIXSTREAM_NO_EARLIER_ROW && isnan(features[5]));
  row[1] = 30.0;
  CHECK(mixstream_map_row(map, row, 3, features, 6) == MIXSTREAM_OK);
  CHECK(features[0] == 1.0 && features[1] == 5.0 && features[2] == log(30.0) && features[3] == 12.0);
  CHECK(features[4] == 1.0 && features[5] == 20.0);
  row[1] = -1.0;
  CHECK(mixstream_map_row(map, row, 3, features, 6) == MIXSTREAM_UNDEFINED_FEATURE && isnan(features[2]));
  CHECK(features[5] == 30.0);
  mixstream_map_gap(map);
  row[1] = 1.0;
  CHECK(mixstream_map_row(map, row, 3, features, 6) == MIXSTREAM_NO_EARLIER_ROW);
  CHECK(mixstream_map_row(map, row, 2, features, 6) == MIXSTREAM_WRONG_WIDTH);
  CHECK(mixstream_map_row(map, NULL, 3, features, 6) == MIXSTREAM_BAD_ARGUMENT);
  mixstream_map_destroy(map);
  CHECK(mixstream_map_create("1,flow", columns, 3, &status, text, sizeof text) == NULL);
  CHECK(status == MIXSTREAM_BAD_SETTINGS && strstr(text, "Flow (m3/h)") != NULL);
  CHECK(mixstream_map_create(NULL, NULL, 0, &status, NULL, 0) == NULL && status == MIXSTREAM_BAD_ARGUMENT);
  map = mixstream_map_create("1,u,u^2", NULL, 0, &status, NULL, 0);
  CHECK(map != NULL && mixstream_map_column_count(map) == 1);
  mixstream_map_destroy(map);
  mixstream_map_destroy(NULL);
}

int main(void) {
  const mixstream_settings settings = line_settings();
  const double x[2] = {1.0, 3.0};
  double law[2];
  double weight = 0.0;
  double p[2];
  size_t component = 9;
  mixstream_status status = MIXSTREAM_NOT_DONE;
  mixstream_loop* loop = mixstream_create(&settings, NULL, NULL, 0);
  check_moments();
  check_map();
  CHECK(mixstream_abi_version() == MIXSTREAM_ABI_VERSION);
  check_refusals();
  absorb_rows(loop, 4000, 1);
  CHECK(mixstream_refit(loop) == MIXSTREAM_OK);
  absorb_rows(loop, 4100, 2);
  CHECK(mixstream_component_count(loop) == 2);
  CHECK(mixstream_classify(loop, x, 2, 7.0, &component) == MIXSTREAM_OK);
  CHECK(mixstream_law(loop, component, &weight, law, 2, NULL) == MIXSTREAM_OK);
  CHECK(fabs(law[0] - 1.0) < 0.1 && fabs(law[1] - 2.0) < 0.1 && fabs(weight - 0.4) < 0.05);
  CHECK(mixstream_probabilities(loop, x, 2, 7.0, p, 2) == MIXSTREAM_OK && p[component] > 0.9);
  while (status == MIXSTREAM_NOT_DONE) status = mixstream_refit_step(loop, 1000000);
  CHECK(status == MIXSTREAM_OK);
  check_merge_and_save(loop);
  mixstream_destroy(loop);
  return failures == 0 ? 0 : 1;
}
