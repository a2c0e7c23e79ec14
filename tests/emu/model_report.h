/* model-report: the timing model against published figures. Its three parts. */
#pragma once

#include "emu_asm.h"

/* One line of docs/lab/published-mi300x.tsv. */
typedef struct report_point {
  char id[32], use[8], subject[96], unit[12], source[96];
  int heads, batch, ctx, ctx_from, splits; /* ctx_from: the shorter of two runs whose difference is the figure, or 0 */
  double published, modelled;
  double us[2];                            /* published and modelled time of a kernel point */
  bool ran;
} report_point;

/* model_report_points.c */
enum { REPORT_POINTS = 128 };
/* Lines of the list: their number, or -1 after saying on stderr what is wrong. `p` has room for REPORT_POINTS. */
int report_read(const char *path, report_point *p);
/* Both figures of a kernel point in microseconds, and the modelled one in the figure's unit. */
void report_kernel(report_point *p, double us);

/* Errors are |modelled / published - 1|. */
typedef struct report_errors {
  int n, kernels;
  double median, mean, p90, worst;
  double spearman; /* of the kernel times, at three digits, as they are published; NAN for fewer than three */
} report_errors;
/* Errors of the points of one use that were run. */
report_errors report_judge(const report_point *p, int n, const char *use);

/* model_report_micro.c: assemble, run and time one microbenchmark, in the point's unit. */
bool report_micro(emu_asm *a, const char *name, double *value);
/* model_report_aiter.c: modelled microseconds of stage 1 and merge of one of AITER's decode kernels. */
bool report_aiter(emu_asm *a, const char *folder, const report_point *p, int ctx, double *us);
