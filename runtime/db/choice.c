/* The choice rule: lowest median among current samples, and an incumbent only yields to a clear win. */
#include "db/db_internal.h"

#define SWITCH_RATIO 0.02 /* an incumbent yields only above this part of its time ... */
#define SWITCH_MADS  3.0  /* ... and above this many median absolute deviations: whichever is more */

/* A variant's newest sample. */
typedef struct candidate {
  int64_t id;
  char *variant;
  bool usable;
  int source;
  double ns, mad;
} candidate;

/* The newest hash of each template seen among the samples: an older one belongs to a template that was edited since. */
typedef struct template_seen {
  char name[64], hash[MLAF_HASH_HEX];
} template_seen;

typedef struct candidates {
  candidate *list;
  size_t n;
  template_seen seen[32];
  size_t n_seen;
  char lengths[64]; /* of the newest sample: times of other request lengths are of another question */
} candidates;

static bool current_template(candidates *c, sqlite3_stmt *s, int column) {
  const char *name = (const char *)sqlite3_column_text(s, column),
             *hash = (const char *)sqlite3_column_text(s, column + 1);
  if (!name) return true; /* the variant needs no such kernel */
  for (size_t i = 0; i < c->n_seen; i++)
    if (strcmp(c->seen[i].name, name) == 0) return hash && strcmp(c->seen[i].hash, hash) == 0;
  if (c->n_seen == sizeof c->seen / sizeof *c->seen) return false;
  template_seen *t = &c->seen[c->n_seen++];
  return mlaf_db_text(s, column, t->name, sizeof t->name) && mlaf_db_text(s, column + 1, t->hash, sizeof t->hash);
}

static bool known_variant(const candidates *c, const char *variant) {
  for (size_t i = 0; i < c->n; i++)
    if (strcmp(c->list[i].variant, variant) == 0) return true;
  return false;
}

/* Rows come newest first, so the first row of a variant is the one that counts. false: no memory. */
static bool add_row(candidates *c, sqlite3_stmt *s) {
  const char *variant = (const char *)sqlite3_column_text(s, 1), *outcome = (const char *)sqlite3_column_text(s, 2);
  const char *lengths = (const char *)sqlite3_column_text(s, 6);
  if (sqlite3_column_int(s, 7) != 1 || !lengths) return true; /* damaged: as if it had never been */
  if (!c->lengths[0]) mlaf_db_text(s, 6, c->lengths, sizeof c->lengths);
  if (strcmp(lengths, c->lengths) != 0) return true;
  bool current = true;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) current = current_template(c, s, 8 + 2 * i) && current; /* all are noted */
  if (!variant || !outcome || !current || known_variant(c, variant)) return true;
  if (!mlaf_room(&c->list, c->n, sizeof *c->list)) return false;
  candidate *x = &c->list[c->n];
  *x = (candidate){sqlite3_column_int64(s, 0),  mlaf_strdup(variant),       strcmp(outcome, "ok") == 0, 0,
                   sqlite3_column_double(s, 4), sqlite3_column_double(s, 5)};
  x->source = mlaf_source_find((const char *)sqlite3_column_text(s, 3));
  x->usable = x->usable && x->source >= 0 && x->ns > 0 && isfinite(x->ns);
  if (x->variant) c->n++;
  return x->variant != NULL;
}

static mlaf_status read_candidates(mlaf_db *db, int64_t device, int64_t problem, candidates *c, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_NEWEST, err);
  if (!s) return MLAF_E_DB;
  sqlite3_bind_int64(s, 1, device);
  sqlite3_bind_int64(s, 2, problem);
  sqlite3_bind_int(s, 3, MLAF_DB_PROTOCOL);
  int rc;
  bool memory = true;
  while (memory && (rc = mlaf_db_step(s)) == SQLITE_ROW) memory = add_row(c, s);
  mlaf_status status = !memory             ? mlaf_fail(err, MLAF_E_NOMEM, "no memory for the samples of a problem")
                       : rc == SQLITE_DONE ? MLAF_OK
                                           : mlaf_db_fail(db, err, "reading samples");
  sqlite3_reset(s);
  return status;
}

/* A modelled time is never compared with a measured one: the better source goes first. Equal times are common in a
 * model: then the name decides, so that the order of tuning does not. */
static bool before(const candidate *a, const candidate *b) {
  if (a->source != b->source) return a->source < b->source;
  return a->ns != b->ns ? a->ns < b->ns : strcmp(a->variant, b->variant) < 0;
}

static const candidate *fastest(const candidates *c, const candidate *except) {
  const candidate *best = NULL;
  for (size_t i = 0; i < c->n; i++) {
    const candidate *x = &c->list[i];
    if (x->usable && x != except && (!best || before(x, best))) best = x;
  }
  return best;
}

static bool clearly_better(const candidate *challenger, const candidate *incumbent) {
  double mad = challenger->mad > incumbent->mad ? challenger->mad : incumbent->mad;
  double need = SWITCH_RATIO * incumbent->ns > SWITCH_MADS * mad ? SWITCH_RATIO * incumbent->ns : SWITCH_MADS * mad;
  return incumbent->ns - challenger->ns > need;
}

typedef struct standing {
  bool exists, imported;
  int source;          /* as precedence sees it */
  char incumbent[256]; /* what this run may have to beat; "" when nothing stood before it */
} standing;

