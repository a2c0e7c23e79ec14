/* model-report [--check | --sensitivity] [POINTS.tsv [FOLDER [FILTER]]]: the emulator's timing model against published figures.
 * Runs the microbenchmarks, and, given a folder with AITER's gfx942 code objects, its decode kernels; prints a table.
 *   --check        fails when the held-out points correlate less than 0.9 in rank, or their median error is above 25 %
 *   --sensitivity  instead: the errors with each fitted constant 30 % lower and higher */

#include "emu/arch_gfx942.h"
#include "model_report.h"

/* A kernel point in the figure's unit and, for ranks, in microseconds. */
static bool run_kernel(emu_asm *a, const char *folder, report_point *p) {
  double us = 0, less = 0;
  if (!report_aiter(a, folder, p, p->ctx, &us)) return false;
  if (p->ctx_from && !report_aiter(a, folder, p, p->ctx_from, &less)) return false;
  report_kernel(p, us - less);
  return true;
}

static bool run_point(emu_asm *a, const char *folder, report_point *p) {
  bool micro = strncmp(p->subject, "micro:", 6) == 0;
  return micro ? report_micro(a, p->subject + 6, &p->modelled) : run_kernel(a, folder, p);
}

static void print_point(const report_point *p) {
  if (p->published == 0) printf("| %s | %s | - | %.4g | %s | - | - |\n", p->id, p->use, p->modelled, p->unit);
  else printf("| %s | %s | %g | %.4g | %s | %.2f | %s |\n", p->id, p->use, p->published, p->modelled, p->unit,
              p->modelled / p->published, p->source);
  fflush(stdout);
}

static void summary(const report_errors *r, const char *use) {
  if (!r->n) return;
  printf("\n%s: %d points, absolute error median %.0f %%, 90th percentile %.0f %%, worst %.0f %%", use, r->n, 100 * r->median,
         100 * r->p90, 100 * r->worst);
  if (r->kernels > 2) printf("; Spearman rank correlation of %d kernel times %.3f", r->kernels, r->spearman);
  printf("\n");
}

/* Every point chosen; returns how many failed. */
static int run_all(emu_asm *a, report_point *p, int n, const char *folder, const char *filter, bool print) {
  int failed = 0;
  for (int i = 0; i < n; i++) {
    p[i].ran = false;
    if (filter && !strstr(p[i].id, filter)) continue;
    if (!folder && strncmp(p[i].subject, "micro:", 6) != 0) continue;
    if (!print && strcmp(p[i].use, "peer") == 0) continue;
    p[i].ran = run_point(a, folder, &p[i]);
    failed += !p[i].ran;
    if (!p[i].ran) fprintf(stderr, "model-report: %s: %s\n", p[i].id, a->err.text);
    else if (print) print_point(&p[i]);
  }
  return failed;
}

static void sensitivity_cells(const report_point *p, int n) {
  report_errors fit = report_judge(p, n, "fit"), held = report_judge(p, n, "held");
  printf(" %.1f / %.1f %% | %.1f %%, %.3f |", 100 * fit.median, 100 * fit.mean, 100 * held.median, held.spearman);
}

static int sensitivity(emu_asm *a, report_point *p, int n, const char *folder, const char *filter) {
  int failed = run_all(a, p, n, folder, filter, false);
  printf("| constant | fit, median / mean | held, median, rank | -30 %%: fit | held | +30 %%: fit | held |\n"
         "|---|---|---|---|---|---|---|\n| as it is |");
  sensitivity_cells(p, n);
  printf(" | | | |\n");
  for (size_t i = 0; i < emu_arch_n_constants; i++) {
    const emu_arch_constant *c = &emu_arch_constants[i];
    if (c->basis != EMU_ARCH_FITTED) continue;
    printf("| `%s` | | |", c->name);
    for (int k = 0; k < 2; k++) {
      emu_arch_scale(c->name, k ? 1.3 : 0.7);
      failed += run_all(a, p, n, folder, filter, false);
      sensitivity_cells(p, n);
      emu_arch_scale(NULL, 1);
    }
    printf("\n");
    fflush(stdout);
  }
  return failed;
}

int main(int argc, char **argv) {
  static report_point p[REPORT_POINTS];
  emu_asm a;
  bool check = argc > 1 && strcmp(argv[1], "--check") == 0, vary = argc > 1 && strcmp(argv[1], "--sensitivity") == 0;
  if (check || vary) argc--, argv++;
  const char *folder = argc > 2 ? argv[2] : NULL, *filter = argc > 3 ? argv[3] : NULL;
  int n = report_read(argc > 1 ? argv[1] : "docs/lab/published-mi300x.tsv", p), failed;
  if (n < 0) return 2;
  setenv("MLAF_EMU_STRICT", "none", 0); /* this judges time; what the checks say of these kernels is another report's */
  if (!emu_asm_open(&a)) return fprintf(stderr, "model-report: %s\n", a.err.text), 1;
  if (vary) {
    failed = sensitivity(&a, p, n, folder, filter);
  } else {
    printf("| point | use | published | modelled | unit | ratio | source |\n|---|---|---|---|---|---|---|\n");
    failed = run_all(&a, p, n, folder, filter, true);
    report_errors fit = report_judge(p, n, "fit"), held = report_judge(p, n, "held");
    summary(&fit, "fit");
    summary(&held, "held");
    if (check && (held.median > 0.25 || held.spearman < 0.9)) failed++, fprintf(stderr, "model-report: not good enough\n");
  }
  emu_asm_close(&a);
  return failed ? 1 : 0;
}
