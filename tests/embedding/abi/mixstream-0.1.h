/* mixstream for C: finds the hidden linear laws in a stream of rows, y = beta_h . x + noise, h unseen.
 *
 *   mixstream_settings settings;
 *   mixstream_settings_init(&settings);
 *   settings.feature_count = 3;
 *   mixstream_loop *loop = mixstream_create(&settings, &status, text, sizeof text);
 *   mixstream_absorb(loop, x, 3, y);                    the loop thread, every few microseconds
 *   mixstream_refit(loop);                              the solver thread, again and again
 *   mixstream_classify(loop, x, 3, y, &component);      the loop thread, by the last fit
 *
 * No exception crosses this interface. Whatever is refused leaves everything as it was. */
#ifndef MIXSTREAM_H
#define MIXSTREAM_H

#include <stddef.h>
#include <stdint.h>

#if defined(MIXSTREAM_BUILDING) && defined(__GNUC__)
#define MIXSTREAM_API __attribute__((visibility("default")))
#else
#define MIXSTREAM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a program compiled against an earlier header would no longer work. */
#define MIXSTREAM_ABI_VERSION 1

typedef struct mixstream_loop mixstream_loop;

/* Numbers and names are stable. */
typedef enum mixstream_status {
  MIXSTREAM_OK = 0,

  /* a row was refused; it is counted, nothing else has changed */
  MIXSTREAM_WRONG_WIDTH = 1,
  MIXSTREAM_NOT_A_NUMBER = 2,
  MIXSTREAM_INFINITE = 3,
  MIXSTREAM_ROW_TOO_LARGE = 4,
  MIXSTREAM_BAD_WEIGHT = 5,
  MIXSTREAM_WRONG_CONSTANT = 6,
  MIXSTREAM_CLOCK_JUMP = 7,

  /* not yet */
  MIXSTREAM_NO_FIT_YET = 16,
  MIXSTREAM_NOTHING_TO_DO = 17,
  MIXSTREAM_NOT_DONE = 18,

  /* a refit ended without a fit that can be trusted; the last good one stays in use */
  MIXSTREAM_TOO_FEW_ROWS = 32,
  MIXSTREAM_NOT_IDENTIFIABLE = 33,
  MIXSTREAM_POOR_FIT = 34,
  MIXSTREAM_LOST_COMPONENT = 35,

  /* a call was refused */
  MIXSTREAM_BAD_ARGUMENT = 48,
  MIXSTREAM_BAD_SETTINGS = 49,
  MIXSTREAM_CANNOT_MERGE = 50,
  MIXSTREAM_BAD_SNAPSHOT = 51,
  MIXSTREAM_UNKNOWN_VERSION = 52,
  MIXSTREAM_TOO_LARGE = 53,
  MIXSTREAM_OUT_OF_MEMORY = 54,
  MIXSTREAM_INTERNAL = 55
} mixstream_status;

typedef enum mixstream_memory {
  MIXSTREAM_EVERYTHING = 0,
  MIXSTREAM_HALF_LIFE_ROWS = 1,
  MIXSTREAM_HALF_LIFE_SECONDS = 2,
  MIXSTREAM_WINDOW_ROWS = 3
} mixstream_memory;

/* Fill with mixstream_settings_init, then change what differs. */
typedef struct mixstream_settings {
  size_t size;                 /* of this struct, set by init: later versions may add fields */
  int32_t feature_count;       /* d; must be set */
  int32_t constant_feature;    /* index of the feature that is always 1, or -1 (default) */
  uint32_t component_count;    /* k, default 2; 0: chosen by the sample */
  int32_t per_component_noise; /* 0 (default): one noise variance for all laws */
  int32_t polish;       /* 1 (default): score every row for maximum likelihood; 0: do not; 2: stepwise EM */
  int32_t memory;       /* a mixstream_memory */
  double memory_length; /* half-life or window */
  uint64_t sample_rows; /* default 0: 5000, or more where laws are many */
  uint64_t pilot_rows;  /* default 256: rows that fix the coordinates */
  uint64_t seed;        /* default 1 */
  uint64_t source;      /* default 0: different for every device whose states will be merged */
  uint64_t refit_every_rows;  /* default 0: not by count */
  double refit_every_seconds; /* of row time; default 0: not by time */
  int32_t refit_on_drift;     /* default 0 */
  int32_t reserved;           /* 0; keeps the size of this struct clear of padding */
} mixstream_settings;

