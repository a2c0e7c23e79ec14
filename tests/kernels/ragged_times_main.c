/* emu-ragged PROBLEM VARIANT...: modelled time of each variant over batches of equal and of different lengths with ctx tokens on
 * average, checked against fp64: the table of docs/lab/archive/perf-log/gfx942-ragged.md. A variant without splits
 * ("mfma_reg:...,waves=4") takes those that the closed form gives it. MLAF_RAGGED_ALL=1 records every
 * workgroup, too, and prints how far the sample is off. */
#include "check/bench.h"
#include "emu/timing.h"
#include "ragged.h"
#include "rig.h"
#include "point.h"

static mlaf_loaded *load(rig *r, const mlaf_problem *p, const char *name, char full[256]) {
  mlaf_variant v;
  mlaf_err err;
  char text[256];
  snprintf(text, sizeof text, "%s%s", name, strchr(name, '/') ? "" : "/s1");
  if (strchr(name, '/') ? mlaf_gen_variant(r->gen, mlaf_point_text(pt(p)).s, "gfx942", text, &v, &err)
                        : mlaf_gen_refit(r->gen, mlaf_point_text(pt(p)).s, "gfx942", text, &v, &err)) {
    fprintf(stderr, "%s\n", err.text);
    return NULL;
  }
  mlaf_loaded *l = rig_load(r, p, &v);
  snprintf(full, 256, "%s", v.name);
  mlaf_variant_clear(&v);
  return l;
}

static bool time_one(rig *r, mlaf_bench *b, const mlaf_loaded *l, const char *what, const char *name) {
  mlaf_prepared x;
  mlaf_timing t;
  mlaf_err err;
  double error = 0, all = 0;
  const emu_time_how how = {.uneven = true}, every = {.all = true};
  mlaf_status st = mlaf_bench_check(b, l, &error, &err);
  if (!st) st = mlaf_bench_prepare(b, l, mlaf_loaded_knob(l), &x, &err);
  if (!st) st = emu_time_how_to((emu_device *)r->dev, x.launches, x.n, &how, &t, &err);
  const double ns = t.ns;
  char detail[sizeof t.detail];
  snprintf(detail, sizeof detail, "%s", t.detail);
  if (!st && getenv("MLAF_RAGGED_ALL")) {
    st = emu_time_how_to((emu_device *)r->dev, x.launches, x.n, &every, &t, &err);
    all = t.ns;
  }
  if (st) return fprintf(stderr, "%s: %s\n", name, err.text), false;
  printf("| %s | %s | %.1f | %.1e |", what, name, ns / 1e3, error);
  if (all > 0) printf(" %.1f | %+.1f %% |", all / 1e3, 100 * (ns / all - 1));
  printf(" %s |\n", detail);
  fflush(stdout);
  return true;
}

int main(int argc, char **argv) {
  rig r;
  bool good = argc > 2;
  if (!good) return fprintf(stderr, "usage: emu-ragged PROBLEM VARIANT...\n"), 2;
  rig_open(&r);
  mlaf_problem p = rig_problem(argv[1]);
  int32_t *tokens = calloc((size_t)p.batch, sizeof *tokens);
  const char *only = getenv("MLAF_RAGGED_KIND");
  for (int kind = 0; kind < RAGGED_KINDS; kind++) {
    if (only && strcmp(only, ragged_names[kind])) continue;
    ragged_draw((ragged_kind)kind, p.ctx, p.batch, 7, tokens);
    mlaf_bench_opts opts = {.data = {.seed = 1, .tokens = tokens, .cache_limit = INT64_C(1) << 29}};
    mlaf_bench *b;
    mlaf_err err;
    if (mlaf_bench_create(r.dev, pt(&p), &opts, &b, &err)) return fprintf(stderr, "%s\n", err.text), 1;
    for (int i = 2; i < argc; i++) {
      char name[256];
      mlaf_loaded *l = load(&r, &p, argv[i], name);
      good = l && time_one(&r, b, l, ragged_names[kind], name) && good;
      mlaf_loaded_close(l);
    }
    mlaf_bench_free(b);
  }
  free(tokens);
  rig_close(&r);
  return !good;
}
