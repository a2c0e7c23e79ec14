/* The plots of a report as inline SVG; colours come from the page's variables, so that they follow light and dark. */
#include "report/report.h"

enum { COLORS = 8, PARTS_MAX = 12, AXIS_MAX = 64, BARS_MAX = 40 };

/* --- shared --- */
typedef struct axis {
  int32_t values[AXIS_MAX];
  int n;
} axis;

static void axis_add(axis *a, int32_t v) {
  int at = 0;
  while (at < a->n && a->values[at] < v) at++;
  if ((at < a->n && a->values[at] == v) || a->n == AXIS_MAX) return;
  memmove(a->values + at + 1, a->values + at, (size_t)(a->n - at) * sizeof *a->values);
  a->values[at] = v;
  a->n++;
}

/* 131072 as 128K */
static const char *shortly(int32_t v, char out[16]) {
  if (v >= 1 << 20 && v % (1 << 20) == 0) snprintf(out, 16, "%dM", v >> 20);
  else if (v >= 1024 && v % 1024 == 0) snprintf(out, 16, "%dK", v >> 10);
  else snprintf(out, 16, "%d", v);
  return out;
}

static void label(mlaf_text *t, double x, double y, const char *anchor, const char *class, const char *text) {
  mlaf_text_fmt(t, "<text x=%.1f y=%.1f text-anchor=%s class=\"%s\">%s</text>", x, y, anchor, class, text);
}

static void shape_label(const report_point *p, char *out, size_t size) {
  char across[16];
  shortly(p->across, across);
  if (p->down) snprintf(out, size, "%c%d, %s", mlaf_report_down_name(&p->problem)[0], p->down, across);
  else snprintf(out, size, "%s", across);
}

static const char nothing[] = "<p class=soft>Nothing to show here.</p>";

/* --- share of the roofline over ctx, one line a batch --- */
typedef struct frame {
  double left, top, width, height, low, high, most; /* of log2 ctx, and of the share in percent */
} frame;

static double at_x(const frame *f, int32_t ctx) {
  return f->high > f->low ? f->left + f->width * (log2(ctx) - f->low) / (f->high - f->low) : f->left + f->width / 2;
}

static double at_y(const frame *f, double percent) { return f->top + f->height * (1 - percent / f->most); }

static void line_of(mlaf_text *t, const frame *f, const report_point *p, size_t n, int32_t batch, int color) {
  bool first = true;
  char sizes[80];
  mlaf_text_fmt(t, "<polyline fill=none stroke=\"var(--c%d)\" stroke-width=2 points=\"", color);
  for (size_t i = 0; i < n; i++)
    if (p[i].down == batch && p[i].floor_ns > 0) {
      mlaf_text_fmt(t, "%s%.1f,%.1f", first ? "" : " ", at_x(f, p[i].across), at_y(f, 100 * p[i].floor_ns / p[i].choice.ns));
      first = false;
    }
  mlaf_text_str(t, "\"/>");
  for (size_t i = 0; i < n; i++)
    if (p[i].down == batch && p[i].floor_ns > 0)
      mlaf_text_fmt(t, "<circle cx=%.1f cy=%.1f r=3.5 fill=\"var(--c%d)\"><title>%s: %.2f us, %.1f %% of "
                    "%s</title></circle>",
                    at_x(f, p[i].across), at_y(f, 100 * p[i].floor_ns / p[i].choice.ns), color,
                    mlaf_report_sizes(&p[i].problem, sizes), p[i].choice.ns / 1e3, 100 * p[i].floor_ns / p[i].choice.ns,
                        p[i].memory_bound ? "bandwidth" : "compute");
}

static void frame_lines(mlaf_text *t, const frame *f, const axis *ctx, const char *about) {
  char text[32];
  for (int i = 0; i <= 4; i++) {
    double percent = f->most * i / 4, y = at_y(f, percent);
    mlaf_text_fmt(t, "<line x1=%.1f x2=%.1f y1=%.1f y2=%.1f class=%s />", f->left, f->left + f->width, y, y, i ? "grid" : "axis");
    snprintf(text, sizeof text, "%.3g %%", percent);
    label(t, f->left - 8, y + 4, "end", "soft", text);
  }
  double last = -100;
  for (int i = 0; i < ctx->n; i++) { /* labels that would touch are left out */
    double x = at_x(f, ctx->values[i]);
    if (x - last < 34) continue;
    label(t, x, f->top + f->height + 18, "middle", "soft", shortly(ctx->values[i], text));
    last = x;
  }
  label(t, f->left + f->width / 2, f->top + f->height + 36, "middle", "soft", about);
}

