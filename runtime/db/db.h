/* The tuning database: SQLite as the working store, sorted text as the truth that is shipped and reviewed.
 * Every write is one short BEGIN IMMEDIATE transaction. A broken database never breaks planning: callers go on
 * without one. An mlaf_db belongs to one thread at a time; any number of processes may open the same file. */
#pragma once

#include "base/base.h"
#include "device/device.h"
#include "op/kernel.h"
#include "op/op.h"

#define MLAF_DB_APPLICATION_ID 0x4d4c4146 /* "MLAF" */
#define MLAF_DB_PROTOCOL 2                /* measurement protocol version, HARD; 2: rested, short */
#define MLAF_DB_PROTOCOL_TEXT "2"

typedef struct mlaf_db mlaf_db;

/* Source of a time. Precedence at equal specificity: measured > imported > default > modelled. */
typedef enum mlaf_source {
  MLAF_SRC_MEASURED, MLAF_SRC_IMPORTED, MLAF_SRC_DEFAULT, MLAF_SRC_MODELLED, MLAF_SRC_COUNT
} mlaf_source;
const char *mlaf_source_name(mlaf_source s);

/* Outcome of a candidate. Failures are stored so that they are not tried again. */
typedef enum mlaf_outcome {
  MLAF_OUT_OK, MLAF_OUT_CONSTRAINT, MLAF_OUT_COMPILE, MLAF_OUT_RESOURCES /* scratch, spills or over budget */,
  MLAF_OUT_LAUNCH, MLAF_OUT_TIMEOUT, MLAF_OUT_FAULT, MLAF_OUT_INCORRECT, MLAF_OUT_NOISY, MLAF_OUT_COUNT
} mlaf_outcome;
const char *mlaf_outcome_name(mlaf_outcome o);

/* One finished candidate of one problem on one device. */
typedef struct mlaf_sample {
  char variant[256];
  uint32_t knob; /* what its operation may turn at launch: of mla_decode the splits */
  mlaf_kernel_ref kernels[MLAF_STAGES_MAX];
  mlaf_outcome outcome;
  mlaf_source source;
  mlaf_timing timing;     /* ns, spread, parts: valid when outcome is OK or NOISY */
  double error;           /* relative Frobenius error against fp64, worst of the verified cases */
  uint32_t vgpr, agpr, lds, scratch;
  char detail[512];       /* first line of the failure, "" if OK; of a compile's see mlaf_sample_blame_compile */
  char lengths[64];       /* of the requests that were timed, as mlaf_lengths_print has it; "" is "equal" */
} mlaf_sample;

/* A failed compile (COMPILE, or TIMEOUT without registers) as it is stored: the first line of the cause, then the compiler. */
void mlaf_sample_blame_compile(mlaf_sample *s, mlaf_outcome outcome, const char *cause, const char *toolchain);
/* True if a stored sample still says that its variant is no good. A failed compile does only where it names this compiler: older
 * mlaforges also stored failures of the machine (no scratch folder, a full disk, a time limit on a busy one), and named none. A
 * time limit of the timing model does not. `toolchain` is mlaf_compiler_identity's text, NULL where there is no compiler. */
bool mlaf_sample_is_bad(const mlaf_sample *s, const char *toolchain);

/* Sources of tuning data, nearest first. The outer ones are read only and additive: entry by entry, a better or nearer
 * choice of any layer is taken. */
typedef enum mlaf_choice_layer { MLAF_LAYER_USER, MLAF_LAYER_SITE, MLAF_LAYER_SHIPPED, MLAF_LAYER_COUNT } mlaf_choice_layer;
const char *mlaf_layer_name(mlaf_choice_layer layer);

typedef struct mlaf_choice {
  char problem[MLAF_POINT_TEXT_MAX];
  mlaf_point at; /* the same, read; op is NULL where that could not be done */
  char variant[256];
  uint32_t knob;
  mlaf_kernel_ref kernels[MLAF_STAGES_MAX];
  mlaf_source source;
  double ns, margin; /* margin: how much better than the runner-up, as a ratio - 1 */
  double error;
  bool stale;        /* a SOFT field differs: usable, worth re-tuning */
  char stale_why[160];
  char lengths[64];  /* of the requests it was timed with, "equal" mostly */
  mlaf_choice_layer layer;
  double distance;   /* from the problem asked for (mlaf_point_distance): 0 where one plan serves both */
} mlaf_choice;

typedef enum mlaf_rung { MLAF_RUNG_EXACT, MLAF_RUNG_NEAREST, MLAF_RUNG_DEFAULT, MLAF_RUNG_MODEL, MLAF_RUNG_BASELINE } mlaf_rung;
const char *mlaf_rung_name(mlaf_rung r);
/* True if its kernels want workspace that a plan takes only where its caller allows a library's product: it is one, or another
 * kernel writes what the first reads. Of operations that a library serves that kernel is the second stage. */
bool mlaf_choice_wants_workspace(const mlaf_choice *c);

