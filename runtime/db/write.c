/* Everything that writes: one short BEGIN IMMEDIATE transaction per call, so that eight processes never lose an update. */
#include "op/nearest.h"
#include "db/db_internal.h"
#include "op/op.h"

mlaf_status mlaf_db_run(mlaf_db *db, sqlite3_stmt *s, const char *what, mlaf_err *err) {
  if (!s) return err ? err->status : MLAF_E_DB; /* prepare has said why */
  int rc = mlaf_db_step(s);
  mlaf_status status = rc == SQLITE_DONE ? MLAF_OK : mlaf_db_fail(db, err, what);
  sqlite3_reset(s);
  return status;
}

mlaf_status mlaf_db_begin(mlaf_db *db, mlaf_err *err) {
  return mlaf_db_run(db, mlaf_db_prepare(db, MLAF_S_BEGIN, err), "taking the write lock", err);
}

mlaf_status mlaf_db_end(mlaf_db *db, mlaf_status status, mlaf_err *err) {
  if (status == MLAF_OK) status = mlaf_db_run(db, mlaf_db_prepare(db, MLAF_S_COMMIT, err), "committing", err);
  /* SQLite rolls back by itself on a full disk; then there is nothing left to roll back. */
  if (status != MLAF_OK && !sqlite3_get_autocommit(db->sql))
    mlaf_db_run(db, mlaf_db_prepare(db, MLAF_S_ROLLBACK, NULL), "rolling back", NULL);
  return status;
}

static void bind_text(sqlite3_stmt *s, int at, const char *text) { sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC); }

/* Insert unless there, then ask for the id: both statements take the same leading bindings. */
static mlaf_status get_id(mlaf_db *db, sqlite3_stmt *get, const char *what, int64_t *id, mlaf_err *err) {
  mlaf_status status = MLAF_OK;
  if (mlaf_db_step(get) == SQLITE_ROW) *id = sqlite3_column_int64(get, 0);
  else status = mlaf_db_fail(db, err, what);
  sqlite3_reset(get);
  return status;
}

mlaf_status mlaf_db_put_device(mlaf_db *db, const char *canonical, const char *target, int64_t *id, mlaf_err *err) {
  sqlite3_stmt *put = mlaf_db_prepare(db, MLAF_S_PUT_DEVICE, err), *get = mlaf_db_prepare(db, MLAF_S_GET_DEVICE, err);
  if (!put || !get) return MLAF_E_DB;
  bind_text(put, 1, canonical);
  bind_text(put, 2, target);
  mlaf_status status = mlaf_db_run(db, put, "recording a device", err);
  bind_text(get, 1, canonical);
  return status == MLAF_OK ? get_id(db, get, "looking up a device", id, err) : status;
}

/* An imported choice knows its device by name only; the first sample fills the rest in. */
mlaf_status mlaf_db_describe_device(mlaf_db *db, int64_t id, const mlaf_device_info *dev, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_NAME_DEVICE, err);
  if (!s) return MLAF_E_DB;
  sqlite3_bind_int64(s, 1, id);
  bind_text(s, 2, dev->target);
  bind_text(s, 3, dev->name);
  const int64_t facts[] = {dev->compute_units, dev->xcc,      dev->wave_size, dev->lds_bytes,
                           dev->mem_bytes,     dev->l2_bytes, dev->llc_bytes};
  for (int i = 0; i < 7; i++) sqlite3_bind_int64(s, 4 + i, facts[i]);
  return mlaf_db_run(db, s, "recording a device", err);
}

mlaf_status mlaf_db_put_toolchain(mlaf_db *db, const char *identity, int64_t *id, mlaf_err *err) {
  sqlite3_stmt *put = mlaf_db_prepare(db, MLAF_S_PUT_TOOLCHAIN, err),
               *get = mlaf_db_prepare(db, MLAF_S_GET_TOOLCHAIN, err);
  if (!put || !get) return MLAF_E_DB;
  bind_text(put, 1, identity ? identity : "");
  mlaf_status status = mlaf_db_run(db, put, "recording a toolchain", err);
  bind_text(get, 1, identity ? identity : "");
  return status == MLAF_OK ? get_id(db, get, "looking up a toolchain", id, err) : status;
}

