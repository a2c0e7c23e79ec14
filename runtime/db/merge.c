/* Adds what another database knows to this one: so the shards of a fleet become one. */
#include "db/db_internal.h"

/* Columns of MLAF_S_EACH_SAMPLE behind those of a sample. */
enum { AT_PROTOCOL = MLAF_DB_SAMPLE_END, AT_DEVICE, AT_TARGET, AT_NAME, AT_FACTS, AT_PROBLEM = AT_FACTS + 7, AT_TOOLCHAIN,
       AT_DRIVER, AT_CLOCK, AT_MEM_CLOCK };

typedef struct merged_row {
  mlaf_sample sample;
  mlaf_device_info device;
  mlaf_point problem;
  char toolchain[256];
  int protocol;
} merged_row;

static bool read_row(sqlite3_stmt *s, merged_row *r) {
  char canonical[MLAF_POINT_TEXT_MAX];
  memset(r, 0, sizeof *r);
  bool ok = mlaf_db_sample_row(s, &r->sample);
  ok = ok && mlaf_db_text(s, AT_DEVICE, r->device.id, sizeof r->device.id) && r->device.id[0] &&
       !mlaf_text_fault(r->device.id, false) && !mlaf_db_word_fault(r->sample.variant);
  ok = ok && mlaf_db_text(s, AT_TARGET, r->device.target, sizeof r->device.target);
  ok = ok && mlaf_db_text(s, AT_NAME, r->device.name, sizeof r->device.name);
  ok = ok && mlaf_db_text(s, AT_PROBLEM, canonical, sizeof canonical);
  ok = ok && mlaf_point_stored(canonical, &r->problem, NULL, 0) == MLAF_OK;
  ok = ok && mlaf_db_text(s, AT_TOOLCHAIN, r->toolchain, sizeof r->toolchain);
  ok = ok && mlaf_db_text(s, AT_DRIVER, r->device.driver, sizeof r->device.driver);
  int32_t *const small[] = {&r->device.compute_units, &r->device.xcc, &r->device.wave_size, &r->device.lds_bytes};
  int64_t *const large[] = {&r->device.mem_bytes, &r->device.l2_bytes, &r->device.llc_bytes};
  for (int i = 0; i < 4; i++) *small[i] = sqlite3_column_int(s, AT_FACTS + i);
  for (int i = 0; i < 3; i++) *large[i] = sqlite3_column_int64(s, AT_FACTS + 4 + i);
  r->protocol = sqlite3_column_int(s, AT_PROTOCOL);
  r->device.clock_mhz = sqlite3_column_int(s, AT_CLOCK);
  r->device.mem_clock_mhz = sqlite3_column_int(s, AT_MEM_CLOCK);
  return ok;
}

/* The very same result: same variant, code, outcome, time and circumstances. */
static mlaf_status look_up(mlaf_db *db, int64_t device, int64_t problem, const merged_row *r, bool *known, mlaf_err *err) {
  int64_t kernels[MLAF_STAGES_MAX] = {0}, toolchain = 0;
  const mlaf_sample *x = &r->sample;
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_HAS_SAMPLE, err);
  mlaf_status status = s ? mlaf_db_put_kernels(db, x->kernels, kernels, err) : MLAF_E_DB;
  if (status == MLAF_OK) status = mlaf_db_put_toolchain(db, r->toolchain, &toolchain, err);
  if (status != MLAF_OK) return status;
  bool timed = x->outcome == MLAF_OUT_OK || x->outcome == MLAF_OUT_NOISY;
  sqlite3_bind_int64(s, 1, device);
  sqlite3_bind_int64(s, 2, problem);
  sqlite3_bind_int(s, 3, r->protocol);
  sqlite3_bind_text(s, 4, x->variant, -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 5, mlaf_outcome_name(x->outcome), -1, SQLITE_STATIC);
  if (timed) sqlite3_bind_double(s, 6, x->timing.ns);
  sqlite3_bind_int(s, 7, timed ? x->timing.samples : 0);
  sqlite3_bind_text(s, 8, x->lengths[0] ? x->lengths : "equal", -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 9, toolchain);
  sqlite3_bind_text(s, 10, r->device.driver, -1, SQLITE_STATIC);
  mlaf_db_bind_ids(s, 11, kernels, MLAF_STAGES_MAX);
  const int rc = mlaf_db_step(s);
  *known = rc == SQLITE_ROW;
  if (rc != SQLITE_ROW && rc != SQLITE_DONE) status = mlaf_db_fail(db, err, "looking for a sample");
  sqlite3_reset(s);
  sqlite3_clear_bindings(s);
  return status;
}

typedef struct touched {
  int64_t (*pairs)[2];
  size_t n;
} touched;

