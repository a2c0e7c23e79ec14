/* From a settled launch of the timing model to a profile. */
#include "emu/profile.h"

const char *const emu_state_names[EMU_S_COUNT] = {
    [EMU_S_MFMA] = "mfma",       [EMU_S_VALU] = "valu",         [EMU_S_ISSUE] = "issue",
    [EMU_S_VMCNT] = "vmcnt",     [EMU_S_LGKM] = "lgkmcnt",      [EMU_S_CONFLICT] = "lds conflict",
    [EMU_S_BARRIER] = "barrier", [EMU_S_HAZARD] = "hazard",     [EMU_S_QUEUE] = "memory queue",
    [EMU_S_FETCH] = "fetch",
    [EMU_S_BRANCH] = "branch",   [EMU_S_SLEEP] = "sleep",       [EMU_S_IDLE] = "idle"};

const char *const emu_why_names[EMU_WHY_COUNT] = {
    [EMU_WHY_ISSUE] = "issue",   [EMU_WHY_MFMA] = "mfma pipe", [EMU_WHY_VALU] = "valu",
    [EMU_WHY_SALU] = "salu",     [EMU_WHY_VMCNT] = "vmcnt",    [EMU_WHY_LGKM] = "lgkmcnt",
    [EMU_WHY_SMEM] = "smem",     [EMU_WHY_CONFLICT] = "lds conflict", [EMU_WHY_BARRIER] = "barrier",
    [EMU_WHY_HAZARD] = "hazard", [EMU_WHY_QUEUE] = "memory queue", [EMU_WHY_FETCH] = "fetch",
    [EMU_WHY_BRANCH] = "branch",
    [EMU_WHY_SLEEP] = "sleep"};

_Static_assert((int)EMU_S_COUNT <= MLAF_PROFILE_STATES && (int)EMU_WHY_COUNT <= MLAF_PROFILE_WHYS, "a profile holds them");

static const uint8_t state_of[EMU_WHY_COUNT] = {
    [EMU_WHY_ISSUE] = EMU_S_ISSUE,   [EMU_WHY_MFMA] = EMU_S_MFMA,   [EMU_WHY_VALU] = EMU_S_VALU,
    [EMU_WHY_SALU] = EMU_S_ISSUE,    [EMU_WHY_VMCNT] = EMU_S_VMCNT, [EMU_WHY_LGKM] = EMU_S_LGKM,
    [EMU_WHY_SMEM] = EMU_S_LGKM,     [EMU_WHY_CONFLICT] = EMU_S_CONFLICT, [EMU_WHY_BARRIER] = EMU_S_BARRIER,
    [EMU_WHY_HAZARD] = EMU_S_HAZARD, [EMU_WHY_QUEUE] = EMU_S_QUEUE, [EMU_WHY_FETCH] = EMU_S_FETCH,
    [EMU_WHY_BRANCH] = EMU_S_BRANCH,
    [EMU_WHY_SLEEP] = EMU_S_SLEEP};

/* --- the clocks of one SIMD --- */

enum { MAX_WAVES = 64 };
typedef struct simd {
  const emu_cu_log *log;
  const emu_cu_wave *wave[MAX_WAVES]; /* those with spans left */
  size_t at[MAX_WAVES];
  int n;
  uint32_t mfma_until, valu_until;
} simd;

/* A wave enters its span at clock t: an issue takes its pipe. */
static void enter(simd *s, int k, uint32_t t) {
  const mlaf_profile_span *span = &s->wave[k]->span[s->at[k]];
  if (span->why != EMU_WHY_ISSUE) return;
  emu_cu_pipe pipe = s->log->pipe[span->inst];
  if (pipe.mfma_clk) s->mfma_until = t + pipe.mfma_clk;
  if (pipe.valu_clk) s->valu_until = t + pipe.valu_clk;
}

static void leave(simd *s, uint32_t t) {
  for (int k = s->n - 1; k >= 0; k--) {
    if (s->wave[k]->span[s->at[k]].end != t) continue;
    if (++s->at[k] < s->wave[k]->n) {
      enter(s, k, t);
    } else {
      s->n--;
      s->wave[k] = s->wave[s->n];
      s->at[k] = s->at[s->n];
    }
  }
}

