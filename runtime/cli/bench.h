/* `mlaforge bench` in parts: which cases, running one, printing. */
#pragma once

#include "cli/cli.h"
#include "check/bench.h"
#include "check/ceilings.h"

/* --- bench_cases.c --- */
typedef struct bench_case {
  char set[16];          /* of tuning/peer-sets.tsv; "": none */
  mlaf_point problem;
  const int32_t *tokens; /* lengths of the requests, of one allocation of the list; NULL: by --lengths */
} bench_case;
typedef struct bench_cases {
  bench_case *list;
  size_t n;
  int32_t *tokens;
} bench_cases;
/* --set's cases, else those of the command line's grid, --heads a list too. */
mlaf_status mlaf_cli_bench_cases(cli *c, bench_cases *out);
void mlaf_cli_bench_cases_free(bench_cases *cases);

/* --- cmd_bench.c --- */
/* Figures of a case. */
typedef struct bench_figures {
  mlaf_timing timing;
  mlaf_work work;
  double floor_ns; /* by the ceilings of this run: KV read once, or the flops */
  bool compute_bound, verified;
  double error;    /* on the timed data; with `verified` only */
  int64_t tokens;
  int sets;
} bench_figures;

/* --- bench_print.c --- */
typedef struct bench_out {
  const cli *c;
  const mlaf_ceilings *ceilings;
  FILE *csv; /* NULL: none */
  bool many, hot;
  double fastest_gbs; /* of the cases so far, in cache bytes, each read once */
} bench_out;
void mlaf_cli_bench_ceilings(const bench_out *o);
void mlaf_cli_bench_head(const bench_out *o);
void mlaf_cli_bench_print(const bench_out *o, const bench_case *x, const cli_subject *s, const bench_figures *f);
/* Ends a bench: says when a kernel read faster than the measured ceiling. */
void mlaf_cli_bench_end(const bench_out *o);
/* A case that has no figures. */
void mlaf_cli_bench_failed(const bench_out *o, const bench_case *x, const cli_subject *s, const mlaf_err *why);
