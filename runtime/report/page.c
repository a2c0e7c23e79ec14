/* The page of a report: one file, no scripts, no network; light and dark by the reader's setting. */
#include "mlaforge/mlaforge.h"
#include "op/calls.h"
#include "report/report.h"

static const char style[] =
    ":root{--bg:#fff;--fg:#1c2330;--soft:#5d6778;--line:#d8dde6;--card:#f6f8fb;--good:#1b7f4b;--bad:#b3402e;--accent:#2f6fd0;"
    "--c0:#2f6fd0;--c1:#e08a1e;--c2:#2a9d74;--c3:#b0475e;--c4:#7d5fc2;--c5:#8a6d3b;--c6:#4aa3b8;--c7:#9aa3b2;"
    "--c8:#c25fa0;--c9:#6b7f1f;--c10:#d4b300;--c11:#555f70;--cell:#fff}"
    "@media(prefers-color-scheme:dark){:root{--bg:#11151c;--fg:#e6eaf2;--soft:#9aa5b8;--line:#2b3444;--card:#181e28;"
    "--good:#5cc792;--bad:#f0886f;--accent:#7cabf5;--c0:#7cabf5;--c1:#f0b25c;--c2:#62cda2;--c3:#e88aa0;--c4:#b39df0;"
    "--c5:#c8a873;--c6:#7fd0e2;--c7:#77839a;--c8:#eb9ad0;--c9:#b3c75f;--c10:#ffe066;--c11:#aab4c6;--cell:#11151c}}"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1120px;padding:28px 24px 60px;background:var(--bg);color:var(--fg);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif}"
    "h1{font-size:26px;margin:0 0 4px}h2{font-size:20px;margin:44px 0 6px;padding-top:18px;border-top:1px solid var(--line)}"
    "h3{font-size:16px;margin:30px 0 8px}h4{font-size:14px;margin:0 0 8px}p{margin:4px 0 12px}.soft{color:var(--soft)}"
    "code{font:13px ui-monospace,'DejaVu Sans Mono',monospace}.cards{display:flex;flex-wrap:wrap;gap:12px;margin:14px 0}"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:10px 16px;min-width:128px}"
    ".card b{display:block;font-size:21px}.card span{color:var(--soft);font-size:13px}"
    ".plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(480px,1fr));gap:16px}"
    ".plot{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:14px;overflow-x:auto}"
    "svg{display:block;max-width:100%;height:auto}svg text{fill:var(--fg);font-size:12px}"
    "svg .soft{fill:var(--soft)}svg .grid{stroke:var(--line)}svg .axis{stroke:var(--soft)}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px;margin:6px 0 0;min-width:100%}"
    "th,td{padding:4px 10px;text-align:left;border-bottom:1px solid var(--line);white-space:nowrap}"
    ".v{color:var(--soft);white-space:normal;overflow-wrap:anywhere;max-width:460px}"
    "th{color:var(--soft);font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".legend{display:flex;flex-wrap:wrap;gap:4px 14px;margin:8px 0 0;font-size:13px;color:var(--soft)}"
    ".legend i{display:inline-block;width:11px;height:11px;border-radius:2px;margin-right:5px}"
    "@media(max-width:560px){.plots{grid-template-columns:1fr}body{padding:18px 12px}}";

void mlaf_report_escaped(mlaf_text *t, const char *text) {
  for (const char *p = text; *p; p++) {
    if (*p == '<') mlaf_text_str(t, "&lt;");
    else if (*p == '>') mlaf_text_str(t, "&gt;");
    else if (*p == '&') mlaf_text_str(t, "&amp;");
    else if (*p == '"') mlaf_text_str(t, "&quot;");
    else mlaf_text_add(t, p, 1);
  }
}

/* The last size of a problem, or (before) the one before it; NULL: it has none. */
static const mlaf_field *size_field(const mlaf_op *op, bool before) {
  for (int i = op->n_fields - 1; i >= 0; i--)
    if (op->fields[i].role == MLAF_SIZE && !before) return &op->fields[i];
    else if (op->fields[i].role == MLAF_SIZE) before = false;
  return NULL;
}
static int32_t size_value(const mlaf_point *p, bool before) {
  const mlaf_field *f = size_field(p->op, before);
  return f ? p->v[f - p->op->fields] : 0;
}
int32_t mlaf_report_across(const mlaf_point *p) { return size_value(p, false); }
int32_t mlaf_report_down(const mlaf_point *p) { return size_value(p, true); }
const char *mlaf_report_across_about(const mlaf_point *p) {
  const mlaf_field *f = size_field(p->op, false);
  return f ? f->about : "";
}
const char *mlaf_report_down_name(const mlaf_point *p) {
  const mlaf_field *f = size_field(p->op, true);
  return f ? f->name : "";
}

