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
  MIXSTREAM_UNDEFINED_FEATURE = 8,
  MIXSTREAM_NO_EARLIER_ROW = 9,

  /* not yet */
  MIXSTREAM_NO_FIT_YET = 16,
  MIXSTREAM_NOTHING_TO_DO = 17,
  MIXSTREAM_NOT_DONE = 18,
  MIXSTREAM_INTERRUPTED = 19, /* the question of mixstream_interrupt_by was answered with yes */

  /* a refit ended with laws that are in use now; the rows contradict the model by little */
  MIXSTREAM_APPROXIMATE = 20,

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

/* What rows in order have: modes, one of the two, and the shape of the noise. */
typedef enum mixstream_order {
  MIXSTREAM_PERSISTENT = 1, /* a law holds for a while: a Markov chain */
  MIXSTREAM_GATED = 2,      /* the features choose the law */
  MIXSTREAM_AUTO = 4,       /* neither: the rows choose modes and noise */
  MIXSTREAM_TAILS = 16,     /* Student t noise, degrees of freedom estimated */
  MIXSTREAM_MEMORY = 32     /* a share of the noise of the row before stays */
} mixstream_order;

/* Fill with mixstream_settings_init_sized, then change what differs. */
typedef struct mixstream_settings {
  size_t size;                 /* of what the caller knows of it, set by init: later versions add fields */
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
  int32_t order;              /* default 0: rows are independent; else a sum of mixstream_order */
  /* since 0.2; read where size says that they are there */
  double tolerance;   /* noise sd that laws may be off by and still be of use; default 0: 0.1 */
  uint64_t gate;      /* gated: bit j for each feature that chooses; default 0: all of them */
  double gap_seconds; /* a longer silence begins a sensor's modes anew; default 0: none does */
} mixstream_settings;

/* The version of the library that runs; compare with MIXSTREAM_ABI_VERSION. */
MIXSTREAM_API uint32_t mixstream_abi_version(void);
/* "not_a_number", and a sentence that says what to do. Never NULL. */
MIXSTREAM_API const char* mixstream_status_name(mixstream_status status);
MIXSTREAM_API const char* mixstream_status_text(mixstream_status status);

/* Fills as much of the struct as the caller has: settings, sizeof *settings. Nothing where that is less than
 * version 0.1 had. */
MIXSTREAM_API void mixstream_settings_init_sized(mixstream_settings* settings, size_t size);
/* The same for programs of version 0.1: fills what that version knew and not a byte more. */
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
/* The same for one of several sensors: rows of one follow each other. */
MIXSTREAM_API mixstream_status mixstream_absorb_sensor(mixstream_loop* loop, const double* features,
                                                       size_t feature_count, double response, double weight,
                                                       double time, uint64_t sensor);
/* Probabilities of the mode that the sensor is in after its last row, component_count numbers that sum to
 * one: with persistent modes, once the rows are followed; MIXSTREAM_NO_FIT_YET before. */
MIXSTREAM_API mixstream_status mixstream_modes(const mixstream_loop* loop, uint64_t sensor,
                                               double* probabilities, size_t component_count);
/* The same so many rows later. */
MIXSTREAM_API mixstream_status mixstream_modes_ahead(const mixstream_loop* loop, uint64_t sensor,
                                                     uint32_t rows_ahead, double* probabilities,
                                                     size_t component_count);
/* Rows that the sensor's mode is expected to last from now on. */
MIXSTREAM_API mixstream_status mixstream_rows_left(const mixstream_loop* loop, uint64_t sensor, double* rows);
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
/* Moments of all rows in raw coordinates, degree p = 1, 2 or 3, phi = every product of p features once, in
 * the order of the features, times the square root of how many orders it has. Doubles, row by row; *needed is
 * their number, also when there is no room (MIXSTREAM_TOO_LARGE). */
typedef enum mixstream_moment {
  MIXSTREAM_SIGMA = 0, /* E[phi phi'], n * n numbers, n = the number of products */
  MIXSTREAM_CROSS = 1, /* E[y^p phi], n numbers */
  MIXSTREAM_MEAN = 2   /* E[phi], n numbers */
} mixstream_moment;
MIXSTREAM_API mixstream_status mixstream_moments(const mixstream_loop* loop, mixstream_moment moment,
                                                 int32_t degree, double* values, size_t capacity,
                                                 size_t* needed);
