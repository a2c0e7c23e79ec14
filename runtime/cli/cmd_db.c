/* `mlaforge db`: show, export and import here; the rest in db_why.c and db_tools.c. */
#include "cli/cli.h"

#define TEXT_MAX ((size_t)256 << 20)

/* --- show --- */
typedef struct listing {
  const cli *c;
  cli_table *table;
  const char *problem; /* canonical, NULL: all */
  long long rows;
  char device[160];    /* the one whose rows are in the table; a table each */
} listing;

static const char *const choice_columns[] = {"problem", ">us", "source", ">lead", ">error", "|variant", NULL};

/* Devices' names are long: each is a heading over its table. */
static void show_device(listing *l, const char *layer, const char *device) {
  char name[160];
  snprintf(name, sizeof name, "%s: %s", layer, device);
  if (!strcmp(name, l->device)) return;
  mlaf_cli_table_end(l->table);
  printf("%s%s\n", l->device[0] ? "\n" : "", name);
  snprintf(l->device, sizeof l->device, "%s", name);
  l->table = mlaf_cli_table_new(choice_columns);
}

static bool show_choice(void *user, const char *device, const mlaf_choice *x) {
  listing *l = user;
  const char *only = l->c->given[O_DEVICE_ID];
  if ((only && strcmp(only, device) != 0) || (l->problem && strcmp(l->problem, x->problem) != 0)) return true;
  l->rows++;
  if (l->c->json) {
    cJSON *e = mlaf_cli_event("choice");
    mlaf_cli_json(e, TEXT("layer", mlaf_layer_name(x->layer)), TEXT("device", device), TEXT("problem", x->problem),
                  TEXT("lengths", x->lengths), TEXT("variant", x->variant), NUMBER("knob", x->knob),
                  TEXT("source", mlaf_source_name(x->source)), NUMBER("ns", x->ns), NUMBER("margin", x->margin),
                  NUMBER("error", x->error));
    mlaf_cli_json_kernels(e, x->problem, x->kernels);
    mlaf_cli_emit(e);
  } else {
    show_device(l, mlaf_layer_name(x->layer), device);
    mlaf_cli_table_cell(l->table, "%s\t%.2f\t%s\t%+.1f%%\t%.2e", x->problem, x->ns / 1e3, mlaf_source_name(x->source),
                        100 * x->margin, x->error);
    if (x->at.op && !x->at.op->calls) mlaf_cli_table_cell(l->table, "%s=%u", x->variant, x->knob); /* the knob is all there is */
    else mlaf_cli_table_cell(l->table, "%s", x->variant);
  }
  return true;
}

static bool show_miss(void *user, const char *device, const char *problem, int64_t count) {
  listing *l = user;
  const char *only = l->c->given[O_DEVICE_ID];
  if (only && strcmp(only, device) != 0) return true;
  l->rows++;
  if (l->c->json) {
    mlaf_cli_print("miss", TEXT("device", device), TEXT("problem", problem), NUMBER("count", count));
  } else {
    mlaf_cli_table_cell(l->table, "%lld\t%s\t%s", (long long)count, device, problem);
  }
  return true;
}

static void sample_row(const listing *l, const char *device, const mlaf_sample *s) {
  if (l->c->json) {
    cJSON *e = mlaf_cli_event("sample");
    mlaf_cli_json(e, TEXT("device", device), TEXT("problem", l->problem));
    mlaf_cli_json_sample(e, l->problem, s);
    mlaf_cli_emit(e);
    return;
  }
  bool timed = s->outcome == MLAF_OUT_OK || s->outcome == MLAF_OUT_NOISY;
  if (timed) mlaf_cli_table_cell(l->table, "%.2f", s->timing.ns / 1e3);
  else mlaf_cli_table_cell(l->table, "-");
  mlaf_cli_table_cell(l->table, "%s\t%s\t%s\t%s", mlaf_outcome_name(s->outcome), mlaf_source_name(s->source), s->variant,
                      s->detail);
}

typedef struct sample_query {
  listing *listing;
  mlaf_db *db;
  const mlaf_point *problem;
  mlaf_status status;
  mlaf_err *err;
} sample_query;

