/* emu-times PROBLEM...: modelled time of every candidate of each problem, as lines of tests/lua/emulator_times.tsv, by which
 * gen/ops/mla_decode/model.lua is judged. A candidate that fails is named on stderr and left out. EMU_TIMES_SHARE=N takes one
 * decode kernel of N, chosen by a hash of its name, with all its splits. */
#include "check/bench.h"
#include "rig.h"
#include "point.h"

static bool timed(rig *r, mlaf_bench *bench, const mlaf_problem *p, const mlaf_variant *v, double *us) {
  mlaf_loaded *l = rig_load(r, p, v);
  mlaf_timing t;
  mlaf_err err;
  bool ok = mlaf_bench_time(bench, l, NULL, &t, &err) == MLAF_OK;
  if (ok) *us = t.ns / 1e3;
  else fprintf(stderr, "%s: %s\n", v->name, err.text);
  mlaf_loaded_close(l);
  return ok;
}

static bool taken(const mlaf_variant *v) {
  const char *share = getenv("EMU_TIMES_SHARE");
  uint32_t hash = 2166136261u; /* FNV-1a of what stands before the splits */
  for (const char *c = v->name; *c && *c != '/'; c++) hash = (hash ^ (uint8_t)*c) * 16777619u;
  return !v->rejected && (hash >> 8) % (share && atoi(share) > 0 ? (uint32_t)atoi(share) : 1) == 0;
}

/* Kernels are compiled by the pool first: one after another would take its workers' number of times as long. */
static void compile_all(rig *r, const rig_candidates *c) {
  const mlaf_variant **v = calloc(c->n_all + 1, sizeof *v);
  size_t n = 0;
  for (size_t i = 0; i < c->n_all; i++)
    if (taken(&c->all[i])) v[n++] = &c->all[i];
  rig_compile(r, v, n);
  free(v);
}

int main(int argc, char **argv) {
  rig r;
  rig_open(&r);
  for (int i = 1; i < argc; i++) {
    mlaf_problem p = rig_problem(argv[i]);
    mlaf_bench_opts opts = {.data = {.seed = 1}};
    mlaf_bench *bench;
    rig_candidates c;
    mlaf_err err;
    rig_candidates_make(&r, &p, &c);
    compile_all(&r, &c);
    if (mlaf_bench_create(r.dev, pt(&p), &opts, &bench, &err)) return fprintf(stderr, "%s\n", err.text), 1;
    for (size_t k = 0; k < c.n_all; k++) {
      double us;
      if (!taken(&c.all[k]) || !timed(&r, bench, &p, &c.all[k], &us)) continue;
      printf("%s\t%s\t%.2f\n", argv[i], c.all[k].name, us);
      fflush(stdout);
    }
    mlaf_bench_free(bench);
    rig_candidates_free(&c);
  }
  rig_close(&r);
  return 0;
}
