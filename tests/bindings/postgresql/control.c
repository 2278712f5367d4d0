/* A function that gives the library fewer bytes than it says: what reads beyond them must be seen by the test
 * that looks for such reads. */
#include "postgres.h"

#include "fmgr.h"

#include "mixstream/mixstream.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(read_beyond);

Datum read_beyond(PG_FUNCTION_ARGS) {
  enum { THERE = 40, SAID = 4000 };
  char* bytes = malloc(THERE);
  mixstream_status status = MIXSTREAM_OK;
  memset(bytes, 0, THERE);
  memcpy(bytes, "MIXMROWS", 8); /* packed rows end with a checksum */
  mixstream_model_destroy(mixstream_model_load(bytes, SAID, NULL, &status, NULL, 0));
  free(bytes);
  PG_RETURN_INT32(status);
}