static bool device_samples(void *user, const char *device) {
  sample_query *q = user;
  const char *only = q->listing->c->given[O_DEVICE_ID];
  if (only && strcmp(only, device) != 0) return true;
  mlaf_device_info info = {.compute_units = 0};
  mlaf_sample *list = NULL;
  size_t n = 0;
  snprintf(info.id, sizeof info.id, "%s", device);
  q->status = mlaf_db_samples(q->db, &info, q->problem, &list, &n, q->err);
  for (size_t i = 0; q->status == MLAF_OK && i < n; i++) sample_row(q->listing, device, &list[i]);
  q->listing->rows += (long long)n;
  free(list);
  return q->status == MLAF_OK;
}

/* The id of --device D, which a listing is then limited to; "" when none was named. */
static mlaf_status named_device(cli *c, char *id, size_t size) {
  mlaf_device *dev = NULL;
  id[0] = 0;
  if (!c->given[O_DEVICE] || c->given[O_DEVICE_ID]) return MLAF_OK;
  mlaf_status status = mlaf_cli_open_device(c, &dev);
  if (status == MLAF_OK) snprintf(id, size, "%s", mlaf_info(dev)->id);
  mlaf_device_close(dev);
  return status;
}

static bool count_choice(void *user, const char *device, const mlaf_choice *x) {
  listing *l = user;
  const char *only = l->c->given[O_DEVICE_ID];
  l->rows += !only || strcmp(only, device) == 0;
  return true;
}

/* The user's own, of the device and the run that were last first. What was shipped would bury them: it is counted, and shown on
 * request, or where one problem is asked for, or in JSON, where each line says its layer. */
static mlaf_status show_choices(listing *l, mlaf_db *db, mlaf_err *err) {
  const bool all = mlaf_cli_has(l->c, O_ALL) || l->problem || l->c->json;
  listing hidden = {.c = l->c};
  mlaf_status status = MLAF_OK;
  for (int i = 0; i < MLAF_LAYER_COUNT && status == MLAF_OK; i++) {
    mlaf_db *layer = mlaf_db_layer(db, (mlaf_choice_layer)i);
    if (!layer) continue;
    if (all || i == MLAF_LAYER_USER) status = mlaf_db_each_newest(layer, show_choice, l, err);
    else status = mlaf_db_each_choice(layer, count_choice, &hidden, err);
  }
  if (status == MLAF_OK && hidden.rows)
    fprintf(stderr, "mlaforge: %lld more choices came with the site or with mlaforge: --all shows them\n", hidden.rows);
  l->rows += hidden.rows; /* there is something, if not here */
  return status;
}

static int show(cli *c) {
  static const char *const miss_columns[] = {">asked", "device", "problem", NULL};
  static const char *const sample_columns[] = {">us", "outcome", "source", "variant", "|detail", NULL};
  bool misses = mlaf_cli_has(c, O_MISSES), samples = mlaf_cli_has(c, O_SAMPLES);
  const char *text = c->n_arguments > 1 ? c->arguments[1] : NULL;
  char canonical[MLAF_POINT_TEXT_MAX], why[512], device[256];
  mlaf_point p;
  mlaf_db *db = NULL;
  if (samples && !text) return mlaf_cli_usage(c, "db show --samples wants a problem string");
  if (text && mlaf_point_stored(text, &p, why, sizeof why) != MLAF_OK) return mlaf_cli_usage(c, "'%s': %s", text, why);
  if (text) mlaf_point_print(&p, canonical, sizeof canonical);
  if (named_device(c, device, sizeof device) != MLAF_OK) return mlaf_cli_fail(c);
  if (device[0]) c->given[O_DEVICE_ID] = device;
  /* without a file of the user's there still is what the site has and what was shipped */
  mlaf_status status = mlaf_db_open_layered(c->given[O_DB], true, &c->log, &db, &c->err);
  mlaf_err missing = c->err;
  bool outer_only = status == MLAF_E_IO && !misses && !samples && !c->given[O_DB];
  if (outer_only) {
    status = mlaf_db_open_outer("there is none", &c->log, &db, &c->err);
  }
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  listing l = {c, NULL, text ? canonical : NULL, 0, ""};
  if (!c->json && (misses || samples)) l.table = mlaf_cli_table_new(misses ? miss_columns : sample_columns);
  sample_query q = {&l, db, &p, MLAF_OK, &c->err};
  if (misses) status = mlaf_db_each_miss(db, show_miss, &l, &c->err);
  else if (samples) status = mlaf_db_each_device(db, device_samples, &q, &c->err);
  else status = show_choices(&l, db, &c->err);
  if (status == MLAF_OK) status = q.status;
  if (outer_only && status == MLAF_OK && !l.rows) {
    c->err = missing;
    status = missing.status;
  }
  if (l.rows || status != MLAF_OK) mlaf_cli_table_end(l.table);
  else {
    mlaf_cli_table_drop(l.table);
    mlaf_cli_table_end(mlaf_cli_table_new((const char *const[]){"nothing to show", NULL}));
  }
  mlaf_db_close(db);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}