void mlaf_report_roofline(mlaf_text *t, const report_point *p, size_t n) {
  axis batch = {.n = 0}, ctx = {.n = 0};
  double most = 0;
  for (size_t i = 0; i < n; i++) {
    axis_add(&batch, p[i].down);
    axis_add(&ctx, p[i].across);
    most = fmax(most, 100 * p[i].floor_ns / p[i].choice.ns);
  }
  if (most <= 0) {
    mlaf_text_str(t, nothing);
    return;
  }
  static const double tops[] = {1, 2, 4, 8, 12, 20, 40, 60, 80, 100};
  frame f = {.left = 56, .top = 10, .width = 440, .height = 220, .low = log2(ctx.values[0]), .high = log2(ctx.values[ctx.n - 1])};
  f.most = 100;
  for (size_t i = sizeof tops / sizeof *tops; i-- > 0;)
    if (tops[i] >= most) f.most = tops[i];
  if (most > 100) f.most = ceil(most / 20) * 20;
  mlaf_text_str(t, "<svg viewBox=\"0 0 512 274\" role=img aria-label=\"share of the roofline\">");
  frame_lines(t, &f, &ctx, mlaf_report_across_about(&p->problem));
  for (int b = 0; b < batch.n; b++) line_of(t, &f, p, n, batch.values[b], b % COLORS);
  mlaf_text_str(t, "</svg><div class=legend>");
  for (int b = 0; b < batch.n; b++)
    mlaf_text_fmt(t, "<span><i style=\"background:var(--c%d)\"></i>%s %d</span>", b % COLORS, mlaf_report_down_name(&p->problem),
                  batch.values[b]);
  mlaf_text_str(t, "</div>");
}

/* --- coverage: batch down, ctx across --- */
static void cell(mlaf_text *t, double x, double y, const char *fill, const char *stroke, const char *text, const char *title) {
  mlaf_text_fmt(t, "<g><title>%s</title><rect x=%.1f y=%.1f width=54 height=26 rx=3 fill=\"%s\" stroke=\"%s\"/>", title, x, y,
                fill,
                stroke);
  label(t, x + 27, y + 17, "middle", "", text);
  mlaf_text_str(t, "</g>");
}

static const report_point *point_at(const report_point *p, size_t n, int32_t batch, int32_t ctx) {
  for (size_t i = 0; i < n; i++)
    if (p[i].down == batch && p[i].across == ctx) return &p[i];
  return NULL;
}

static const report_miss *miss_at(const report_miss *m, size_t n, const mlaf_point *family, int32_t batch, int32_t ctx) {
  for (size_t i = 0; i < n; i++)
    if (mlaf_point_same_shape(&m[i].problem, family) && m[i].down == batch && m[i].across == ctx) return &m[i];
  return NULL;
}

static void coverage_cell(mlaf_text *t, const report_point *p, const report_miss *miss, double x, double y) {
  char text[32], title[200], sizes[80];
  if (p) {
    double us = p->choice.ns / 1e3;
    snprintf(text, sizeof text, us < 100 ? "%.1f" : "%.0f", us);
    snprintf(title, sizeof title, "%s: tuned, %.2f us %s, %zu candidates", mlaf_report_sizes(&p->problem, sizes), us,
             mlaf_source_name(p->choice.source), p->samples);
    bool own = p->choice.source == MLAF_SRC_MEASURED || p->samples;
    cell(t, x, y, own ? "color-mix(in srgb,var(--good) 28%,var(--cell))" : "color-mix(in srgb,var(--accent) 22%,var(--cell))",
         "none",
         text, title);
  } else if (miss) {
    snprintf(text, sizeof text, "x%lld", (long long)miss->count);
    snprintf(title, sizeof title, "%s: asked for %lld times, not tuned", mlaf_report_sizes(&miss->problem, sizes),
             (long long)miss->count);
    cell(t, x, y, "color-mix(in srgb,var(--bad) 28%,var(--cell))", "none", text, title);
  } else {
    cell(t, x, y, "none", "var(--line)", "", "not tuned, not asked for: a plan takes the nearest");
  }
}

