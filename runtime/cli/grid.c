/* Grids of problems: lists and doubling ranges of batch, ctx and tp, times a list of models. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "mlaf_limits.h"

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
  snprintf(copy, sizeof copy, "%.*s", (int)length, name);
  const mlaf_model *m = length < sizeof copy ? mlaf_model_find(copy) : NULL;
  if (!m) return unknown_model(c, name, length);
  for (size_t i = 0; i < out->n; i++)
    if (out->list[i] == m) return MLAF_OK; /* named twice */
  if (out->n == CLI_MODELS_MAX) return mlaf_fail(&c->err, MLAF_E_ARG, "more than %d models", CLI_MODELS_MAX);
  out->list[out->n++] = m;
  return MLAF_OK;
}

/* NAME,NAME or @FILE with names separated by commas or white space, # to the end of a line being a comment. */
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
  char x[MLAF_PROBLEM_TEXT_MAX], y[MLAF_PROBLEM_TEXT_MAX];
  const mlaf_problem *p = a, *q = b;
  /* small problems first: what they compile serves the large ones, and the first results come early */
  double left = (double)p->batch * p->ctx * p->heads, right = (double)q->batch * q->ctx * q->heads;
  if (left != right) return left < right ? -1 : 1;
  mlaf_problem_print(p, x, sizeof x);
  mlaf_problem_print(q, y, sizeof y);
  return strcmp(x, y);
}

static void unique(cli_problems *g) {
  size_t kept = 0;
  qsort(g->list, g->n, sizeof *g->list, by_text);
  for (size_t i = 0; i < g->n; i++)
    if (!kept || by_text(&g->list[kept - 1], &g->list[i]) != 0) g->list[kept++] = g->list[i];
  g->n = kept;
}

static mlaf_status append(cli *c, cli_problems *g, const mlaf_problem *p) {
  if (g->n == GRID_MAX) return mlaf_fail(&c->err, MLAF_E_ARG, "the grid has more than %d problems", GRID_MAX);
  if (g->n % 1024 == 0) {
    mlaf_problem *grown = realloc(g->list, (g->n + 1024) * sizeof *grown);
    if (!grown) return mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for a grid");
    g->list = grown;
  }
  g->list[g->n++] = *p;
  return MLAF_OK;
}

static mlaf_status add_shapes(cli *c, cli_problems *g, mlaf_problem p, const cli_axis *batch, const cli_axis *ctx) {
  char why[400];
  for (size_t b = 0; b < batch->n; b++)
    for (size_t s = 0; s < ctx->n; s++) {
      p.batch = batch->values[b];
      p.ctx = ctx->values[s];
      if (mlaf_problem_check(&p, why, sizeof why) != MLAF_OK) return mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s", why);
      mlaf_status status = append(c, g, &p);
      if (status != MLAF_OK) return status;
    }
  return MLAF_OK;
}

/* Of the options, of which --heads may be a list: then `heads` is its member. */
static mlaf_status shape_of(cli *c, const int32_t *heads, mlaf_problem *p) {
  mlaf_status status = mlaf_cli_shape(c, p);
  if (heads) p->heads = *heads;
  return status;
}

/* With several models some are not divided by every tp: those pairs are left out, and it is said. */
static mlaf_status add_models(cli *c, cli_problems *g, mlaf_problem p, const int32_t *heads, const cli_axis *tp,
                              const cli_axis *batch, const cli_axis *ctx) {
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
      p.heads = x->heads / tp->values[t];
      p.rank = x->rank;
      p.rope = x->rope;
      status = shape_of(c, heads, &p);
      if (status == MLAF_OK) status = add_shapes(c, g, p, batch, ctx);
    }
  return status;
}

static mlaf_status axis_or(cli *c, cli_opt o, const char *name, int32_t otherwise, long long high, cli_axis *out) {
  char text[16];
  snprintf(text, sizeof text, "%d", otherwise);
  return mlaf_cli_axis(name, c->given[o] ? c->given[o] : text, 1, high, out, &c->err);
}

