/* Grids of problems: lists and doubling ranges of batch, ctx and tp, times a list of models. */
#include <ctype.h>
#include <limits.h>

#include "cli/cli.h"
#include "op/calls.h"

enum { AXIS_MAX = 4096, GRID_MAX = 1 << 20, MODELS_FILE_MAX = 1 << 20, PROBLEMS_FILE_MAX = 1 << 24 };

/* --- one axis --- */
static int ascending(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* A number and what follows it; NULL: no number, or out of range. */
static const char *whole(const char *text, long long low, long long high, long long *out) {
  char *end;
  if (!isdigit((unsigned char)*text)) return NULL;
  *out = strtoll(text, &end, 10);
  return *out < low || *out > high ? NULL : end;
}

mlaf_status mlaf_cli_axis(const char *name, const char *text, long long low, long long high, cli_axis *out, mlaf_err *err) {
  int32_t *list = malloc(AXIS_MAX * sizeof *list);
  size_t n = 0, kept = 0;
  if (!list) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a grid");
  for (const char *at = text;; at++) {
    long long from, to;
    const char *rest = whole(at, low, high, &from);
    to = from;
    if (rest && *rest == ':') rest = whole(rest + 1, low, high, &to);
    if (!rest || (*rest && *rest != ',') || to < from || n + 40 > AXIS_MAX) {
      free(list);
      return mlaf_fail(err, MLAF_E_ARG,
                       "--%s '%s' at character %zu: numbers from %lld to %lld are wanted, separated by commas; A:B doubles "
                       "from A up to B (1,8,64:256 is 1,8,64,128,256)",
                       name, text, (size_t)(at - text) + 1, low, high);
    }
    for (long long v = from; v < to; v *= 2) list[n++] = (int32_t)v;
    list[n++] = (int32_t)to; /* B itself, whether or not doubling meets it */
    if (!*rest) break;
    at = rest;
  }
  qsort(list, n, sizeof *list, ascending);
  for (size_t i = 0; i < n; i++)
    if (!kept || list[kept - 1] != list[i]) list[kept++] = list[i];
  *out = (cli_axis){list, kept};
  return MLAF_OK;
}

/* --- models --- */
static mlaf_status unknown_model(cli *c, const char *name, size_t length) {
  mlaf_text names = MLAF_TEXT_INIT(2000);
  for (size_t i = 0; mlaf_model_at(i); i++) mlaf_text_fmt(&names, "%s%s", i ? ", " : "", mlaf_model_at(i)->name);
  mlaf_fail(&c->err, MLAF_E_PROBLEM, "no shipped model is called '%.*s'; known are: %s", (int)(length > 80 ? 80 : length), name,
            names.data ? names.data : "none");
  mlaf_text_free(&names);
  return MLAF_E_PROBLEM;
}

static mlaf_status add_model(cli *c, cli_models *out, const char *name, size_t length) {
  char copy[80];
  mlaf_status st = MLAF_OK;
  snprintf(copy, sizeof copy, "%.*s", (int)length, name);
  if (!strcmp(copy, "all")) {
    const mlaf_model *m;
    for (size_t i = 0; !st && (m = mlaf_model_at(i)); i++) st = add_model(c, out, m->name, strlen(m->name));
    return st;
  }
  const mlaf_model *m = length < sizeof copy ? mlaf_model_find(copy) : NULL;
  if (!m) return unknown_model(c, name, length);
  for (size_t i = 0; i < out->n; i++)
    if (out->list[i] == m) return MLAF_OK; /* named twice */
  if (out->n == CLI_MODELS_MAX) return mlaf_fail(&c->err, MLAF_E_ARG, "more than %d models", CLI_MODELS_MAX);
  out->list[out->n++] = m;
  return MLAF_OK;
}

/* NAME,NAME, all of them, or @FILE with names separated by commas or white space, # to the end of a line being a comment. */
mlaf_status mlaf_cli_models(cli *c, cli_models *out) {
  void *file = NULL;
  size_t size;
  mlaf_status status = MLAF_OK;
  const char *text = c->given[O_MODEL];
  out->n = 0;
  if (*text == '@') {
    status = mlaf_file_take(text + 1, MODELS_FILE_MAX, &file, &size, &c->err);
    if (status != MLAF_OK) return status;
    text = file;
  }
  const char *between = file ? ", \t\r\n" : ",";
  for (const char *at = text; status == MLAF_OK && *at;) {
    size_t length = strcspn(at, file ? ", \t\r\n#" : ",");
    if (length) status = add_model(c, out, at, length);
    at += length;
    if (file && *at == '#') at += strcspn(at, "\n");
    at += strspn(at, between);
  }
  if (status == MLAF_OK && !out->n) status = mlaf_fail(&c->err, MLAF_E_ARG, "--model '%s' names no model", c->given[O_MODEL]);
  free(file);
  return status;
}

/* --- the grid --- */
static int by_text(const void *a, const void *b) {
  char x[MLAF_POINT_TEXT_MAX], y[MLAF_POINT_TEXT_MAX];
  const mlaf_point *p = a, *q = b;
  /* small problems first: what they compile serves the large ones, and the first results come early */
  const mlaf_work a_work = p->op->calls->work(p), b_work = q->op->calls->work(q);
  const double left = a_work.bytes + a_work.flops, right = b_work.bytes + b_work.flops;
  if (left != right) return left < right ? -1 : 1;
  mlaf_point_print(p, x, sizeof x);
  mlaf_point_print(q, y, sizeof y);
  return strcmp(x, y);
}

void mlaf_cli_problems_sort(cli_problems *g) {
  size_t kept = 0;
  qsort(g->list, g->n, sizeof *g->list, by_text);
  for (size_t i = 0; i < g->n; i++)
    if (!kept || by_text(&g->list[kept - 1], &g->list[i]) != 0) g->list[kept++] = g->list[i];
  g->n = kept;
}

mlaf_status mlaf_cli_problems_add(cli *c, cli_problems *g, const mlaf_point *p) {
  if (g->n == GRID_MAX) return mlaf_fail(&c->err, MLAF_E_ARG, "the grid has more than %d problems", GRID_MAX);
  if (!mlaf_room(&g->list, g->n, sizeof *g->list)) return mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for a grid");
  g->list[g->n++] = *p;
  return MLAF_OK;
}

/* Every combination of what the options of fields list, from the i-th on, over p. */
static mlaf_status add_shapes(cli *c, cli_problems *g, mlaf_point p, int i, const cli_axis *axes) {
  char why[400];
  mlaf_status status = MLAF_OK;
  if (i == p.op->n_fields) {
    if (mlaf_point_check(&p, why, sizeof why) != MLAF_OK) return mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s", why);
    return mlaf_cli_problems_add(c, g, &p);
  }
  if (!axes[i].n) return add_shapes(c, g, p, i + 1, axes);
  for (size_t k = 0; status == MLAF_OK && k < axes[i].n; k++) {
    p.v[i] = axes[i].values[k];
    status = add_shapes(c, g, p, i + 1, axes);
  }
  return status;
}

static mlaf_status add_over(cli *c, cli_problems *g, mlaf_point p, const cli_axis *axes) {
  mlaf_status status = mlaf_cli_fields(c, &p);
  return status == MLAF_OK ? add_shapes(c, g, p, 0, axes) : status;
}

/* Adds every model with every tp. A tp that does not divide a model's heads is left out, with a warning. */
static mlaf_status add_models(cli *c, cli_problems *g, mlaf_point p, const cli_axis *tp, const cli_axis *axes) {
  cli_models models;
  mlaf_status status = mlaf_cli_models(c, &models);
  for (size_t m = 0; status == MLAF_OK && m < models.n; m++)
    for (size_t t = 0; status == MLAF_OK && t < tp->n; t++) {
      const mlaf_model *x = models.list[m];
      if (x->heads % tp->values[t]) {
        if (models.n == 1 && tp->n == 1)
          return mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s has %d heads, which --tp %d does not divide", x->name, x->heads,
                           tp->values[t]);
        mlaf_log_line(&c->log, MLAF_LOG_WARN, "left out: %s has %d heads, which --tp %d does not divide", x->name, x->heads,
                      tp->values[t]);
        continue;
      }
      mlaf_cli_set_model(&p, x, tp->values[t]);
      status = add_over(c, g, p, axes);
    }
  return status;
}

