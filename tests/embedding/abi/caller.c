/* A program of version 0.1: compiled with the header of then, run with the library of now. */
#include "mixstream-0.1.h"

#include <stdio.h>
#include <string.h>

/* The bytes behind the struct are the caller's own. */
struct Settings {
  mixstream_settings settings;
  unsigned char behind[256];
};

static int only(const unsigned char* bytes, size_t count, unsigned char value) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (bytes[i] != value) return 0;
  }
  return 1;
}

int main(void) {
  struct Settings own;
  mixstream_loop* loop;
  mixstream_status status = MIXSTREAM_INTERNAL;
  const double features[2] = {1.0, 2.0};
  char text[200];
  memset(&own, 0xa5, sizeof own);
  mixstream_settings_init(&own.settings);
  if (!only(own.behind, sizeof own.behind, 0xa5)) return fprintf(stderr, "init wrote behind the struct\n"), 1;
  if (own.settings.size != sizeof own.settings) return fprintf(stderr, "another size than 0.1 had\n"), 1;
  own.settings.feature_count = 2;
  own.settings.constant_feature = 0;
  loop = mixstream_create(&own.settings, &status, text, sizeof text);
  if (loop == NULL) return fprintf(stderr, "refused: %s\n", text), 1;
  if (mixstream_absorb(loop, features, 2, 3.0) != MIXSTREAM_OK || mixstream_rows(loop) != 1) return 1;
  mixstream_destroy(loop);
  if (mixstream_abi_version() != MIXSTREAM_ABI_VERSION) return fprintf(stderr, "another ABI\n"), 1;
  return 0;
}
