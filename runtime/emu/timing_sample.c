/* Which workgroups stand for a launch, and how much of memory they share.
 *
 * Consecutive workgroups go round robin over the XCDs, so ids 8 apart share an L2. The sample is made of chains
 * b, b+8, b+16, b+24, and the x-neighbour of b: overlap of neighbours in a chain is what L2 saves (of m siblings m-1
 * hit, and m-1 of m neighbours are siblings), overlap between x-neighbours (the head groups of one request) what the
 * Infinity Cache saves. Chain starts follow the golden ratio over the grid, so that
 * no stride of the grid's shape aliases with them. */
#include <stdlib.h>
#include <string.h>

#include "emu/timing.h"

enum { CHAIN = 4, MAX_CHAINS = 4, MIN_CHAINS = 2, SMALL_GRID = 16, PER_CHAIN = CHAIN + 1 };
static const uint64_t EVENT_BUDGET = 16u << 20; /* instructions recorded: time and memory of one `time` call */

static uint64_t grid_size(const mlaf_launch *l) { return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]; }

static int by_id(const void *a, const void *b) {
  uint64_t x = ((const emu_sample *)a)->id, y = ((const emu_sample *)b)->id;
  return x < y ? -1 : x > y;
}

static void add_id(emu_recorder *r, uint64_t id) {
  for (size_t i = 0; i < r->n_samples; i++)
    if (r->sample[i].id == id) return;
  r->sample[r->n_samples++] = (emu_sample){.id = id};
}

static uint64_t chain_start(const mlaf_launch *l, int k) {
  double f = 0.5 + 0.6180339887498949 * k, n = (double)grid_size(l);
  return (uint64_t)((f - (int)f) * n);
}

/* Chain k begins at a workgroup that is the k-th of four on its XCD: sibling groups of 2 or 4 are then cut at all phases,
 * and the share of neighbours that overlap comes out right on average. */
static void chain_ids(const mlaf_launch *l, int k, uint64_t id[PER_CHAIN]) {
  uint64_t n = grid_size(l), b = chain_start(l, k), reach = 8 * (CHAIN - 1);
  b = b / (8 * CHAIN) * (8 * CHAIN) + 8u * (unsigned)k + b % 8;
  if (b + reach >= n) b = n > reach + 8 * CHAIN ? b - 8 * CHAIN : n > reach ? n - reach - 1 : 0;
  for (int i = 0; i < CHAIN; i++) id[i] = (b + 8u * (unsigned)i) % n;
  uint64_t x = b % l->grid[0];
  id[CHAIN] = b - x + (x + 1) % l->grid[0];
}

static bool wanted(void *ctx, const uint32_t id[3]) {
  const emu_recorder *r = ((void **)ctx)[0];
  const mlaf_launch *l = ((void **)ctx)[1];
  uint64_t linear = ((uint64_t)id[2] * l->grid[1] + id[1]) * l->grid[0] + id[0];
  for (size_t i = 0; i < r->n_samples; i++)
    if (r->sample[i].id == linear) return r->sample[i].wave == NULL; /* not one recorded before */
  return false;
}

static mlaf_status record(emu_device *dev, const mlaf_launch *l, emu_recorder *r, mlaf_err *err) {
  qsort(r->sample, r->n_samples, sizeof *r->sample, by_id);
  void *ctx[2] = {r, (void *)(uintptr_t)l};
  emu_launch_opts opts = {.filter = wanted, .ctx = ctx, .recorder = r};
  mlaf_status st = emu_launch_run(dev, l, &opts, NULL, NULL, err);
  for (size_t i = 0; i < r->n_samples && st == MLAF_OK; i++)
    for (int w = 0; w < r->sample[i].n_waves; w++)
      if (r->sample[i].wave[w].failed) st = mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the trace of a workgroup");
  return st;
}

static uint64_t events(const emu_recorder *r) {
  uint64_t n = 0;
  for (size_t i = 0; i < r->n_samples; i++)
    for (int w = 0; w < r->sample[i].n_waves; w++) n += r->sample[i].wave[w].n;
  return n;
}

