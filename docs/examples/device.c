/* A device that publishes its state: rows come in, now and then the state of all of them goes out, and a
 * place that knows many devices merges them (docs/guide/daemon.md, "States of devices").
 *
 * usage: device NAME EPOCH ROWS_PER_STATE FOLDER < rows       a row: t y
 *
 * Where this writes FOLDER/NAME-EPOCH-GENERATION, a real device publishes the same bytes with QoS 1 to
 * fleet/NAME/state. It may repeat them, and it may forget those that it could not send: the next ones hold
 * all that they held. */
#include <mixstream/mixstream.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int complain(const char* words) {
  fprintf(stderr, "device: %s\n", words);
  return 1;
}

/* Puts name, epoch and generation around a state. */
static int publish(const mixstream_model* model, const char* name, uint64_t epoch, uint64_t generation,
                   const char* folder) {
  mixstream_status status;
  size_t size = 0;
  size_t needed = 0;
  char path[4096];
  FILE* file;
  void* message;
  void* state = mixstream_model_save(model, &size, &status);
  if (state == NULL) return complain(mixstream_status_text(status));
  mixstream_device_message(name, epoch, generation, state, size, NULL, 0, &needed);
  message = malloc(needed);
  if (message == NULL) return complain("no memory");
  status = mixstream_device_message(name, epoch, generation, state, size, message, needed, &needed);
  mixstream_free(state);
  if (status != MIXSTREAM_OK) return complain(mixstream_status_text(status));
  snprintf(path, sizeof path, "%s/%s-%lu-%lu", folder, name, (unsigned long)epoch, (unsigned long)generation);
  file = fopen(path, "wb");
  if (file == NULL || fwrite(message, 1, needed, file) != needed || fclose(file) != 0)
    return complain("cannot write the message");
  free(message);
  return 0;
}

int main(int count, char** words) {
  char text[256];
  char options[256];
  mixstream_status status;
  mixstream_model* model;
  uint64_t epoch;
  uint64_t generation = 0;
  unsigned long rows = 0;
  unsigned long every;
  double row[2];
  if (count != 5) return complain("usage: device NAME EPOCH ROWS_PER_STATE FOLDER");
  /* On a device: counted up in flash at each start without a saved state. */
  epoch = strtoull(words[2], NULL, 10);
  every = strtoul(words[3], NULL, 10);
  /* Features, response and sample are the stream's; the source is different for every device and epoch. */
  snprintf(options, sizeof options,
           "{\"features\": \"1,t\", \"sample\": 1000, \"modes\": \"independent\", \"noise\": \"shared\","
           " \"polish\": \"off\", \"source\": %lu}",
           (unsigned long)(epoch * 1000 + (unsigned char)words[1][0] * 256 + (unsigned char)words[1][1]));
  model = mixstream_model_create(2, options, &status, text, sizeof text);
  if (model == NULL) return complain(text);
  while (scanf("%lf %lf", &row[0], &row[1]) == 2) {
    mixstream_block block;
    double features[2] = {1.0, 0.0};
    features[1] = row[0];
    memset(&block, 0, sizeof block);
    block.size = sizeof block;
    block.row_count = 1;
    block.feature_count = 2;
    block.features = features;
    block.row_stride = 2;
    block.feature_stride = 1;
    block.responses = &row[1];
    status = mixstream_model_absorb(model, &block, NULL);
    if (status != MIXSTREAM_OK) return complain(mixstream_status_text(status));
    if (++rows % every == 0 && publish(model, words[1], epoch, ++generation, words[4]) != 0) return 1;
  }
  mixstream_model_destroy(model);
  return 0;
}