/* path NULL: $MLAF_DB (E_ARG when it is empty), else $XDG_DATA_HOME/mlaforge/tuning.db, else (E_IO without HOME)
 * ~/.local/share/mlaforge/tuning.db. Creates the file unless read_only. E_DB names the cause: another program's file, a newer
 * schema (opened read-only), corruption. */
mlaf_status mlaf_db_open(const char *path, bool read_only, const mlaf_log *log, mlaf_db **out, mlaf_err *err);
/* The user's file as above, with the layers behind it: the site's ($MLAF_SITE_DB, else /etc/mlaforge/tuning.db when it is
 * there; a database or a tuning text) and what was shipped (the tuning texts in $MLAF_TUNING_DIR, else in
 * share/mlaforge/tuning beside the program's or the library's prefix, else in the source tree). A layer that cannot be read
 * is a warning. Listing, exporting and writing concern the user's file alone. */
mlaf_status mlaf_db_open_layered(const char *path, bool read_only, const mlaf_log *log, mlaf_db **out, mlaf_err *err);
/* The outer layers behind an empty, read-only user's layer: for when the user's file cannot be used. `why` is what a write is
 * refused with. */
mlaf_status mlaf_db_open_outer(const char *why, const mlaf_log *log, mlaf_db **out, mlaf_err *err);
/* Opens a copy of the file in memory (empty, when there is none), which changes without changing the file: for dry runs. */
mlaf_status mlaf_db_open_copy(const char *path, const mlaf_log *log, mlaf_db **out, mlaf_err *err);
/* Recovers what the pages of a damaged file and of its log hold, as a database in memory to merge from: also what a damaged first
 * page or inner page hides. Rows that were deleted may come back, misses do not; rows of schemas before today's are passed over.
 * E_DB: no page holds a sample or a choice. */
mlaf_status mlaf_db_recover(const char *path, const mlaf_log *log, mlaf_db **out, mlaf_err *err);
/* A tuning text as a database in memory, for reading. `name` is what messages call it. */
mlaf_status mlaf_db_open_text(const char *name, const char *text, const mlaf_log *log, mlaf_db **out, mlaf_err *err);
/* A layer of a layered database, opened on first use; NULL when there is none. It belongs to db. USER: db itself. */
mlaf_db *mlaf_db_layer(mlaf_db *db, mlaf_choice_layer layer);
/* Read what plans' first questions want, so that they need not: the device's rows of a text, SQL and the schema for it. Of this
 * layer. */
void mlaf_db_get_ready(mlaf_db *db, const mlaf_device_info *dev);
void mlaf_db_close(mlaf_db *db);
const char *mlaf_db_path(const mlaf_db *db);
bool mlaf_db_is_read_only(const mlaf_db *db); /* asked for, or forced by permissions or a newer schema */
/* E_DB for such a database: why it is, and that another can be named. */
mlaf_status mlaf_db_refuse_write(const mlaf_db *db, mlaf_err *err);

/* Commit one finished candidate; recomputes the problem's choice in the same transaction (lowest median among OK
 * samples of this protocol and of the newest hash of each template; an incumbent is only replaced above max(2 %, 3 x MAD)).
 * The incumbent is the choice that stood when this handle first touched the problem: within one run the order in which
 * candidates arrive does not matter. A variant's newest sample is the one that counts; older ones are kept.
 * `toolchain` is mlaf_compiler_identity's text. */
mlaf_status mlaf_db_add_sample(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain,
                               const mlaf_point *p, const mlaf_sample *s, mlaf_err *err);
/* The newest sample of each (variant, kernels) of a problem on a device, best first, failures last
 * (resume, tables). *list is malloc'ed. */
mlaf_status mlaf_db_samples(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, mlaf_sample **list,
                            size_t *n, mlaf_err *err);
/* Lists variants that passed and were timed with requests of these lengths: for every first kernel the fastest with each of its
 * `each` fastest split counts; best first. */
mlaf_status mlaf_db_fastest(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, const char *lengths, size_t each,
                            mlaf_sample **list, size_t *n, mlaf_err *err);
/* Best usable choice for the problem: exact (of this problem or of one that rounds to the same point: mlaf_point_round), else the
 * same device's nearest over batch and ctx (all other fields equal). E_NOT_TUNED when there is none (recorded as a miss unless
 * read-only). `toolchain` NULL: do not judge staleness. */
mlaf_status mlaf_db_choose(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                           mlaf_choice *out, mlaf_rung *rung, mlaf_err *err);
/* The same with a filter, asked in order of preference: the caller who knows the generator refuses a choice whose
 * template hash (HARD) is not today's, and the search goes on. Below the device's own choices stand those of the device
 * named "arch:<target>" (MLAF_RUNG_DEFAULT). Every answer but an exact one is recorded as a miss. */