/* The grid of one of --heads (NULL: not given); appends. */
static mlaf_status add_grid(cli *c, const int32_t *heads, cli_problems *out) {
  char why[512] = "";
  mlaf_problem p = MLAF_PROBLEM_INIT;
  cli_axis tp = {NULL, 0}, batch = {NULL, 0}, ctx = {NULL, 0};
  const char *text = c->n_arguments ? c->arguments[c->n_arguments - 1] : NULL;
  mlaf_status status = mlaf_cli_named(c, text);
  if (status == MLAF_OK && text && mlaf_problem_parse(text, &p, why, sizeof why) != MLAF_OK)
    status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "'%s': %s", text, why);
  if (status == MLAF_OK) status = axis_or(c, O_TP, "tp", 1, 1024, &tp);
  if (status == MLAF_OK) status = axis_or(c, O_BATCH, "batch", p.batch, MLAF_BATCH_MAX, &batch);
  if (status == MLAF_OK) status = axis_or(c, O_CTX, "ctx", p.ctx, MLAF_CTX_MAX, &ctx);
  if (status == MLAF_OK && mlaf_cli_has(c, O_MODEL)) status = add_models(c, out, p, heads, &tp, &batch, &ctx);
  else if (status == MLAF_OK) {
    status = shape_of(c, heads, &p);
    if (status == MLAF_OK) status = add_shapes(c, out, p, &batch, &ctx);
  }
  if (status == MLAF_OK && !out->n)
    status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "the grid is empty: no --tp divides the heads of any --model");
  free(tp.values);
  free(batch.values);
  free(ctx.values);
  return status;
}

/* --heads N,M,...: a grid for each. */
static mlaf_status add_heads(cli *c, cli_problems *out) {
  cli_axis heads = {NULL, 0};
  mlaf_status status = mlaf_cli_axis("heads", c->given[O_HEADS], INT_MIN, INT_MAX, &heads, &c->err);
  for (size_t h = 0; status == MLAF_OK && h < heads.n; h++) status = add_grid(c, &heads.values[h], out);
  free(heads.values);
  return status;
}

/* @FILE: problem strings, one a line; # begins a comment. */
static mlaf_status add_file(cli *c, const char *path, cli_problems *out) {
  void *file = NULL;
  size_t size;
  int line = 0;
  static const cli_opt others[] = {O_MODEL, O_HEADS, O_TP, O_BATCH, O_CTX};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (c->given[others[i]]) return mlaf_fail(&c->err, MLAF_E_ARG, "@%s names whole problems: give no other grid", path);
  mlaf_status status = mlaf_file_take(path, PROBLEMS_FILE_MAX, &file, &size, &c->err);
  for (char *at = file, *end; status == MLAF_OK && at && *at; at = end) {
    char text[MLAF_PROBLEM_TEXT_MAX + 8] = "", why[400];
    mlaf_problem p;
    end = at + strcspn(at, "\n");
    line++;
    at += strspn(at, " \t");
    snprintf(text, sizeof text, "%.*s", (int)strcspn(at, " \t\r\n#"), at);
    if (*end) end++;
    if (!*text) continue;
    if (mlaf_problem_parse(text, &p, why, sizeof why) != MLAF_OK)
      status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s:%d: '%s': %s", path, line, text, why);
    else status = append(c, out, &p);
  }
  free(file);
  if (status == MLAF_OK && !out->n) status = mlaf_fail(&c->err, MLAF_E_PROBLEM, "%s names no problem", path);
  return status;
}

mlaf_status mlaf_cli_problems(cli *c, cli_problems *out) {
  const char *text = c->n_arguments ? c->arguments[c->n_arguments - 1] : "";
  *out = (cli_problems){NULL, 0};
  mlaf_status status = c->given[O_SET]     ? mlaf_cli_peer_problems(c, out)
                       : *text == '@'      ? add_file(c, text + 1, out)
                       : c->given[O_HEADS] ? add_heads(c, out)
                                           : add_grid(c, NULL, out);
  if (status == MLAF_OK) unique(out);
  else mlaf_cli_problems_free(out);
  return status;
}

void mlaf_cli_problems_free(cli_problems *g) {
  free(g->list);
  *g = (cli_problems){NULL, 0};
}
