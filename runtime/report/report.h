/* The report: what the database knows of one device, gathered, and the page made of it. */
#pragma once

#include "base/base.h"
#include "db/db.h"
#include "op/nearest.h"
#include "tune/tune.h"

/* One tuned problem. Times in ns; 0: not known. */
typedef struct report_point {
  mlaf_point problem;
  int32_t across, down; /* sizes of the problem as the plots have them: the last one, and the one before it (0: there is none) */
  mlaf_choice choice;
  mlaf_timing timing;      /* of the chosen variant, with its parts; n_parts 0: imported, no sample here */
  double floor_ns;         /* roofline: the larger of bytes over bandwidth and flops over peak */
  bool memory_bound;       /* which of the two it is */
  double first_ns;         /* the model's first pick: what a plan takes when nothing was tuned */
  double baseline_ns;      /* the variant that always works */
  size_t samples, failures;
  mlaf_guess guess;        /* of the model, among the samples; of 0: there is none */
} report_point;

/* A layer's choice for a class of tokens (mla_layer:...), and the next fastest; *next "": nothing else was timed. */
typedef struct report_layer {
  mlaf_choice choice;
  char next[64];
  double next_ns;
} report_layer;

typedef struct report_miss {
  mlaf_point problem;
  int32_t across, down;
  int64_t count;
} report_miss;

typedef struct report_device {
  char id[160], target[64];
  report_point *points; /* by family, then batch, then ctx */
  size_t n;
  report_layer *layers;
  size_t n_layers;
  report_miss *misses;
  size_t n_misses;
} report_device;

/* Those sizes. */
int32_t mlaf_report_across(const mlaf_point *p);
int32_t mlaf_report_down(const mlaf_point *p);
/* "batch 64, ctx 4096" */
const char *mlaf_report_sizes(const mlaf_point *p, char out[80]);
/* Names of those fields, "cached tokens of a request, as tuned for"; "" where there is none. */
const char *mlaf_report_across_about(const mlaf_point *p);
const char *mlaf_report_down_name(const mlaf_point *p);
void mlaf_report_family(const mlaf_point *p, char *out, size_t size);
void mlaf_report_escaped(mlaf_text *t, const char *text);

/* --- report_plots.c: inline SVG; `p`, `n` are one family's points --- */
void mlaf_report_roofline(mlaf_text *t, const report_point *p, size_t n);
void mlaf_report_coverage(mlaf_text *t, const report_point *p, size_t n, const report_miss *misses, size_t n_misses);
void mlaf_report_speedup(mlaf_text *t, const report_point *p, size_t n);
void mlaf_report_parts(mlaf_text *t, const report_point *p, size_t n);

/* --- report_page.c --- */
/* Up to and with the heading; </body></html> ends a page. */
void mlaf_report_head(mlaf_text *t, const char *title);
void mlaf_report_page(mlaf_text *t, const char *database, const report_device *devices, size_t n);

/* --- trace.c --- */
/* A Chrome trace of the waves of one CU, at most about 16 MB; one process per launch. */
mlaf_status mlaf_report_trace(const char *path, const struct mlaf_profile *p, size_t n, mlaf_err *err);
