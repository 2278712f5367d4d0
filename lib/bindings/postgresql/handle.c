#include "handle.h"

#include "miscadmin.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

void _PG_init(void);

/* Asked while a solve runs. It must not raise an error itself: C++ stands between. */
static int query_shall_end(void* context) {
  (void)context;
  return InterruptPending && (QueryCancelPending || ProcDiePending) && InterruptHoldoffCount == 0 &&
         CritSectionCount == 0;
}

void _PG_init(void) {
  mixstream_interrupt_by(query_shall_end, NULL);
}

static void destroy_model(void* argument) {
  Handle* handle = argument;
  mixstream_model_destroy(handle->model);
  handle->model = NULL;
}

void destroy_now(Handle* handle) {
  destroy_model(handle);
}

Handle* handle_in(MemoryContext context) {
  Handle* handle = MemoryContextAllocZero(context, sizeof(Handle));
  handle->context = context;
  handle->at_end.func = destroy_model;
  handle->at_end.arg = handle;
  MemoryContextRegisterResetCallback(context, &handle->at_end);
  return handle;
}

/* Memory that is allocated and never touched costs addresses only. */
void count_memory(Handle* handle) {
  const Size held = mixstream_model_memory(handle->model);
  if (held <= handle->counted_bytes && held >= handle->counted_bytes / 4) return;
  if (handle->counted != NULL) pfree(handle->counted);
  handle->counted = NULL;
  handle->counted_bytes = 0;
  handle->counted = MemoryContextAllocExtended(handle->context, held + held / 4, MCXT_ALLOC_HUGE);
  handle->counted_bytes = held + held / 4;
}

MemoryContext aggregate_context(FunctionCallInfo fcinfo) {
  MemoryContext context;
  if (!AggCheckCallContext(fcinfo, &context))
    ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
                    errmsg("mixstream: this function is a part of an aggregate"),
                    errhint("Call mixstream_state or mixstream_merge.")));
  return context;
}

static int code_of(mixstream_status status) {
  switch (status) {
    case MIXSTREAM_OUT_OF_MEMORY:
      return ERRCODE_OUT_OF_MEMORY;
    case MIXSTREAM_BAD_SNAPSHOT:
      return ERRCODE_INVALID_BINARY_REPRESENTATION;
    case MIXSTREAM_UNKNOWN_VERSION:
      return ERRCODE_FEATURE_NOT_SUPPORTED;
    case MIXSTREAM_TOO_LARGE:
      return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    case MIXSTREAM_CANNOT_MERGE:
      return ERRCODE_DATA_EXCEPTION;
    case MIXSTREAM_WRONG_WIDTH:
      return ERRCODE_ARRAY_SUBSCRIPT_ERROR;
    case MIXSTREAM_BAD_SETTINGS:
    case MIXSTREAM_BAD_ARGUMENT:
      return ERRCODE_INVALID_PARAMETER_VALUE;
    default:
      return ERRCODE_INTERNAL_ERROR;
  }
}

static const char* hint_for(mixstream_status status) {
  switch (status) {
    case MIXSTREAM_OUT_OF_MEMORY:
      return "Use fewer features, a smaller \"sample\" in the options, or fewer groups at once.";
    case MIXSTREAM_BAD_SNAPSHOT:
      return "A mixstream is what mixstream_state returns, or a file of the tool's --save.";
    case MIXSTREAM_UNKNOWN_VERSION:
      return "Install the version of the extension that wrote it, or a later one.";
    case MIXSTREAM_CANNOT_MERGE:
      return "Make all states with the same features, response and options.";
    case MIXSTREAM_WRONG_WIDTH:
      return "Give every row an array of the same length, the constant left out.";
    default:
      return "docs/guide/postgresql.md lists the functions and their options.";
  }
}

void refuse(mixstream_status status, const char* words) {
  if (words == NULL || words[0] == '\0') words = mixstream_status_text(status);
  ereport(ERROR, (errcode(code_of(status)), errmsg("mixstream: %s", words), errhint("%s", hint_for(status))));
}

void heed_interrupts(void) {
  CHECK_FOR_INTERRUPTS();
}

Handle* handle_of_bytes(const void* bytes, Size size, const char* options, MemoryContext context) {
  Handle* handle = handle_in(context);
  mixstream_status status;
  char words[400];
  handle->model = mixstream_model_load(bytes, size, options, &status, words, sizeof words);
  if (handle->model == NULL) refuse(status, words);
  return handle;
}

/* A copy as a value; the library's bytes are freed whatever happens. */
static struct varlena* value_from(void* bytes, size_t size, mixstream_status status) {
  struct varlena* value = NULL;
  if (bytes == NULL) refuse(status, NULL);
  if (size <= MaxAllocSize - VARHDRSZ)
    value = MemoryContextAllocExtended(CurrentMemoryContext, size + VARHDRSZ, MCXT_ALLOC_NO_OOM);
  if (value != NULL) {
    SET_VARSIZE(value, size + VARHDRSZ);
    memcpy(VARDATA(value), bytes, size);
  }
  mixstream_free(bytes);
  if (value == NULL) refuse(MIXSTREAM_OUT_OF_MEMORY, "the state is larger than a value may be");
  return value;
}

struct varlena* value_of(const mixstream_model* model) {
  mixstream_status status = MIXSTREAM_OK;
  size_t size = 0;
  void* bytes = mixstream_model_save(model, &size, &status);
  return value_from(bytes, size, status);
}

struct varlena* packed(const mixstream_model* model) {
  mixstream_status status = MIXSTREAM_OK;
  size_t size = 0;
  void* bytes = mixstream_model_pack(model, &size, &status);
  return value_from(bytes, size, status);
}

char* options_text(const char* first, const Jsonb* options) {
  char* text;
  if (options == NULL) return psprintf("{%s}", first);
  if (!JB_ROOT_IS_OBJECT(options)) refuse(MIXSTREAM_BAD_SETTINGS, "the options are no JSON object");
  text = JsonbToCString(NULL, (JsonbContainer*)&options->root, VARSIZE(options));
  if (JB_ROOT_COUNT(options) == 0) return psprintf("{%s}", first);
  return first[0] == '\0' ? text : psprintf("{%s,%s", first, text + 1);
}
