/* The device's `time`: sampled workgroups, replayed on one CU under what the rest of the chip leaves it, list-scheduled
 * over 8 XCDs x 38 CUs.
 *
 * Bandwidth is shared equally by the workgroups in flight, but for those that end almost at once. The clock follows power: dense
 * MFMA, mfma_busy of the matrix pipes, sustains mfma_mhz. Power goes with the cube of the clock, so matrix pipes busy u and
 * vector pipes busy v allow mfma_mhz / (mfma_power u / mfma_busy + valu_power v)^(1/3), at most boost. A launch of T sees boost
 * at its start and the sustained clock in the long run, weighted T / (T + throttle_ns). Passes repeat until clock and
 * concurrency settle.
 * Caches are cold, except that what an earlier launch of the sequence wrote is in the Infinity Cache. */
#include <pthread.h>

#include "base/base.h"
#include "emu/timing.h"

enum { MAX_THREADS = 64, PASSES = 3 };
static const double EVENTS_PER_SECOND = 8 << 20; /* recorded by a slow host: what a limit in seconds buys */
static const double BRIEFLY = 0.2; /* of the longest workgroup: took part in no sharing that counts */
static const double CLEARLY = 1.5; /* over the limit after a first pass at boost clock: the others will not bring it back */

/* One launch being modelled. */
typedef struct model {
  const emu_arch *arch;
  const mlaf_launch *launch;
  const emu_recorder *rec;
  const emu_sharing *share;
  uint64_t groups, slots; /* workgroups; how many the chip holds at once */
  int residents;          /* per CU while the chip is full */
  double clock_mhz;
  double in_flight;       /* workgroups that share the bandwidth */
  emu_cu_result *full, *tail; /* per sample: while the chip is full; in the last, partial round (NULL: same) */
  uint64_t tail_groups;
  int tail_residents;
  int threads;
  double give_up_ns; /* see emu_time_how */
  const atomic_bool *cancel;
} model;

typedef struct outcome {
  double clk, busy, valu; /* valu, busy: share of the chip's vector and matrix pipes in use */
  double part[EMU_PART_COUNT];
  double in_flight; /* average */
  uint64_t brief;   /* workgroups that ended almost at once */
} outcome;

/* --- replay of all samples, on the host's threads --- */

typedef struct replay {
  const model *m;
  emu_cu_env env;
  emu_cu_result *out;
  size_t next;
  pthread_mutex_t lock;
  bool failed;
} replay;

static void *replay_worker(void *arg) {
  replay *r = arg;
  for (;;) {
    pthread_mutex_lock(&r->lock);
    size_t i = r->next++;
    pthread_mutex_unlock(&r->lock);
    if (i >= r->m->rec->n_samples) return NULL;
    if (emu_cu_run(&r->env, &r->m->rec->sample[i], &r->out[i])) continue;
    pthread_mutex_lock(&r->lock);
    r->failed = true;
    pthread_mutex_unlock(&r->lock);
  }
}

static double per_cu(double bytes_per_second, double clock_mhz, double share, double most) {
  double bpc = bytes_per_second / (clock_mhz * 1e6) * share;
  return bpc > most ? most : bpc;
}

static emu_cu_env environment(const model *m, int residents, double in_flight) {
  const emu_arch *a = m->arch;
  double share = residents / in_flight, cus = in_flight / residents, per_xcd = cus / a->xccs;
  if (share > 1) share = 1;
  if (per_xcd < 1) per_xcd = 1;
  double l2 = a->l2_bpc_xcd / per_xcd;
  return (emu_cu_env){
      .arch = a, .code = m->launch->fn->module->code, .rec = m->rec, .l2_hit = m->share->l2_hit, .mall_hit = m->share->mall_hit,
      .clock_mhz = m->clock_mhz, .residents = residents, .cancel = m->cancel,
      .l2_bpc = l2 > a->l1_fill_bpc ? a->l1_fill_bpc : l2,
      .mall_bpc = per_cu(a->mall_bps, m->clock_mhz, share, a->l1_fill_bpc),
      .hbm_bpc = per_cu(a->hbm_bps, m->clock_mhz, share, a->l1_fill_bpc),
      .l2_reuse_lines = (uint64_t)(a->l2_bytes / a->l1_line / per_xcd)};
}