static void book(const simd *s, uint32_t t, uint32_t next, double *state, double *hidden) {
  double clk = next - t;
  if (t < s->mfma_until) {
    state[EMU_S_MFMA] += clk;
    if (t < s->valu_until) *hidden += clk;
    return;
  }
  bool issue = false;
  for (int k = 0; k < s->n; k++) issue |= s->wave[k]->span[s->at[k]].why == EMU_WHY_ISSUE;
  if (t < s->valu_until) state[EMU_S_VALU] += clk;
  else if (issue) state[EMU_S_ISSUE] += clk;
  else if (!s->n) state[EMU_S_IDLE] += clk;
  else
    for (int k = 0; k < s->n; k++) state[state_of[s->wave[k]->span[s->at[k]].why]] += clk / s->n;
}

static void sweep(const emu_cu_log *log, int number, uint32_t total, double *state, double *hidden) {
  simd s = {.log = log};
  for (int i = 0; i < log->n_waves && s.n < MAX_WAVES; i++)
    if (log->wave[i].simd == number && log->wave[i].n) s.wave[s.n++] = &log->wave[i];
  for (int k = 0; k < s.n; k++) enter(&s, k, 0);
  for (uint32_t t = 0; t < total;) {
    uint32_t next = total;
    for (int k = 0; k < s.n; k++)
      if (s.wave[k]->span[s.at[k]].end < next) next = s.wave[k]->span[s.at[k]].end;
    if (s.mfma_until > t && s.mfma_until < next) next = s.mfma_until;
    if (s.valu_until > t && s.valu_until < next) next = s.valu_until;
    book(&s, t, next, state, hidden);
    t = next;
    leave(&s, t);
  }
}

/* --- counts --- */

static bool count(mlaf_profile *p, const emu_recorder *r, const emu_code *code) {
  p->n_insts = code->n_insts;
  p->samples = r->n_samples;
  p->inst = calloc(code->n_insts + 1, sizeof *p->inst);
  if (!p->inst) return false;
  for (size_t i = 0; i < p->n_insts; i++) {
    const emu_inst *in = &code->insts[i];
    p->inst[i] = (mlaf_profile_inst){.text = in->text, .pc = in->pc, .bytes = in->size};
  }
  for (size_t i = 0; i < r->n_samples; i++)
    for (int w = 0; w < r->sample[i].n_waves; w++)
      for (size_t k = 0; k < r->sample[i].wave[w].n; k++) p->inst[r->sample[i].wave[w].event[k].inst].executed++;
  uint64_t most = 0;
  for (size_t i = 0; i < p->n_insts; i++) {
    const mlaf_profile_inst *x = &p->inst[i];
    if (x->executed > most) most = x->executed;
    if (code->insts[i].cls == EMU_C_MFMA && x->executed > p->base) p->base = x->executed;
  }
  if (!p->base) p->base = most;
  for (size_t i = 0; i < p->n_insts; i++) p->inst[i].hot = p->inst[i].executed && 2 * p->inst[i].executed >= p->base;
  return true;
}

static void attribute(mlaf_profile *p) {
  for (int w = 0; w < p->n_waves; w++) {
    const mlaf_profile_wave *wave = &p->wave[w];
    uint32_t from = 0;
    for (size_t i = 0; i < wave->n; from = wave->span[i++].end) {
      mlaf_profile_inst *x = &p->inst[wave->span[i].inst];
      x->clk[wave->span[i].why] += wave->span[i].end - from;
      x->on_cu += wave->span[i].why == EMU_WHY_ISSUE; /* once an execution */
    }
  }
}

/* The spans of a log become the profile's. */
static bool take_waves(mlaf_profile *p, emu_cu_log *log) {
  p->wave = calloc((size_t)log->n_waves + 1, sizeof *p->wave);
  if (!p->wave) return false;
  p->n_waves = log->n_waves;
  for (int w = 0; w < p->n_waves; w++) {
    const emu_cu_wave *from = &log->wave[w];
    p->wave[w] = (mlaf_profile_wave){from->span, from->n, from->simd, from->group};
    log->wave[w].span = NULL;
  }
  return true;
}

