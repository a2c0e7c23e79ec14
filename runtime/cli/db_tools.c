/* `mlaforge db merge|diff|check|gc`. */
#include <sys/stat.h>

#include "cli/cli.h"

#define TEXT_MAX ((size_t)256 << 20)

/* A pipe, as of <(mlaforge db export ...), can only be a text, and be read once. */
static bool is_stream(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
}

/* A database that cannot be read as one: what its pages hold. `status`, which c->err says, stays where they hold nothing. */
static mlaf_status open_pages(cli *c, const char *path, mlaf_status status, mlaf_db **out) {
  mlaf_err ignored;
  if (status != MLAF_E_DB || mlaf_db_recover(path, &c->log, out, &ignored) != MLAF_OK) return status;
  c->err = (mlaf_err){MLAF_OK, ""};
  return MLAF_OK;
}

/* A file that is a database or a tuning text, for reading. */
static mlaf_status open_any(cli *c, const char *path, mlaf_db **out) {
  void *text = NULL;
  size_t size;
  if (!is_stream(path) && !mlaf_file_begins(path, "# mlaforge tuning text"))
    return mlaf_db_open(path, true, &c->log, out, &c->err);
  mlaf_status status = mlaf_file_take(path, TEXT_MAX, &text, &size, &c->err);
  if (status == MLAF_OK) status = mlaf_db_open_text(path, text, &c->log, out, &c->err);
  free(text);
  return status;
}

/* --- merge --- */

static mlaf_status merge_from(cli *c, mlaf_db *db, const char *path, mlaf_db_merged *m, bool *by_pages) {
  mlaf_db *from = NULL;
  mlaf_status status = open_any(c, path, &from);
  if (status == MLAF_OK) status = mlaf_db_merge(db, from, m, &c->err);
  mlaf_db_close(from);
  if (status == MLAF_OK || c->err.status != MLAF_E_DB || mlaf_db_is_read_only(db)) return status; /* memory ran out, say */
  from = NULL; /* damage, which may show only on the way */
  status = open_pages(c, path, status, &from);
  *by_pages = status == MLAF_OK;
  if (status == MLAF_OK) status = mlaf_db_merge(db, from, m, &c->err);
  mlaf_db_close(from);
  return status;
}

/* Each file can be opened: known before the database is made, which else would be left behind empty. */
static mlaf_status sources_open(cli *c) {
  mlaf_status status = MLAF_OK;
  for (int i = 1; i < c->n_arguments && status == MLAF_OK; i++) {
    mlaf_db *from = NULL;
    if (is_stream(c->arguments[i])) continue;
    status = open_any(c, c->arguments[i], &from);
    if (status != MLAF_OK) status = open_pages(c, c->arguments[i], status, &from);
    if (status != MLAF_OK) mlaf_fail_prefix(&c->err, status, "%s", c->arguments[i]);
    mlaf_db_close(from);
  }
  return status;
}

int mlaf_cli_db_merge(cli *c) {
  mlaf_db *db = NULL;
  if (c->n_arguments < 2) return mlaf_cli_usage(c, "db merge wants the files to merge into --db");
  mlaf_status status = sources_open(c);
  const bool dry = mlaf_cli_has(c, O_DRY_RUN);
  if (status == MLAF_OK) status = mlaf_cli_open_target(c, &db);
  for (int i = 1; i < c->n_arguments && status == MLAF_OK; i++) {
    mlaf_db_merged m = {0};
    bool by_pages = false;
    if ((status = mlaf_cli_go_on(c)) != MLAF_OK) break;
    status = merge_from(c, db, c->arguments[i], &m, &by_pages);
    if (status != MLAF_OK) mlaf_fail_prefix(&c->err, status, "%s", c->arguments[i]);
    else if (c->json) {
      mlaf_cli_print("merge", TEXT("file", c->arguments[i]), NUMBER("samples", m.samples), NUMBER("known", m.known),
                     NUMBER("choices", m.choices), NUMBER("misses", m.misses), NUMBER("left_out", m.left_out),
                     NUMBER("problems", m.problems), FLAG("dry_run", dry), FLAG("by_pages", by_pages));
    } else {
      if (by_pages) printf("%s is damaged, so this is what its pages hold:\n", c->arguments[i]);
      printf("%s: %zu samples of %zu problems new, %zu known; %zu imported choices, %zu misses; %zu left out\n", c->arguments[i],
             m.samples, m.problems, m.known, m.choices, m.misses, m.left_out);
    }
  }
  if (status == MLAF_OK && dry && !c->json) printf("nothing was written to %s\n", mlaf_db_path(db));
  mlaf_db_close(db);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}