static bool replay_all(const model *m, int residents, double in_flight, emu_cu_result *out) {
  replay r = {.m = m, .env = environment(m, residents, in_flight), .out = out, .lock = PTHREAD_MUTEX_INITIALIZER};
  pthread_t tid[MAX_THREADS];
  int started = 0, want = m->threads < MAX_THREADS ? m->threads : MAX_THREADS;
  while (started < want - 1 && pthread_create(&tid[started], NULL, replay_worker, &r) == 0) started++;
  replay_worker(&r);
  for (int i = 0; i < started; i++) pthread_join(tid[i], NULL);
  pthread_mutex_destroy(&r.lock);
  return !r.failed;
}

/* --- dispatch: the earliest free slot of the workgroup's XCD --- */

static void sift(double *heap, size_t n) {
  for (size_t i = 0;;) {
    size_t c = 2 * i + 1;
    if (c >= n) return;
    if (c + 1 < n && heap[c + 1] < heap[c]) c++;
    if (heap[i] <= heap[c]) return;
    double t = heap[i];
    heap[i] = heap[c], heap[c] = t;
    i = c;
  }
}

/* The longest workgroup alone. */
static double longest(const model *m) {
  double clk = 0;
  for (size_t i = 0; i < m->rec->n_samples; i++)
    if ((double)m->full[i].clk > clk) clk = (double)m->full[i].clk;
  return clk;
}

static bool schedule(const model *m, outcome *o) {
  const emu_arch *a = m->arch;
  size_t per_xcd = (size_t)(a->cus / a->xccs * m->residents);
  double *heap = calloc(per_xcd * (size_t)a->xccs, sizeof *heap), work = 0, busy = 0, valu = 0;
  const double brief = BRIEFLY * longest(m);
  if (!heap) return false;
  *o = (outcome){0};
  for (uint64_t id = 0; id < m->groups; id++) {
    bool tail = m->tail && id >= m->groups - m->tail_groups;
    double scale;
    const emu_cu_result *r = &(tail ? m->tail : m->full)[emu_sample_for(m->rec, m->launch->grid, id, &scale)];
    double *h = heap + id % (uint64_t)a->xccs * per_xcd, clk = scale * (double)r->clk + a->wg_start_clk;
    h[0] += clk;
    o->brief += scale * (double)r->clk < brief;
    if (h[0] > o->clk) o->clk = h[0];
    sift(h, per_xcd);
    work += clk;
    busy += scale * r->mfma_busy / (tail ? m->tail_residents : m->residents);
    valu += scale * r->valu_busy / (tail ? m->tail_residents : m->residents);
    for (int p = 0; p < EMU_PART_COUNT; p++) o->part[p] += scale * r->part[p];
    o->part[EMU_PART_LAUNCH] += a->wg_start_clk;
  }
  free(heap);
  double used = (double)(m->groups < m->slots ? m->groups : m->slots), sum = 0;
  for (int p = 0; p < EMU_PART_COUNT; p++) o->part[p] /= used, sum += o->part[p];
  o->part[EMU_PART_IDLE] = o->clk > sum ? o->clk - sum : 0;
  o->in_flight = work / o->clk;
  o->busy = busy / (o->clk * a->cus * a->simds);
  o->valu = valu / (o->clk * a->cus * a->simds);
  return true;
}

static double clock_for(const emu_arch *a, const outcome *o, double ns) {
  double power = a->mfma_power * o->busy / a->mfma_busy + a->valu_power * o->valu;
  double sustained = power > 0 ? a->mfma_mhz / cbrt(power) : a->boost_mhz;
  if (sustained > a->boost_mhz) sustained = a->boost_mhz;
  return a->boost_mhz - (a->boost_mhz - sustained) * ns / (ns + a->throttle_ns);
}

static bool converge(model *m, outcome *o) {
  m->clock_mhz = m->arch->boost_mhz;
  m->in_flight = (double)(m->groups < m->slots ? m->groups : m->slots);
  for (int pass = 0;; pass++) {
    if (!replay_all(m, m->residents, m->in_flight, m->full)) return false;
    if (m->tail && !replay_all(m, m->tail_residents, (double)m->tail_groups, m->tail)) return false;
    if (!schedule(m, o)) return false;
    double clock = clock_for(m->arch, o, o->clk / m->clock_mhz * 1000);
    const bool alone = pass == 0 && !m->tail && o->brief; /* first without those, then as for any launch */
    double in_flight = m->tail ? m->in_flight : alone ? m->in_flight - (double)o->brief : o->in_flight;
    bool enough = m->give_up_ns > 0 && o->clk / m->clock_mhz * 1000 > CLEARLY * m->give_up_ns;
    bool settled = enough || (!alone && fabs(clock / m->clock_mhz - 1) < 0.01 && in_flight > 0.9 * m->in_flight);
    if (settled || pass + 1 == PASSES) return true;
    m->clock_mhz = clock;
    m->in_flight = in_flight < m->residents ? m->residents : in_flight;
  }
}

