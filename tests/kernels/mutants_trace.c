/* Second opinion: from the instructions that each wave of the correct kernel executed, and the LDS addresses they touched,
 * work out what a dropped or weaker wait or barrier leaves unprotected. Values do not depend on waits here (operations take
 * effect at their issue), so a mutant executes the same instructions. The rules, from the CDNA3 ISA, 4.4:
 *   - vmcnt operations complete in order, LDS operations complete in order, scalar loads in any;
 *   - a register is nobody's while an operation that writes it is under way, but for operations of its own kind behind it;
 *   - two accesses to an LDS dword by two waves, one a write, need a barrier after the first has completed and before the
 *     second is issued; the same wave's direct-to-LDS loads and LDS operations need the wait alone. */
#include "mutants.h"

static mu_trace *hooked; /* one trace at a time, one thread */

/* --- recording --- */

static mu_wave *wave_of(mu_trace *t, const emu_wave *w) {
  for (size_t i = t->n; i-- > 0;)
    if (t->wave[i].group == w->group->linear_id && t->wave[i].wave == w->index) return &t->wave[i];
  if (t->n == t->cap) t->wave = realloc(t->wave, (t->cap = 2 * t->cap + 16) * sizeof *t->wave);
  t->wave[t->n] = (mu_wave){.group = w->group->linear_id, .wave = w->index};
  return &t->wave[t->n++];
}

static bool starts(const char *s, const char *prefix) { return strncmp(s, prefix, strlen(prefix)) == 0; }

static bool is_dma(const emu_inst *in) { return in->flags & EMU_F_LDS || strstr(in->mnemonic, "load_lds") != NULL; }

/* Bytes per lane and access, from the mnemonic. */
static uint8_t width(const char *m) {
  static const struct { const char *name; uint8_t bytes; } widths[] = {
      {"b128", 16}, {"b96", 12}, {"b64", 8}, {"u64", 8}, {"f64", 8},
      {"b16", 2}, {"u16", 2}, {"i16", 2}, {"b8", 1}, {"u8", 1}, {"i8", 1}};
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    if (strstr(m, widths[i].name)) return widths[i].bytes;
  return 4;
}

static void add_access(mu_wave *v, const emu_wave *w, const uint32_t *base, uint32_t offset, uint8_t bytes, bool write,
                       bool dma) {
  if (v->n_access == v->cap_access) {
    v->cap_access = 2 * v->cap_access + 64;
    v->access = realloc(v->access, v->cap_access * sizeof *v->access);
  }
  mu_access *a = &v->access[v->n_access++];
  a->bytes = bytes;
  a->write = write;
  a->dma = dma;
  for (uint32_t l = 0; l < EMU_LANES; l++)
    a->addr[l] = emu_exec_mask(w) >> l & 1 ? (base ? base[l] : 4 * l) + offset : ~0u;
}

static void record_lds(mu_wave *v, const emu_wave *w, const emu_inst *in) {
  const char *m = in->mnemonic;
  if (is_dma(in)) {
    add_access(v, w, NULL, (w->s[EMU_M0] & 0xffff) + (uint32_t)in->offset, 4, true, true);
  } else if (starts(m, "ds_read") || starts(m, "ds_write")) {
    const uint32_t *base = w->v[in->src[0].reg];
    uint32_t unit = width(m) * (strstr(m, "st64") ? 64u : 1u);
    bool pair = starts(m, "ds_read2") || starts(m, "ds_write2"), write = starts(m, "ds_write");
    add_access(v, w, base, (uint32_t)in->offset * (pair ? unit : 1), width(m), write, false);
    if (pair) add_access(v, w, base, (uint32_t)in->offset2 * unit, width(m), write, false);
  }
}