/* Adds the other's rows. Checks first: a refusal leaves both as they were. */
MIXSTREAM_API mixstream_status mixstream_merge(mixstream_loop* loop, const mixstream_loop* other);

/* ---- Devices that send their states to a place that merges them, such as a stream of mixstreamd with
 * format = "state" (docs/guide/daemon.md). ----
 *
 * What mixstream_save or mixstream_model_save wrote, with the name of the device (at most 256 bytes; may be
 * empty where the topic names it), an epoch that grows whenever the device begins without its former rows,
 * and a generation that grows with each state of the epoch; both below 2^53. The newest generation of each
 * epoch counts, so that a message which is lost, repeated or late does no harm. *needed is the size, also
 * when there is no room (MIXSTREAM_TOO_LARGE). */
MIXSTREAM_API mixstream_status mixstream_device_message(const char* device, uint64_t epoch,
                                                        uint64_t generation, const void* state,
                                                        size_t state_size, void* bytes, size_t capacity,
                                                        size_t* needed);

/* ---- A model at rest: rows come when they come, a fit is made when it is asked for. For databases and
 * notebooks; docs/reference/c-interface.md has the options. One thread at a time for each handle. ----
 *
 *   mixstream_model *model = mixstream_model_create(2, "{\"k\": 3}", &status, text, sizeof text);
 *   mixstream_model_absorb(model, &block, &refused);
 *   mixstream_report *report = mixstream_model_fit(model, NULL, &status, text, sizeof text);
 *   puts(mixstream_report_json(report));
 *
 * Calls that make something return NULL when refused: then *status says why and text, if not NULL, holds a
 * sentence. */
typedef struct mixstream_model mixstream_model;
typedef struct mixstream_report mixstream_report;
typedef struct mixstream_predictor mixstream_predictor;

/* Rows, borrowed for the call. Zero it, set size, then what there is: {sizeof(mixstream_block)}. */
typedef struct mixstream_block {
  size_t size; /* sizeof(mixstream_block): later versions may add fields */
  size_t row_count;
  size_t feature_count;   /* the model's, or one less: then the constant, which stands first, is left out. The
                           * first block says which, an empty one too; "intercept" said it before */
  const double* features; /* feature j of row i: features[i * row_stride + j * feature_stride] */
  ptrdiff_t row_stride;   /* in numbers, not in bytes */
  ptrdiff_t feature_stride;
  const double* responses;   /* to predict: NULL, or NaN, where y is not known */
  const double* weights;     /* NULL: 1 */
  const double* times;       /* seconds; NULL: 0 */
  const uint64_t* sensors;   /* rows of one sensor follow each other; NULL: one sensor */
  const uint64_t* positions; /* the rows' own numbers, on which the sample depends: any split of the rows then
                              * has the same sample; NULL: what a row holds is its number */
} mixstream_block;

/* Asked every millisecond or so while later calls of this thread solve; an answer other than 0 ends the call
 * with MIXSTREAM_INTERRUPTED. NULL: nothing is asked. */
typedef int (*mixstream_question)(void* context);
MIXSTREAM_API void mixstream_interrupt_by(mixstream_question wanted, void* context);

/* What a call gave away for good. */
MIXSTREAM_API void mixstream_free(void* bytes);

/* options: a JSON object, or NULL for the defaults, which are those of the tool. feature_count: of the rows
 * that will come; "intercept" puts a constant before them. */
MIXSTREAM_API mixstream_model* mixstream_model_create(size_t feature_count, const char* options,
                                                      mixstream_status* status, char* text, size_t text_size);
/* From what mixstream_model_save, mixstream_model_pack or the tool's --save wrote. options: how to solve from
 * now on; NULL: as it was saved. */
MIXSTREAM_API mixstream_model* mixstream_model_load(const void* bytes, size_t byte_count, const char* options,
                                                    mixstream_status* status, char* text, size_t text_size);
MIXSTREAM_API void mixstream_model_destroy(mixstream_model* model);