/* --- launches --- */

/* Lines of an allocation, from its first on, that launches stored to. */
typedef struct stores {
  uint64_t region; /* its address */
  uint32_t lo, end;
} stores;

typedef struct sequence {
  stores *written; /* by earlier launches */
  size_t n_written, cap;
  double ns, kernel_ns, clock_ns; /* clock_ns: sum of clock x kernel time */
  double part[EMU_PART_COUNT];
  char detail[100];
} sequence;

/* Stores that are spread more thinly are single rows, as those appended to a cache, and no tensor that was made. */
static const double LEAST_WRITTEN = 1.0 / 16;

static bool add_stores(sequence *q, const stores *s) {
  for (size_t i = 0; i < q->n_written; i++)
    if (q->written[i].region == s->region) {
      if (s->lo < q->written[i].lo) q->written[i].lo = s->lo;
      if (s->end > q->written[i].end) q->written[i].end = s->end;
      return true;
    }
  if (q->n_written == q->cap) {
    stores *p = realloc(q->written, (q->cap = q->cap ? 2 * q->cap : 16) * sizeof *p);
    if (!p) return false;
    q->written = p;
  }
  q->written[q->n_written++] = *s;
  return true;
}

/* Remembers which lines a launch's samples stored to, allocation by allocation: from the first to the last, where there are about
 * as many in all workgroups together. */
static bool remember_stores(sequence *q, const emu_recorder *r, const emu_code *code) {
  struct range {
    uint32_t lo, end;
    double lines;
  } *of = calloc(r->n_regions + 1, sizeof *of);
  bool good = of != NULL;
  for (size_t i = 0; good && i < r->n_samples; i++)
    for (int w = 0; w < r->sample[i].n_waves; w++) {
      const emu_trace *t = &r->sample[i].wave[w];
      for (size_t k = 0, at = 0; k < t->n; at += t->event[k++].lines) {
        uint8_t cls = code->insts[t->event[k].inst].cls;
        if ((cls != EMU_C_VMEM_STORE && cls != EMU_C_VMEM_ATOMIC) || !t->event[k].lines) continue;
        if (code->insts[t->event[k].inst].flags & EMU_F_NT) continue; /* streams past the Infinity Cache */
        for (uint32_t n = 0; n < t->event[k].lines; n++) {
          const uint32_t line = t->line[at + n];
          const size_t g = emu_recorder_region(r, line);
          if (g == r->n_regions) continue;
          const uint32_t in = line - r->region[g].first;
          if (!of[g].end || in < of[g].lo) of[g].lo = in;
          if (in >= of[g].end) of[g].end = in + 1;
          of[g].lines++;
        }
      }
    }
  const double all = r->n_samples ? (double)r->n_groups / (double)r->n_samples : 0;
  for (size_t g = 0; good && g < r->n_regions; g++) {
    if (!of[g].end || of[g].lines * all < LEAST_WRITTEN * (of[g].end - of[g].lo)) continue;
    /* workgroups before the first sample and behind the last one write, too */
    const uint32_t more = all > 1 ? 2 * (uint32_t)((of[g].end - of[g].lo) / r->n_samples) : 0, lines = r->region[g].lines;
    const stores s = {r->region[g].span.lo, of[g].lo > more ? of[g].lo - more : 0,
                      lines - of[g].end > more ? of[g].end + more : lines};
    good = add_stores(q, &s);
  }
  free(of);
  return good;
}

static void mark_written(const sequence *q, emu_recorder *r, const emu_arch *a) {
  double lines = 0;
  for (size_t i = 0; i < r->n_regions; i++)
    for (size_t j = 0; j < q->n_written; j++)
      if (q->written[j].region == r->region[i].span.lo) {
        r->region[i].written = r->region[i].first + q->written[j].lo;
        r->region[i].written_end = r->region[i].first + q->written[j].end;
        lines += q->written[j].end - q->written[j].lo;
      }
  if (lines * a->l1_line <= a->mall_bytes) return;
  for (size_t i = 0; i < r->n_regions; i++) r->region[i].written_end = 0; /* more than the Infinity Cache holds */
}

