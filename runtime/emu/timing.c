/* Recording for the timing model: one event per executed instruction, cache lines beside it. A wave that nobody times
 * has w->timing NULL and pays one test per instruction. */
#include "emu/timing.h"

static const uint64_t EVENT_BUDGET = 16u << 20; /* two seconds of recording, and the memory of one `time` call */

enum { LINE = 128, LINE_ALIGN = 32 /* regions start at a multiple, so that L1 sets do not depend on the host's addresses */ };

/* --- regions --- */

static bool number_regions(emu_recorder *r, const emu_span *span, size_t n) {
  uint64_t at = LINE_ALIGN;
  r->region = calloc(n + 1, sizeof *r->region);
  for (size_t i = 0; i < n && r->region; i++) {
    uint64_t lines = (span[i].hi - span[i].lo + LINE - 1) / LINE;
    if (at + lines > UINT32_MAX / 2) return false;
    r->region[i] = (emu_region){.span = span[i], .first = (uint32_t)at, .lines = (uint32_t)lines};
    at += (lines + LINE_ALIGN - 1) / LINE_ALIGN * LINE_ALIGN;
  }
  r->n_regions = n;
  return r->region != NULL;
}

mlaf_status emu_recorder_open(emu_device *dev, emu_recorder *r, mlaf_err *err) {
  size_t n;
  memset(r, 0, sizeof *r);
  r->budget = EVENT_BUDGET;
  r->max_bytes = dev->max_bytes;
  emu_mem_pin(dev);
  const emu_span *span = emu_mem_spans(dev, &n);
  bool ok = number_regions(r, span, n);
  emu_mem_unpin(dev);
  if (ok) return MLAF_OK;
  emu_recorder_close(r);
  return mlaf_fail(err, MLAF_E_NOMEM,
      "the timing model cannot number the cache lines of the device's allocations: no host memory, "
                   "or more than 256 GiB allocated");
}

void emu_sample_clear(emu_sample *s) {
  for (int i = 0; i < s->n_waves && s->wave; i++) free(s->wave[i].event), free(s->wave[i].line);
  free(s->wave);
  *s = (emu_sample){.id = s->id};
}

void emu_recorder_close(emu_recorder *r) {
  for (size_t i = 0; i < r->n_samples; i++) emu_sample_clear(&r->sample[i]);
  free(r->sample);
  free(r->work);
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

/* May a recording grow by so many bytes? All of them count together. */
static bool afford(emu_recorder *r, size_t bytes) {
  if (atomic_fetch_add(&r->bytes, bytes) + bytes <= r->max_bytes) return true;
  atomic_fetch_sub(&r->bytes, bytes);
  return false;
}

static bool add_event(emu_recorder *r, emu_trace *t, emu_event e) {
  if (t->n == t->cap) {
    size_t cap = t->cap ? 2 * t->cap : 4096;
    emu_event *p = afford(r, (cap - t->cap) * sizeof *p) ? realloc(t->event, cap * sizeof *p) : NULL;
    if (!p) return false;
    t->event = p;
    t->cap = cap;
  }
  t->event[t->n++] = e;
  return true;
}

static bool too_long(emu_wave *w) {
  const emu_recorder *r = w->group->timing;
  const emu_trace *t = w->timing;
  return emu_fault(w, -1, "the recording for the timing model takes more than %llu MiB of host memory, after %llu instructions"
                          " of this"
                   " wave: the kernel may not end, or do too much at once; MLAF_EMU_MAX_MEMORY (MiB) raises the limit",
                   (unsigned long long)(r->max_bytes >> 20), (unsigned long long)t->n);
}

bool emu_timing_step(emu_wave *w, const emu_inst *in) {
  emu_trace *t = w->timing;
  emu_event e = {(uint32_t)(in - w->group->code->insts), 0, 0};
  if (t->failed) return too_long(w);
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
  return add_event(w->group->timing, t, e) || too_long(w);
}

/* --- cache lines --- */

/* Allocations start at pages, so a line lies in one of them. */
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

static void add_line(emu_recorder *r, emu_trace *t, uint32_t line) {
  for (size_t i = t->n_lines; i > t->pending_from; i--)
    if (t->line[i - 1] == line) return; /* each line once per instruction */
  if (t->n_lines == t->cap_lines) {
    size_t cap = t->cap_lines ? 2 * t->cap_lines : 1024;
    uint32_t *p = afford(r, (cap - t->cap_lines) * sizeof *p) ? realloc(t->line, cap * sizeof *p) : NULL;
    if (!p) {
      t->failed = true;
      return;
    }
    t->line = p;
    t->cap_lines = cap;
  }
  t->line[t->n_lines++] = line;
}

/* Lines of one group of lanes, each once. */
typedef struct group_lines {
  uint64_t line[2 * 16];
  unsigned n, bank[4]; /* lines per tag bank, address bits 7-8 */
} group_lines;

static void touch(group_lines *g, uint64_t line) {
  for (unsigned i = g->n; i-- > 0;)
    if (g->line[i] == line) return;
  g->line[g->n++] = line;
  g->bank[line & 3]++;
}

/* L1 takes 64 bytes of lanes a clock: a dword from 16 lanes, four from 4. Each of its four tag banks looks up one line a
 * clock, so lines of one group that share a bank follow one another: strides of 512 bytes cost four times. */
static unsigned record_lines(emu_recorder *r, emu_trace *t, const uint64_t *addr, uint64_t lanes, unsigned bytes) {
  unsigned per_clk = bytes >= 12 ? 4 : bytes == 8 ? 8 : 16, clk = 0;
  for (unsigned first = 0; first < EMU_LANES; first += per_clk) {
    group_lines g = {.n = 0};
    for (unsigned l = first; l < first + per_clk; l++) {
      if (!(lanes >> l & 1)) continue;
      for (uint64_t a = addr[l] / LINE; a <= (addr[l] + bytes - 1) / LINE; a++) touch(&g, a);
    }
    unsigned most = 1;
    for (int b = 0; b < 4; b++) most = g.bank[b] > most ? g.bank[b] : most;
    clk += most;
    for (unsigned i = 0; i < g.n; i++) add_line(r, t, line_number(r, t, g.line[i] * LINE));
  }
  return clk;
}

void emu_timing_memory(emu_wave *w, const uint64_t addr[EMU_LANES], uint64_t lanes, unsigned bytes) {
  emu_trace *t = w->timing;
  if (t) t->pending_clk = (uint16_t)(t->pending_clk + record_lines(w->group->timing, t, addr, lanes, bytes));
}