/* Rows that are not sound (NaN, infinite, too large) are refused one by one and counted; *refused, if not
 * NULL, is their number here. MIXSTREAM_WRONG_WIDTH: the rows are not as wide as those before them, or as the
 * model; nothing was absorbed. MIXSTREAM_INTERRUPTED: the rows up
 * to the one that a fit fell due at were. */
MIXSTREAM_API mixstream_status mixstream_model_absorb(mixstream_model* model, const mixstream_block* block,
                                                      uint64_t* refused);
/* Counts a row that never became numbers, by the reason: "missing". */
MIXSTREAM_API mixstream_status mixstream_model_refuse(mixstream_model* model, const char* reason);
/* Adds the other's rows. Checks first: a refusal leaves both as they were, and mixstream_model_words says
 * why.
 */
MIXSTREAM_API mixstream_status mixstream_model_merge(mixstream_model* model, const mixstream_model* other);
MIXSTREAM_API const char* mixstream_model_words(const mixstream_model* model); /* never NULL */

MIXSTREAM_API uint64_t mixstream_model_rows(const mixstream_model* model);
MIXSTREAM_API size_t mixstream_model_feature_count(const mixstream_model* model); /* the constant included */
MIXSTREAM_API size_t mixstream_model_memory(const mixstream_model* model);        /* bytes held, about */
/* Features that a row brings to mixstream_model_absorb; 0: no row has told yet. Of a loaded model it is known
 * where mixstream_model_pack wrote it. A merge leaves it as it was: two models of one aggregate belong
 * together only where theirs agree. */
MIXSTREAM_API size_t mixstream_model_width(const mixstream_model* model);

/* The state as the tool's files have it; mixstream_free gives it back. NULL when the system has no memory. */
MIXSTREAM_API void* mixstream_model_save(const mixstream_model* model, size_t* byte_count,
                                         mixstream_status* status);
/* The same for another process of this version, smaller where rows are few, and with the rows' width: only
 * mixstream_model_load reads it. */
MIXSTREAM_API void* mixstream_model_pack(const mixstream_model* model, size_t* byte_count,
                                         mixstream_status* status);
/* What `mixstream inspect` prints, as JSON; mixstream_free gives it back. */
MIXSTREAM_API char* mixstream_model_inspect(const mixstream_model* model, mixstream_status* status);
/* As mixstream_moments. */
MIXSTREAM_API mixstream_status mixstream_model_moments(const mixstream_model* model, mixstream_moment moment,
                                                       int32_t degree, double* values, size_t capacity,
                                                       size_t* needed);
/* Rows kept of the stream, in the order of their keys: row by row feature_count features each, responses, and
 * the weights with which they speak for all, 1 in the mean. capacity: rows that there is room for; *needed is
 * their number, also when there is no room (MIXSTREAM_TOO_LARGE). */
MIXSTREAM_API mixstream_status mixstream_model_sample(const mixstream_model* model, double* features,
                                                      double* responses, double* weights, size_t capacity,
                                                      size_t* needed);
/* As mixstream_modes. */
MIXSTREAM_API mixstream_status mixstream_model_modes(const mixstream_model* model, uint64_t sensor,
                                                     double* probabilities, size_t component_count);

/* Solves and leaves no trace in the model. options: other ones than the model's for this fit, such as
 * {"k": 4}; NULL: none. *status: MIXSTREAM_OK, or what the report's own status says; a report is returned
 * all the same. */
MIXSTREAM_API mixstream_report* mixstream_model_fit(const mixstream_model* model, const char* options,
                                                    mixstream_status* status, char* text, size_t text_size);
MIXSTREAM_API void mixstream_report_destroy(mixstream_report* report);
/* These live as long as the report. The JSON is that of the tool (docs/reference/json.md), one object on one
 * line. */
MIXSTREAM_API const char* mixstream_report_json(const mixstream_report* report);
MIXSTREAM_API const char* mixstream_report_table(const mixstream_report* report);
/* The page that `mixstream fit --report` writes, self-contained HTML, with the rows that the model keeps;
 * mixstream_free gives it back. Refused by a library built without the plots. */
MIXSTREAM_API char* mixstream_report_page(const mixstream_report* report, const mixstream_model* model,
                                          mixstream_status* status, char* text, size_t text_size);

