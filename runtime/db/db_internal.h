/* Inside the database room: the handle, its prepared statements, and the helpers its files share. */
#pragma once

#include <sqlite3.h>

#include "db/db.h"

#define MLAF_DB_SCHEMA 5           /* user_version this build writes: the number of the last migration */
#define MLAF_DB_BUSY_MS 20000      /* how long a write waits for another process */
#define MLAF_DB_MISS_BUSY_MS 50    /* a miss is a hint: planning never waits for it */
#define MLAF_DB_KNOB_MAX 4096 /* what a row may say: earlier versions made so many; planning passes their choices over */
#define MLAF_DB_TEXT_MAX (64u << 20)

/* Statements are prepared once per handle, on first use; their SQL is one table in schema.c. */
typedef enum mlaf_db_stmt {
  MLAF_S_BEGIN, MLAF_S_COMMIT, MLAF_S_ROLLBACK,
  MLAF_S_PUT_DEVICE, MLAF_S_GET_DEVICE, MLAF_S_NAME_DEVICE, MLAF_S_PUT_TOOLCHAIN, MLAF_S_GET_TOOLCHAIN, MLAF_S_PUT_PROBLEM,
  MLAF_S_GET_PROBLEM, MLAF_S_PUT_KERNEL, MLAF_S_GET_KERNEL, MLAF_S_ADD_SAMPLE, MLAF_S_ADD_RUN, MLAF_S_NEWEST, MLAF_S_SAMPLES,
  MLAF_S_FASTEST, MLAF_S_GET_CHOICE, MLAF_S_PUT_CHOICE, MLAF_S_CHOOSE_SAMPLE, MLAF_S_DROP_CHOICE, MLAF_S_NEAR,
  MLAF_S_CHOICE_BY_ID, MLAF_S_EACH_CHOICE, MLAF_S_EACH_NEWEST, MLAF_S_EACH_DEVICE,
  MLAF_S_ADD_MISS, MLAF_S_EACH_MISS, MLAF_S_COUNTS, MLAF_S_SUM_KERNEL, MLAF_S_SUM_SAMPLE, MLAF_S_SUM_CHOICE,
  MLAF_S_EACH_SAMPLE, MLAF_S_HAS_SAMPLE, MLAF_S_FACTS, MLAF_S_TOUCHED, MLAF_S_ANY_SAMPLE, MLAF_S_COUNT
} mlaf_db_stmt;

typedef struct mlaf_db_texts mlaf_db_texts;

struct mlaf_db {
  sqlite3 *sql;            /* NULL: a layer of texts of which no statement was wanted yet (texts.c) */
  mlaf_db_texts *texts;    /* NULL: a database; else choices are looked up in these */
  char *path;
  mlaf_log log;
  bool read_only;
  char read_only_why[128]; /* "the directory is not writable", "its schema is newer": told when a write is refused */
  bool newer;              /* the schema is newer than this build: a query may ask for what is no longer there */
  mlaf_choice_layer layer;        /* what this handle is to the one that opened it */
  bool layered;            /* outer layers are wanted ... */
  bool asked[MLAF_LAYER_COUNT];
  mlaf_db *outer[MLAF_LAYER_COUNT]; /* ... and opened when first asked for */
  bool missed;             /* this handle has recorded a miss */
  int64_t run;             /* row of this handle's tuning run, 0 before its first sample */
  sqlite3_stmt *stmt[MLAF_S_COUNT];
};

/* --- open.c --- */
/* Turn the handle's SQLite error into a status whose detail says what happened to `what` and how to fix it. */
mlaf_status mlaf_db_fail(mlaf_db *db, mlaf_err *err, const char *what);
/* E_DB: the file is damaged, and how what is whole in it is saved. */
mlaf_status mlaf_db_fail_damaged(const char *path, const char *cause, mlaf_err *err);

/* Open what is no file: an empty store in memory, with the schema. */
mlaf_status mlaf_db_open_memory(const char *name, const mlaf_log *log, mlaf_db **out, mlaf_err *err);
/* Such a store for a handle that has none yet. */
mlaf_status mlaf_db_connect_memory(mlaf_db *db, mlaf_err *err);

/* --- fs.c --- */
/* Name of a file system by its statfs magic, and whether processes of one host share memory over it (WAL needs that). */
const char *mlaf_db_fs_name(unsigned long magic, bool *local);
extern const char *(*mlaf_db_fs_of)(const char *dir, bool *local); /* of a directory; tests put their own here */