/* --- the launch against the ceilings --- */

typedef struct traffic {
  double l1, l2, mall, hbm;
} traffic;

/* Every workgroup moves what the sample that stands for it moved. */
static traffic launch_traffic(const emu_settled *s) {
  traffic t = {0, 0, 0, 0};
  for (uint64_t id = 0; id < s->groups; id++) {
    double scale;
    size_t i = emu_sample_for(s->rec, s->launch->grid, id, &scale);
    const emu_cu_result *r = &s->result[i];
    const emu_sample *sample = &s->rec->sample[i];
    for (int w = 0; w < sample->n_waves; w++) t.l1 += scale * (double)sample->wave[w].n_lines * s->env.arch->l1_line;
    t.l2 += scale * r->l2_bytes / s->residents;
    t.mall += scale * r->mall_bytes / s->residents;
    t.hbm += scale * r->hbm_bytes / s->residents;
  }
  return t;
}

static void fill_use(mlaf_profile *p, const emu_settled *s, const emu_cu_log *log) {
  const emu_arch *a = s->env.arch;
  const traffic t = launch_traffic(s);
  double ns = p->kernel_ns, clk = (double)p->clk, l2 = a->l2_bpc_xcd * a->xccs * s->env.clock_mhz / 1000;
  const mlaf_profile_use use[EMU_USE_COUNT] = {
      [EMU_USE_MFMA] = {"matrix pipes", "% busy, chip", 0, 100 * s->mfma_busy, 100},
      [EMU_USE_LDS] = {"LDS port", "% busy, CU", 0, 100 * log->lds_clk / clk, 100},
      [EMU_USE_L1] = {"L1 lines", "% busy, CU", t.l1, 100 * log->address_clk / clk, 100},
      [EMU_USE_L2] = {"L2", "GB/s", t.l2, t.l2 / ns, l2},
      [EMU_USE_MALL] = {"Infinity Cache", "GB/s", t.mall, t.mall / ns, a->mall_bps / 1e9},
      [EMU_USE_HBM] = {"HBM", "GB/s", t.hbm, t.hbm / ns, a->hbm_bps / 1e9}};
  memcpy(p->use, use, sizeof use);
  p->n_uses = EMU_USE_COUNT;
  p->lds_clk = log->lds_clk;
  p->lds_conflict_clk = log->lds_conflict_clk;
}

/* --- which workgroup is replayed --- */

/* The instruction whose executions p->base counts: a workgroup that never executes it has nothing to do. */
static size_t base_inst(const mlaf_profile *p, const emu_code *code) {
  size_t any = 0;
  for (size_t i = 0; i < p->n_insts; i++) {
    if (p->inst[i].executed != p->base) continue;
    if (code->insts[i].cls == EMU_C_MFMA) return i;
    any = i;
  }
  return any;
}

/* A sample with the workgroups of the launch that it stands for. */
typedef struct standing {
  size_t sample;
  uint64_t work, groups; /* instructions of all its waves */
  bool idle;
} standing;

static standing look_at(const emu_settled *s, size_t sample, uint32_t base) {
  standing x = {.sample = sample, .idle = true};
  const emu_sample *from = &s->rec->sample[sample];
  for (int w = 0; w < from->n_waves; w++) {
    x.work += from->wave[w].n;
    for (size_t k = 0; x.idle && k < from->wave[w].n; k++) x.idle = from->wave[w].event[k].inst != base;
  }
  return x;
}

/* Those that work first, by their work. */
static int by_work(const void *left, const void *right) {
  const standing *a = left, *b = right;
  if (a->idle != b->idle) return a->idle ? 1 : -1;
  if (a->work != b->work) return a->work < b->work ? -1 : 1;
  return a->sample < b->sample ? -1 : 1;
}