/* The grid of a string or of models, and the options over it. */
static mlaf_status add_grid(cli *c, cli_problems *out) {
  char why[512] = "";
  mlaf_point p;
  cli_axis tp = {NULL, 0}, axes[MLAF_FIELDS_MAX];
  const char *text = c->n_arguments ? c->arguments[c->n_arguments - 1] : NULL;
  mlaf_status status = mlaf_cli_named(c, text);
  mlaf_point_init(mlaf_cli_op(c), &p);
  if (status == MLAF_OK && text && mlaf_point_parse(NULL, text, &p, why, sizeof why) != MLAF_OK)
    status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "'%s': %s", text, why);
  if (status != MLAF_OK) return status;
  status = mlaf_cli_axis("tp", c->given[O_TP] ? c->given[O_TP] : "1", 1, 1024, &tp, &c->err);
  const mlaf_status lists = mlaf_cli_axes(c, p.op, axes);
  if (status == MLAF_OK) status = lists;
  if (status == MLAF_OK) status = mlaf_cli_has(c, O_MODEL) ? add_models(c, out, p, &tp, axes) : add_over(c, out, p, axes);
  if (status == MLAF_OK && !out->n)
    status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "the grid is empty: no --tp divides the heads of any --model");
  free(tp.values);
  mlaf_cli_axes_free(axes);
  return status;
}

