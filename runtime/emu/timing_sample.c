/* Which workgroups stand for a launch, and how much of memory they share.
 *
 * Consecutive workgroups go round robin over the XCDs, so ids 8 apart share an L2. The sample is made of chains
 * b, b+8, b+16, b+24, and the x-neighbour of b: overlap of neighbours in a chain is what L2 saves (of m siblings m-1
 * hit, and m-1 of m neighbours are siblings), overlap between x-neighbours (the head groups of one request) what the
 * Infinity Cache saves. Chain starts follow the golden ratio over the grid, so that
 * no stride of the grid's shape aliases with them.
 *
 * Ragged batches and persistent grids hold workgroups of different length. Their instructions are counted in a run without
 * recording, and the sample is filled up until no workgroup is far from all of it.
 *
 * The choice depends on the launch and on the number of instructions that the caller allows alone, never on a clock: a model
 * repeats itself on any host. A caller whose time is over gets no time at all. */
#include "base/base.h"
#include "emu/timing.h"

enum { UNEVEN_COUNT = 4 }; /* of launches said to be uneven, times the instructions counted of others */
enum { CHAIN = 4, MAX_CHAINS = 4, MIN_CHAINS = 2, SMALL_GRID = 16, PER_CHAIN = CHAIN + 1, MAX_EXTRA = 8 };
static const double ALIKE = 1.1; /* work of the longest over that of the shortest: the sample stands well for all */
static const double UNLIKE = 2; /* the same: neither of the two says anything about the other */
static const double CHEAP = 1 << 20; /* instructions of all workgroups: counting takes a fraction of a second */
static const double NEAR = 1.15;  /* a sample stands for work up to this factor away, where it can be had */

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

/* A run over part of a grid. */
typedef struct pass {
  emu_recorder *r;
  const mlaf_launch *l;
  bool count;       /* the workgroups of `pick`, unrecorded; else the samples not recorded yet */
  const bool *pick; /* [n_groups] */
} pass;

static uint64_t linear_id(const mlaf_launch *l, const uint32_t id[3]) {
  return ((uint64_t)id[2] * l->grid[1] + id[1]) * l->grid[0] + id[0];
}

static bool wanted(void *ctx, const uint32_t id[3]) {
  const pass *p = ctx;
  emu_recorder *r = p->r;
  uint64_t linear = linear_id(p->l, id);
  bool mine = p->count && p->pick[linear];
  for (size_t i = 0; i < r->n_samples && !p->count; i++)
    if (r->sample[i].id == linear) mine = r->sample[i].wave == NULL; /* not one recorded before */
  if (!mine || r->deadline <= 0 || r->now() < r->deadline) return mine;
  atomic_store(&r->late, true);
  return false;
}

static void counted(void *ctx, const uint32_t id[3], const emu_counts *counts) {
  const pass *p = ctx;
  uint64_t sum = 0;
  for (int i = 0; i < EMU_C_COUNT; i++) sum += counts->issued[i];
  if (p->count) p->r->work[linear_id(p->l, id)] = (float)sum;
}

/* A part of the sample may have no sibling that shares its lines, or nothing to do: it gives no time. */
static mlaf_status in_time(const emu_recorder *r, mlaf_err *err) {
  if (!atomic_load(&r->late)) return MLAF_OK;
  size_t done = 0;
  for (size_t i = 0; i < r->n_samples; i++) done += r->sample[i].wave != NULL;
  return mlaf_fail(err, MLAF_E_TIMEOUT, "the run's time limit ended the timing model when %zu workgroups of %llu were recorded,"
                   " which is too early to tell a time: allow the run more time", done, (unsigned long long)r->n_groups);
}

static mlaf_status record(emu_device *dev, const mlaf_launch *l, emu_recorder *r, mlaf_err *err) {
  qsort(r->sample, r->n_samples, sizeof *r->sample, by_id);
  pass p = {r, l, false, NULL};
  emu_launch_opts opts = {.filter = wanted, .ctx = &p, .recorder = r};
  mlaf_status st = emu_launch_run(dev, l, &opts, NULL, NULL, err);
  if (st == MLAF_OK) st = in_time(r, err);
  for (size_t i = 0; i < r->n_samples && st == MLAF_OK; i++)
    for (int w = 0; w < r->sample[i].n_waves; w++)
      if (r->sample[i].wave[w].failed) st = mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the trace of a workgroup");
  return st;
}

static uint64_t sample_work(const emu_sample *s) {
  uint64_t n = 0;
  for (int w = 0; w < s->n_waves; w++) n += s->wave[w].n;
  return n;
}