/* The sample that is replayed: of the launch's workgroups that have something to do, the one of median work. */
static bool choose_sample(mlaf_profile *p, const emu_settled *s, size_t *out) {
  const size_t n = s->rec->n_samples;
  const uint32_t base = (uint32_t)base_inst(p, s->env.code);
  standing *list = calloc(n, sizeof *list);
  uint64_t working = 0, before = 0;
  double scale;
  if (!list) return false;
  for (size_t i = 0; i < n; i++) list[i] = look_at(s, i, base);
  for (uint64_t id = 0; id < s->groups; id++) list[emu_sample_for(s->rec, s->launch->grid, id, &scale)].groups++;
  qsort(list, n, sizeof *list, by_work);
  for (size_t i = 0; i < n; i++) {
    working += list[i].idle ? 0 : list[i].groups;
    p->idle += list[i].idle ? list[i].groups : 0;
  }
  *out = list[0].sample;
  for (size_t i = 0; i < n && !list[i].idle && 2 * before < working; before += list[i++].groups) *out = list[i].sample;
  free(list);
  return true;
}

static void describe(mlaf_profile *p, const emu_settled *s) {
  const emu_kernel *k = s->launch->fn->kernel;
  p->state_names = emu_state_names;
  p->n_states = EMU_S_COUNT;
  p->why_names = emu_why_names;
  p->n_whys = EMU_WHY_COUNT;
  p->kernel = k->symbol;
  memcpy(p->grid, s->launch->grid, sizeof p->grid);
  memcpy(p->block, s->launch->block, sizeof p->block);
  p->groups = s->groups;
  p->waves = s->rec->sample[0].n_waves;
  p->residents = s->residents;
  p->limit = s->limit;
  p->vgprs = k->vgprs;
  p->lds_bytes = k->lds_bytes + s->launch->lds;
  p->clock_mhz = s->env.clock_mhz;
  p->kernel_ns = s->clk / s->env.clock_mhz * 1000;
  p->launch_ns = s->launch_ns;
  p->simds = s->env.arch->simds;
  p->icache_bytes = (uint32_t)s->env.arch->icache_bytes;
}

static bool fill(mlaf_profile *p, const emu_settled *s, emu_cu_log *log, mlaf_err *err) {
  emu_cu_env env = s->env;
  emu_cu_result r;
  size_t i;
  env.log = log;
  if (!count(p, s->rec, s->env.code) || !choose_sample(p, s, &i) || !emu_cu_run(&env, &s->rec->sample[i], &r)) return false;
  for (int w = 0; w < log->n_waves; w++)
    if (log->wave[w].failed) {
      mlaf_fail(err, MLAF_E_NOMEM, "the log of %s does not fit host memory, or one workgroup takes more than 2^32 clk:"
                " profile a shorter ctx", p->kernel);
      return false;
    }
  p->sample_id = s->rec->sample[i].id;
  p->clk = r.clk;
  for (int k = 0; k < p->simds && k < MLAF_PROFILE_SIMDS; k++) sweep(log, k, (uint32_t)r.clk, p->state[k], &p->valu_hidden[k]);
  fill_use(p, s, log);
  if (!take_waves(p, log)) return false;
  attribute(p);
  return true;
}

static bool look(void *user, const emu_settled *s, mlaf_err *err) {
  mlaf_profile *p = (mlaf_profile *)user + s->index;
  emu_cu_log log = {.wave = NULL};
  describe(p, s);
  const bool ok = fill(p, s, &log, err);
  emu_cu_log_close(&log);
  return ok;
}

/* --- entry --- */

mlaf_status emu_profile_run(mlaf_device *dev, const mlaf_launch *launches, size_t n, mlaf_profile *out, mlaf_timing *timing,
                            mlaf_err *err) {
  const emu_time_how how = {.observer = look, .user = out};
  return emu_time_how_to((emu_device *)dev, launches, n, &how, timing, err);
}

mlaf_status emu_profile_count(mlaf_device *dev, const mlaf_launch *launch, mlaf_profile *out, mlaf_err *err) {
  emu_recorder rec;
  mlaf_status st = emu_recorder_open((emu_device *)dev, &rec, err);
  if (st != MLAF_OK) return st;
  st = emu_sample_run((emu_device *)dev, launch, &rec, err);
  if (st == MLAF_OK && !count(out, &rec, launch->fn->module->code))
    st = mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the counts of a kernel");
  emu_recorder_close(&rec);
  return st;
}
