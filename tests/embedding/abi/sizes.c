/* Prints what a compiled caller knows of the structs: sizes and places, one a line. */
#include "mixstream/mixstream.h"

#include <stdio.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define PLACE(type, field) printf(#type "." #field " %zu\n", offsetof(type, field))

int main(void) {
  SIZE(mixstream_status);
  PLACE(mixstream_settings, feature_count);
  PLACE(mixstream_settings, component_count);
  PLACE(mixstream_settings, memory_length);
  PLACE(mixstream_settings, source);
  PLACE(mixstream_settings, refit_on_drift);
  PLACE(mixstream_settings, order);
  PLACE(mixstream_settings, tolerance);
  PLACE(mixstream_settings, gate);
  PLACE(mixstream_settings, gap_seconds);
  SIZE(mixstream_settings);
  PLACE(mixstream_block, features);
  PLACE(mixstream_block, responses);
  PLACE(mixstream_block, positions);
  SIZE(mixstream_block);
  PLACE(mixstream_prediction, components);
  PLACE(mixstream_prediction, high);
  SIZE(mixstream_prediction);
  return 0;
}
