/* model-report [POINTS.tsv [FOLDER [FILTER]]]: the emulator's timing model against published figures.
 * Runs the microbenchmarks, and, given a folder with AITER's gfx942 code objects, its decode kernels; prints a table. */
#include <math.h>

#include "model_report.h"

enum { MAX_POINTS = 128 };

static bool parse(char *line, report_point *p) {
  char *f[10], *save = NULL;
  int n = 0;
  memset(p, 0, sizeof *p);
  for (char *s = strtok_r(line, "\t\n", &save); s && n < 10; s = strtok_r(NULL, "\t\n", &save)) f[n++] = s;
  if (n != 10) return false;
  snprintf(p->id, sizeof p->id, "%s", f[0]);
  snprintf(p->use, sizeof p->use, "%s", f[1]);
  snprintf(p->subject, sizeof p->subject, "%s", f[2]);
  snprintf(p->unit, sizeof p->unit, "%s", f[8]);
  snprintf(p->source, sizeof p->source, "%s", f[9]);
  p->heads = atoi(f[3]), p->batch = atoi(f[4]), p->ctx = atoi(f[5]), p->splits = atoi(f[6]);
  const char *dash = strchr(f[5], '-');
  if (dash) p->ctx_from = p->ctx, p->ctx = atoi(dash + 1);
  p->published = atof(f[7]);
  if (strcmp(p->use, "peer") == 0) return true; /* modelled only, to stand beside our own kernels */
  return p->published > 0 && (strcmp(p->use, "fit") == 0 || strcmp(p->use, "held") == 0);
}

static int read_points(const char *path, report_point *p) {
  char line[512];
  int n = 0;
  FILE *f = fopen(path, "r");
  if (!f) return fprintf(stderr, "model-report: cannot open %s\n", path), -1;
  while (n >= 0 && n < MAX_POINTS && fgets(line, sizeof line, f)) {
    if (line[0] == '#') continue;
    if (parse(line, &p[n])) n++;
    else n = fprintf(stderr, "model-report: bad line in %s near '%s'\n", path, line) * 0 - 1;
  }
  fclose(f);
  return n;
}

/* A kernel point in the figure's unit and, for ranks, in microseconds. */
static bool run_kernel(emu_asm *a, const char *folder, report_point *p) {
  double us = 0, less = 0, gflop = 2e-9 * p->batch * p->heads * p->ctx * 1088.0;
  if (!report_aiter(a, folder, p, p->ctx, &us)) return false;
  if (p->ctx_from && !report_aiter(a, folder, p, p->ctx_from, &less)) return false;
  us -= less;
  bool rate = strcmp(p->unit, "TF") == 0;
  p->us[0] = rate ? gflop / p->published * 1e3 : p->published;
  p->us[1] = us;
  p->modelled = rate ? gflop / us * 1e3 : us;
  return true;
}

/* --- statistics --- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double rank_of(const double *v, int n, double x) {
  double below = 0, same = 0;
  for (int i = 0; i < n; i++) below += v[i] < x, same += v[i] == x;
  return below + (same + 1) / 2; /* ties share the mean rank */
}

static double spearman(const double *x, const double *y, int n) {
  double sxy = 0, sxx = 0, syy = 0, mean = (n + 1) / 2.0;
  for (int i = 0; i < n; i++) {
    double a = rank_of(x, n, x[i]) - mean, b = rank_of(y, n, y[i]) - mean;
    sxy += a * b, sxx += a * a, syy += b * b;
  }
  return sxx > 0 && syy > 0 ? sxy / sqrt(sxx * syy) : NAN;
}

static void summary(const report_point *p, int n, const char *use) {
  double x[MAX_POINTS], y[MAX_POINTS], e[MAX_POINTS];
  int kernels = 0, all = 0;
  for (int i = 0; i < n; i++) {
    if (!p[i].ran || strcmp(p[i].use, use) != 0) continue;
    e[all++] = fabs(p[i].modelled / p[i].published - 1);
    if (p[i].heads) x[kernels] = p[i].us[0], y[kernels++] = p[i].us[1];
  }
  if (!all) return;
  qsort(e, (size_t)all, sizeof *e, ascending);
  int p90 = (int)ceil(0.9 * all) - 1;
  double median = all % 2 ? e[all / 2] : (e[all / 2 - 1] + e[all / 2]) / 2;
  printf("\n%s: %d points, absolute error median %.0f %%, 90th percentile %.0f %%, worst %.0f %%", use, all, 100 * median,
         100 * e[p90], 100 * e[all - 1]);
  if (kernels > 2) printf("; Spearman rank correlation of %d kernel times %.3f", kernels, spearman(x, y, kernels));
  printf("\n");
}

int main(int argc, char **argv) {
  static report_point p[MAX_POINTS];
  emu_asm a;
  int n = read_points(argc > 1 ? argv[1] : "docs/published-mi300x.tsv", p), failed = 0;
  if (n < 0) return 2;
  setenv("MLAF_EMU_STRICT", "none", 0); /* this judges time; what the checks say of these kernels is another report's */
  if (!emu_asm_open(&a)) return fprintf(stderr, "model-report: %s\n", a.err.text), 1;
  printf("| point | use | published | modelled | unit | ratio | source |\n|---|---|---|---|---|---|---|\n");
  for (int i = 0; i < n; i++) {
    bool micro = strncmp(p[i].subject, "micro:", 6) == 0;
    if (argc > 3 && !strstr(p[i].id, argv[3])) continue;
    if (!micro && argc <= 2) continue;
    p[i].ran = micro ? report_micro(&a, p[i].subject + 6, &p[i].modelled) : run_kernel(&a, argv[2], &p[i]);
    failed += !p[i].ran;
    if (!p[i].ran) fprintf(stderr, "model-report: %s: %s\n", p[i].id, a.err.text);
    else if (p[i].published == 0) printf("| %s | %s | - | %.4g | %s | - | - |\n", p[i].id, p[i].use, p[i].modelled, p[i].unit);
    else printf("| %s | %s | %g | %.4g | %s | %.2f | %s |\n", p[i].id, p[i].use, p[i].published, p[i].modelled, p[i].unit,
                p[i].modelled / p[i].published, p[i].source);
    fflush(stdout);
  }
  summary(p, n, "fit");
  summary(p, n, "held");
  emu_asm_close(&a);
  return failed ? 1 : 0;
}