void mlaf_report_coverage(mlaf_text *t, const report_point *p, size_t n, const report_miss *misses, size_t n_misses) {
  axis batch = {.n = 0}, ctx = {.n = 0};
  char text[32];
  for (size_t i = 0; i < n; i++) {
    axis_add(&batch, p[i].down);
    axis_add(&ctx, p[i].across);
  }
  for (size_t i = 0; i < n_misses; i++)
    if (mlaf_point_same_shape(&misses[i].problem, &p->problem)) {
      axis_add(&batch, misses[i].down);
      axis_add(&ctx, misses[i].across);
    }
  const int width = 64 + 58 * ctx.n, height = 40 + 30 * batch.n, shown = width > 512 ? width : 512;
  mlaf_text_fmt(t, "<svg viewBox=\"0 0 %d %d\" style=\"min-width:%dpx\" role=img aria-label=\"coverage of the grid\">", shown,
                height + 6,
                width > 512 ? width : 0);
  for (int i = 0; i < ctx.n; i++) label(t, 64 + 58 * i + 27, 16, "middle", "soft", shortly(ctx.values[i], text));
  for (int b = 0; b < batch.n; b++) {
    if (batch.values[b]) snprintf(text, sizeof text, "%s %d", mlaf_report_down_name(&p->problem), batch.values[b]);
    else *text = 0; /* one size, one line */
    label(t, 56, 26 + 30 * b + 17, "end", "soft", text);
    for (int i = 0; i < ctx.n; i++)
      coverage_cell(t, point_at(p, n, batch.values[b], ctx.values[i]),
                    miss_at(misses, n_misses, &p->problem, batch.values[b], ctx.values[i]), 64 + 58 * i, 26 + 30 * b);
  }
  mlaf_text_str(t, "</svg><div class=legend><span><i style=\"background:color-mix(in srgb,var(--good) "
                "45%,var(--cell))\"></i>tuned here</span>"
                   "<span><i style=\"background:color-mix(in srgb,var(--accent) 40%,var(--cell))\"></i>imported</span>"
                   "<span><i style=\"background:color-mix(in srgb,var(--bad) 45%,var(--cell))\"></i>asked for, not tuned</span>"
                   "<span><i style=\"border:1px solid var(--line)\"></i>neither: the nearest serves</span></div>");
}

/* --- bars, one a problem --- */
static size_t bars_shown(mlaf_text *t, size_t have) {
  if (have > BARS_MAX) mlaf_text_fmt(t, "<p class=soft>The first %d of %zu; the table below has all.</p>", BARS_MAX, have);
  return have > BARS_MAX ? BARS_MAX : have;
}