/* --- export and import --- */
static int export_text(cli *c) {
  if (c->n_arguments != 1) return mlaf_cli_usage(c, "db export takes no argument: name the file with --out");
  mlaf_db *db = NULL;
  mlaf_text text = MLAF_TEXT_INIT(TEXT_MAX);
  mlaf_status status = mlaf_cli_open_db(c, true, &db);
  if (status == MLAF_OK) status = mlaf_db_export(db, c->given[O_DEVICE_ID], &text, &c->err);
  if (status == MLAF_OK && c->given[O_OUT]) status = mlaf_file_write(c->given[O_OUT], text.data, text.len, &c->err);
  else if (status == MLAF_OK) fwrite(text.data, 1, text.len, stdout);
  mlaf_text_free(&text);
  mlaf_db_close(db);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}

static mlaf_status read_stdin(char **out, mlaf_err *err) {
  mlaf_text text = MLAF_TEXT_INIT(TEXT_MAX);
  char block[65536];
  size_t n;
  while ((n = fread(block, 1, sizeof block, stdin)) > 0) mlaf_text_add(&text, block, n);
  if (ferror(stdin)) {
    mlaf_text_free(&text);
    return mlaf_fail(err, MLAF_E_IO, "stdin could not be read");
  }
  *out = mlaf_text_take(&text);
  return *out ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "more than %zu MiB on stdin", TEXT_MAX >> 20);
}

static int import_text(cli *c) {
  if (c->n_arguments != 2) return mlaf_cli_usage(c, "db import wants a file (- for stdin)");
  const char *path = c->arguments[1];
  mlaf_db *db = NULL;
  void *text = NULL;
  size_t size, n = 0;
  mlaf_status status = strcmp(path, "-") == 0 ? read_stdin((char **)&text, &c->err)
                                              : mlaf_file_take(path, TEXT_MAX, &text, &size, &c->err);
  const bool dry = mlaf_cli_has(c, O_DRY_RUN);
  if (status == MLAF_OK) status = mlaf_cli_open_target(c, &db);
  if (status == MLAF_OK) status = mlaf_db_import(db, text, &n, &c->err);
  free(text);
  if (status == MLAF_OK && c->json) {
    mlaf_cli_print("import", TEXT("file", path), TEXT("database", mlaf_db_path(db)), NUMBER("choices", n),
                   FLAG("dry_run", dry));
  } else if (status == MLAF_OK) {
    printf("%zu choices %s from %s into %s\n", n, dry ? "would be read" : "read", path, mlaf_db_path(db));
  }
  mlaf_db_close(db);
  if (status == MLAF_OK) return CLI_OK;
  /* what is wrong is the file's content, a finding; nothing of it was taken */
  int code = status == MLAF_E_ARG ? CLI_FINDINGS : mlaf_cli_exit(status);
  if (status == MLAF_E_ARG) mlaf_fail_prefix(&c->err, MLAF_E_ARG, "%s", path);
  mlaf_cli_fail(c);
  return code;
}

int mlaf_cli_db(cli *c) {
  static const struct {
    const char *name;
    int (*run)(cli *c);
  } tools[] = {{"show", show},           {"why", mlaf_cli_db_why},     {"diff", mlaf_cli_db_diff}, {"merge", mlaf_cli_db_merge},
               {"check", mlaf_cli_db_check}, {"gc", mlaf_cli_db_gc},   {"export", export_text},    {"import", import_text}};
  static const char all[] = "show, why PROBLEM, diff OLD NEW, merge FILES, check, gc, export, import FILE";
  const char *what = c->n_arguments ? c->arguments[0] : NULL;
  if (!what) return mlaf_cli_usage(c, "db wants one of: %s", all);
  for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
    if (strcmp(what, tools[i].name) == 0) return tools[i].run(c);
  return mlaf_cli_usage(c, "'%s' is nothing db can do: %s", what, all);
}
