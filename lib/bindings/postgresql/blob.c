/* The type mixstream: bytes of a state, as text a summary and the bytes in hexadecimal digits. */
#include "handle.h"

#include "libpq/pqformat.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(pg_mixstream_in);
PG_FUNCTION_INFO_V1(pg_mixstream_out);
PG_FUNCTION_INFO_V1(pg_mixstream_recv);
PG_FUNCTION_INFO_V1(pg_mixstream_send);
PG_FUNCTION_INFO_V1(pg_mixstream_from_bytea);

/* Refuses what is no state; the bytes stay as they are. */
static struct varlena* checked(const char* bytes, Size size) {
  struct varlena* value = palloc(size + VARHDRSZ);
  destroy_now(handle_of_bytes(bytes, size, NULL, CurrentMemoryContext));
  SET_VARSIZE(value, size + VARHDRSZ);
  memcpy(VARDATA(value), bytes, size);
  return value;
}

/* What stands before the digits is for people. */
Datum pg_mixstream_in(PG_FUNCTION_ARGS) {
  const char* text = PG_GETARG_CSTRING(0);
  const char* digits = strstr(text, "\\x");
  Size count = digits == NULL ? 0 : strlen(digits + 2);
  char* bytes;
  if (digits == NULL || count % 2 != 0)
    ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION), errmsg("mixstream: this is no state"),
                    errhint("A state is written as \\x and its bytes in hexadecimal digits.")));
  bytes = palloc(count / 2 + 1);
  PG_RETURN_POINTER(checked(bytes, hex_decode(digits + 2, count, bytes)));
}

Datum pg_mixstream_out(PG_FUNCTION_ARGS) {
  struct varlena* value = PG_DETOAST_DATUM(PG_GETARG_DATUM(0));
  const Size size = VARSIZE(value) - VARHDRSZ;
  Handle* handle = handle_of_bytes(VARDATA(value), size, NULL, CurrentMemoryContext);
  char summary[80];
  Size length;
  char* text;
  length = (Size)snprintf(summary, sizeof summary, UINT64_FORMAT " rows, %zu features \\x",
                          mixstream_model_rows(handle->model), mixstream_model_feature_count(handle->model));
  destroy_now(handle);
  text = palloc(length + 2 * size + 1);
  memcpy(text, summary, length);
  length += hex_encode(VARDATA(value), size, text + length);
  text[length] = '\0';
  PG_RETURN_CSTRING(text);
}

Datum pg_mixstream_recv(PG_FUNCTION_ARGS) {
  StringInfo message = (StringInfo)PG_GETARG_POINTER(0);
  const int size = message->len - message->cursor;
  PG_RETURN_POINTER(checked(pq_getmsgbytes(message, size), (Size)size));
}

Datum pg_mixstream_send(PG_FUNCTION_ARGS) {
  PG_RETURN_BYTEA_P(PG_GETARG_BYTEA_P_COPY(0));
}

Datum pg_mixstream_from_bytea(PG_FUNCTION_ARGS) {
  bytea* bytes = PG_GETARG_BYTEA_PP(0);
  PG_RETURN_POINTER(checked(VARDATA_ANY(bytes), VARSIZE_ANY_EXHDR(bytes)));
}