static bool hook(emu_wave *w, const emu_inst *in) {
  mu_trace *t = hooked;
  mu_wave *v = wave_of(t, w);
  uint32_t index = (uint32_t)t->code->index_of[in->pc / 4];
  if (v->n == v->cap) v->event = realloc(v->event, (v->cap = 2 * v->cap + 1024) * sizeof *v->event);
  size_t from = v->n_access;
  record_lds(v, w, in);
  v->event[v->n++] = (mu_event){index, (uint32_t)from, (uint8_t)(v->n_access - from)};
  t->executed[index]++;
  return t->exec[index](w, in);
}

void mu_trace_start(mu_trace *t, emu_code *code) {
  *t = (mu_trace){.code = code};
  t->exec = calloc(code->n_insts, sizeof *t->exec);
  t->executed = calloc(code->n_insts, sizeof *t->executed);
  for (size_t i = 0; i < code->n_insts; i++) {
    t->exec[i] = code->insts[i].exec;
    code->insts[i].exec = hook;
  }
  hooked = t;
}

void mu_trace_stop(mu_trace *t) {
  for (size_t i = 0; i < t->code->n_insts; i++) t->code->insts[i].exec = t->exec[i];
  hooked = NULL;
}

void mu_trace_free(mu_trace *t) {
  for (size_t i = 0; i < t->n; i++) {
    free(t->wave[i].event);
    free(t->wave[i].access);
  }
  free(t->wave);
  free(t->exec);
  free(t->executed);
}

/* --- waits of one wave --- */

typedef struct pending { uint32_t vm[EMU_VREGS], lgkm[EMU_VREGS], smem[EMU_SREGS]; } pending; /* number of the operation */
typedef struct flight { /* an LDS access: when it was issued and when known complete, in barriers passed */
  const mu_access *access;
  uint32_t number, from, to;
} flight;
typedef struct replay {
  const mu_trace *t;
  const mutant *m;
  pending reg;
  uint32_t vm, vm_done, lgkm, lgkm_done, smem, smem_done, barriers;
  flight *flight;
  size_t n;
  size_t first_open; /* all flights before are complete */
  char *why;
  uint64_t effect; /* times the mutated wait would have done more */
} replay;

enum { OPEN = UINT32_MAX };

static bool is_vm(const emu_inst *in) { return in->cls >= EMU_C_VMEM_LOAD && in->cls <= EMU_C_VMEM_ATOMIC; }
static bool is_ds(const emu_inst *in) { return in->cls >= EMU_C_DS_READ && in->cls <= EMU_C_DS_OTHER; }

static void complain(replay *r, const emu_inst *in, const char *what) {
  if (!*r->why) snprintf(r->why, 256, "pc 0x%x '%.80s': %s", in->pc, in->text, what);
}

/* Operations known to be complete: give their LDS accesses an end. */
static void settle(replay *r) {
  bool open = false;
  for (size_t i = r->first_open; i < r->n; i++) {
    flight *f = &r->flight[i];
    if (f->to == OPEN && f->number <= (f->access->dma ? r->vm_done : r->lgkm_done)) f->to = r->barriers;
    if (f->to == OPEN) open = true;
    if (!open) r->first_open = i + 1;
  }
}

static void wait_for(replay *r, uint32_t *done, uint32_t issued, uint32_t may_stay) {
  if (issued - *done <= may_stay) return;
  *done = issued - may_stay;
  settle(r);
}

static void waitcnt(replay *r, const emu_inst *in, bool mutated) {
  uint32_t vm = in->vmcnt == 0xff ? OPEN : in->vmcnt, lgkm = in->lgkmcnt == 0xff ? OPEN : in->lgkmcnt;
  bool smem = lgkm == 0 && r->smem_done < r->smem, wait_vm = r->vm - r->vm_done > vm, wait_lgkm = r->lgkm - r->lgkm_done > lgkm;
  if (mutated && r->m->kind != MU_WAIT_VM) r->effect += smem || wait_lgkm || (wait_vm && r->m->kind == MU_WAIT_DROP);
  if (mutated && r->m->kind == MU_WAIT_VM) r->effect += wait_vm;
  if (mutated && r->m->kind == MU_WAIT_DROP) return;
  if (mutated && r->m->kind == MU_WAIT_VM) vm++;
  if (mutated && r->m->kind == MU_WAIT_LGKM) lgkm++;
  wait_for(r, &r->vm_done, r->vm, vm);
  wait_for(r, &r->lgkm_done, r->lgkm, lgkm);
  if (lgkm == 0) r->smem_done = r->smem;
}