typedef bool (*mlaf_db_accept_fn)(void *user, const mlaf_choice *choice);
mlaf_status mlaf_db_choose_if(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                              mlaf_db_accept_fn accept, void *user, mlaf_choice *out, mlaf_rung *rung, mlaf_err *err);
/* The fastest of the user's own samples of this problem, else of those that one plan serves with it, nearest first, that was
 * timed with requests of these lengths (canonical text), whatever lengths the problem's choice is for, as if it were the choice;
 * staleness is not judged. E_NOT_TUNED. */
mlaf_status mlaf_db_choose_lengths(mlaf_db *db, const mlaf_device_info *dev, const mlaf_point *p, const char *lengths,
                                   mlaf_db_accept_fn accept, void *user, mlaf_choice *out, mlaf_err *err);
/* The same as mlaf_db_choose without recording a miss. */
mlaf_status mlaf_db_peek(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                         mlaf_choice *out, mlaf_rung *rung, mlaf_err *err);
#define MLAF_DB_UNREAD "no memory to read it" /* a verdict on a choice of which nothing is known */
/* One step of a search: a stored choice that was looked at. */
typedef struct mlaf_db_considered {
  mlaf_rung rung; /* it would stand on */
  mlaf_choice_layer layer;
  const char *layer_path, *device, *problem;
  const mlaf_choice *choice; /* NULL: its row is damaged */
  double distance;           /* mlaf_point_distance */
  const char *verdict;       /* NULL: taken */
} mlaf_db_considered;
typedef void (*mlaf_db_trace_fn)(void *user, const mlaf_db_considered *step);
/* The search of mlaf_db_choose_if, step by step and without recording a miss: the reason a plan would give. */
mlaf_status mlaf_db_why(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                        mlaf_db_accept_fn accept, void *user, mlaf_db_trace_fn trace, void *trace_user, mlaf_choice *out,
                        mlaf_rung *rung, mlaf_err *err);
/* Sorted text, one choice a line (format: tuning/README.md). device_id NULL: all devices. */
mlaf_status mlaf_db_export(mlaf_db *db, const char *device_id, mlaf_text *out, mlaf_err *err);
/* All or nothing; the detail names the line. *n_choices may be NULL. A local choice backed by samples is kept where its
 * source ranks at least as high as the imported one's. */
mlaf_status mlaf_db_import(mlaf_db *db, const char *text, size_t *n_choices, mlaf_err *err);

typedef bool (*mlaf_db_row_fn)(void *user, const char *device_id, const mlaf_choice *choice);
/* Every stored choice in export order; stops when fn returns false. */
mlaf_status mlaf_db_each_choice(mlaf_db *db, mlaf_db_row_fn fn, void *user, mlaf_err *err);
/* The same, the device that was tuned last first, and of each device the choices of its last run first. */
mlaf_status mlaf_db_each_newest(mlaf_db *db, mlaf_db_row_fn fn, void *user, mlaf_err *err);
/* Problems asked for and still without a choice of their own, most wanted first. */
typedef bool (*mlaf_db_miss_fn)(void *user, const char *device_id, const char *problem, int64_t count);
mlaf_status mlaf_db_each_miss(mlaf_db *db, mlaf_db_miss_fn fn, void *user, mlaf_err *err);
/* Identities of all devices the database knows, sorted. */
typedef bool (*mlaf_db_device_fn)(void *user, const char *device_id);
mlaf_status mlaf_db_each_device(mlaf_db *db, mlaf_db_device_fn fn, void *user, mlaf_err *err);
/* Add what another database has: devices, samples, imported choices, misses (the larger count). All of it or nothing. What
 * is there already is not added twice, so merging again changes nothing. Rows that are damaged or of another measurement
 * protocol are left out and counted; the choices of everything touched are recomputed. */
typedef struct mlaf_db_merged {
  size_t samples, known, choices, misses, left_out, problems;
} mlaf_db_merged;
mlaf_status mlaf_db_merge(mlaf_db *db, mlaf_db *from, mlaf_db_merged *out, mlaf_err *err);

/* Everything that can be verified: pages, keys, row sums, problem strings, and whether each choice is what its samples say.
 * Each finding is one line. OK although there are findings; nothing is changed. */
typedef void (*mlaf_db_finding_fn)(void *user, const char *line);
mlaf_status mlaf_db_check(mlaf_db *db, mlaf_db_finding_fn fn, void *user, size_t *findings, mlaf_err *err);

/* Remove what cannot matter any more: samples that a newer one of the same variant replaced, those of an edited template or
 * of another protocol, misses that were tuned since, rows nothing refers to; then give the space back. dry_run: count only. */
typedef struct mlaf_db_garbage {
  int64_t superseded, outdated, misses, choices, orphans, bytes_before, bytes_after;
} mlaf_db_garbage;
mlaf_status mlaf_db_gc(mlaf_db *db, bool dry_run, mlaf_db_garbage *out, mlaf_err *err);

typedef struct mlaf_db_counts { int64_t devices, problems, samples, failures, choices, misses; } mlaf_db_counts;
mlaf_status mlaf_db_count(mlaf_db *db, mlaf_db_counts *out, mlaf_err *err);