static uint64_t events(const emu_recorder *r) {
  uint64_t n = 0;
  for (size_t i = 0; i < r->n_samples; i++) n += sample_work(&r->sample[i]);
  return n;
}

/* --- workgroups of different length --- */

/* Do the x-neighbours of every chain have the same work? Head groups of one request do. */
static bool x_alike(const emu_recorder *r, const mlaf_launch *l) {
  uint64_t row = UINT64_MAX;
  double first = 0;
  if (l->grid[0] < 2 || l->grid[0] == r->n_groups) return false;
  for (size_t i = 0; i < r->n_samples; i++) { /* sorted by id: one row after another */
    double work = (double)sample_work(&r->sample[i]);
    if (r->sample[i].id / l->grid[0] != row) row = r->sample[i].id / l->grid[0], first = work;
    else if (work > ALIKE * first || first > ALIKE * work) return false;
  }
  return true;
}

/* Choose what to count: every `x`-th workgroup, and of these evenly as many as the budget holds. */
static void pick_counted(emu_recorder *r, uint64_t x, double mean, bool *pick) {
  double all = (double)(r->n_groups / x), can = (double)r->budget * (r->uneven ? UNEVEN_COUNT : 1) / mean;
  double step = can < all ? all / (can < 1 ? 1 : can) : 1;
  for (double k = step / 2; k < all; k += step) pick[(uint64_t)k * x] = true;
  for (size_t i = 0; i < r->n_samples; i++) {
    const emu_sample *s = &r->sample[i];
    r->work[s->id] = (float)sample_work(s);
    pick[s->id] = false;
  }
}

/* Workgroups not counted: as long as the counted one of their row, else as the one counted that is nearest in the grid. Causal
 * tiles come in the order of their lengths, which counted ones dealt out in turn would lose. */
static void fill_uncounted(emu_recorder *r, uint64_t x) {
  for (uint64_t id = 0; id < r->n_groups; id++) r->counted += r->work[id] > 0;
  for (uint64_t row = 0; row + x <= r->n_groups && x > 1; row += x) {
    float known = 0;
    for (uint64_t i = row; i < row + x; i++) known = r->work[i] > 0 ? r->work[i] : known;
    for (uint64_t i = row; i < row + x; i++) r->work[i] = known;
  }
  for (uint64_t id = 0; id < r->n_groups;) { /* runs of uncounted ones: each half as its end */
    uint64_t end = id;
    while (end < r->n_groups && r->work[end] == 0) end++;
    for (uint64_t i = id; i < end; i++) {
      const bool left = id > 0 && (end == r->n_groups || i - id < end - 1 - i);
      r->work[i] = -r->work[left ? id - 1 : end]; /* negative: not counted */
    }
    id = end + 1;
  }
  for (uint64_t id = 0; id < r->n_groups; id++) r->work[id] = fabsf(r->work[id]);
}

/* Distance of the nearest sample from this much work, as a factor. */
static double distance(const emu_recorder *r, double work) {
  double least = 1e30;
  for (size_t i = 0; i < r->n_samples; i++) {
    double ratio = work / (double)r->work[r->sample[i].id];
    least = fmin(least, ratio < 1 ? 1 / ratio : ratio);
  }
  return least;
}

/* More samples, each the workgroup that is worst stood for; one in any case, beyond that as many as the budget holds. */
static bool add_unlike(emu_recorder *r) {
  size_t before = r->n_samples;
  uint64_t recorded = events(r);
  for (int k = 0; k < MAX_EXTRA; k++) {
    uint64_t worst = 0;
    double most = 0;
    for (uint64_t id = 0; id < r->n_groups; id++) {
      double d = distance(r, r->work[id]);
      if (d > most) most = d, worst = id;
    }
    recorded += (uint64_t)r->work[worst];
    if (most < NEAR || (k > 0 && recorded > 2 * r->budget)) break;
    add_id(r, worst);
  }
  return r->n_samples > before;
}

