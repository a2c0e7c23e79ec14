/* A layer's profile as one self-contained page: bars on a time axis with their floors inside, and the same as a table. */
#include <errno.h>

#include "cli/layer.h"
#include "report/report.h"

enum { LEFT = 84, AXIS = 560, ROW = 30, TOP = 26, RIGHT = 150, TICKS = 8 };

/* A step of 1, 2 or 5 times a power of ten that cuts `most` into TICKS pieces at most. */
static double tick_step(double most) {
  double step = pow(10, floor(log10(most / TICKS)));
  while (most / step > TICKS) step *= most / (2 * step) <= TICKS ? 2 : most / (5 * step) <= TICKS ? 5 : 10;
  return step;
}

/* Microseconds along the top, with a line down through all rows at each. */
static void axis(mlaf_text *t, size_t n, double us) {
  const double step = tick_step(us);
  const int bottom = TOP + (int)n * ROW + 4;
  for (int i = 0; i * step <= us * 1.0001; i++) {
    const double x = LEFT + AXIS * i * step / us;
    mlaf_text_fmt(t, "<line class=grid x1=%.1f y1=%d x2=%.1f y2=%d />", x, TOP - 6, x, bottom);
    mlaf_text_fmt(t, "<text class=soft x=%.1f y=%d text-anchor=middle>%g</text>", x, TOP - 10, i * step);
  }
  mlaf_text_fmt(t, "<text class=soft x=%d y=%d text-anchor=end>us</text>", LEFT - 8, TOP - 10);
}

/* A stage from where the ones before it end. */
static void bar(mlaf_text *t, size_t row, const layer_part *p, double begin_ns, double whole_ns) {
  const double y = TOP + (double)row * ROW + 4, x = LEFT + AXIS * begin_ns / whole_ns, width = AXIS * p->ns / whole_ns;
  const double least = width * fmin(p->floor_ns / p->ns, 1);
  mlaf_text_fmt(t, "<text x=%d y=%.1f text-anchor=end>%s</text>", LEFT - 8, y + 14, p->stage.name);
  mlaf_text_fmt(t, "<rect x=%.2f y=%.1f width=%.2f height=20 fill=\"var(--c1)\"/>", x, y, width);
  mlaf_text_fmt(t, "<rect x=%.2f y=%.1f width=%.2f height=20 fill=\"var(--c0)\"/>", x, y, least);
  mlaf_text_fmt(t, "<text x=%.1f y=%.1f>%.2f us</text>", x + width + 6, y + 14, p->ns / 1000);
}

static void picture(mlaf_text *t, const layer_part *parts, size_t n) {
  double whole = 0, begin = 0;
  for (size_t i = 0; i < n; i++) whole += parts[i].ns;
  if (!(whole > 0)) return;
  mlaf_text_fmt(t, "<svg viewBox=\"0 0 %d %zu\" width=%d role=img aria-label=\"stages on a time axis\">", LEFT + AXIS + RIGHT,
                TOP + n * ROW + 8, LEFT + AXIS + RIGHT);
  axis(t, n, whole / 1000);
  for (size_t i = 0; i < n; i++) {
    bar(t, i, &parts[i], begin, whole);
    begin += parts[i].ns;
  }
  mlaf_text_str(t, "</svg><div class=legend><span><i style=\"background:var(--c0)\"></i>the least that the stage must take: "
                   "bytes over bandwidth, or operations over the matrix rate</span>"
                   "<span><i style=\"background:var(--c1)\"></i>beyond it</span></div>"
                   "<p class=soft>A stage begins where the one before it ends; together they are the stages' sum.</p>");
}

static void table(mlaf_text *t, const layer_part *parts, size_t n) {
  mlaf_text_str(t, "<table><tr><th>stage<th class=n>us<th class=n>floor, us<th class=n>MB<th>variant</tr>");
  for (size_t i = 0; i < n; i++) {
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    mlaf_plan_query(parts[i].stage.plan, &info);
    mlaf_text_fmt(t, "<tr><td>%s<td class=n>%.2f<td class=n>%.2f<td class=n>%.2f<td class=v><code>", parts[i].stage.name,
                  parts[i].ns / 1000, parts[i].floor_ns / 1000, parts[i].stage.bytes / 1e6);
    mlaf_report_escaped(t, info.variant);
    mlaf_text_str(t, "</code></tr>");
  }
  mlaf_text_str(t, "</table>");
}

mlaf_status mlaf_cli_layer_page(const layer_rig *r, const layer_part *parts, size_t n, const mlaf_timing *whole,
                                const char *path) {
  mlaf_text t = MLAF_TEXT_INIT(1 << 20);
  double sum = 0, floors = 0;
  for (size_t i = 0; i < n; i++) sum += parts[i].ns, floors += parts[i].floor_ns;
  mlaf_report_head(&t, "Where a layer's time goes");
  mlaf_text_fmt(&t, "<p>%s, tp %d%s%s, %d requests of %d tokens, %d of them new, on ", r->setup.model->name,
                r->setup.tp, r->setup.encoding ? ", weights " : "", layer_encoding(r->setup.encoding), r->setup.batch,
                r->desc.ctx_max, r->setup.requests[0].fresh);
  mlaf_report_escaped(&t, mlaf_info(r->dev)->name);
  mlaf_text_fmt(&t, ".</p><p>The layer as one sequence takes <b>%.2f us</b>, %s. Its stages take %.2f us one by one, their "
                "floors %.2f us.</p>", whole->ns / 1000, r->modelled ? "<b>modelled</b>, never measured" : "measured", sum / 1000,
                floors / 1000);
  picture(&t, parts, n);
  table(&t, parts, n);
  mlaf_text_str(&t, "</body></html>\n");
  FILE *out = t.failed ? NULL : mlaf_file_create(path, r->env->err);
  mlaf_status st = MLAF_OK;
  if (!out) st = t.failed ? mlaf_fail(r->env->err, MLAF_E_NOMEM, "no memory for the page") : r->env->err->status;
  else {
    const bool torn = fputs(t.data, out) < 0;
    if (fclose(out) || torn) st = mlaf_fail(r->env->err, MLAF_E_IO, "'%s' is not written whole: %s", path, strerror(errno));
  }
  mlaf_text_free(&t);
  return st;
}