/* --- diff --- */
/* To the digits that a tuning text has: a database and its own export do not differ. */
static bool same_time(double a, double b) {
  char x[40], y[40];
  mlaf_snprintf(x, sizeof x, "%.6g", a);
  mlaf_snprintf(y, sizeof y, "%.6g", b);
  return strcmp(x, y) == 0;
}

typedef struct row {
  char key[400]; /* device and problem */
  mlaf_choice choice;
} row;

typedef struct rows {
  row *list;
  size_t n;
  bool failed;
} rows;

static bool take_row(void *user, const char *device, const mlaf_choice *choice) {
  rows *r = user;
  if ((r->failed = !mlaf_room(&r->list, r->n, sizeof *r->list))) return false;
  row *x = &r->list[r->n++];
  snprintf(x->key, sizeof x->key, "%s %s", device, choice->problem);
  x->choice = *choice;
  return true;
}

static int by_key(const void *a, const void *b) { return strcmp(((const row *)a)->key, ((const row *)b)->key); }

static mlaf_status read_rows(cli *c, const char *path, rows *out) {
  mlaf_db *db = NULL;
  mlaf_status status = open_any(c, path, &db);
  if (status == MLAF_OK) status = mlaf_db_each_choice(db, take_row, out, &c->err);
  if (status == MLAF_OK && out->failed) status = mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for the choices of '%s'", path);
  mlaf_db_close(db);
  if (status == MLAF_OK && out->n) qsort(out->list, out->n, sizeof *out->list, by_key);
  return status;
}

static void difference(const cli *c, cli_table *t, const row *a, const row *b) {
  const char *what = !a ? "added" : !b ? "removed" : strcmp(a->choice.variant, b->choice.variant) ? "variant" : "time";
  if (c->json) {
    cJSON *e = mlaf_cli_event("difference");
    mlaf_cli_json(e, TEXT("what", what), TEXT("of", a ? a->key : b->key));
    const row *side[] = {a, b};
    for (int i = 0; i < 2; i++) {
      cJSON *o = side[i] ? cJSON_AddObjectToObject(e, i ? "new" : "old") : cJSON_AddNullToObject(e, i ? "new" : "old");
      if (!side[i]) continue;
      mlaf_cli_json(o, TEXT("variant", side[i]->choice.variant), NUMBER("ns", side[i]->choice.ns),
                    TEXT("source", mlaf_source_name(side[i]->choice.source)));
    }
    mlaf_cli_emit(e);
    return;
  }
  mlaf_cli_table_cell(t, "%s", what);
  for (int i = 0; i < 2; i++) {
    const row *x = i ? b : a;
    if (x) mlaf_cli_table_cell(t, "%.2f", x->choice.ns / 1e3);
    else mlaf_cli_table_cell(t, "-");
  }
  if (a && b) mlaf_cli_table_cell(t, "%+.1f%%", 100 * (b->choice.ns / a->choice.ns - 1));
  else mlaf_cli_table_cell(t, "%s", "");
  mlaf_cli_table_cell(t, "%s\t%s%s%s", a ? a->key : b->key, a ? a->choice.variant : "",
                      a && b && strcmp(what, "time") ? " -> " : "", b && (!a || strcmp(what, "time")) ? b->choice.variant : "");
}