void mlaf_report_speedup(mlaf_text *t, const report_point *p, size_t n) {
  double most = 1.1;
  size_t known = 0;
  char text[64];
  for (size_t i = 0; i < n; i++) {
    if (p[i].first_ns <= 0) continue;
    known++;
    most = fmax(most, p[i].first_ns / p[i].choice.ns);
    most = fmax(most, fmin(p[i].baseline_ns / p[i].choice.ns, 4));
  }
  if (!known) {
    mlaf_text_str(t, nothing);
    return;
  }
  size_t shown = bars_shown(t, known), at = 0;
  mlaf_text_fmt(t, "<svg viewBox=\"0 0 512 %zu\" role=img aria-label=\"tuned against untuned\">", 22 * shown + 8);
  const double left = 96, width = 350, one = left + width / most;
  for (size_t i = 0; i < n && at < shown; i++) {
    if (p[i].first_ns <= 0) continue;
    double y = 4 + 22.0 * (double)at++, gain = p[i].first_ns / p[i].choice.ns, base = p[i].baseline_ns / p[i].choice.ns;
    shape_label(&p[i], text, sizeof text);
    label(t, left - 8, y + 13, "end", "soft", text);
    mlaf_text_fmt(t, "<rect x=%.1f y=%.1f width=%.1f height=14 rx=2 fill=\"var(--%s)\"><title>untuned %.2f us, tuned %.2f "
                  "us</title></rect>",
                  left, y + 2, width * gain / most, gain > 1.005 ? "c2" : "c7", p[i].first_ns / 1e3, p[i].choice.ns / 1e3);
    if (base > 0)
      mlaf_text_fmt(t, "<line x1=%.1f x2=%.1f y1=%.1f y2=%.1f stroke=\"var(--c1)\" stroke-width=3><title>always-works variant: "
                    "%.2f us"
                       "</title></line>", left + width * fmin(base, most) / most, left + width * fmin(base, most) / most, y,
                           y + 18,
                    p[i].baseline_ns / 1e3);
    snprintf(text, sizeof text, "%.2fx", gain);
    label(t, 508, y + 13, "end", "", text);
  }
  mlaf_text_fmt(t, "<line x1=%.1f x2=%.1f y1=2 y2=%zu class=axis stroke-dasharray=\"3 3\" /></svg>", one, one, 22 * shown + 4);
}

typedef struct part_names {
  char names[PARTS_MAX][16];
  double sums[PARTS_MAX];
  int n;
} part_names;

/* A colour each; more than there are colours share the last. */
static int part_color(part_names *names, const char *name, double ns) {
  for (int i = 0; i < names->n; i++)
    if (strcmp(names->names[i], name) == 0) {
      names->sums[i] += ns;
      return i;
    }
  if (names->n == PARTS_MAX) return PARTS_MAX - 1;
  snprintf(names->names[names->n], sizeof names->names[0], "%s", name);
  names->sums[names->n] = ns;
  return names->n++;
}

static double parts_sum(const mlaf_timing *timing) {
  double sum = 0;
  for (int k = 0; k < timing->n_parts; k++) sum += fmax(timing->parts[k].ns, 0);
  return sum;
}

void mlaf_report_parts(mlaf_text *t, const report_point *p, size_t n) {
  part_names names = {.n = 0};
  size_t known = 0, at = 0;
  char text[64];
  for (size_t i = 0; i < n; i++) known += parts_sum(&p[i].timing) > 0;
  if (!known) {
    mlaf_text_str(t, "<p class=soft>The times here have no parts: only the emulator says where a time goes.</p>");
    return;
  }
  size_t shown = bars_shown(t, known);
  mlaf_text_fmt(t, "<svg viewBox=\"0 0 512 %zu\" role=img aria-label=\"where the time goes\">", 22 * shown + 8);
  for (size_t i = 0; i < n && at < shown; i++) {
    const mlaf_timing *timing = &p[i].timing;
    double sum = parts_sum(timing), x = 96, y = 4 + 22.0 * (double)at;
    if (sum <= 0) continue;
    at++;
    shape_label(&p[i], text, sizeof text);
    label(t, 88, y + 13, "end", "soft", text);
    for (int k = 0; k < timing->n_parts; k++) {
      double w = 350 * fmax(timing->parts[k].ns, 0) / sum;
      int color = part_color(&names, timing->parts[k].name, timing->parts[k].ns);
      if (w < 0.1) continue;
      mlaf_text_fmt(t, "<rect x=%.1f y=%.1f width=%.1f height=14 fill=\"var(--c%d)\"><title>", x, y + 2, w, color);
      mlaf_report_escaped(t, timing->parts[k].name);
      mlaf_text_fmt(t, ": %.2f us</title></rect>", timing->parts[k].ns / 1e3);
      x += w;
    }
    snprintf(text, sizeof text, "%.1f us", p[i].choice.ns / 1e3);
    label(t, 508, y + 13, "end", "", text);
  }
  mlaf_text_str(t, "</svg><div class=legend>");
  for (int i = 0; i < names.n; i++) {
    mlaf_text_fmt(t, "<span><i style=\"background:var(--c%d)\"></i>", i);
    mlaf_report_escaped(t, names.names[i]);
    mlaf_text_str(t, "</span>");
  }
  mlaf_text_str(t, "</div>");
}