/* Registers that an instruction names, against loads into them that are in flight. */
static void check_registers(replay *r, const emu_inst *in) {
  bool vm = is_vm(in), ds = is_ds(in);
  for (int k = 0; k < in->n_dst + in->n_src; k++) {
    bool dst = k < in->n_dst;
    const emu_operand *o = dst ? &in->dst[k] : &in->src[k - in->n_dst];
    for (unsigned i = o->reg; i < o->reg + (o->count ? o->count : 1u); i++) {
      bool v = o->kind == EMU_O_VREG, s = o->kind == EMU_O_SREG && i < EMU_SREGS;
      if (v && r->reg.vm[i] > r->vm_done && !(dst && vm)) complain(r, in, "a vector load to a register is under way");
      if (v && r->reg.lgkm[i] > r->lgkm_done && !(dst && ds)) complain(r, in, "an LDS load to a register is under way");
      if (s && r->reg.smem[i] > r->smem_done) complain(r, in, "a scalar load to a register is under way");
    }
  }
}

static bool same_dword(const mu_access *a, const mu_access *b) {
  static uint64_t seen[EMU_LDS_MAX / 4 / 64];
  bool hit = false;
  memset(seen, 0, sizeof seen);
  for (int l = 0; l < EMU_LANES; l++)
    for (uint32_t d = a->addr[l] / 4; a->addr[l] != ~0u && d <= (a->addr[l] + a->bytes - 1) / 4; d++)
      seen[d / 64] |= UINT64_C(1) << d % 64;
  for (int l = 0; l < EMU_LANES; l++)
    for (uint32_t d = b->addr[l] / 4; b->addr[l] != ~0u && d <= (b->addr[l] + b->bytes - 1) / 4; d++)
      hit |= seen[d / 64] >> d % 64 & 1;
  return hit;
}

/* The wave's own accesses under the other counter: nothing orders them but a wait. Nor do we count on the order in which two
 * direct-to-LDS loads write the same place. */
static void check_own_lds(replay *r, const emu_inst *in, const mu_access *a) {
  for (size_t i = r->first_open; i < r->n; i++) {
    const flight *f = &r->flight[i];
    if (f->to == OPEN && (f->access->dma || a->dma) && (f->access->write || a->write) && same_dword(f->access, a))
      complain(r, in, "an LDS access of the wave that only a wait orders is under way");
  }
}

static void issue(replay *r, const emu_inst *in, const mu_wave *v, const mu_event *e) {
  bool vm = is_vm(in), ds = is_ds(in);
  for (uint32_t i = 0; i < e->n_access; i++) check_own_lds(r, in, &v->access[e->access + i]);
  r->vm += vm;
  r->lgkm += ds;
  r->smem += in->cls == EMU_C_SMEM;
  if (vm) wait_for(r, &r->vm_done, r->vm, EMU_VMCNT_MAX);
  if (ds) wait_for(r, &r->lgkm_done, r->lgkm, EMU_LGKMCNT_MAX);
  for (int k = 0; k < in->n_dst; k++)
    for (unsigned i = in->dst[k].reg; i < in->dst[k].reg + (in->dst[k].count ? in->dst[k].count : 1u); i++) {
      if (vm && in->dst[k].kind == EMU_O_VREG) r->reg.vm[i] = r->vm;
      if (ds && in->dst[k].kind == EMU_O_VREG) r->reg.lgkm[i] = r->lgkm;
      if (in->cls == EMU_C_SMEM && in->dst[k].kind == EMU_O_SREG && i < EMU_SREGS) r->reg.smem[i] = r->smem;
    }
  for (uint32_t i = 0; i < e->n_access; i++)
    r->flight[r->n++] = (flight){&v->access[e->access + i], v->access[e->access + i].dma ? r->vm : r->lgkm, r->barriers, OPEN};
}