/* Like diff(1): exit code 1 when they differ. */
int mlaf_cli_db_diff(cli *c) {
  static const char *const columns[] = {"what", ">old us", ">new us", ">change", "device and problem", "variant", NULL};
  rows a = {NULL, 0, false}, b = {NULL, 0, false};
  size_t differences = 0, same = 0;
  if (c->n_arguments != 3) return mlaf_cli_usage(c, "db diff wants two files: databases or tuning texts, old and new");
  mlaf_status status = read_rows(c, c->arguments[1], &a);
  if (status == MLAF_OK) status = read_rows(c, c->arguments[2], &b);
  cli_table *t = status == MLAF_OK && !c->json ? mlaf_cli_table_new(columns) : NULL;
  for (size_t i = 0, k = 0; status == MLAF_OK && (i < a.n || k < b.n);) {
    int order = i == a.n ? 1 : k == b.n ? -1 : strcmp(a.list[i].key, b.list[k].key);
    const row *x = order <= 0 ? &a.list[i++] : NULL, *y = order >= 0 ? &b.list[k++] : NULL;
    if (x && y && !strcmp(x->choice.variant, y->choice.variant) && same_time(x->choice.ns, y->choice.ns)) {
      same++;
      continue;
    }
    differences++;
    difference(c, t, x, y);
  }
  mlaf_cli_table_end(t);
  if (status == MLAF_OK && !c->json) printf("%zu choices differ, %zu are the same\n", differences, same);
  free(a.list);
  free(b.list);
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  return differences ? CLI_FINDINGS : CLI_OK;
}

/* --- check --- */
/* Writing, but not creating: what is not there has nothing to check or clean. */
static mlaf_status open_existing(cli *c, mlaf_db **out) {
  mlaf_db *there = NULL;
  mlaf_status status = mlaf_cli_open_db(c, true, &there);
  mlaf_db_close(there);
  return status == MLAF_OK ? mlaf_cli_open_db(c, false, out) : status;
}

static void on_finding(void *user, const char *line) {
  const cli *c = user;
  if (c->json) {
    cJSON *e = mlaf_cli_event("finding");
    cJSON_AddStringToObject(e, "text", line);
    mlaf_cli_emit(e);
  } else {
    printf("%s\n", line);
  }
}

int mlaf_cli_db_check(cli *c) {
  mlaf_db *db = NULL;
  size_t findings = 0;
  mlaf_db_counts n;
  if (c->n_arguments != 1) return mlaf_cli_usage(c, "db check takes no argument: name the file with --db");
  mlaf_status status = open_existing(c, &db);
  if (status == MLAF_OK) status = mlaf_db_check(db, on_finding, c, &findings, &c->err);
  if (status == MLAF_OK && !c->json && !findings && mlaf_db_count(db, &n, &c->err) == MLAF_OK)
    printf("%s: nothing wrong with %lld choices, %lld samples (%lld of them failures), %lld misses of %lld devices\n",
           mlaf_db_path(db), (long long)n.choices, (long long)n.samples, (long long)n.failures, (long long)n.misses,
           (long long)n.devices);
  else if (status == MLAF_OK && !c->json && findings)
    printf("%zu findings; what is whole can be saved with: mlaforge db merge '%s' --db NEW\n", findings, mlaf_db_path(db));
  mlaf_db_close(db);
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  return findings ? CLI_FINDINGS : CLI_OK;
}

/* --- gc --- */
int mlaf_cli_db_gc(cli *c) {
  mlaf_db *db = NULL;
  mlaf_db_garbage g;
  bool dry = mlaf_cli_has(c, O_DRY_RUN);
  if (c->n_arguments != 1) return mlaf_cli_usage(c, "db gc takes no argument: name the file with --db");
  mlaf_status status = open_existing(c, &db);
  if (status == MLAF_OK) status = mlaf_db_gc(db, dry, &g, &c->err);
  if (status == MLAF_OK && c->json) {
    mlaf_cli_print("gc", FLAG("dry_run", dry), NUMBER("superseded", g.superseded), NUMBER("outdated", g.outdated),
                   NUMBER("choices", g.choices), NUMBER("misses", g.misses), NUMBER("orphans", g.orphans),
                   NUMBER("bytes_before", g.bytes_before), NUMBER("bytes_after", g.bytes_after));
  } else if (status == MLAF_OK) {
    printf("%s %lld superseded and %lld outdated samples, %lld choices of another protocol, %lld misses tuned since, %lld rows "
           "nothing "
           "refers to; %.1f KiB%s",
           dry ? "would remove" : "removed", (long long)g.superseded, (long long)g.outdated, (long long)g.choices,
           (long long)g.misses, (long long)g.orphans, (double)g.bytes_before / 1024, dry ? "\n" : " before, ");
    if (!dry) printf("%.1f KiB after\n", (double)g.bytes_after / 1024);
  }
  mlaf_db_close(db);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}