/* `first` and `last`: work of the grid's first and last workgroup, which ran already. */
static mlaf_status count_work(emu_device *dev, const mlaf_launch *l, emu_recorder *r, uint64_t first, uint64_t last,
                              mlaf_err *err) {
  double least = 1e30, most = 0, sum = (double)events(r), mean = sum / (double)r->n_samples;
  for (size_t i = 0; i < r->n_samples; i++) {
    double work = (double)sample_work(&r->sample[i]);
    least = fmin(least, work), most = fmax(most, work);
  }
  uint64_t x = x_alike(r, l) ? l->grid[0] : 1;
  bool cheap = mean * (double)(r->n_groups / x) < fmax(1.5 * sum, CHEAP);
  if (most < ALIKE * least && !cheap && !r->uneven) return MLAF_OK;
  if (r->n_groups > r->max_bytes / (sizeof *r->work + sizeof(bool)))
    return mlaf_fail(err, MLAF_E_NOMEM, "the timing model needs more than %llu MiB of host memory for %llu workgroups"
                     " (MLAF_EMU_MAX_MEMORY sets the limit)", (unsigned long long)(r->max_bytes >> 20),
                     (unsigned long long)r->n_groups);
  bool *pick = calloc(r->n_groups, sizeof *pick);
  r->work = calloc(r->n_groups, sizeof *r->work);
  mlaf_status st = pick && r->work ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the timing model");
  if (st == MLAF_OK) {
    pass p = {r, l, true, pick};
    emu_launch_opts opts = {.filter = wanted, .done = counted, .ctx = &p};
    pick_counted(r, x, mean, pick);
    st = emu_launch_run(dev, l, &opts, NULL, NULL, err);
    if (st == MLAF_OK) st = in_time(r, err);
  }
  free(pick);
  if (st != MLAF_OK) return st;
  fill_uncounted(r, x);
  r->work[0] = (float)first, r->work[r->n_groups - 1] = (float)last;
  return add_unlike(r) ? record(dev, l, r, err) : MLAF_OK;
}

/* Unrecorded workgroups of ids that are all `want` of the grid: 0, or its last. */
typedef struct one {
  const mlaf_launch *l;
  bool last;
  uint64_t work;
} one;

static bool is_one(void *ctx, const uint32_t id[3]) {
  const one *o = ctx;
  bool is = true;
  for (int i = 0; i < 3; i++) is &= id[i] == (o->last ? o->l->grid[i] - 1 : 0);
  return is;
}

static void count_one(void *ctx, const uint32_t id[3], const emu_counts *counts) {
  (void)id;
  for (int i = 0; i < EMU_C_COUNT; i++) ((one *)ctx)->work += counts->issued[i];
}

/* The first workgroup runs in any case: a word that says what a launch decided, for the next one to read, is its to write. So
 * does the last one, which may have nothing to do where those in front have. *work is what it did. */
static mlaf_status run_one(emu_device *dev, const mlaf_launch *l, bool last, uint64_t *work, mlaf_err *err) {
  one o = {l, last, 0};
  const emu_launch_opts opts = {.filter = is_one, .done = count_one, .ctx = &o, .threads = 1};
  mlaf_status st = emu_launch_run(dev, l, &opts, NULL, NULL, err);
  *work = o.work;
  return st;
}