const char *mlaf_report_sizes(const mlaf_point *p, char out[80]) {
  size_t n = 0;
  *out = 0;
  for (int i = 0; i < p->op->n_fields && n < 80; i++)
    if (p->op->fields[i].role == MLAF_SIZE)
      n += (size_t)snprintf(out + n, 80 - n, "%s%s %d", n ? ", " : "", p->op->fields[i].name, p->v[i]);
  return out;
}

void mlaf_report_family(const mlaf_point *p, char *out, size_t size) {
  size_t n = (size_t)snprintf(out, size, "%s", p->op->name);
  for (int i = 0; i < p->op->n_fields && n < size; i++) {
    const mlaf_field *f = &p->op->fields[i];
    const int32_t v = p->v[i];
    if (f->role == MLAF_SIZE || (mlaf_field_is_flag(f) && !v)) continue;
    if (f->words) n += (size_t)snprintf(out + n, size - n, ", %s", f->words[v]);
    else n += (size_t)snprintf(out + n, size - n, ", %s %d", f->label, v);
  }
}

/* Models that have this shape, with the tensor-parallel degree that gives these heads. */
static void used_by(mlaf_text *t, const mlaf_point *p) {
  const int32_t heads = mlaf_point_value(p, "heads", 0), rank = mlaf_point_value(p, "rank", 0);
  const int32_t rope = mlaf_point_value(p, "rope", 0);
  int n = 0;
  for (size_t i = 0; mlaf_model_at(i); i++) {
    const mlaf_model *m = mlaf_model_at(i);
    if (!heads || m->rank != rank || m->rope != rope || m->heads % heads || m->heads / heads > 16) continue;
    if (n == 6) mlaf_text_str(t, ", ...");
    if (n++ < 6) mlaf_text_fmt(t, "%s%s TP%d", n == 1 ? "<p class=soft>" : ", ", m->name, m->heads / heads);
  }
  if (n) mlaf_text_str(t, "</p>");
}

static void card(mlaf_text *t, const char *value, const char *what) {
  mlaf_text_fmt(t, "<div class=card><b>%s</b><span>%s</span></div>", value, what);
}

static void summary(mlaf_text *t, const report_device *d) {
  char text[32];
  double log_gain = 0, log_ratio = 0, best = 0;
  size_t gains = 0, ratios = 0, samples = 0, failures = 0;
  mlaf_guesses guesses = {.n = 0};
  for (size_t i = 0; i < d->n; i++) {
    const report_point *x = &d->points[i];
    samples += x->samples;
    failures += x->failures;
    if (x->first_ns > 0) log_gain += log(x->first_ns / x->choice.ns), gains++;
    if (x->floor_ns > 0) log_ratio += log(x->floor_ns / x->choice.ns), ratios++;
    if (x->floor_ns / x->choice.ns > best) best = x->floor_ns / x->choice.ns;
  }
  for (size_t i = 0; i < d->n; i++)
    if (d->points[i].guess.of) mlaf_guesses_add(&guesses, &d->points[i].guess);
  mlaf_text_str(t, "<div class=cards>");
  snprintf(text, sizeof text, "%zu", d->n);
  card(t, text, "tuned problems");
  snprintf(text, sizeof text, "%zu", d->n_misses);
  card(t, text, "asked for, not tuned");
  snprintf(text, sizeof text, "%zu", samples);
  card(t, text, "candidates tried");
  snprintf(text, sizeof text, "%zu", failures);
  card(t, text, "of them failed");
  snprintf(text, sizeof text, gains ? "%.2fx" : "-", gains ? exp(log_gain / (double)gains) : 0.0);
  card(t, text, "over the untuned pick (geometric mean)");
  snprintf(text, sizeof text, ratios ? "%.0f %%" : "-", ratios ? 100 * exp(log_ratio / (double)ratios) : 0.0);
  card(t, text, "of the roofline (geometric mean)");
  snprintf(text, sizeof text, "%.0f %%", 100 * best);
  card(t, text, "of it at best");
  if (guesses.n) {
    snprintf(text, sizeof text, "%zu of %zu", guesses.first, guesses.n);
    card(t, text, "guesses of the model were the fastest");
    snprintf(text, sizeof text, "%.0f %%", 100 * guesses.errors / (double)guesses.n);
    card(t, text, "its median error, on average");
  }
  mlaf_text_str(t, "</div>");
}