static void replay_wave(replay *r, const mu_wave *v) {
  for (size_t i = 0; i < v->n; i++) {
    const emu_inst *in = &r->t->code->insts[v->event[i].inst];
    bool mutated = r->m && r->m->inst == v->event[i].inst;
    if (in->cls == EMU_C_WAITCNT) waitcnt(r, in, mutated);
    else if (in->cls == EMU_C_BARRIER) r->barriers += !mutated;
    else check_registers(r, in), issue(r, in, v, &v->event[i]);
  }
}

/* --- waves against each other --- */

/* Accesses of a workgroup's waves in one interval between barriers. */
typedef struct interval { uint16_t readers[EMU_LDS_MAX / 4], writers[EMU_LDS_MAX / 4]; } interval;

static bool collides(interval *s, const mu_access *a, int wave) {
  uint16_t others = (uint16_t)~(1u << wave);
  bool hit = false;
  for (int l = 0; l < EMU_LANES; l++)
    for (uint32_t d = a->addr[l] / 4; a->addr[l] != ~0u && d <= (a->addr[l] + a->bytes - 1) / 4; d++) {
      hit |= (s->writers[d] & others) || (a->write && s->readers[d] & others);
      if (a->write) s->writers[d] |= (uint16_t)(1u << wave);
      else s->readers[d] |= (uint16_t)(1u << wave);
    }
  return hit;
}

static void judge_group(const mu_trace *t, const replay *r, const mu_wave *v, size_t waves, char why[256]) {
  interval *s = malloc(sizeof *s);
  size_t *from = calloc(waves, sizeof *from);
  uint32_t last = 0;
  for (size_t w = 0; w < waves; w++) last = r[w].barriers > last ? r[w].barriers : last;
  for (uint32_t b = 0; b <= last && !*why; b++) {
    memset(s, 0, sizeof *s);
    for (size_t w = 0; w < waves; w++)
      for (size_t i = from[w]; i < r[w].n && r[w].flight[i].from <= b; i++) {
        const flight *f = &r[w].flight[i];
        if (f->to < b) from[w] += i == from[w];
        else if (collides(s, f->access, v[w].wave) && !*why)
          snprintf(why, 256, "workgroup %llu, wave %d: LDS access unordered with another wave's, %u barriers passed",
                   (unsigned long long)v[w].group, v[w].wave, b);
      }
  }
  free(s);
  free(from);
}

static uint64_t judge(const mu_trace *t, const mutant *m, char why[256]) {
  uint64_t effect = 0;
  *why = 0;
  for (size_t i = 0, waves; i < t->n && !*why; i += waves) {
    for (waves = 1; i + waves < t->n && t->wave[i + waves].group == t->wave[i].group;) waves++;
    replay *r = calloc(waves, sizeof *r);
    for (size_t w = 0; w < waves && !*why; w++) {
      r[w].t = t, r[w].m = m, r[w].why = why;
      r[w].flight = malloc((t->wave[i + w].n_access + 1) * sizeof(flight));
      replay_wave(&r[w], &t->wave[i + w]);
    }
    if (!*why) judge_group(t, r, &t->wave[i], waves, why);
    for (size_t w = 0; w < waves; w++) effect += r[w].effect, free(r[w].flight);
    free(r);
  }
  return effect;
}

void mu_trace_judge(const mu_trace *t, const mutant *m, char why[256]) { judge(t, m, why); }

uint64_t mu_trace_effect(const mu_trace *t, const mutant *m) {
  char why[256];
  return judge(t, m, why);
}