mlaf_status emu_sample_run(emu_device *dev, const mlaf_launch *l, emu_recorder *r, mlaf_err *err) {
  uint64_t n = r->n_groups = grid_size(l), id[PER_CHAIN];
  bool whole = n <= SMALL_GRID || r->all;
  r->sample = calloc(MAX_CHAINS * PER_CHAIN + MAX_EXTRA + (whole ? n : 0), sizeof *r->sample);
  if (!r->sample) return mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the timing model");
  if (whole) {
    for (uint64_t i = 0; i < n; i++) r->sample[r->n_samples++] = (emu_sample){.id = i};
    return record(dev, l, r, err);
  }
  uint64_t first, last;
  mlaf_status st = run_one(dev, l, false, &first, err);
  if (st == MLAF_OK) st = run_one(dev, l, true, &last, err);
  int chains = 1;
  if (st != MLAF_OK) return st;
  r->uneven |= last * UNLIKE < first;
  chain_ids(l, 0, id);
  if (r->hopeless) {
    add_id(r, id[0]);
    st = record(dev, l, r, err);
    if (st != MLAF_OK || r->hopeless(r->user)) return st;
  }
  for (int k = 0; k < chains && st == MLAF_OK; k++) {
    chain_ids(l, k, id);
    for (int i = 0; i < PER_CHAIN; i++) add_id(r, id[i]);
    st = record(dev, l, r, err);
    if (k > 0) continue;
    chains = events(r) * MAX_CHAINS <= r->budget ? MAX_CHAINS : events(r) <= r->budget ? MIN_CHAINS : 1;
    if (st == MLAF_OK && chains > 1 && r->hopeless && r->hopeless(r->user)) return st;
  }
  return st == MLAF_OK ? count_work(dev, l, r, first, last, err) : st;
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

typedef struct counts {
  uint64_t *own, *joint, *x_own, *x_joint;
  uint64_t members; /* workgroups in own, with repeats */
  double work;      /* theirs */
} counts;

/* A workgroup that has nothing to do says nothing about what others share. */
static bool comparable(const emu_recorder *r, const uint64_t pair[2]) {
  const emu_sample *a = sample_of(r, pair[0]), *b = sample_of(r, pair[1]);
  if (!a || !b) return true;
  double x = (double)sample_work(a), y = (double)sample_work(b);
  return x < UNLIKE * y && y < UNLIKE * x;
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

static void measure_pair(const emu_recorder *r, const emu_code *code, const uint64_t pair[2], bitmap *b, counts *c) {
  if (!comparable(r, pair)) return;
  measure(r, code, pair, 2, b, c->own, c->joint);
  for (int i = 0; i < 2; i++) {
    const emu_sample *s = sample_of(r, pair[i]);
    if (!s || (i > 0 && pair[0] == pair[1])) continue;
    c->members++;
    c->work += (double)sample_work(s);
  }
}

/* So many workgroups like the measured ones would do the launch's work. */
static double alike(const emu_recorder *r, const counts *c) {
  double all = 0;
  if (r->work)
    for (uint64_t i = 0; i < r->n_groups; i++) all += r->work[i];
  else if (r->n_samples == r->n_groups)
    for (size_t i = 0; i < r->n_samples; i++) all += (double)sample_work(&r->sample[i]);
  return all > 0 && c->work > 0 ? all * (double)c->members / c->work : (double)r->n_groups;
}

/* From overlaps to hit rates. own counts each member of a pair, so own / 2 is one workgroup. */
static void settle(const emu_recorder *r, const mlaf_launch *l, const counts *c, emu_sharing *out) {
  double groups = alike(r, c);
  const bool all = r->n_groups <= SMALL_GRID && r->n_samples == r->n_groups; /* an XCD has one pair at most */
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
    out->mall_hit[i] = asked > distinct ? 1 - distinct / asked : 0;
  }
}

static void measure_all(const emu_recorder *r, const mlaf_launch *l, const emu_code *code, bitmap *b, counts *c) {
  uint64_t id[PER_CHAIN];
  if (grid_size(l) <= SMALL_GRID && r->n_samples == grid_size(l)) {
    uint64_t all[SMALL_GRID];
    for (uint64_t i = 0; i < r->n_samples; i++) all[i] = i;
    for (uint64_t x = 0; x < 8 && x < r->n_samples; x++) { /* members of XCD x */
      const uint64_t two[2] = {x, x + 8 < r->n_samples ? x + 8 : x};
      measure_pair(r, code, two, b, c);
    }
    for (uint64_t i = 0; i + 1 < r->n_samples && l->grid[0] > 1; i++)
      if (i % l->grid[0] + 1 < l->grid[0]) measure(r, code, &all[i], 2, b, c->x_own, c->x_joint);
    return;
  }
  for (int k = 0; k < MAX_CHAINS; k++) {
    chain_ids(l, k, id);
    if (!sample_of(r, id[0])) continue;
    for (int i = 0; i + 1 < CHAIN; i++) measure_pair(r, code, &id[i], b, c);
    if (l->grid[0] < 2) continue;
    const uint64_t pair[2] = {id[0], id[CHAIN]};
    if (comparable(r, pair)) measure(r, code, pair, 2, b, c->x_own, c->x_joint);
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
    counts c = {sums, sums + n, sums + 2 * n, sums + 3 * n, 0, 0};
    measure_all(r, l, l->fn->module->code, &b, &c);
    settle(r, l, &c, out);
  } else {
    emu_sharing_free(out);
  }
  free(b.bits);
  free(sums);
  return ok ? MLAF_OK : mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the timing model");
}

size_t emu_sample_for(const emu_recorder *r, const uint32_t grid[3], uint64_t id, double *scale) {
  uint64_t x = id % grid[0], y = id / grid[0] % grid[1], z = id / grid[0] / grid[1];
  size_t best = 0;
  double least = 1e30;
  *scale = 1;
  for (size_t i = 0; i < r->n_samples; i++) {
    uint64_t s = r->sample[i].id;
    double dx = (double)(s % grid[0]) - (double)x, dy = (double)(s / grid[0] % grid[1]) - (double)y;
    double dz = (double)(s / grid[0] / grid[1]) - (double)z;
    double d = 4 * (dy < 0 ? -dy : dy) / grid[1] + (dx < 0 ? -dx : dx) / grid[0] + (dz < 0 ? -dz : dz) / grid[2];
    if (r->work) d += 1e6 * fabs(r->work[id] - r->work[s]) / r->work[s];
    if (d < least) least = d, best = i;
  }
  if (r->work && r->n_samples) *scale = r->work[id] / r->work[r->sample[best].id];
  return best;
}