mlaf_status mlaf_db_put_problem(mlaf_db *db, const mlaf_point *p, int64_t *id, mlaf_err *err) {
  char canonical[MLAF_POINT_TEXT_MAX], family[MLAF_POINT_TEXT_MAX];
  if (mlaf_point_print(p, canonical, sizeof canonical) != MLAF_OK || mlaf_point_family(p, family, sizeof family) != MLAF_OK)
    return mlaf_fail(err, MLAF_E_PROBLEM, "a problem that does not pass mlaf_problem_check cannot be recorded");
  sqlite3_stmt *put = mlaf_db_prepare(db, MLAF_S_PUT_PROBLEM, err), *get = mlaf_db_prepare(db, MLAF_S_GET_PROBLEM, err);
  if (!put || !get) return MLAF_E_DB;
  bind_text(put, 1, canonical);
  bind_text(put, 2, family);
  mlaf_status status = mlaf_db_run(db, put, "recording a problem", err);
  bind_text(get, 1, canonical);
  status = status == MLAF_OK ? get_id(db, get, "looking up a problem", id, err) : status;
  sqlite3_clear_bindings(put); /* the texts go out of scope */
  sqlite3_clear_bindings(get);
  return status;
}

/* *id 0 stands for "no such kernel". */
static mlaf_status put_kernel(mlaf_db *db, const mlaf_kernel_ref *k, int64_t *id, mlaf_err *err) {
  *id = 0;
  if (!k->template_name[0]) return MLAF_OK;
  sqlite3_stmt *put = mlaf_db_prepare(db, MLAF_S_PUT_KERNEL, err), *get = mlaf_db_prepare(db, MLAF_S_GET_KERNEL, err);
  if (!put || !get) return MLAF_E_DB;
  const char *const texts[] = {k->template_name, k->params, k->symbol, k->template_hash, k->src_hash, k->code_key};
  for (int which = 0; which < 2; which++) {
    sqlite3_stmt *s = which ? get : put;
    for (int i = 0; i < 6; i++) bind_text(s, 1 + i, texts[i]);
    sqlite3_bind_int64(s, 7, k->threads);
    sqlite3_bind_int64(s, 8, k->rows_per_wg);
  }
  mlaf_status status = mlaf_db_run(db, put, "recording a kernel", err);
  if (status == MLAF_OK && sqlite3_changes(db->sql)) {
    sqlite3_stmt *sum = mlaf_db_prepare(db, MLAF_S_SUM_KERNEL, err);
    if (!sum) return MLAF_E_DB; /* a row without its sum would count as damaged */
    sqlite3_bind_int64(sum, 1, sqlite3_last_insert_rowid(db->sql));
    status = mlaf_db_run(db, sum, "recording a kernel", err);
  }
  return status == MLAF_OK ? get_id(db, get, "looking up a kernel", id, err) : status;
}

mlaf_status mlaf_db_put_kernels(mlaf_db *db, const mlaf_kernel_ref kernels[MLAF_STAGES_MAX], int64_t ids[MLAF_STAGES_MAX],
                                mlaf_err *err) {
  mlaf_status status = MLAF_OK;
  for (int i = 0; status == MLAF_OK && i < MLAF_STAGES_MAX; i++) status = put_kernel(db, &kernels[i], &ids[i], err);
  return status;
}

void mlaf_db_bind_ids(sqlite3_stmt *s, int at, const int64_t *ids, int n) {
  for (int i = 0; i < n; i++) {
    if (ids[i]) sqlite3_bind_int64(s, at + i, ids[i]);
    else sqlite3_bind_null(s, at + i);
  }
}

/* One row for each handle that writes: the choice rule tells this run's candidates from what stood before it. */
static mlaf_status open_run(mlaf_db *db, int64_t device, mlaf_err *err) {
  if (db->run) return MLAF_OK;
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_ADD_RUN, err);
  if (!s) return MLAF_E_DB;
  sqlite3_bind_int64(s, 1, device);
  sqlite3_bind_int(s, 2, MLAF_DB_PROTOCOL);
  mlaf_status status = mlaf_db_run(db, s, "recording a tuning run", err);
  if (status == MLAF_OK) db->run = sqlite3_last_insert_rowid(db->sql);
  return status;
}