mlaf_status emu_sample_run(emu_device *dev, const mlaf_launch *l, emu_recorder *r, mlaf_err *err) {
  uint64_t n = grid_size(l), id[PER_CHAIN];
  r->sample = calloc(MAX_CHAINS * PER_CHAIN, sizeof *r->sample);
  if (!r->sample) return mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the timing model");
  if (n <= SMALL_GRID) {
    for (uint64_t i = 0; i < n; i++) add_id(r, i);
    return record(dev, l, r, err);
  }
  mlaf_status st = MLAF_OK;
  int chains = MIN_CHAINS;
  for (int k = 0; k < chains && st == MLAF_OK; k++) {
    chain_ids(l, k, id);
    for (int i = 0; i < PER_CHAIN; i++) add_id(r, id[i]);
    st = record(dev, l, r, err);
    if (k == 0 && events(r) * MAX_CHAINS <= EVENT_BUDGET) chains = MAX_CHAINS;
  }
  return st;
}

/* --- sharing --- */

/* One bit per line of every region. */
typedef struct bitmap {
  uint64_t *bits;
  uint64_t n;
} bitmap;

static uint64_t all_lines(const emu_recorder *r) {
  const emu_region *last = r->n_regions ? &r->region[r->n_regions - 1] : NULL;
  return last ? (uint64_t)last->first + last->lines : 0;
}

/* Visit the lines that loads of a sample touched. */
static void walk(const emu_recorder *r, const emu_code *code, const emu_sample *s, bitmap *b, bool set, uint64_t *fresh) {
  for (int w = 0; w < s->n_waves; w++) {
    const emu_trace *t = &s->wave[w];
    size_t at = 0;
    for (size_t i = 0; i < t->n; i++) {
      bool load = code->insts[t->event[i].inst].cls == EMU_C_VMEM_LOAD;
      for (size_t end = at + t->event[i].lines; at < end; at++) {
        uint32_t line = t->line[at];
        if (!load || line >= b->n) continue;
        uint64_t bit = 1ull << (line & 63), *word = &b->bits[line / 64];
        if (set && !(*word & bit)) fresh[emu_recorder_region(r, line)]++;
        if (set) *word |= bit;
        else *word &= ~bit;
      }
    }
  }
}

static const emu_sample *sample_of(const emu_recorder *r, uint64_t id) {
  const emu_sample key = {.id = id};
  return bsearch(&key, r->sample, r->n_samples, sizeof key, by_id);
}

/* Distinct lines per region: summed over the members one by one (own) and of their union (joint). */
static void measure(const emu_recorder *r, const emu_code *code, const uint64_t *id, int n, bitmap *b, uint64_t *own,
    uint64_t *joint) {
  const emu_sample *s;
  for (int i = 0; i < n; i++) {
    bool repeat = false;
    for (int j = 0; j < i; j++) repeat |= id[j] == id[i];
    if (repeat || !(s = sample_of(r, id[i]))) continue;
    walk(r, code, s, b, true, own);
    walk(r, code, s, b, false, NULL);
  }
  for (int i = 0; i < n; i++)
    if ((s = sample_of(r, id[i])) != NULL) walk(r, code, s, b, true, joint);
  for (int i = 0; i < n; i++)
    if ((s = sample_of(r, id[i])) != NULL) walk(r, code, s, b, false, NULL);
}

typedef struct counts {
  uint64_t *own, *joint, *x_own, *x_joint;
  uint64_t members; /* workgroups in own, with repeats */
} counts;