/* --- sum.c --- */
mlaf_status mlaf_db_add_sum(mlaf_db *db, mlaf_err *err);

/* --- migrate.c --- */
/* Bring a file to MLAF_DB_SCHEMA in one transaction; *found is the version it had. Newer schemas are left alone. */
mlaf_status mlaf_db_migrate(mlaf_db *db, int *found, mlaf_err *err);
/* PRAGMA that answers one integer; -1 on failure. */
int64_t mlaf_db_pragma(mlaf_db *db, const char *sql);

/* --- schema.c --- */
/* The statement, reset and with no bindings; NULL with err set. */
sqlite3_stmt *mlaf_db_prepare(mlaf_db *db, mlaf_db_stmt which, mlaf_err *err);
/* Queries that name the rows whose sum differs, ended by NULL. */
const char *const *mlaf_db_damaged_sql(void);

/* --- sql.c --- */
/* sqlite3_prepare_v3, _step, _exec and _close: what is beyond the file-size limit fails as on a full disk. */
int mlaf_db_parse(sqlite3 *sql, const char *text, unsigned flags, sqlite3_stmt **out);
int mlaf_db_step(sqlite3_stmt *s);
int mlaf_db_exec(sqlite3 *sql, const char *text);
void mlaf_db_shut(sqlite3 *sql);

/* --- write.c --- */
mlaf_status mlaf_db_begin(mlaf_db *db, mlaf_err *err);
/* Commit when status is OK, else (or when the commit fails) roll back. Returns the status of the whole. */
mlaf_status mlaf_db_end(mlaf_db *db, mlaf_status status, mlaf_err *err);
/* Run a statement that returns no row. */
mlaf_status mlaf_db_run(mlaf_db *db, sqlite3_stmt *s, const char *what, mlaf_err *err);
/* Insert a sample of known device and problem, with its run. Inside the caller's transaction. */
mlaf_status mlaf_db_put_sample(mlaf_db *db, const mlaf_device_info *dev, int64_t device, const char *toolchain, int64_t problem,
                               const mlaf_sample *x, mlaf_err *err);
mlaf_status mlaf_db_describe_device(mlaf_db *db, int64_t id, const mlaf_device_info *dev, mlaf_err *err);
/* Their rows' ids; 0: no such kernel. */
mlaf_status mlaf_db_put_kernels(mlaf_db *db, const mlaf_kernel_ref kernels[MLAF_STAGES_MAX], int64_t ids[MLAF_STAGES_MAX],
                                mlaf_err *err);
/* From parameter `at` on; 0 as NULL. */
void mlaf_db_bind_ids(sqlite3_stmt *s, int at, const int64_t *ids, int n);
/* The soft fields of a choice. A text of "*" and a clock of -1 waive that SOFT field. */
typedef struct mlaf_db_soft {
  const char *toolchain, *driver;
  int32_t clock_mhz, mem_clock_mhz;
} mlaf_db_soft;
mlaf_status mlaf_db_put_device(mlaf_db *db, const char *canonical, const char *target, int64_t *id, mlaf_err *err);
mlaf_status mlaf_db_put_toolchain(mlaf_db *db, const char *identity, int64_t *id, mlaf_err *err);
mlaf_status mlaf_db_put_problem(mlaf_db *db, const mlaf_point *p, int64_t *id, mlaf_err *err);
mlaf_status mlaf_db_put_choice(mlaf_db *db, int64_t device, int64_t problem, int protocol, const mlaf_db_soft *soft,
                               const mlaf_choice *c, bool imported, mlaf_err *err);

/* --- texts.c --- */
typedef struct mlaf_choice_row mlaf_choice_row;
/* A handle over tuning texts that stay texts: a plan reads the few rows of its device and shape, and no SQLite is needed. Whoever
 * wants statements gets them all the same (mlaf_db_texts_fill, by mlaf_db_prepare). */
mlaf_status mlaf_db_texts_open(const char *name, const mlaf_log *log, mlaf_db **out, mlaf_err *err);
/* One more file, whose entries replace those of the files before it. The file as a whole is not checked, its head is. */
mlaf_status mlaf_db_texts_add(mlaf_db *db, const char *path, mlaf_err *err);
void mlaf_db_texts_free(mlaf_db_texts *texts);
/* The choices of one device for problems of p's shape (its family), of today's protocol; a row that is wrong is a
 * warning. `fn` returns false when it has no memory. */
