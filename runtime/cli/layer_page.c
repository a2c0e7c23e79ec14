/* A layer's profile as one self-contained page: a bar for each stage with its floor inside, and the same as a table. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cli/layer.h"
#include "cli/report.h"

enum { LEFT = 90, BAR = 520, ROW = 30 };

static void bar(mlaf_text *t, int row, const layer_part *p, double most) {
  const double y = row * ROW + 4.0, width = BAR * p->ns / most, floor = BAR * fmin(p->floor_ns, p->ns) / most;
  mlaf_text_fmt(t, "<text x=%d y=%.1f text-anchor=end>%s</text>", LEFT - 8, y + 14, p->stage.name);
  mlaf_text_fmt(t, "<rect x=%d y=%.1f width=%.1f height=20 fill=\"var(--c1)\"/>", LEFT, y, width);
  mlaf_text_fmt(t, "<rect x=%d y=%.1f width=%.1f height=20 fill=\"var(--c0)\"/>", LEFT, y, floor);
  mlaf_text_fmt(t, "<text x=%.1f y=%.1f>%.2f us</text>", LEFT + width + 6, y + 14, p->ns / 1000);
}

static void picture(mlaf_text *t, const layer_part *parts, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, parts[i].ns);
  mlaf_text_fmt(t, "<div class=wide><svg width=%d height=%zu role=img>", LEFT + BAR + 100, n * ROW + 8);
  for (size_t i = 0; i < n; i++) bar(t, (int)i, &parts[i], most);
  mlaf_text_str(t, "</svg></div><p class=soft>Each bar is a stage in its place. Its first part is the least that the stage must "
                   "take: bytes over bandwidth, or operations over the matrix rate.</p>");
}

static void table(mlaf_text *t, const layer_part *parts, size_t n) {
  mlaf_text_str(t, "<div class=wide><table><tr><th>stage<th class=n>us<th class=n>floor<th class=n>MB<th>variant</tr>");
  for (size_t i = 0; i < n; i++) {
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    mlaf_plan_query(parts[i].stage.plan, &info);
    mlaf_text_fmt(t, "<tr><td>%s<td class=n>%.2f<td class=n>%.2f<td class=n>%.2f<td><code>", parts[i].stage.name,
                  parts[i].ns / 1000, parts[i].floor_ns / 1000, parts[i].stage.bytes / 1e6);
    mlaf_report_escaped(t, info.variant);
    mlaf_text_str(t, "</code></tr>");
  }
  mlaf_text_str(t, "</table></div>");
}

mlaf_status layer_page(const layer_rig *r, const layer_part *parts, size_t n, const mlaf_timing *whole, const char *path) {
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
  FILE *out = t.failed ? NULL : mlaf_file_create(path, &r->c->err);
  mlaf_status st = MLAF_OK;
  if (!out) st = t.failed ? mlaf_fail(&r->c->err, MLAF_E_NOMEM, "no memory for the page") : r->c->err.status;
  else {
    const bool torn = fputs(t.data, out) < 0;
    if (fclose(out) || torn) st = mlaf_fail(&r->c->err, MLAF_E_IO, "'%s' is not written whole: %s", path, strerror(errno));
  }
  mlaf_text_free(&t);
  return st;
}
