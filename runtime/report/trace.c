/* The waves of one CU as a Chrome trace (chrome://tracing, ui.perfetto.dev): a process per launch, a thread per wave. */
#include "base/base.h"
#include "device/profile.h"
#include "report/report.h"

enum { MAX_SPANS = 100000 /* at about 150 bytes each */ };

/* Spans of a wave that begin before t. */
static size_t before(const mlaf_profile_wave *w, uint32_t t) {
  size_t lo = 0, hi = w->n;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (w->span[mid].end < t) lo = mid + 1;
    else hi = mid;
  }
  return t ? lo + (lo < w->n) : 0;
}

/* The latest clock up to which all waves together have at most `room` spans. */
static uint32_t cut_at(const mlaf_profile *p, uint32_t clk, size_t room) {
  uint32_t lo = 0, hi = clk;
  while (lo < hi) {
    uint32_t mid = lo + (hi - lo + 1) / 2;
    size_t n = 0;
    for (int i = 0; i < p->n_waves; i++) n += before(&p->wave[i], mid);
    if (n <= room) lo = mid;
    else hi = mid - 1;
  }
  return lo;
}

static void put_string(FILE *f, const char *s) {
  fputc('"', f);
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') fputc('\\', f);
    if ((unsigned char)*s >= 32) fputc(*s, f);
  }
  fputc('"', f);
}

static void put_span(FILE *f, const mlaf_profile *p, size_t pid, int tid, uint32_t from, uint32_t to,
                     const mlaf_profile_span *s) {
  const mlaf_profile_inst *in = &p->inst[s->inst];
  double us = 1 / p->clock_mhz;
  const char *why = p->why_names[s->why];
  fprintf(f, ",\n{\"ph\":\"X\",\"pid\":%zu,\"tid\":%d,\"ts\":%.4f,\"dur\":%.4f,\"cat\":\"%s\",\"name\":", pid, tid, from * us,
          (to - from) * us, s->why == MLAF_PROFILE_ISSUE ? "issue" : "wait");
  if (s->why == MLAF_PROFILE_ISSUE) fprintf(f, "\"%.*s\"", (int)strcspn(in->text, " \""), in->text);
  else fprintf(f, "\"wait: %s\"", why);
  fprintf(f, ",\"args\":{\"clk\":%u,\"pc\":\"0x%x\",\"text\":", from, in->pc);
  put_string(f, in->text);
  fputs("}}", f);
}

static void put_launch(FILE *f, const mlaf_profile *p, size_t pid, uint32_t cut) {
  fprintf(f, "%s\n{\"ph\":\"M\",\"pid\":%zu,\"name\":\"process_name\",\"args\":{\"name\":", pid ? "," : "", pid);
  char name[256];
  snprintf(name, sizeof name, "%s, one CU, modelled%s", p->kernel, cut < p->clk ? ", cut off" : "");
  put_string(f, name);
  fputs("}}", f);
  for (int i = 0; i < p->n_waves; i++) {
    const mlaf_profile_wave *w = &p->wave[i];
    fprintf(f, ",\n{\"ph\":\"M\",\"pid\":%zu,\"tid\":%d,\"name\":\"thread_name\",\"args\":"
            "{\"name\":\"workgroup %d wave %d, SIMD %d\"}}", pid, i, w->group, i % p->waves, w->simd);
    uint32_t from = 0;
    for (size_t k = 0; k < w->n && from < cut; from = w->span[k++].end)
      put_span(f, p, pid, i, from, w->span[k].end < cut ? w->span[k].end : cut, &w->span[k]);
  }
}

mlaf_status mlaf_report_trace(const char *path, const mlaf_profile *p, size_t n, mlaf_err *err) {
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  if (!f) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for a trace");
  fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"source\":\"mlaforge profile\",\"modelled\":true", f);
  uint32_t cut[4] = {0};
  for (size_t i = 0; i < n && i < 4; i++) {
    cut[i] = cut_at(&p[i], (uint32_t)p[i].clk, MAX_SPANS / n);
    fprintf(f, ",\"launch%zu_clk\":%llu,\"launch%zu_shown_clk\":%u", i, (unsigned long long)p[i].clk, i, cut[i]);
  }
  fputs("},\n\"traceEvents\":[", f);
  for (size_t i = 0; i < n && i < 4; i++) put_launch(f, &p[i], i, cut[i]);
  fputs("\n]}\n", f);
  mlaf_status st = fclose(f) == 0 ? mlaf_file_write(path, text, size, err)
                                  : mlaf_fail(err, MLAF_E_NOMEM, "no memory for a trace");
  free(text);
  return st;
}
