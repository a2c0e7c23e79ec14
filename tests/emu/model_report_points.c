/* The list of published figures, and how far the model is from them. */
#include "model_report.h"

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

int report_read(const char *path, report_point *p) {
  char line[512];
  int n = 0;
  FILE *f = fopen(path, "r");
  if (!f) return fprintf(stderr, "cannot open %s\n", path), -1;
  while (n >= 0 && n < REPORT_POINTS && fgets(line, sizeof line, f)) {
    if (line[0] == '#') continue;
    if (parse(line, &p[n])) n++;
    else n = fprintf(stderr, "bad line in %s near '%s'\n", path, line) * 0 - 1;
  }
  fclose(f);
  return n;
}

void report_kernel(report_point *p, double us) {
  double gflop = 2e-9 * p->batch * p->heads * p->ctx * 1088.0;
  bool rate = strcmp(p->unit, "TF") == 0;
  p->us[0] = rate ? gflop / p->published * 1e3 : p->published;
  p->us[1] = us;
  p->modelled = rate ? gflop / us * 1e3 : us;
}

/* --- statistics --- */

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

/* At three digits: what differs by less is a tie. */
static double rounded(double x) {
  if (!(x > 0)) return x;
  double unit = pow(10, floor(log10(x)) - 2);
  return round(x / unit) * unit;
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

report_errors report_judge(const report_point *p, int n, const char *use) {
  double x[REPORT_POINTS], y[REPORT_POINTS], e[REPORT_POINTS];
  report_errors r = {.spearman = NAN};
  for (int i = 0; i < n; i++) {
    if (!p[i].ran || strcmp(p[i].use, use) != 0) continue;
    e[r.n] = fabs(p[i].modelled / p[i].published - 1);
    r.mean += e[r.n++];
    if (p[i].heads) x[r.kernels] = rounded(p[i].us[0]), y[r.kernels++] = rounded(p[i].us[1]);
  }
  if (!r.n) return r;
  qsort(e, (size_t)r.n, sizeof *e, ascending);
  r.mean /= r.n;
  r.median = r.n % 2 ? e[r.n / 2] : (e[r.n / 2 - 1] + e[r.n / 2]) / 2;
  r.p90 = e[(int)ceil(0.9 * r.n) - 1];
  r.worst = e[r.n - 1];
  if (r.kernels > 2) r.spearman = spearman(x, y, r.kernels);
  return r;
}