static mlaf_status touch(touched *t, int64_t device, int64_t problem, mlaf_err *err) {
  for (size_t i = t->n; i-- > 0;) /* rows of one problem come together */
    if (t->pairs[i][0] == device && t->pairs[i][1] == problem) return MLAF_OK;
  if (!mlaf_room(&t->pairs, t->n, sizeof *t->pairs)) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu problems", t->n + 1);
  t->pairs[t->n][0] = device;
  t->pairs[t->n++][1] = problem;
  return MLAF_OK;
}

static mlaf_status add_row(mlaf_db *db, const merged_row *r, touched *t, mlaf_db_merged *out, mlaf_err *err) {
  int64_t device, problem;
  mlaf_status status = mlaf_db_put_device(db, r->device.id, r->device.target, &device, err);
  if (status == MLAF_OK && r->device.name[0]) status = mlaf_db_describe_device(db, device, &r->device, err);
  if (status == MLAF_OK) status = mlaf_db_put_problem(db, &r->problem, &problem, err);
  bool known = false;
  if (status == MLAF_OK) status = look_up(db, device, problem, r, &known, err);
  out->known += known;
  if (status != MLAF_OK || known) return status;
  status = mlaf_db_put_sample(db, &r->device, device, r->toolchain, problem, &r->sample, err);
  out->samples += status == MLAF_OK;
  return status == MLAF_OK ? touch(t, device, problem, err) : status;
}

static mlaf_status copy_samples(mlaf_db *db, mlaf_db *from, mlaf_db_merged *out, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(from, MLAF_S_EACH_SAMPLE, err);
  touched t = {NULL, 0};
  if (!s) return MLAF_E_DB;
  mlaf_status status = MLAF_OK;
  int rc = SQLITE_DONE;
  while (status == MLAF_OK && (rc = mlaf_db_step(s)) == SQLITE_ROW) {
    merged_row r;
    const bool whole = read_row(s, &r);
    if (!whole && sqlite3_errcode(from->sql) == SQLITE_NOMEM) status = mlaf_db_fail(from, err, "reading samples");
    else if (!whole || r.protocol != MLAF_DB_PROTOCOL) out->left_out++;
    else status = add_row(db, &r, &t, out, err);
  }
  if (status == MLAF_OK && rc != SQLITE_DONE) status = mlaf_db_fail(from, err, "reading samples");
  sqlite3_reset(s);
  for (size_t i = 0; i < t.n && status == MLAF_OK; i++) status = mlaf_db_rechoose(db, t.pairs[i][0], t.pairs[i][1], err);
  out->problems = t.n;
  free(t.pairs);
  return status;
}

/* --- misses --- */
typedef struct miss_copy {
  mlaf_db *db;
  mlaf_db_merged *out;
  mlaf_status status;
  mlaf_err *err;
} miss_copy;

static bool copy_miss(void *user, const char *device, const char *text, int64_t count) {
  miss_copy *m = user;
  mlaf_point p;
  int64_t device_id, problem_id;
  char target[64];
  if (mlaf_point_parse(NULL, text, &p, NULL, 0) != MLAF_OK || !device[0] || mlaf_text_fault(device, false)) {
    m->out->left_out++;
    return true;
  }
  mlaf_db_target_of(device, target, sizeof target);
  m->status = mlaf_db_put_device(m->db, device, target, &device_id, m->err);
  if (m->status == MLAF_OK) m->status = mlaf_db_put_problem(m->db, &p, &problem_id, m->err);
  sqlite3_stmt *s = m->status == MLAF_OK ? mlaf_db_prepare(m->db, MLAF_S_ADD_MISS, m->err) : NULL;
  if (!s) {
    if (m->status == MLAF_OK) m->status = MLAF_E_DB;
    return false;
  }
  sqlite3_bind_int64(s, 1, device_id);
  sqlite3_bind_int64(s, 2, problem_id);
  sqlite3_bind_int64(s, 3, count);
  sqlite3_bind_int(s, 4, 1); /* the larger count, so that merging again changes nothing */
  m->status = mlaf_db_run(m->db, s, "recording a miss", m->err);
  m->out->misses += m->status == MLAF_OK;
  return m->status == MLAF_OK;
}

mlaf_status mlaf_db_merge(mlaf_db *db, mlaf_db *from, mlaf_db_merged *out, mlaf_err *err) {
  mlaf_db_merged done = {0};
  if (db->read_only) return mlaf_db_refuse_write(db, err);
  int64_t run_before = db->run;
  mlaf_status status = mlaf_db_begin(db, err);
  if (status != MLAF_OK) return status;
  status = copy_samples(db, from, &done, err);
  if (status == MLAF_OK) status = mlaf_db_take_imported(db, from, &done.choices, err);
  miss_copy m = {db, &done, MLAF_OK, err};
  if (status == MLAF_OK) status = mlaf_db_each_miss(from, copy_miss, &m, err);
  if (status == MLAF_OK) status = m.status;
  status = mlaf_db_end(db, status, err);
  if (status != MLAF_OK) db->run = run_before;
  else if (out) *out = done;
  return status;
}