/* From the JSON of a report. It follows the rows of each sensor where modes persist. */
MIXSTREAM_API mixstream_predictor* mixstream_predictor_create(const char* json, mixstream_status* status,
                                                              char* text, size_t text_size);
MIXSTREAM_API void mixstream_predictor_destroy(mixstream_predictor* predictor);
MIXSTREAM_API size_t mixstream_predictor_component_count(const mixstream_predictor* predictor);
MIXSTREAM_API size_t mixstream_predictor_feature_count(const mixstream_predictor* predictor);
/* Features of a row that leaves the constant out, where it stands first. */
MIXSTREAM_API size_t mixstream_predictor_width(const mixstream_predictor* predictor);

/* Where a prediction goes; NULL for what is not wanted. */
typedef struct mixstream_prediction {
  size_t size;         /* sizeof(mixstream_prediction) */
  double level;        /* of the interval, 0.95 for example */
  int32_t* components; /* the likeliest law, from 0; -1 for a row that cannot be predicted (then NaN below) */
  double* probabilities; /* of the laws, row by row; where modes persist, given the rows so far */
  double* expected;      /* y without its noise; given the likely laws where y is known */
  double* low;           /* y given x alone lies between low and high with that probability */
  double* high;
} mixstream_prediction;
/* Rows have the fit's features, or leave out the constant that stands first; the first block says which, and
 * another width is MIXSTREAM_WRONG_WIDTH from then on. A row whose constant is not 1 cannot be predicted. */
MIXSTREAM_API mixstream_status mixstream_predict(mixstream_predictor* predictor, const mixstream_block* block,
                                                 const mixstream_prediction* into);
/* Rows that follow begin anew. */
MIXSTREAM_API void mixstream_predictor_restart(mixstream_predictor* predictor);

/* ---- Features from columns: the language of docs/guide/features.md, as in the tool and the daemon. ---- */

/* A map and the rows before, as far as its lags reach: one for each sensor. One thread at a time. */
typedef struct mixstream_map mixstream_map;

/* Parses "1,flow,log(speed),lag(flow,1)". columns: the names that the map may use, in the order of a row's
 * values; NULL: those of the text, in order of first use. NULL when refused, with status and text as above.
 */
MIXSTREAM_API mixstream_map* mixstream_map_create(const char* features, const char* const* columns,
                                                  size_t column_count, mixstream_status* status, char* text,
                                                  size_t text_size);
MIXSTREAM_API void mixstream_map_destroy(mixstream_map* map);
MIXSTREAM_API size_t mixstream_map_feature_count(const mixstream_map* map);
MIXSTREAM_API size_t mixstream_map_column_count(const mixstream_map* map);
MIXSTREAM_API int32_t mixstream_map_constant(const mixstream_map* map); /* its index, or -1 */
/* Names live as long as the map; NULL beyond the last. */
MIXSTREAM_API const char* mixstream_map_feature(const mixstream_map* map, size_t feature);
MIXSTREAM_API const char* mixstream_map_column(const mixstream_map* map, size_t column);

/* The row's features; no allocation, no lock. MIXSTREAM_WRONG_WIDTH for other counts than the map's.
 * MIXSTREAM_UNDEFINED_FEATURE: a feature has no value (the log of a negative number), and
 * MIXSTREAM_NO_EARLIER_ROW: a lag reaches back before the first row or over a gap; such features are NaN. The
 * row is remembered for lags in every case but the first. */
MIXSTREAM_API mixstream_status mixstream_map_row(mixstream_map* map, const double* values,
                                                 size_t column_count, double* features, size_t feature_count);
/* The same for rows, whose columns stand where a block has features; the rest of it is not read. Row by row
 * into features; what has no value is NaN, and the model refuses such rows. */
MIXSTREAM_API mixstream_status mixstream_map_rows(mixstream_map* map, const mixstream_block* columns,
                                                  double* features);
/* A row that could not be read: lags that reach it find nothing. */
MIXSTREAM_API void mixstream_map_gap(mixstream_map* map);
/* The value that stands for a text in a column of texts (mode=="eco"); NaN where the column holds none. */
MIXSTREAM_API double mixstream_map_code(const mixstream_map* map, size_t column, const char* text);

#ifdef __cplusplus
}
#endif

#endif