static void add_launch(sequence *q, const model *m, const outcome *o, size_t index) {
  double to_ns = 1000 / m->clock_mhz, ns = o->clk * to_ns;
  double launch = index == 0 ? m->arch->launch_ns : m->arch->next_launch_ns;
  for (int p = 0; p < EMU_PART_COUNT; p++) q->part[p] += o->part[p] * to_ns;
  q->part[EMU_PART_LAUNCH] += launch;
  q->ns += ns + launch;
  q->kernel_ns += ns;
  q->clock_ns += m->clock_mhz * ns;
  if (index == 0)
    mlaf_snprintf(q->detail, sizeof q->detail, "simulated %zu of %llu workgroups%s, %d per CU, matrix pipes %.0f %% busy",
                  m->rec->n_samples, (unsigned long long)m->groups, m->rec->work ? " by length" : "", m->residents,
                  100 * o->busy);
}

static mlaf_status show(const emu_time_how *to, const model *m, const outcome *o, size_t index, const char *limit,
                        mlaf_err *err) {
  const emu_arch *a = m->arch;
  emu_settled s = {.index = index, .launch = m->launch, .rec = m->rec, .env = environment(m, m->residents, m->in_flight),
                   .result = m->full, .groups = m->groups, .residents = m->residents, .limit = limit, .clk = o->clk,
                   .mfma_busy = o->busy, .launch_ns = index == 0 ? a->launch_ns : a->next_launch_ns};
  if (!to->observer || to->observer(to->user, &s, err)) return MLAF_OK;
  return err && err->status != MLAF_OK ? err->status : mlaf_fail(err, MLAF_E_NOMEM, "no host memory for a profile");
}

/* Occupancy and rounds of a recorded launch. */
static const char *fill_slots(model *m, const emu_kernel *k) {
  const emu_arch *a = m->arch;
  const char *limit;
  uint64_t per_cu = (m->groups + (uint64_t)a->cus - 1) / (uint64_t)a->cus;
  int fit = emu_resident_groups(&emu_isas[0], k, m->rec->sample[0].n_waves, k->lds_bytes + m->launch->lds, &limit);
  m->residents = per_cu < (uint64_t)fit ? (int)per_cu : fit;
  m->slots = (uint64_t)(a->cus * m->residents);
  m->tail_groups = m->groups > m->slots ? m->groups % m->slots : 0;
  m->tail_residents = (int)((m->tail_groups + (uint64_t)a->cus - 1) / (uint64_t)a->cus);
  return per_cu < (uint64_t)fit ? "grid" : limit;
}

/* --- is it worth recording more? --- */

enum { ONE_CHAIN = 5 }; /* workgroups from which on sharing can be measured */

typedef struct glance {
  model m;
  outcome o;
  bool hopeless;
} glance;

/* The least that the launch can take by what is recorded: whole rounds alone, at boost clock, and while one workgroup says
 * nothing about sharing every line is in L2. Without memory nothing is hopeless. */
static bool is_hopeless(void *user) {
  glance *g = user;
  model m = g->m;
  const size_t n = m.rec->n_samples, regions = m.rec->n_regions + 1;
  const bool shared = n >= ONE_CHAIN;
  emu_sharing share = {NULL, NULL};
  if (shared && emu_sample_sharing(m.rec, m.launch, &share, NULL) != MLAF_OK) return false;
  if (!shared) share = (emu_sharing){calloc(regions, sizeof *share.l2_hit), calloc(regions, sizeof *share.mall_hit)};
  for (size_t i = 0; !shared && share.l2_hit && i < regions; i++) share.l2_hit[i] = 1;
  m.share = &share;
  m.groups = m.rec->n_groups;
  fill_slots(&m, m.launch->fn->kernel);
  m.groups -= m.tail_groups;
  m.clock_mhz = m.arch->boost_mhz;
  m.full = calloc(n + 1, sizeof *m.full);
  bool known = n && m.full && share.l2_hit && share.mall_hit &&
               replay_all(&m, m.residents, (double)(m.groups < m.slots ? m.groups : m.slots), m.full) && schedule(&m, &g->o);
  g->hopeless = known && g->o.clk / m.clock_mhz * 1000 > CLEARLY * m.give_up_ns;
  g->m = m;
  free(m.full);
  emu_sharing_free(&share);
  return g->hopeless;
}

