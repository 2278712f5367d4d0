/* Rows through the C interface.  model ROWS.F64 COLUMNS SOURCE|plain STATE
 * ROWS.F64 holds COLUMNS doubles a row, the response last. Prints {"cross": [...], "report": {...}} and
 * writes the state. */
#include <mixstream/mixstream.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char options[] =
    "{\"k\": 3, \"features\": \"1,u,v\", \"response\": \"y\", \"polish\": \"off\", \"modes\": "
    "\"independent\", "
    "\"noise\": \"shared\", \"source\": %s}";

static void must(int right, const char* words) {
  if (right) return;
  fprintf(stderr, "%s\n", words);
  exit(1);
}

static double* read_rows(const char* path, size_t columns, size_t* rows) {
  FILE* file = fopen(path, "rb");
  long bytes;
  double* values;
  must(file != NULL && fseek(file, 0, SEEK_END) == 0, path);
  bytes = ftell(file);
  rewind(file);
  *rows = (size_t)bytes / sizeof(double) / columns;
  values = malloc((size_t)bytes);
  must(values != NULL && fread(values, 1, (size_t)bytes, file) == (size_t)bytes, path);
  fclose(file);
  return values;
}

static void print_cross(const mixstream_model* model) {
  double values[64];
  size_t needed = 0;
  size_t i;
  int p;
  printf("{\"cross\": [");
  for (p = 1; p <= 3; ++p) {
    must(mixstream_model_moments(model, MIXSTREAM_CROSS, p, values, 64, &needed) == MIXSTREAM_OK, "moments");
    for (i = 0; i < needed; ++i) printf("%s%.17g", p + i > 1 ? ", " : "", values[i]);
  }
}

int main(int count, char** words) {
  char text[512] = "";
  char asked[512];
  mixstream_status status = MIXSTREAM_OK;
  size_t rows = 0, columns, size = 0, i;
  int numbered;
  double *values, *responses;
  uint64_t* numbers;
  uint64_t refused = 0;
  mixstream_block block;
  mixstream_model* model;
  mixstream_report* report;
  void* bytes;
  FILE* file;
  must(count == 5, "usage: model ROWS COLUMNS SOURCE|plain STATE");
  columns = (size_t)atoi(words[2]);
  numbered = strcmp(words[3], "plain") != 0;
  values = read_rows(words[1], columns, &rows);
  responses = malloc(rows * sizeof *responses);
  numbers = malloc(rows * sizeof *numbers);
  for (i = 0; i < rows; ++i) {
    responses[i] = values[i * columns + columns - 1];
    numbers[i] = i;
  }
  snprintf(asked, sizeof asked, options, numbered ? words[3] : "null");
  model = mixstream_model_create(columns, asked, &status, text, sizeof text);
  must(model != NULL, text);
  memset(&block, 0, sizeof block);
  block.size = sizeof block;
  block.row_count = rows;
  block.feature_count = columns - 1; /* the constant is left out */
  block.features = values;
  block.row_stride = (ptrdiff_t)columns;
  block.feature_stride = 1;
  block.responses = responses;
  if (numbered) block.positions = numbers;
  must(mixstream_model_absorb(model, &block, &refused) == MIXSTREAM_OK && refused == 0, "absorb");
  print_cross(model);
  report = mixstream_model_fit(model, NULL, &status, text, sizeof text);
  must(report != NULL, text);
  printf("], \"report\": %s}\n", mixstream_report_json(report));
  bytes = mixstream_model_save(model, &size, &status);
  file = fopen(words[4], "wb");
  must(bytes != NULL && file != NULL && fwrite(bytes, 1, size, file) == size, "state");
  fclose(file);
  mixstream_free(bytes);
  mixstream_report_destroy(report);
  mixstream_model_destroy(model);
  free(numbers);
  free(responses);
  free(values);
  return 0;
}
