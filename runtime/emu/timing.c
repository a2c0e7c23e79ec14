/* Recording for the timing model: one event per executed instruction, cache lines beside it. A wave that nobody times
 * has w->timing NULL and pays one test per instruction. */
#include <stdlib.h>
#include <string.h>

#include "emu/timing.h"

enum { LINE = 128, LINE_ALIGN = 32 /* regions start at a multiple, so that L1 sets do not depend on the host's addresses */ };

/* --- regions --- */

mlaf_status emu_recorder_open(emu_device *dev, emu_recorder *r, mlaf_err *err) {
  size_t n;
  const emu_span *span = emu_mem_spans(dev, &n);
  memset(r, 0, sizeof *r);
  r->region = calloc(n + 1, sizeof *r->region);
  if (!r->region) return mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the timing model");
  uint64_t at = LINE_ALIGN;
  for (size_t i = 0; i < n; i++) {
    uint64_t lines = (span[i].hi - span[i].lo + LINE - 1) / LINE;
    if (at + lines > UINT32_MAX / 2)
      return emu_recorder_close(r), mlaf_fail(err, MLAF_E_NOMEM, "more than 256 GiB allocated: the timing model cannot number the cache lines");
    r->region[i] = (emu_region){.span = span[i], .first = (uint32_t)at, .lines = (uint32_t)lines};
    at += (lines + LINE_ALIGN - 1) / LINE_ALIGN * LINE_ALIGN;
  }
  r->n_regions = n;
  return MLAF_OK;
}

void emu_sample_clear(emu_sample *s) {
  for (int i = 0; i < s->n_waves && s->wave; i++) free(s->wave[i].event), free(s->wave[i].line);
  free(s->wave);
  *s = (emu_sample){.id = s->id};
}

void emu_recorder_close(emu_recorder *r) {
  for (size_t i = 0; i < r->n_samples; i++) emu_sample_clear(&r->sample[i]);
  free(r->sample);
  free(r->region);
  memset(r, 0, sizeof *r);
}

size_t emu_recorder_region(const emu_recorder *r, uint32_t line) {
  size_t lo = 0, hi = r->n_regions;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (r->region[mid].first <= line) lo = mid + 1;
    else hi = mid;
  }
  return lo && line - r->region[lo - 1].first < r->region[lo - 1].lines ? lo - 1 : r->n_regions;
}

/* --- waves --- */

static emu_sample *find_sample(const emu_recorder *r, uint64_t id) {
  size_t lo = 0, hi = r->n_samples;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (r->sample[mid].id < id) lo = mid + 1;
    else hi = mid;
  }
  return lo < r->n_samples && r->sample[lo].id == id ? &r->sample[lo] : NULL;
}

bool emu_timing_wave_init(emu_wave *w) {
  emu_recorder *r = w->group->timing;
  emu_sample *s = r ? find_sample(r, w->group->linear_id) : NULL;
  w->timing = NULL;
  if (!s) return true;
  if (!s->wave) {
    s->wave = calloc((size_t)w->group->n_waves, sizeof *s->wave);
    if (!s->wave) return false;
    s->n_waves = w->group->n_waves;
  }
  w->timing = &s->wave[w->index];
  return true;
}

/* The trace belongs to the sample and outlives the wave. */
void emu_timing_wave_free(emu_wave *w) { w->timing = NULL; }

void emu_timing_barrier(emu_group *g) {}

static void add_event(emu_trace *t, emu_event e) {
  if (t->n == t->cap) {
    size_t cap = t->cap ? 2 * t->cap : 4096;
    emu_event *p = realloc(t->event, cap * sizeof *p);
    if (!p) {
      t->failed = true;
      return;
    }
    t->event = p;
    t->cap = cap;
  }
  t->event[t->n++] = e;
}

void emu_timing_step(emu_wave *w, const emu_inst *in) {
  emu_trace *t = w->timing;
  if (!t || t->failed) return;
  emu_event e = {(uint32_t)(in - w->group->code->insts), 0, 0};
  if (in->cls >= EMU_C_VMEM_LOAD && in->cls <= EMU_C_DS_OTHER) {
    if (in->cls >= EMU_C_DS_READ) {
      e.clk = (uint16_t)(w->counts.lds_clk - t->lds_clk);
    } else {
      e.clk = t->pending_clk;
      e.lines = (uint16_t)(t->n_lines - t->pending_from);
      t->pending_clk = 0;
      t->pending_from = t->n_lines;
    }
    t->lds_clk = w->counts.lds_clk;
  }
  add_event(t, e);
}

/* --- cache lines --- */

static uint32_t line_number(const emu_recorder *r, emu_trace *t, uint64_t addr) {
  const emu_region *g = &r->region[t->span];
  if (t->span >= r->n_regions || addr < g->span.lo || addr >= g->span.hi) {
    size_t i = 0;
    while (i < r->n_regions && (addr < r->region[i].span.lo || addr >= r->region[i].span.hi)) i++;
    if (i == r->n_regions) return UINT32_MAX / 2 + 1 + (uint32_t)(addr / LINE % (1u << 20)); /* kernel arguments */
    t->span = (uint32_t)i;
    g = &r->region[i];
  }
  return g->first + (uint32_t)((addr - g->span.lo) / LINE);
}

static void add_line(emu_trace *t, uint32_t line) {
  for (size_t i = t->n_lines; i > t->pending_from; i--)
    if (t->line[i - 1] == line) return; /* each line once per instruction */
  if (t->n_lines == t->cap_lines) {
    size_t cap = t->cap_lines ? 2 * t->cap_lines : 1024;
    uint32_t *p = realloc(t->line, cap * sizeof *p);
    if (!p) {
      t->failed = true;
      return;
    }
    t->line = p;
    t->cap_lines = cap;
  }
  t->line[t->n_lines++] = line;
}

/* L1 takes 64 bytes of lanes a clock, and one more clock for every further line they touch. */
void emu_timing_memory(emu_wave *w, const uint64_t addr[EMU_LANES], uint64_t lanes, unsigned bytes, emu_traffic kind) {
  emu_trace *t = w->timing;
  unsigned per_clk = bytes >= 12 ? 4 : bytes == 8 ? 8 : 16, clk = 0, touches = 0;
  for (unsigned first = 0; first < EMU_LANES; first += per_clk) {
    uint64_t last = UINT64_MAX;
    unsigned here = 0;
    for (unsigned l = first; l < first + per_clk; l++) {
      if (!(lanes >> l & 1)) continue;
      for (uint64_t a = addr[l] / LINE; a <= (addr[l] + bytes - 1) / LINE; a++) {
        if (a == last) continue;
        last = a;
        here++;
        if (t) add_line(t, line_number(w->group->timing, t, a * LINE < addr[l] ? addr[l] : a * LINE));
      }
    }
    touches += here;
    clk += here ? here : 1;
  }
  w->counts.l1_lines += touches;
  if (t) t->pending_clk = (uint16_t)(t->pending_clk + clk);
}
