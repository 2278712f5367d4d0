/* Models inside PostgreSQL: handles that die with their memory context, errors as SQL errors. */
#ifndef MIXSTREAM_POSTGRESQL_HANDLE_H
#define MIXSTREAM_POSTGRESQL_HANDLE_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/jsonb.h"

#include "mixstream/mixstream.h"

/* A model that belongs to a memory context: it is destroyed when the context is, at an error too. */
typedef struct Handle {
  mixstream_model* model;
  MemoryContext context;
  void* counted; /* memory of the context that stands for the model's own, so that work_mem counts it */
  Size counted_bytes;
  MemoryContextCallback at_end;
} Handle;

/* An empty handle in the context. */
Handle* handle_in(MemoryContext context);
/* Brings what the context counts to what the model holds. Cheap where little has changed. */
void count_memory(Handle* handle);
/* The context of the aggregate that calls; an error elsewhere. */
MemoryContext aggregate_context(FunctionCallInfo fcinfo);

/* Raises a SQL error with a code for the status; words say what is wrong, NULL: what the status says. */
void refuse(mixstream_status status, const char* words) pg_attribute_noreturn();
/* After MIXSTREAM_INTERRUPTED: ends the query if that is wanted; returns if not. */
void heed_interrupts(void);

/* The state in a value of type mixstream or bytea, as a handle in the context. */
Handle* handle_of_bytes(const void* bytes, Size size, const char* options, MemoryContext context);
/* Destroys the model before its context ends. */
void destroy_now(Handle* handle);
/* A value of type mixstream; and the same for another process. */
struct varlena* value_of(const mixstream_model* model);
struct varlena* packed(const mixstream_model* model);

/* Options as JSON text: `first`, such as "\"k\":3", before or in place of what the argument says. */
char* options_text(const char* first, const Jsonb* options);

#endif