typedef bool (*mlaf_db_texts_fn)(void *user, int64_t id, const mlaf_choice_row *row);
mlaf_status mlaf_db_texts_near(mlaf_db *db, const char *device, const mlaf_point *p, mlaf_db_texts_fn fn, void *user,
                               mlaf_err *err);
/* Parse the device's rows now, which else are parsed when they are first looked at. */
void mlaf_db_texts_get_ready(mlaf_db *db, const char *device);
/* All of a row that mlaf_db_texts_near has named. */
mlaf_status mlaf_db_texts_row(mlaf_db *db, int64_t id, mlaf_choice_row *out, mlaf_err *err);
/* The rows parsed so far: what a test counts. */
size_t mlaf_db_texts_parsed(const mlaf_db *db);
mlaf_status mlaf_db_texts_fill(mlaf_db *db, mlaf_err *err);

/* --- text.c --- */
/* Checks the two lines at the head; which version of the format it is, and where rows begin. */
mlaf_status mlaf_db_text_head(const char *text, int *version, const char **rows, mlaf_err *err);
/* One row, without its end of line. Not whole: up to the protocol. `number`: of its line, for messages. */
mlaf_status mlaf_db_text_row(const char *line, size_t n, size_t number, int version, bool whole, mlaf_choice_row *out,
                             mlaf_err *err);
/* Target of a device identity. */
void mlaf_db_target_of(const char *device, char *out, size_t size);
/* Imported choices of another database, by the rule of an import; inside the caller's transaction. */
mlaf_status mlaf_db_take_imported(mlaf_db *db, mlaf_db *from, size_t *taken, mlaf_err *err);

/* --- misses.c --- */
/* Never waits, never fails: a hint that cannot be kept now is dropped. */
void mlaf_db_record_miss(mlaf_db *db, const char *device, const mlaf_point *p);
/* Bring what was recorded into the database (by a handle of its own where this one is for reading), unless it cannot be written
 * now. Not inside a transaction. */
void mlaf_db_take_misses(mlaf_db *db);

/* --- choice.c --- */
/* Recompute the choice of (device, problem) from its samples; inside the caller's transaction. */
mlaf_status mlaf_db_rechoose(mlaf_db *db, int64_t device, int64_t problem, mlaf_err *err);

/* Recompute all of them. */
mlaf_status mlaf_db_rechoose_all(mlaf_db *db, mlaf_err *err);

/* --- choose.c, read.c --- */
/* Somebody else's measurement ranks below one's own. */
mlaf_source mlaf_db_effective(const mlaf_db *db, int source, bool imported);
mlaf_status mlaf_db_damaged_row(mlaf_db *db, const char *what, mlaf_err *err);

/* --- row.c --- */
/* Columns of a choice as MLAF_CHOICE_COLUMNS selects them. false: the row holds what no mlaforge writes (damaged). */
struct mlaf_choice_row {
  mlaf_choice choice;
  char device[160];
  int protocol;
  bool imported;
  char toolchain[256], driver[64];
  int32_t clock_mhz, mem_clock_mhz;
};
bool mlaf_db_choice_row(sqlite3_stmt *s, mlaf_choice_row *out);
mlaf_status mlaf_db_choice_by_id(mlaf_db *db, int64_t id, mlaf_choice_row *row, mlaf_err *err);
enum { MLAF_DB_SAMPLE_KERNELS = 21, MLAF_DB_SAMPLE_END = MLAF_DB_SAMPLE_KERNELS + 8 * MLAF_STAGES_MAX }; /* columns */
bool mlaf_db_sample_row(sqlite3_stmt *s, mlaf_sample *out);
/* Returns what is wrong with a name that the generator gave, NULL if nothing. */
const char *mlaf_db_word_fault(const char *text);
bool mlaf_db_text(sqlite3_stmt *s, int column, char *out, size_t size);
/* "mfma=1.5;hbm=20" and back. */
void mlaf_db_parts_print(const mlaf_timing *t, char *out, size_t size);
void mlaf_db_parts_parse(const char *text, mlaf_timing *t);

/* Name tables searched backwards; -1 when unknown. */
int mlaf_source_find(const char *name);
