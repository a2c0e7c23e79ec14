/* Replay of recorded waves on one compute unit.
 *
 * Each wave issues in order, at most one instruction every 4 clk; the wave that is ready first goes first. Waves share the
 * VALU port and the matrix pipe of their SIMD, and the LDS port, the address unit, L1 and the CU's share of L2, Infinity
 * Cache and HBM bandwidth. Results of memory are waited for where the program waits: at s_waitcnt. Every clock of a wave is
 * booked on the part that held it: what it waited for, or issue. An MFMA that feeds the next one's accumulator is taken to
 * be forwarded (0 wait states by LLVM's rules); other MFMA dependencies cost the s_nop that the program must carry. An
 * instruction of two dwords that does not start in the first three of its 32-byte block costs its wave another issue slot. */
#include "emu/cu_log.h"
#include "emu/timing.h"

enum { MAX_WAVES = 64, VM_RING = 64, LGKM_RING = 16, SIMDS = 4, MAX_TLB = 64 };

typedef enum unit {
  U_OTHER, U_NOP, U_SALU, U_SMEM, U_VALU, U_PACKED, U_MFMA, U_MFMA_ALONE, U_LOAD, U_LDS_LOAD, U_STORE, U_DS_READ, U_DS_WRITE,
  U_DS_CROSS, U_WAIT, U_BARRIER, U_BRANCH, U_SLEEP, U_PRIO, U_END
} unit;

/* An instruction, as the replay needs it. */
typedef struct op {
  uint8_t unit;
  uint8_t vm, lgkm;  /* s_waitcnt */
  uint16_t clk;      /* pipe occupancy, s_nop states, s_sleep units, priority */
  uint16_t bytes;    /* LDS bytes of the whole wave */
  uint8_t latency;   /* index into the LDS latency tables */
  uint8_t fetch;     /* clk that its place in the code costs a wave */
  bool nt;           /* streams: what it brings is not kept in the Infinity Cache */
  uint32_t code;     /* line of the instruction cache */
} op;

typedef struct pending {
  uint64_t done;
  uint32_t conflict; /* clk later than without bank conflicts */
  uint8_t part;
} pending;

typedef struct wave {
  const emu_trace *trace;
  size_t at, line;
  uint64_t t, arrived;
  uint64_t copy;       /* resident, in bits above a line number: residents share no lines */
  uint32_t code;       /* instruction-cache line it executes from, + 1 */
  int group, simd, prio;
  bool waiting, ended;
  uint32_t vm_issued, vm_waited, lgkm_issued, lgkm_waited;
  pending vm[VM_RING], lgkm[LGKM_RING];
  uint64_t smem_done;
  double part[EMU_PART_COUNT];
  emu_cu_wave *log; /* NULL: no profile */
} wave;

typedef struct seen {
  uint64_t key; /* line + 1, 0 empty */
  uint32_t l1_stamp, miss_stamp;
} seen;

typedef struct cu {
  const emu_cu_env *env;
  const op *ops;
  wave *w;
  int n_waves;
  uint64_t valu_free[SIMDS], salu_free[SIMDS], mfma_free[SIMDS];
  double lds_ideal, lds_simd_ideal[SIMDS]; /* lds_free, lds_simd_free without bank conflicts: the profile only */
  double lds_free, lds_simd_free[SIMDS], ta_free, l2_free, mall_free, hbm_free;
  seen *table;
  size_t table_size, table_used;
  uint32_t l1_inserts[8]; /* per set */
  uint32_t misses;
  uint32_t *code_stamp, code_inserts; /* per instruction-cache line: the count of inserts at its last use, + 1; 0 never */
  uint64_t tlb[MAX_TLB];              /* page + 1, replaced in turn */
  unsigned tlb_next, tlb_last;
  double *l2_credit, *mall_credit; /* error diffusion of the shares in env, per region */
  uint32_t last_region;
  bool failed;
  emu_cu_result *out;
} cu;

/* --- instructions --- */