/* From overlaps to hit rates. own counts each member of a pair, so own / 2 is one workgroup. */
static void settle(const emu_recorder *r, const mlaf_launch *l, const counts *c, emu_sharing *out) {
  double groups = (double)grid_size(l);
  bool all = r->n_samples == grid_size(l);
  for (size_t i = 0; i <= r->n_regions; i++) {
    double own = (double)c->own[i], joint = (double)c->joint[i];
    if (own == 0) continue;
    out->l2_hit[i] = (1 - joint / own) * (all ? 1 : 2);
    if (i == r->n_regions) continue;
    /* Lines asked of the Infinity Cache by the whole launch, and how many of them are different. */
    double per_group = own / (double)c->members, asked = per_group * groups * (1 - out->l2_hit[i]);
    double overlap = c->x_own[i] ? 2 * (1 - (double)c->x_joint[i] / (double)c->x_own[i]) : 0;
    double distinct = asked / (1 + overlap * (l->grid[0] - 1.0));
    if (distinct > r->region[i].lines) distinct = r->region[i].lines;
    out->mall_hit[i] = r->region[i].written ? 1 : asked > distinct ? 1 - distinct / asked : 0;
  }
}

static void measure_all(const emu_recorder *r, const mlaf_launch *l, const emu_code *code, bitmap *b, counts *c) {
  uint64_t id[PER_CHAIN];
  if (grid_size(l) <= SMALL_GRID) {
    uint64_t all[SMALL_GRID];
    for (uint64_t i = 0; i < r->n_samples; i++) all[i] = i;
    for (uint64_t x = 0; x < 8 && x < r->n_samples; x++) { /* members of XCD x */
      uint64_t two[2] = {x, x + 8 < r->n_samples ? x + 8 : x};
      measure(r, code, two, 2, b, c->own, c->joint);
      c->members += two[0] == two[1] ? 1 : 2;
    }
    for (uint64_t i = 0; i + 1 < r->n_samples && l->grid[0] > 1; i++)
      if (i % l->grid[0] + 1 < l->grid[0]) measure(r, code, &all[i], 2, b, c->x_own, c->x_joint);
    return;
  }
  for (int k = 0; k < MAX_CHAINS; k++) {
    chain_ids(l, k, id);
    if (!sample_of(r, id[0])) continue;
    for (int i = 0; i + 1 < CHAIN; i++) {
      measure(r, code, &id[i], 2, b, c->own, c->joint);
      c->members += 2;
    }
    if (l->grid[0] < 2) continue;
    const uint64_t pair[2] = {id[0], id[CHAIN]};
    measure(r, code, pair, 2, b, c->x_own, c->x_joint);
  }
}

void emu_sharing_free(emu_sharing *s) {
  free(s->l2_hit);
  free(s->mall_hit);
  memset(s, 0, sizeof *s);
}

mlaf_status emu_sample_sharing(const emu_recorder *r, const mlaf_launch *l, emu_sharing *out, mlaf_err *err) {
  size_t n = r->n_regions + 1;
  bitmap b = {NULL, all_lines(r)};
  b.bits = calloc(b.n / 64 + 1, sizeof *b.bits);
  uint64_t *sums = calloc(4 * n, sizeof *sums);
  out->l2_hit = calloc(n, sizeof *out->l2_hit);
  out->mall_hit = calloc(n, sizeof *out->mall_hit);
  bool ok = b.bits && sums && out->l2_hit && out->mall_hit;
  if (ok) {
    counts c = {sums, sums + n, sums + 2 * n, sums + 3 * n, 0};
    measure_all(r, l, l->fn->module->code, &b, &c);
    settle(r, l, &c, out);
  } else {
    emu_sharing_free(out);
  }
  free(b.bits);
  free(sums);
  return ok ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the timing model");
}

size_t emu_sample_for(const emu_recorder *r, const uint32_t grid[3], uint64_t id) {
  uint64_t x = id % grid[0], y = id / grid[0] % grid[1], z = id / grid[0] / grid[1];
  size_t best = 0;
  double least = 1e30;
  for (size_t i = 0; i < r->n_samples; i++) {
    uint64_t s = r->sample[i].id;
    double dx = (double)(s % grid[0]) - (double)x, dy = (double)(s / grid[0] % grid[1]) - (double)y;
    double dz = (double)(s / grid[0] / grid[1]) - (double)z;
    double d = 4 * (dy < 0 ? -dy : dy) / grid[1] + (dx < 0 ? -dx : dx) / grid[0] + (dz < 0 ? -dz : dz) / grid[2];
    if (d < least) least = d, best = i;
  }
  return best;
}