typedef struct sample_ids {
  int64_t device, toolchain, problem, kernels[MLAF_STAGES_MAX];
} sample_ids;

static mlaf_status insert_sample(mlaf_db *db, const mlaf_device_info *dev, const sample_ids *ids, const mlaf_sample *x,
                                 mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_ADD_SAMPLE, err);
  if (!s) return MLAF_E_DB;
  char parts[MLAF_TIME_PARTS * 32];
  mlaf_db_parts_print(&x->timing, parts, sizeof parts);
  const mlaf_timing *t = &x->timing;
  bool timed = x->outcome == MLAF_OUT_OK || x->outcome == MLAF_OUT_NOISY;
  int at = 0;
  sqlite3_bind_int64(s, ++at, db->run);
  sqlite3_bind_int64(s, ++at, ids->device);
  sqlite3_bind_int64(s, ++at, ids->toolchain);
  sqlite3_bind_int64(s, ++at, ids->problem);
  sqlite3_bind_int(s, ++at, MLAF_DB_PROTOCOL);
  bind_text(s, ++at, x->variant);
  sqlite3_bind_int64(s, ++at, x->knob);
  mlaf_db_bind_ids(s, at + 1, ids->kernels, MLAF_STAGES_MAX);
  at += MLAF_STAGES_MAX;
  bind_text(s, ++at, mlaf_outcome_name(x->outcome));
  bind_text(s, ++at, mlaf_source_name(x->source));
  const double times[] = {t->ns, t->p10_ns, t->p90_ns, t->mad_ns};
  for (int i = 0; i < 4; i++) {
    if (timed) sqlite3_bind_double(s, ++at, times[i]);
    else sqlite3_bind_null(s, ++at);
  }
  sqlite3_bind_int(s, ++at, timed ? t->samples : 0);
  sqlite3_bind_double(s, ++at, timed ? t->clock_mhz : 0);
  bind_text(s, ++at, timed ? parts : "");
  bind_text(s, ++at, timed ? t->bound : "");
  bind_text(s, ++at, timed ? t->detail : "");
  sqlite3_bind_double(s, ++at, x->error);
  const uint32_t resources[] = {x->vgpr, x->agpr, x->lds, x->scratch};
  for (int i = 0; i < 4; i++) sqlite3_bind_int64(s, ++at, resources[i]);
  bind_text(s, ++at, x->detail);
  bind_text(s, ++at, dev->driver);
  sqlite3_bind_int(s, ++at, dev->clock_mhz);
  sqlite3_bind_int(s, ++at, dev->mem_clock_mhz);
  bind_text(s, ++at, x->lengths[0] ? x->lengths : "equal");
  mlaf_status status = mlaf_db_run(db, s, "recording a sample", err);
  sqlite3_clear_bindings(s);
  s = status == MLAF_OK ? mlaf_db_prepare(db, MLAF_S_SUM_SAMPLE, err) : NULL;
  if (!s) return status == MLAF_OK ? MLAF_E_DB : status;
  sqlite3_bind_int64(s, 1, sqlite3_last_insert_rowid(db->sql));
  return mlaf_db_run(db, s, "recording a sample", err);
}

/* Refuses samples that cannot be true, so that readers need not check. */
static mlaf_status check_sample(const mlaf_sample *s, mlaf_err *err) {
  if ((unsigned)s->outcome >= MLAF_OUT_COUNT || (unsigned)s->source >= MLAF_SRC_COUNT || !s->variant[0])
    return mlaf_fail(err, MLAF_E_ARG, "a sample needs a variant, an outcome and a source");
  bool timed = s->outcome == MLAF_OUT_OK || s->outcome == MLAF_OUT_NOISY;
  if (timed && !(s->timing.ns > 0 && isfinite(s->timing.ns)))
    return mlaf_fail(err, MLAF_E_ARG, "sample of '%s': a time of %g ns cannot be true", s->variant, s->timing.ns);
  if (timed && (!s->knob || !s->kernels[0].template_name[0] || !(s->error >= 0 && isfinite(s->error))))
    return mlaf_fail(err, MLAF_E_ARG, "sample of '%s': a timed sample needs its kernel, knob and verified error",
                     s->variant);
  return MLAF_OK;
}