static void table(mlaf_text *t, const report_device *d) {
  mlaf_text_str(t, "<h3>Choices</h3><div class=wide><table><tr><th>problem, variant<th class=n>us<th>source<th class=n>of "
                "roofline<th>bound by"
                   "<th class=n>over untuned<th class=n>guess's rank<th class=n>model off by<th class=n>lead<th class=n>error"
                   "<th class=n>splits</tr>");
  for (size_t i = 0; i < d->n; i++) {
    const report_point *x = &d->points[i];
    mlaf_text_str(t, "<tr><td><code>");
    mlaf_report_escaped(t, x->choice.problem);
    if (strcmp(x->choice.lengths, "equal")) {
      mlaf_text_str(t, "</code> <span class=soft>lengths ");
      mlaf_report_escaped(t, x->choice.lengths);
      mlaf_text_str(t, "</span><code>");
    }
    mlaf_text_str(t, "</code><div class=v><code>"); /* below, and wrapped: it is what is widest */
    mlaf_report_escaped(t, x->choice.variant);
    mlaf_text_fmt(t, "</code></div><td class=n>%.2f<td>%s", x->choice.ns / 1e3, mlaf_source_name(x->choice.source));
    if (x->floor_ns > 0) mlaf_text_fmt(t, "<td class=n>%.1f %%", 100 * x->floor_ns / x->choice.ns);
    else mlaf_text_str(t, "<td class=n>-");
    mlaf_text_str(t, "<td>");
    mlaf_report_escaped(t, x->timing.bound[0] ? x->timing.bound : "-");
    if (x->first_ns > 0) mlaf_text_fmt(t, "<td class=n>%.2fx", x->first_ns / x->choice.ns);
    else mlaf_text_str(t, "<td class=n>-");
    if (x->guess.of)
      mlaf_text_fmt(t, "<td class=n>%zu of %zu<td class=n>%.0f %%", x->guess.rank, x->guess.of, 100 * x->guess.error);
    else mlaf_text_str(t, "<td class=n>-<td class=n>-");
    mlaf_text_fmt(t, "<td class=n>%+.1f %%<td class=n>%.1e<td class=n>", 100 * x->choice.margin, x->choice.error);
    if (mlaf_has_splits(x->problem.op)) mlaf_text_fmt(t, "%u</tr>", x->choice.knob);
    else mlaf_text_str(t, "-</tr>");
  }
  mlaf_text_str(t, "</table></div><p class=soft>splits: into how many pieces a request's cached tokens are cut, each the work of "
                   "one workgroup; their results are merged. It is a number of the launch, not of the kernel: the tuner times "
                   "several with one compiled kernel. Operations without such pieces have none. guess's rank: the place by time "
                   "of what the model puts first among all that were timed; off by: the median error of its estimates of "
                   "those.</p>");
}

static void layers(mlaf_text *t, const report_device *d) {
  mlaf_text_str(t, "<h3>Layers</h3><p class=soft>Which stages of a layer share a kernel, for so many query tokens a call. Whole "
                   "layers were timed in turns.</p><div class=wide><table><tr><th>layer<th>choice<th class=n>us<th>source"
                   "<th>next fastest<th class=n>it takes</tr>");
  for (size_t i = 0; i < d->n_layers; i++) {
    const report_layer *x = &d->layers[i];
    mlaf_text_str(t, "<tr><td><code>");
    mlaf_report_escaped(t, x->choice.problem);
    mlaf_text_str(t, "</code><td>");
    mlaf_report_escaped(t, x->choice.variant);
    mlaf_text_fmt(t, "<td class=n>%.2f<td>%s<td>", x->choice.ns / 1e3, mlaf_source_name(x->choice.source));
    mlaf_report_escaped(t, *x->next ? x->next : "-");
    if (*x->next) mlaf_text_fmt(t, "<td class=n>%.3fx</tr>", x->next_ns / x->choice.ns);
    else mlaf_text_str(t, "<td class=n>-</tr>");
  }
  mlaf_text_str(t, "</table></div>");
}