static mlaf_status model_launch(emu_device *dev, const mlaf_launch *l, size_t index, const emu_time_how *how, sequence *q,
                                mlaf_err *err) {
  const emu_arch *a = &emu_gfx942;
  emu_recorder rec;
  emu_sharing share = {NULL, NULL};
  mlaf_status st = emu_recorder_open(dev, &rec, err);
  if (st != MLAF_OK) return st;
  model m = {.arch = a, .launch = l, .rec = &rec, .share = &share, .threads = dev->threads,
             .give_up_ns = how->give_up_ns, .cancel = dev->base.cancel};
  glance g = {.m = m};
  rec.all = how->all;
  rec.uneven = how->uneven;
  rec.deadline = how->deadline;
  rec.now = how->now ? how->now : mlaf_now;
  if (how->limit_s > 0) rec.budget = (uint64_t)(how->limit_s * EVENTS_PER_SECOND);
  if (how->give_up_ns > 0) rec.hopeless = is_hopeless, rec.user = &g;
  mark_written(q, &rec, a);
  st = emu_sample_run(dev, l, &rec, err);
  if (st == MLAF_OK && g.hopeless) {
    add_launch(q, &g.m, &g.o, index);
  } else if (st == MLAF_OK && (st = emu_sample_sharing(&rec, l, &share, err)) == MLAF_OK) {
    m.groups = rec.n_groups;
    const char *limit = fill_slots(&m, l->fn->kernel);
    m.full = calloc(2 * rec.n_samples, sizeof *m.full);
    m.tail = m.full && m.tail_groups ? m.full + rec.n_samples : NULL;
    outcome o;
    if (m.full && converge(&m, &o) && remember_stores(q, &rec, l->fn->module->code)) {
      add_launch(q, &m, &o, index);
      st = show(how, &m, &o, index, limit, err);
    } else {
      st = m.cancel && atomic_load(m.cancel) ? mlaf_fail(err, MLAF_E_CANCELLED, "the timing model was stopped on request")
                                             : mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the timing model");
    }
    free(m.full);
  }
  emu_sharing_free(&share);
  emu_recorder_close(&rec);
  return st;
}

static void fill_timing(const sequence *q, mlaf_timing *out) {
  static const char *const names[EMU_PART_COUNT] = {"issue",   "mfma",    "lds",  "l1",    "l2", "hbm",
                                                    "barrier", "latency", "idle", "launch"};
  memset(out, 0, sizeof *out);
  out->source = MLAF_TIME_MODELLED;
  out->ns = out->p10_ns = out->p90_ns = q->ns;
  out->samples = 1;
  out->n_parts = EMU_PART_COUNT;
  int most = 0;
  for (int p = 0; p < EMU_PART_COUNT; p++) {
    snprintf(out->parts[p].name, sizeof out->parts[p].name, "%s", names[p]);
    out->parts[p].ns = q->part[p];
    if (q->part[p] > q->part[most]) most = p;
  }
  out->clock_mhz = q->kernel_ns > 0 ? q->clock_ns / q->kernel_ns : emu_gfx942.boost_mhz;
  snprintf(out->bound, sizeof out->bound, "%s", names[most]);
  snprintf(out->detail, sizeof out->detail, "%s", q->detail);
}

mlaf_status emu_time_how_to(emu_device *dev, const mlaf_launch *launches, size_t n, const emu_time_how *how, mlaf_timing *out,
                            mlaf_err *err) {
  sequence q = {.ns = 0};
  mlaf_status st = n ? MLAF_OK : mlaf_fail(err, MLAF_E_ARG, "no launch to time");
  bool hopeless = false;
  for (size_t i = 0; i < n && st == MLAF_OK && !hopeless; i++) {
    st = model_launch(dev, &launches[i], i, how, &q, err);
    hopeless = how->give_up_ns > 0 && q.ns > CLEARLY * how->give_up_ns;
  }
  if (st == MLAF_OK) fill_timing(&q, out);
  if (st == MLAF_OK) snprintf(out->detail, sizeof out->detail, "%s%s", q.detail, hopeless ? ", given up early" : "");
  free(q.written);
  return st;
}

mlaf_status emu_time(emu_device *dev, const mlaf_launch *launches, size_t n, const mlaf_time_opts *opts, mlaf_timing *out,
                     mlaf_err *err) {
  const emu_time_how how = {.limit_s = opts->limit_s, .give_up_ns = opts->give_up_ns, .uneven = opts->uneven,
                            .deadline = opts->deadline, .now = opts->now};
  return emu_time_how_to(dev, launches, n, &how, out, err);
}