/* The version of the library that runs; compare with MIXSTREAM_ABI_VERSION. */
MIXSTREAM_API uint32_t mixstream_abi_version(void);
/* "not_a_number", and a sentence that says what to do. Never NULL. */
MIXSTREAM_API const char* mixstream_status_name(mixstream_status status);
MIXSTREAM_API const char* mixstream_status_text(mixstream_status status);

MIXSTREAM_API void mixstream_settings_init(mixstream_settings* settings);

/* Allocates everything the loop will need. NULL when refused: then *status says why and text, if not NULL,
 * holds a sentence. */
MIXSTREAM_API mixstream_loop* mixstream_create(const mixstream_settings* settings, mixstream_status* status,
                                               char* text, size_t text_size);
/* The same, going on with what mixstream_save wrote; the settings of the state are those of the bytes. */
MIXSTREAM_API mixstream_loop* mixstream_load(const void* bytes, size_t byte_count,
                                             const mixstream_settings* settings, mixstream_status* status,
                                             char* text, size_t text_size);
MIXSTREAM_API void mixstream_destroy(mixstream_loop* loop);

/* ---- The loop thread: no allocation, no lock, no system call, bounded. ---- */

MIXSTREAM_API mixstream_status mixstream_absorb(mixstream_loop* loop, const double* features,
                                                size_t feature_count, double response);
MIXSTREAM_API mixstream_status mixstream_absorb_row(mixstream_loop* loop, const double* features,
                                                    size_t feature_count, double response, double weight,
                                                    double time);
MIXSTREAM_API mixstream_status mixstream_classify(const mixstream_loop* loop, const double* features,
                                                  size_t feature_count, double response, size_t* component);
/* component_count numbers that sum to one */
MIXSTREAM_API mixstream_status mixstream_probabilities(const mixstream_loop* loop, const double* features,
                                                       size_t feature_count, double response,
                                                       double* probabilities, size_t component_count);
MIXSTREAM_API uint64_t mixstream_rows(const mixstream_loop* loop);
MIXSTREAM_API size_t mixstream_component_count(const mixstream_loop* loop); /* of the last fit; 0: none */
/* weight and noise_variance may be NULL; coefficients holds feature_count numbers */
MIXSTREAM_API mixstream_status mixstream_law(const mixstream_loop* loop, size_t component, double* weight,
                                             double* coefficients, size_t feature_count,
                                             double* noise_variance);

/* ---- Any thread. ---- */

MIXSTREAM_API mixstream_status mixstream_request_refit(mixstream_loop* loop);

/* ---- The solver thread. ---- */

/* MIXSTREAM_NOTHING_TO_DO when the loop has given nothing away; else solves and gives the fit back. */
MIXSTREAM_API mixstream_status mixstream_refit(mixstream_loop* loop);
/* The same in slices on one thread for both: MIXSTREAM_NOT_DONE until it ends. */
MIXSTREAM_API mixstream_status mixstream_refit_step(mixstream_loop* loop, uint64_t budget_nanoseconds);
/* What the last refused or failed call of this group and the next one says, in words. Never NULL. */
MIXSTREAM_API const char* mixstream_words(const mixstream_loop* loop);

/* ---- When both threads have stopped. ---- */

/* Writes everything into bytes; *needed is the size, also when there is no room (MIXSTREAM_TOO_LARGE). */
MIXSTREAM_API mixstream_status mixstream_save(mixstream_loop* loop, void* bytes, size_t capacity,
                                              size_t* needed);
/* Adds the other's rows. Checks first: a refusal leaves both as they were. */
MIXSTREAM_API mixstream_status mixstream_merge(mixstream_loop* loop, const mixstream_loop* other);

#ifdef __cplusplus
}
#endif

#endif