static void plot(mlaf_text *t, const char *title, const char *about) {
  mlaf_text_fmt(t, "<div class=plot><h4>%s</h4><p class=soft>%s</p>", title, about);
}

static void family(mlaf_text *t, const report_device *d, size_t from, size_t to) {
  char name[160];
  const report_point *p = d->points + from;
  mlaf_report_family(&p->problem, name, sizeof name);
  mlaf_text_fmt(t, "<h3>%s</h3>", name);
  used_by(t, &p->problem);
  mlaf_text_str(t, "<div class=plots>");
  plot(t, "Share of the roofline", "The time a perfect kernel would need (bytes over achievable bandwidth or flops over peak, "
                                   "whichever is longer) over the time of the choice.");
  mlaf_report_roofline(t, p, to - from);
  mlaf_text_str(t, "</div>");
  plot(t, "Coverage of the grid", "What was tuned, and what plans asked for in vain. Each cell: time in us.");
  mlaf_report_coverage(t, p, to - from, d->misses, d->n_misses);
  mlaf_text_str(t, "</div>");
  plot(t, "Tuned against untuned", "How much faster the choice is than the model's first pick, which a plan takes when nothing "
       "was "
                                   "tuned; the mark is the variant that always works, where it was tried.");
  mlaf_report_speedup(t, p, to - from);
  mlaf_text_str(t, "</div>");
  plot(t, "Where the time goes", "Parts of the choice's time. They overlap on the device, so they are shown as shares of their "
       "sum.");
  mlaf_report_parts(t, p, to - from);
  mlaf_text_str(t, "</div></div>");
}

static void device(mlaf_text *t, const report_device *d) {
  mlaf_text_str(t, "<h2>");
  mlaf_report_escaped(t, d->id);
  mlaf_text_str(t, "</h2>");
  bool modelled = mlaf_emulated(d->id) != NULL;
  if (modelled)
    mlaf_text_str(t, "<p class=soft>An emulated device: every time here is <b>modelled</b>, never measured. Their order is "
                  "what the "
                     "model is for.</p>");
  summary(t, d);
  for (size_t from = 0, to; from < d->n; from = to) {
    for (to = from + 1; to < d->n && mlaf_point_same_shape(&d->points[from].problem, &d->points[to].problem);) to++;
    family(t, d, from, to);
  }
  if (d->n_layers) layers(t, d);
  if (d->n) table(t, d);
  if (!d->n_misses) return;
  mlaf_text_str(t, "<h3>Asked for and not tuned</h3><p class=soft>Tune them with: <code>mlaforge tune --misses</code></p>"
                   "<div class=wide><table><tr><th class=n>asked<th>problem</tr>");
  for (size_t i = 0; i < d->n_misses; i++) {
    char text[MLAF_POINT_TEXT_MAX];
    mlaf_point_print(&d->misses[i].problem, text, sizeof text);
    mlaf_text_fmt(t, "<tr><td class=n>%lld<td><code>%s</code></tr>", (long long)d->misses[i].count, text);
  }
  mlaf_text_str(t, "</table></div>");
}

void mlaf_report_head(mlaf_text *t, const char *title) {
  mlaf_text_str(t, "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width\">"
                   "<meta name=color-scheme content=\"light dark\"><title>mlaforge: ");
  mlaf_report_escaped(t, title);
  mlaf_text_str(t, "</title><style>");
  mlaf_text_str(t, style);
  mlaf_text_str(t, "</style></head><body><h1>");
  mlaf_report_escaped(t, title);
  mlaf_text_str(t, "</h1>");
}

void mlaf_report_page(mlaf_text *t, const char *database, const report_device *devices, size_t n) {
  mlaf_report_head(t, "Tuning report");
  mlaf_text_str(t, "<p class=soft>mlaforge ");
  mlaf_text_fmt(t, "%s, database <code>", mlaf_version());
  mlaf_report_escaped(t, database);
  mlaf_text_str(t, "</code></p>");
  for (size_t i = 0; i < n; i++) device(t, &devices[i]);
  if (!n) mlaf_text_str(t, "<p>Nothing was tuned yet: <code>mlaforge tune --help</code>.</p>");
  mlaf_text_str(t, "</body></html>\n");
}