/* @FILE: problem strings, one a line; # begins a comment. */
static mlaf_status add_file(cli *c, const char *path, cli_problems *out) {
  void *file = NULL;
  size_t size;
  int line = 0;
  mlaf_status status = mlaf_file_take(path, PROBLEMS_FILE_MAX, &file, &size, &c->err);
  for (char *at = file, *end; status == MLAF_OK && at && *at; at = end) {
    char text[MLAF_POINT_TEXT_MAX + 8] = "", why[400];
    mlaf_point p;
    end = at + strcspn(at, "\n");
    line++;
    at += strspn(at, " \t");
    snprintf(text, sizeof text, "%.*s", (int)strcspn(at, " \t\r\n#"), at);
    if (*end) end++;
    if (!*text) continue;
    if (mlaf_point_parse(NULL, text, &p, why, sizeof why) != MLAF_OK)
      status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s:%d: '%s': %s", path, line, text, why);
    else status = mlaf_cli_problems_add(c, out, &p);
  }
  free(file);
  if (status == MLAF_OK && !out->n) status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s names no problem", path);
  return status;
}

/* Problem strings and @FILEs, which say all of their problems. */
static mlaf_status add_whole(cli *c, cli_problems *out) {
  mlaf_status status = MLAF_OK;
  for (int o = O_FIELD; o <= O_TP; o++)
    if (c->given[o])
      return mlaf_fail(&c->err, MLAF_E_ARG, "%s names whole problems: give no other grid", c->arguments[c->n_arguments - 1]);
  for (int i = 0; status == MLAF_OK && i < c->n_arguments; i++) {
    const char *text = c->arguments[i];
    char why[400];
    mlaf_point p;
    if (*text == '@') status = add_file(c, text + 1, out);
    else if (mlaf_point_parse(NULL, text, &p, why, sizeof why) == MLAF_OK) status = mlaf_cli_problems_add(c, out, &p);
    else status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "'%s': %s", text, why);
  }
  return status;
}

mlaf_status mlaf_cli_problems(cli *c, cli_problems *out) {
  const bool whole = c->n_arguments > 1 || (c->n_arguments && *c->arguments[0] == '@');
  *out = (cli_problems){NULL, 0};
  mlaf_status status = c->given[O_SET] ? mlaf_cli_peer_problems(c, out) : whole ? add_whole(c, out) : add_grid(c, out);
  if (status == MLAF_OK) mlaf_cli_problems_sort(out);
  else mlaf_cli_problems_free(out);
  return status;
}

void mlaf_cli_problems_free(cli_problems *g) {
  free(g->list);
  *g = (cli_problems){NULL, 0};
}