static mlaf_status read_standing(mlaf_db *db, int64_t device, int64_t problem, standing *out, mlaf_err *err) {
  *out = (standing){0};
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_GET_CHOICE, err);
  if (!s) return MLAF_E_DB;
  sqlite3_bind_int64(s, 1, device);
  sqlite3_bind_int64(s, 2, problem);
  int rc = mlaf_db_step(s);
  /* A choice of another protocol is no incumbent: its times are not comparable. */
  if (rc == SQLITE_ROW && sqlite3_column_int(s, 3) == MLAF_DB_PROTOCOL) {
    out->exists = true;
    out->imported = sqlite3_column_int(s, 2) != 0;
    int source = mlaf_source_find((const char *)sqlite3_column_text(s, 1));
    out->source = source == MLAF_SRC_MEASURED && out->imported ? MLAF_SRC_IMPORTED : source;
    /* Within one run the rule must not depend on the order of candidates: all are judged against what stood before it. */
    mlaf_db_text(s, sqlite3_column_int64(s, 4) == db->run ? 5 : 0, out->incumbent, sizeof out->incumbent);
  }
  sqlite3_reset(s);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? MLAF_OK : mlaf_db_fail(db, err, "reading the standing choice");
}

static const candidate *decide(const candidates *c, const standing *old) {
  const candidate *best = fastest(c, NULL), *incumbent = NULL;
  for (size_t i = 0; best && i < c->n; i++)
    if (c->list[i].usable && strcmp(c->list[i].variant, old->incumbent) == 0) incumbent = &c->list[i];
  bool comparable = incumbent && incumbent->source == best->source;
  return comparable && !clearly_better(best, incumbent) ? incumbent : best;
}

static mlaf_status store(mlaf_db *db, int64_t device, int64_t problem, const candidates *c, const candidate *chosen,
                         const standing *old, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_CHOOSE_SAMPLE, err);
  if (!s) return MLAF_E_DB;
  const candidate *second = fastest(c, chosen);
  sqlite3_bind_int64(s, 1, chosen->id);
  sqlite3_bind_double(s, 2, second && second->source == chosen->source ? second->ns / chosen->ns - 1 : 0);
  sqlite3_bind_int64(s, 3, db->run);
  sqlite3_bind_text(s, 4, old->incumbent, -1, SQLITE_STATIC); /* outlives the statement's run */
  mlaf_status status = mlaf_db_run(db, s, "recording a choice", err);
  s = status == MLAF_OK ? mlaf_db_prepare(db, MLAF_S_SUM_CHOICE, err) : NULL;
  if (!s) return status == MLAF_OK ? MLAF_E_DB : status;
  sqlite3_bind_int64(s, 1, device);
  sqlite3_bind_int64(s, 2, problem);
  return mlaf_db_run(db, s, "recording a choice", err);
}

static mlaf_status drop(mlaf_db *db, int64_t device, int64_t problem, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_DROP_CHOICE, err);
  if (!s) return MLAF_E_DB;
  sqlite3_bind_int64(s, 1, device);
  sqlite3_bind_int64(s, 2, problem);
  return mlaf_db_run(db, s, "withdrawing a choice", err);
}

mlaf_status mlaf_db_rechoose(mlaf_db *db, int64_t device, int64_t problem, mlaf_err *err) {
  candidates c = {0};
  standing old;
  mlaf_status status = read_standing(db, device, problem, &old, err);
  if (status == MLAF_OK) status = read_candidates(db, device, problem, &c, err);
  if (status == MLAF_OK) {
    const candidate *chosen = decide(&c, &old);
    /* An imported choice stays until local samples of at least its standing replace it. */
    bool keep = old.exists && old.imported && (!chosen || chosen->source > old.source);
    if (keep) status = MLAF_OK;
    else if (chosen) status = store(db, device, problem, &c, chosen, &old, err);
    else if (old.exists) status = drop(db, device, problem, err);
  }
  for (size_t i = 0; i < c.n; i++) free(c.list[i].variant);
  free(c.list);
  return status;
}

mlaf_status mlaf_db_rechoose_all(mlaf_db *db, mlaf_err *err) {
  sqlite3_stmt *s = mlaf_db_prepare(db, MLAF_S_TOUCHED, err);
  int64_t *pairs = NULL;
  size_t n = 0;
  int rc = s ? SQLITE_ROW : SQLITE_DONE;
  mlaf_status status = s ? MLAF_OK : MLAF_E_DB;
  while (status == MLAF_OK && (rc = mlaf_db_step(s)) == SQLITE_ROW) { /* listed first: choosing changes what is listed */
    if (!mlaf_room(&pairs, n, 2 * sizeof *pairs)) status = mlaf_fail(err, MLAF_E_NOMEM, "no memory for %zu problems", n);
    if (status != MLAF_OK) break;
    pairs[2 * n] = sqlite3_column_int64(s, 0);
    pairs[2 * n + 1] = sqlite3_column_int64(s, 1);
    n++;
  }
  if (status == MLAF_OK && rc != SQLITE_DONE) status = mlaf_db_fail(db, err, "listing problems");
  if (s) sqlite3_reset(s);
  for (size_t i = 0; i < n && status == MLAF_OK; i++) status = mlaf_db_rechoose(db, pairs[2 * i], pairs[2 * i + 1], err);
  free(pairs);
  return status;
}