static bool starts(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

static uint16_t lds_bytes_of(const emu_inst *in) {
  const char *m = in->mnemonic;
  unsigned per_lane = strstr(m, "b128") ? 16 : strstr(m, "b96") ? 12 : strstr(m, "64") && !strstr(m, "st64_b32") ? 8 : 4;
  if (strstr(m, "read2") || strstr(m, "write2")) per_lane *= 2;
  return (uint16_t)(per_lane * EMU_LANES);
}

static op decode_ds(const emu_inst *in, uint8_t u) {
  op o = {.unit = u, .bytes = lds_bytes_of(in)};
  o.latency = o.bytes >= 16 * EMU_LANES ? 2 : o.bytes >= 8 * EMU_LANES ? 1 : 0;
  if (strstr(in->mnemonic, "swizzle") || strstr(in->mnemonic, "permute")) o.unit = U_DS_CROSS;
  return o;
}

static op decode(const emu_inst *in, const emu_arch *a) {
  op o = {.unit = U_OTHER};
  switch ((emu_class)in->cls) {
    case EMU_C_SALU: o.unit = U_SALU; break;
    case EMU_C_SMEM: o.unit = U_SMEM; break;
    case EMU_C_TRANS: o = (op){.unit = U_VALU, .clk = (uint16_t)a->trans_clk}; break;
    case EMU_C_VALU: {
      /* Packed fp32 borrows the matrix pipe's data path. */
      bool packed = starts(in->mnemonic, "v_pk_") && strstr(in->mnemonic, "_f32");
      o = (op){.unit = packed ? U_PACKED : U_VALU, .clk = (uint16_t)a->issue_clk};
      break;
    }
    case EMU_C_MFMA: {
      bool alone = strstr(in->mnemonic, "_f64") || (strstr(in->mnemonic + 10, "_f32") && !strstr(in->mnemonic, "_xf32"));
      o = (op){.unit = alone ? U_MFMA_ALONE : U_MFMA, .clk = (uint16_t)(4 * in->passes)};
      break;
    }
    case EMU_C_VMEM_LOAD: o.unit = in->flags & EMU_F_LDS || strstr(in->mnemonic, "_lds_") ? U_LDS_LOAD : U_LOAD; break;
    case EMU_C_VMEM_ATOMIC: o.unit = in->n_dst ? U_LOAD : U_STORE; break;
    case EMU_C_VMEM_STORE: o.unit = U_STORE; break;
    case EMU_C_DS_READ: o = decode_ds(in, U_DS_READ); break;
    case EMU_C_DS_WRITE: case EMU_C_DS_OTHER: o = decode_ds(in, U_DS_WRITE); break;
    case EMU_C_WAITCNT: o = (op){.unit = U_WAIT, .vm = in->vmcnt, .lgkm = in->lgkmcnt}; break;
    case EMU_C_BARRIER: o.unit = U_BARRIER; break;
    case EMU_C_BRANCH: o.unit = U_BRANCH; break;
    case EMU_C_END: o.unit = U_END; break;
    default:
      if (strcmp(in->mnemonic, "s_nop") == 0) o = (op){.unit = U_NOP, .clk = (uint16_t)((in->imm & 15) + 1)};
      else if (strcmp(in->mnemonic, "s_sleep") == 0) o = (op){.unit = U_SLEEP, .clk = (uint16_t)(in->imm & 127)};
      else if (strcmp(in->mnemonic, "s_setprio") == 0) o = (op){.unit = U_PRIO, .clk = (uint16_t)(in->imm & 3)};
      break;
  }
  return o;
}

/* --- time of a wave --- */

static void stall(wave *w, uint64_t until, emu_part part, emu_why why) {
  if (until <= w->t) return;
  w->part[part] += (double)(until - w->t);
  w->t = until;
  if (w->log) emu_cu_log_add(w->log, until, why);
}

static void spend(wave *w, uint64_t clk, emu_part part) {
  w->part[part] += (double)clk;
  w->t += clk;
  if (w->log) emu_cu_log_add(w->log, w->t, EMU_WHY_ISSUE);
}

static double later(double a, double b) { return a > b ? a : b; }

static void push(pending *ring, unsigned size, uint32_t *issued, double done, uint8_t part, double conflict) {
  pending p = {(uint64_t)done, (uint32_t)(conflict > 0 ? conflict : 0), part};
  const pending *older = &ring[(*issued - 1) % size];
  if (*issued && older->done >= p.done) p = *older; /* returns in order: held by the older one */
  ring[(*issued)++ % size] = p;
}

/* Wait until at most `left` operations are outstanding. */
static void drain(wave *w, const pending *ring, unsigned size, uint32_t issued, uint32_t *waited, uint32_t left,
                  emu_why why) {
  if (issued - *waited <= left) return;
  const pending *p = &ring[(issued - left - 1) % size];
  stall(w, p->done - p->conflict, (emu_part)p->part, why);
  stall(w, p->done, (emu_part)p->part, EMU_WHY_CONFLICT);
  *waited = issued - left;
}

/* --- caches --- */

static bool grow(cu *c) {
  size_t size = c->table_size ? 2 * c->table_size : 1 << 14;
  seen *t = calloc(size, sizeof *t);
  if (!t) return false;
  for (size_t i = 0; i < c->table_size; i++) {
    if (!c->table[i].key) continue;
    size_t j = c->table[i].key * 0x9e3779b97f4a7c15u >> 20 & (size - 1);
    while (t[j].key) j = (j + 1) & (size - 1);
    t[j] = c->table[i];
  }
  free(c->table);
  c->table = t;
  c->table_size = size;
  return true;
}

static seen *find(cu *c, uint64_t line) {
  if (2 * c->table_used >= c->table_size && !grow(c)) {
    c->failed = true;
    return NULL;
  }
  size_t j = (line + 1) * 0x9e3779b97f4a7c15u >> 20 & (c->table_size - 1);
  while (c->table[j].key && c->table[j].key != line + 1) j = (j + 1) & (c->table_size - 1);
  return &c->table[j];
}

static size_t region_of(cu *c, uint32_t line) {
  const emu_recorder *r = c->env->rec;
  const emu_region *g = &r->region[c->last_region];
  if (c->last_region < r->n_regions && line - g->first < g->lines) return c->last_region;
  size_t i = emu_recorder_region(r, line);
  if (i < r->n_regions) c->last_region = (uint32_t)i;
  return i;
}

/* Deterministic draw: true for the given share of calls. */
static bool draw(double *credit, double share) {
  *credit += share;
  if (*credit < 1) return false;
  *credit -= 1;
  return true;
}

typedef enum level { IN_L1, IN_L2, IN_MALL, IN_HBM } level;

/* `nt`: the line passes the Infinity Cache without being kept. In L2 it is the first to go, but where all stream it stays as
 * long as any other. */
static level look_up(cu *c, uint64_t line, bool nt) {
  const emu_arch *a = c->env->arch;
  unsigned set = (unsigned)(line % (unsigned)a->l1_sets);
  seen *s = find(c, line);
  if (!s) return IN_HBM;
  bool known = s->key != 0;
  if (known && c->l1_inserts[set] - s->l1_stamp < (uint32_t)a->l1_ways) { /* about LRU: evicted after as many inserts as ways */
    s->l1_stamp = c->l1_inserts[set];
    return IN_L1;
  }
  level lv = IN_L2;
  if (!known) {
    size_t r = region_of(c, (uint32_t)line);
    c->table_used++;
    s->key = line + 1;
    const bool written = emu_recorder_wrote(c->env->rec, r, line);
    if (!draw(&c->l2_credit[r], c->env->l2_hit[r]))
      lv = written || (draw(&c->mall_credit[r], c->env->mall_hit[r]) && !nt) ? IN_MALL : IN_HBM;
  } else if (c->misses - s->miss_stamp >= c->env->l2_reuse_lines) {
    lv = nt ? IN_HBM : IN_MALL;
  }
  s->l1_stamp = ++c->l1_inserts[set];
  s->miss_stamp = c->misses++;
  return lv;
}

/* A level shared with the other CUs: at most the share over time, but what was not used in the last burst_clk is kept. */
static double shared(double *queue, double t, double bytes, double bpc, double burst) {
  *queue = later(*queue, t - burst) + bytes / bpc;
  return *queue;
}

/* Clk the translation of a line's page takes: misses of the CU's TLB are answered by the next level and overlap. */
static double translate(cu *c, uint64_t line) {
  const emu_arch *a = c->env->arch;
  uint64_t page = line / ((unsigned)a->tlb_page / (unsigned)a->l1_line) + 1;
  unsigned n = a->tlb_entries < MAX_TLB ? (unsigned)a->tlb_entries : MAX_TLB;
  if (c->tlb[c->tlb_last] == page) return 0;
  for (unsigned i = 0; i < n; i++)
    if (c->tlb[i] == page) {
      c->tlb_last = i;
      return 0;
    }
  c->tlb_last = c->tlb_next;
  c->tlb[c->tlb_next] = page;
  c->tlb_next = (c->tlb_next + 1) % n;
  return a->tlb_miss_clk;
}

/* Time one line arrives when asked for at t; *part says what held it: the queue of its level, or plain latency. */
static double fetch(cu *c, uint64_t line, bool nt, double t, uint8_t *part) {
  const emu_cu_env *e = c->env;
  const emu_arch *a = e->arch;
  level lv = look_up(c, line, nt);
  *part = EMU_PART_LATENCY;
  if (lv == IN_L1) return t + a->l1_latency_clk;
  double bytes = a->l1_line, ns = e->clock_mhz / 1000, latency = a->l2_latency_clk, from, outer;
  c->l2_free = later(c->l2_free, t) + bytes / e->l2_bpc;
  c->out->l2_bytes += bytes;
  from = c->l2_free;
  uint8_t queue = EMU_PART_L2;
  if (lv == IN_MALL) {
    outer = shared(&c->mall_free, t, bytes, e->mall_bpc, a->burst_clk);
    c->out->mall_bytes += bytes;
    if (outer > from) from = outer;
    latency = later(latency, a->mall_latency_ns * ns);
  } else if (lv == IN_HBM) { /* the Infinity Cache lies between: its rate bounds HBM's lines too */
    double through = shared(&c->mall_free, t, bytes, e->mall_bpc, a->burst_clk);
    if (through > from) from = through;
    outer = shared(&c->hbm_free, t, bytes, e->hbm_bpc, a->burst_clk);
    c->out->hbm_bytes += bytes;
    if (outer > from) from = outer, queue = EMU_PART_HBM;
    latency = later(latency, a->hbm_latency_ns * ns);
  }
  if (from - t > 0.5 * latency) *part = queue;
  return from + latency;
}

/* --- execution of one event --- */

static void run_valu(cu *c, wave *w, const op *o) {
  uint64_t *valu = &c->valu_free[w->simd], *mfma = &c->mfma_free[w->simd];
  int issue = c->env->arch->issue_clk;
  bool matrix = o->unit == U_MFMA || o->unit == U_MFMA_ALONE;
  if (o->unit != U_VALU) stall(w, *mfma, EMU_PART_MFMA, EMU_WHY_MFMA);
  stall(w, *valu, o->unit == U_MFMA ? EMU_PART_MFMA : EMU_PART_ISSUE, EMU_WHY_VALU);
  *valu = w->t + (o->unit == U_MFMA ? (uint64_t)issue : o->clk);
  if (o->unit != U_VALU) *mfma = w->t + o->clk;
  if (matrix) c->out->mfma_busy += o->clk;
  else c->out->valu_busy += o->clk;
  spend(w, (uint64_t)issue, matrix ? EMU_PART_MFMA : EMU_PART_ISSUE);
}

/* Delay by bank conflicts: how much later this access leaves the LDS port than if neither it nor those before it had any. */
static double conflict_delay(cu *c, const wave *w, const op *o, double wide, double clk, double end) {
  double least = o->unit == U_DS_CROSS ? clk : o->bytes / 128.0; /* the port's width; fewer when lanes are masked */
  if (least > clk) least = clk;
  double start = later(later((double)w->t, c->lds_ideal), c->lds_simd_ideal[w->simd]);
  c->lds_ideal = start + least;
  c->lds_simd_ideal[w->simd] = start + (o->unit == U_DS_CROSS ? least : later(wide, least));
  c->env->log->lds_clk += clk;
  c->env->log->lds_conflict_clk += clk - least;
  return end - c->lds_ideal;
}

static void run_ds(cu *c, wave *w, const op *o, const emu_event *e) {
  const emu_arch *a = c->env->arch;
  bool read = o->unit == U_DS_READ;
  double wide = o->bytes / (read ? a->lds_read_bpc : a->lds_write_bpc), clk = e->clk ? e->clk : 1;
  drain(w, w->lgkm, LGKM_RING, w->lgkm_issued, &w->lgkm_waited, LGKM_RING - 1, EMU_WHY_QUEUE); /* the counter saturates at 15 */
  double start = later(later((double)w->t, c->lds_free), c->lds_simd_free[w->simd]);
  c->lds_free = start + clk;
  c->lds_simd_free[w->simd] = start + (o->unit == U_DS_CROSS ? clk : later(wide, clk));
  int latency = read ? a->lds_latency_read[o->latency] : a->lds_latency_write[o->latency];
  if (o->unit == U_DS_CROSS) latency = a->lds_crossbar_latency;
  /* the published latencies hold the port's clocks of an access without conflicts */
  double least = o->bytes / 128.0, done = start + latency + (clk > least ? clk - least : 0), conflict = 0;
  if (c->env->log) conflict = conflict_delay(c, w, o, wide, clk, start + clk);
  push(w->lgkm, LGKM_RING, &w->lgkm_issued, done, start + clk - (double)w->t > latency ? EMU_PART_LDS : EMU_PART_LATENCY,
       conflict);
  spend(w, (uint64_t)a->issue_clk, EMU_PART_ISSUE);
}

static void run_vmem(cu *c, wave *w, const op *o, const emu_event *e) {
  const emu_arch *a = c->env->arch;
  drain(w, w->vm, VM_RING, w->vm_issued, &w->vm_waited, VM_RING - 1, EMU_WHY_QUEUE);
  if (c->ta_free > (double)w->t + a->vmem_backlog_clk)
    stall(w, (uint64_t)c->ta_free - (uint64_t)a->vmem_backlog_clk, EMU_PART_L1, EMU_WHY_QUEUE);
  double start = later((double)w->t, c->ta_free), done = start + a->l1_latency_clk;
  uint8_t part = EMU_PART_LATENCY;
  for (unsigned i = 0; i < e->lines && !c->failed; i++) {
    uint64_t line = w->copy | w->trace->line[w->line++];
    double at = start + (double)e->clk * i / e->lines + translate(c, line);
    if (o->unit == U_STORE) {
      /* written through to L2; what leaves it later is absorbed by the Infinity Cache */
      c->l2_free = later(c->l2_free, at) + a->l1_line / c->env->l2_bpc;
      double outer = shared(&c->mall_free, at, a->l1_line, c->env->mall_bpc, a->burst_clk);
      c->out->l2_bytes += a->l1_line;
      c->out->mall_bytes += a->l1_line;
      done = later(done, later(c->l2_free, outer) + a->store_latency_clk);
      continue;
    }
    uint8_t why;
    double ready = fetch(c, line, o->nt, at, &why);
    if (ready > done) done = ready, part = why;
  }
  c->ta_free = start + (e->clk ? e->clk : 1);
  if (c->env->log) c->env->log->address_clk += e->clk ? e->clk : 1;
  done = later(done, c->ta_free + a->l1_latency_clk);
  if (start - (double)w->t > a->l1_latency_clk && part == EMU_PART_LATENCY) part = EMU_PART_L1;
  if (o->unit == U_LDS_LOAD) { /* 256 bytes through the LDS port */
    c->lds_free = later(c->lds_free, (double)w->t) + 2;
    c->lds_ideal = later(c->lds_ideal, (double)w->t) + 2;
  }
  push(w->vm, VM_RING, &w->vm_issued, done, part, 0);
  spend(w, (uint64_t)a->issue_clk, EMU_PART_ISSUE);
}

static void run_wait(wave *w, const op *o, int issue) {
  if (o->vm != 0xff) drain(w, w->vm, VM_RING, w->vm_issued, &w->vm_waited, o->vm, EMU_WHY_VMCNT);
  if (o->lgkm != 0xff) {
    drain(w, w->lgkm, LGKM_RING, w->lgkm_issued, &w->lgkm_waited, o->lgkm, EMU_WHY_LGKM);
    stall(w, w->smem_done, EMU_PART_LATENCY, EMU_WHY_SMEM);
  }
  spend(w, (uint64_t)issue, EMU_PART_ISSUE);
}

/* The last wave of a workgroup to arrive lets all go. Ended waves do not hold a barrier. */
static void run_barrier(cu *c, wave *w) {
  uint64_t latest = 0;
  w->waiting = true;
  w->arrived = w->t;
  for (int i = 0; i < c->n_waves; i++) {
    const wave *o = &c->w[i];
    if (o->group != w->group || o->ended) continue;
    if (!o->waiting) return;
    if (o->arrived > latest) latest = o->arrived;
  }
  for (int i = 0; i < c->n_waves; i++) {
    wave *o = &c->w[i];
    if (o->group != w->group || !o->waiting) continue;
    o->waiting = false;
    stall(o, latest + (uint64_t)c->env->arch->barrier_clk, EMU_PART_BARRIER, EMU_WHY_BARRIER);
  }
}

static void end_wave(cu *c, wave *w) {
  w->ended = true;
  for (int i = 0; i < c->n_waves; i++)
    if (c->w[i].group == w->group && c->w[i].waiting) { /* it may have been the last one the others waited for */
      wave *o = &c->w[i];
      run_barrier(c, o);
      return;
    }
}

/* Code that fits the instruction cache is there: a decode step's kernels run over and over. A loop that does not fit brings
 * each line back from L2, to all waves of the CU that wait for it. */
static void fetch_code(cu *c, wave *w, uint32_t line) {
  const emu_arch *a = c->env->arch;
  uint32_t lines = (uint32_t)(a->icache_bytes / a->icache_line), *stamp = &c->code_stamp[line];
  w->code = line + 1;
  if (*stamp && c->code_inserts - (*stamp - 1) < lines) {
    *stamp = c->code_inserts + 1; /* about LRU, as in L1 */
    return;
  }
  bool warm = !*stamp && c->code_inserts < lines;
  *stamp = ++c->code_inserts + 1;
  if (!warm) stall(w, w->t + (uint64_t)a->l2_latency_clk, EMU_PART_ISSUE, EMU_WHY_FETCH);
}

static void step(cu *c, wave *w) {
  const emu_arch *a = c->env->arch;
  if (w->at == w->trace->n) {
    end_wave(c, w);
    return;
  }
  const emu_event *e = &w->trace->event[w->at++];
  const op *o = &c->ops[e->inst];
  uint64_t issue = (uint64_t)a->issue_clk;
  bool taken;
  if (w->log) w->log->inst = e->inst;
  if (o->code + 1 != w->code) fetch_code(c, w, o->code);
  stall(w, w->t + o->fetch, EMU_PART_ISSUE, EMU_WHY_FETCH);
  switch ((unit)o->unit) {
    case U_VALU: case U_PACKED: case U_MFMA: case U_MFMA_ALONE: run_valu(c, w, o); break;
    case U_SALU:
      stall(w, c->salu_free[w->simd], EMU_PART_ISSUE, EMU_WHY_SALU);
      c->salu_free[w->simd] = w->t + issue;
      spend(w, issue, EMU_PART_ISSUE);
      break;
    case U_SMEM:
      w->smem_done = w->t + (uint64_t)a->smem_latency_clk;
      spend(w, issue, EMU_PART_ISSUE);
      break;
    case U_LOAD: case U_LDS_LOAD: case U_STORE: run_vmem(c, w, o, e); break;
    case U_DS_READ: case U_DS_WRITE: case U_DS_CROSS: run_ds(c, w, o, e); break;
    case U_WAIT: run_wait(w, o, a->issue_clk); break;
    case U_BARRIER: spend(w, issue, EMU_PART_ISSUE), run_barrier(c, w); break;
    case U_BRANCH: /* taken when the next event is not the next instruction */
      taken = w->at < w->trace->n && w->trace->event[w->at].inst != e->inst + 1;
      spend(w, issue, EMU_PART_ISSUE);
      if (taken) stall(w, w->t - issue + (uint64_t)a->branch_clk, EMU_PART_ISSUE, EMU_WHY_BRANCH);
      break;
    case U_NOP:
      spend(w, issue, EMU_PART_ISSUE);
      stall(w, w->t + issue * (o->clk - 1u), EMU_PART_ISSUE, EMU_WHY_HAZARD);
      break;
    case U_SLEEP:
      spend(w, issue, EMU_PART_LATENCY);
      stall(w, w->t + (uint64_t)a->sleep_clk * o->clk, EMU_PART_LATENCY, EMU_WHY_SLEEP);
      break;
    case U_PRIO: w->prio = o->clk, spend(w, issue, EMU_PART_ISSUE); break;
    case U_END: end_wave(c, w); break;
    default: spend(w, issue, EMU_PART_ISSUE); break;
  }
}

/* --- the whole CU --- */

static wave *next_wave(cu *c) {
  wave *best = NULL;
  for (int i = 0; i < c->n_waves; i++) {
    wave *w = &c->w[i];
    if (w->waiting || w->ended) continue;
    if (!best || w->t < best->t || (w->t == best->t && w->prio > best->prio)) best = w;
  }
  return best;
}

static bool set_up_log(cu *c) {
  emu_cu_log *log = c->env->log;
  size_t n = c->env->code->n_insts;
  if (!emu_cu_log_open(log, c->n_waves, n)) return false;
  for (int i = 0; i < c->n_waves; i++) {
    log->wave[i].simd = c->w[i].simd;
    log->wave[i].group = c->w[i].group;
    c->w[i].log = &log->wave[i];
  }
  for (size_t i = 0; i < n; i++) { /* as run_valu has it */
    const op *o = &c->ops[i];
    bool matrix = o->unit == U_MFMA || o->unit == U_MFMA_ALONE;
    if (matrix) log->pipe[i].mfma_clk = o->clk;
    else if (o->unit == U_VALU || o->unit == U_PACKED) log->pipe[i].valu_clk = o->clk;
  }
  return true;
}

static bool set_up(cu *c, const emu_sample *s) {
  const emu_cu_env *e = c->env;
  size_t n = e->rec->n_regions + 1;
  c->n_waves = s->n_waves * e->residents;
  op *ops = calloc(e->code->n_insts + 1, sizeof *ops);
  c->ops = ops;
  c->w = calloc((size_t)c->n_waves, sizeof *c->w);
  c->l2_credit = calloc(n, sizeof *c->l2_credit);
  c->mall_credit = calloc(n, sizeof *c->mall_credit);
  c->code_stamp = calloc(e->code->text_size / (unsigned)e->arch->icache_line + 2, sizeof *c->code_stamp);
  if (!ops || !c->w || !c->l2_credit || !c->mall_credit || !c->code_stamp || !grow(c)) return false;
  for (size_t i = 0; i < e->code->n_insts; i++) {
    const emu_inst *in = &e->code->insts[i];
    ops[i] = decode(in, e->arch);
    ops[i].nt = (in->flags & EMU_F_NT) != 0;
    ops[i].code = in->pc / (unsigned)e->arch->icache_line;
    if (in->size > 4 && in->pc % 32 >= 12) ops[i].fetch = (uint8_t)e->arch->long_clk;
  }
  for (int i = 0; i < c->n_waves; i++) {
    wave *w = &c->w[i];
    w->group = i / s->n_waves;
    w->trace = &s->wave[i % s->n_waves];
    w->simd = i % SIMDS;
    w->copy = (uint64_t)w->group << 32;
  }
  return !e->log || set_up_log(c);
}

bool emu_cu_run(const emu_cu_env *env, const emu_sample *s, emu_cu_result *out) {
  cu c = {.env = env, .out = out};
  memset(out, 0, sizeof *out);
  bool ok = set_up(&c, s);
  uint32_t steps = 0;
  for (wave *w; ok && (w = next_wave(&c)) != NULL;) {
    step(&c, w);
    ok = !c.failed;
    if (++steps % 65536 == 0 && env->cancel && atomic_load(env->cancel)) ok = false;
  }
  for (int i = 0; ok && i < c.n_waves; i++) {
    if (c.w[i].t > out->clk) out->clk = c.w[i].t;
    for (int p = 0; p < EMU_PART_COUNT; p++) out->part[p] += c.w[i].part[p] / c.n_waves;
  }
  free((op *)c.ops);
  free(c.w);
  free(c.l2_credit);
  free(c.mall_credit);
  free(c.code_stamp);
  free(c.table);
  return ok;
}