mlaf_status mlaf_db_put_sample(mlaf_db *db, const mlaf_device_info *dev, int64_t device, const char *toolchain, int64_t problem,
                               const mlaf_sample *x, mlaf_err *err) {
  sample_ids ids = {.device = device, .problem = problem};
  mlaf_status status = check_sample(x, err);
  if (status == MLAF_OK) status = mlaf_db_put_toolchain(db, toolchain, &ids.toolchain, err);
  if (status == MLAF_OK) status = mlaf_db_put_kernels(db, x->kernels, ids.kernels, err);
  if (status == MLAF_OK) status = open_run(db, device, err);
  return status == MLAF_OK ? insert_sample(db, dev, &ids, x, err) : status;
}

/* Sample and choice change together or not at all. */
mlaf_status mlaf_db_add_sample(mlaf_db *db, const mlaf_device_info *dev, const char *toolchain, const mlaf_point *p,
                               const mlaf_sample *x, mlaf_err *err) {
  mlaf_err local;
  if (!err) err = &local;
  mlaf_status status = check_sample(x, err);
  if (status != MLAF_OK) return status;
  if (db->read_only) return mlaf_db_refuse_write(db, err);
  status = mlaf_db_begin(db, err);
  if (status != MLAF_OK) return status;
  int64_t run_before = db->run, device = 0, problem = 0;
  status = mlaf_db_put_device(db, dev->id, dev->target, &device, err);
  if (status == MLAF_OK) status = mlaf_db_describe_device(db, device, dev, err);
  if (status == MLAF_OK) status = mlaf_db_put_problem(db, p, &problem, err);
  if (status == MLAF_OK) status = mlaf_db_put_sample(db, dev, device, toolchain, problem, x, err);
  if (status == MLAF_OK) status = mlaf_db_rechoose(db, device, problem, err);
  status = mlaf_db_end(db, status, err);
  if (status != MLAF_OK) db->run = run_before; /* its row went with the transaction */
  return status;
}

mlaf_status mlaf_db_put_choice(mlaf_db *db, int64_t device, int64_t problem, int protocol, const mlaf_db_soft *soft,
                               const mlaf_choice *c, bool imported, mlaf_err *err) {
  int64_t kernels[MLAF_STAGES_MAX], toolchain;
  mlaf_status status = mlaf_db_put_kernels(db, c->kernels, kernels, err);
  if (status == MLAF_OK) status = mlaf_db_put_toolchain(db, soft->toolchain, &toolchain, err);
  sqlite3_stmt *s = status == MLAF_OK ? mlaf_db_prepare(db, MLAF_S_PUT_CHOICE, err) : NULL;
  if (!s) return status == MLAF_OK ? MLAF_E_DB : status;
  sqlite3_bind_int64(s, 1, device);
  sqlite3_bind_int64(s, 2, problem);
  sqlite3_bind_int(s, 3, protocol);
  bind_text(s, 4, c->variant);
  sqlite3_bind_int64(s, 5, c->knob);
  mlaf_db_bind_ids(s, 6, kernels, MLAF_STAGES_MAX);
  int at = 5 + MLAF_STAGES_MAX;
  bind_text(s, ++at, mlaf_source_name(c->source));
  sqlite3_bind_int(s, ++at, imported);
  const double numbers[] = {c->ns, c->margin, c->error};
  for (int i = 0; i < 3; i++) sqlite3_bind_double(s, ++at, numbers[i]);
  sqlite3_bind_int64(s, ++at, toolchain);
  bind_text(s, ++at, soft->driver);
  sqlite3_bind_int(s, ++at, soft->clock_mhz);
  sqlite3_bind_int(s, ++at, soft->mem_clock_mhz);
  bind_text(s, ++at, c->lengths[0] ? c->lengths : "equal");
  status = mlaf_db_run(db, s, "recording a choice", err);
  s = status == MLAF_OK ? mlaf_db_prepare(db, MLAF_S_SUM_CHOICE, err) : NULL;
  if (!s) return status == MLAF_OK ? MLAF_E_DB : status;
  sqlite3_bind_int64(s, 1, device);
  sqlite3_bind_int64(s, 2, problem);
  return mlaf_db_run(db, s, "recording a choice", err);
}
