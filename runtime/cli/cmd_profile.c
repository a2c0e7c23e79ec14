/* `mlaforge profile`: where the cycles of a launch go, by the emulator's timing model. */
#include "check/bench.h"
#include "cli/cli.h"
#include "device/profile.h"
#include "report/report.h"
#include "rig/code_args.h"
#include "rig/evidence.h"

/* Target of a profile: a variant's launches on a bench's buffers, or one launch of a given code object. */
typedef struct target {
  cli_subject subject;
  mlaf_bench *bench;
  mlaf_prepared prepared;
  code_call *code;
  mlaf_device *dev; /* owned with code only */
  char problem[MLAF_POINT_TEXT_MAX];
  const mlaf_launch *launches;
  size_t n;
} target;

static mlaf_status open_variant(cli *c, target *t) {
  mlaf_point p;
  mlaf_gen *g = NULL;
  mlaf_bench_opts opts = {.data = {.seed = mlaf_cli_seed(c)}};
  mlaf_status st = mlaf_cli_problem(c, &p);
  if (st == MLAF_OK && c->given[O_LENGTHS]) st = mlaf_lengths_parse(c->given[O_LENGTHS], &opts.data.lengths, &c->err);
  if (st == MLAF_OK) st = mlaf_cli_open(c, false);
  if (st == MLAF_OK) st = mlaf_ctx_gen(c->ctx, &g, &c->err);
  if (st == MLAF_OK) st = mlaf_cli_subject(c, &p, g, &t->subject);
  if (st == MLAF_OK) opts.data.bound = mlaf_loaded_bound(t->subject.loaded);
  if (st == MLAF_OK) st = mlaf_bench_create(mlaf_ctx_device(c->ctx), &p, &opts, &t->bench, &c->err);
  if (st == MLAF_OK)
    st = mlaf_bench_prepare(t->bench, t->subject.loaded, mlaf_loaded_knob(t->subject.loaded), &t->prepared, &c->err);
  if (st != MLAF_OK) return st;
  mlaf_point_print(&p, t->problem, sizeof t->problem);
  t->launches = t->prepared.launches;
  t->n = t->prepared.n;
  t->dev = mlaf_ctx_device(c->ctx);
  return MLAF_OK;
}

static mlaf_status open_code(cli *c, target *t) {
  t->code = calloc(1, sizeof *t->code);
  if (!t->code) return mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for a launch");
  mlaf_status st = mlaf_cli_open_device(c, &t->dev);
  if (st == MLAF_OK)
    st = mlaf_code_call_open(t->dev, c->given[O_CODE], c->given[O_ARGS], mlaf_cli_seed(c), t->code, &c->err);
  t->launches = &t->code->launch;
  t->n = 1;
  return st;
}

static void close_target(target *t) {
  if (t->code) {
    if (t->code->dev) mlaf_code_call_close(t->code);
    if (t->dev) mlaf_device_close(t->dev);
    free(t->code);
  }
  mlaf_bench_free(t->bench);
  mlaf_cli_subject_clear(&t->subject);
}

/* --- figures of one instruction --- */

static double cycles(const mlaf_profile_inst *x) {
  double sum = 0;
  for (int w = 0; w < MLAF_PROFILE_WHYS; w++) sum += x->clk[w];
  return sum;
}

/* Returns what held it most besides its own issue, -1 where that is less than a tenth. */
static int main_why(const mlaf_profile_inst *x) {
  int best = -1;
  for (int w = MLAF_PROFILE_ISSUE + 1; w < MLAF_PROFILE_WHYS; w++)
    if (x->clk[w] > 0.1 * cycles(x) && (best < 0 || x->clk[w] > x->clk[best])) best = w;
  return best;
}

static int by_cycles(const void *a, const void *b) {
  const mlaf_profile_inst *x = *(const mlaf_profile_inst *const *)a, *y = *(const mlaf_profile_inst *const *)b;
  double dx = cycles(x), dy = cycles(y);
  if (dx != dy) return dx < dy ? 1 : -1;
  return x->pc < y->pc ? -1 : x->pc > y->pc;
}

/* Pointers to what is to be shown, in order: the hot path, everything that ran, or the hottest N. */
static const mlaf_profile_inst **select_shown(const cli *c, const mlaf_profile *p, size_t *n) {
  const mlaf_profile_inst **list = calloc(p->n_insts + 1, sizeof *list);
  size_t top = (size_t)mlaf_cli_int(c, O_TOP, 0);
  *n = 0;
  for (size_t i = 0; list && i < p->n_insts; i++)
    if (mlaf_cli_has(c, O_ALL) || p->inst[i].hot || (top && p->inst[i].executed)) list[(*n)++] = &p->inst[i];
  if (list && top) {
    qsort(list, *n, sizeof *list, by_cycles);
    if (*n > top) *n = top;
  }
  return list;
}

/* --- text --- */

static void print_head(const target *t, const mlaf_timing *timing) {
  char parts[256];
  mlaf_cli_parts(timing, parts, sizeof parts);
  if (t->problem[0]) printf("problem    %s\nvariant    %s (%s)\n", t->problem, t->subject.variant, t->subject.rung);
  printf("time       %.2f us modelled, %zu launch%s; parts %s us\n", timing->ns / 1e3, t->n, t->n == 1 ? "" : "es", parts);
}

static void print_launch(const mlaf_profile *p, size_t index) {
  printf("\nlaunch %zu   %s\n", index + 1, p->kernel);
  printf("grid       %u x %u x %u of %u work-items: %llu workgroups, %zu recorded, number %llu replayed\n",
         p->grid[0], p->grid[1], p->grid[2], p->block[0] * p->block[1] * p->block[2], (unsigned long long)p->groups, p->samples,
         (unsigned long long)p->sample_id);
  if (p->idle)
    printf("idle       about %llu workgroups have nothing to do; replayed is the one of median work among the others\n",
           (unsigned long long)p->idle);
  printf("time       kernel %.2f us, launch %.2f us modelled at %.0f MHz\n", p->kernel_ns / 1e3,
         p->launch_ns / 1e3, p->clock_mhz);
  printf("occupancy  %d workgroup%s of %d wave%s a CU, %.2g waves a SIMD; limited by %s (%u registers, %u bytes of LDS)\n\n",
         p->residents, p->residents == 1 ? "" : "s", p->waves, p->waves == 1 ? "" : "s",
         (double)p->residents * p->waves / p->simds, p->limit, p->vgprs, p->lds_bytes);
}

static void print_states(const mlaf_profile *p) {
  static const char *const columns[] = {"modelled clk of", ">SIMD 0", ">SIMD 1", ">SIMD 2", ">SIMD 3", ">share", NULL};
  cli_table *t = mlaf_cli_table_new(columns);
  double all = 0;
  for (int s = 0; s < p->n_states; s++) {
    double sum = 0;
    for (int k = 0; k < 4; k++) sum += p->state[k][s];
    all += sum;
    if (sum == 0) continue;
    mlaf_cli_table_cell(t, "%s", p->state_names[s]);
    for (int k = 0; k < 4; k++) mlaf_cli_table_cell(t, "%.0f", p->state[k][s]);
    mlaf_cli_table_cell(t, "%.1f %%", 100 * sum / ((double)p->clk * 4));
  }
  mlaf_cli_table_cell(t, "total");
  for (int k = 0; k < 4; k++) mlaf_cli_table_cell(t, "%llu", (unsigned long long)p->clk);
  mlaf_cli_table_cell(t, "%.1f %%", 100 * all / ((double)p->clk * 4));
  mlaf_cli_table_end(t);
  double hidden = 0;
  for (int k = 0; k < 4; k++) hidden += p->valu_hidden[k];
  printf("VALU under MFMA: %.0f clk a SIMD; LDS bank conflicts: %.0f of the port's %.0f clk\n\n", hidden / 4,
         p->lds_conflict_clk, p->lds_clk);
}

static void print_use(const mlaf_profile *p) {
  static const char *const columns[] = {"modelled use of", ">KB of the launch", ">achieved", ">ceiling", "unit",
                                        ">of ceiling", NULL};
  cli_table *t = mlaf_cli_table_new(columns);
  for (int i = 0; i < p->n_uses; i++) {
    const mlaf_profile_use *u = &p->use[i];
    mlaf_cli_table_cell(t, "%s", u->name);
    mlaf_cli_table_cell(t, u->bytes > 0 ? "%.1f" : "-", u->bytes / 1e3);
    mlaf_cli_table_cell(t, "%.1f\t%.0f\t%s\t%.1f %%", u->achieved, u->limit, u->unit, 100 * u->achieved / u->limit);
  }
  mlaf_cli_table_end(t);
}

static uint64_t hot_bytes(const mlaf_profile *p) {
  uint64_t sum = 0;
  for (size_t i = 0; i < p->n_insts; i++) sum += p->inst[i].hot ? p->inst[i].bytes : 0;
  return sum;
}

static void print_mix(const mlaf_profile *p) {
  rig_evidence e = {.mfma = 0};
  mlaf_evidence_executed(p, &e);
  printf("\nhot path   %u instructions a round: %u mfma, %u valu, %u salu, %u ds, %u vmem, %u smem, %u waits, %u nop,"
         " %u barrier, %u branch",
         e.instructions, e.mfma, e.valu, e.salu, e.ds, e.vmem, e.smem, e.waitcnt, e.nop, e.barrier, e.branch);
  if (e.other_per_mfma > 0) printf("; %.2f others per MFMA", e.other_per_mfma);
  printf(" (executed); %.1f KB of code, of %u in the instruction cache\n", (double)hot_bytes(p) / 1024,
         p->icache_bytes >> 10);
  if (p->base <= p->samples * (uint64_t)p->waves)
    printf("           no wave passes it more than once at this shape: prologue and epilogue are in it\n");
  printf("\n");
}

static void print_instructions(const cli *c, const mlaf_profile *p) {
  static const char *const columns[] = {">pc", ">times", ">modelled clk", ">clk/time", ">% of all", "held by",
                                        "instruction", NULL};
  size_t n;
  const mlaf_profile_inst **list = select_shown(c, p, &n);
  cli_table *t = mlaf_cli_table_new(columns);
  double all = 0;
  for (size_t i = 0; i < p->n_insts; i++) all += cycles(&p->inst[i]);
  for (size_t i = 0; list && i < n; i++) {
    const mlaf_profile_inst *x = list[i];
    int why = main_why(x);
    mlaf_cli_table_cell(t, "%x\t%llu\t%.0f\t%.1f\t%.1f", x->pc, (unsigned long long)x->on_cu, cycles(x),
                        x->on_cu ? cycles(x) / (double)x->on_cu : 0, all > 0 ? 100 * cycles(x) / all : 0);
    if (why >= 0) mlaf_cli_table_cell(t, "%s %.0f %%", p->why_names[why], 100 * x->clk[why] / cycles(x));
    else mlaf_cli_table_cell(t, "%s", "");
    mlaf_cli_table_cell(t, "%s", x->text);
  }
  mlaf_cli_table_end(t);
  free(list);
}

/* --- JSON --- */

static void json_states(cJSON *to, const mlaf_profile *p) {
  cJSON *list = cJSON_AddArrayToObject(to, "simds");
  for (int k = 0; k < p->simds && k < 4; k++) {
    cJSON *o = cJSON_CreateObject();
    for (int s = 0; s < p->n_states; s++) cJSON_AddNumberToObject(o, p->state_names[s], p->state[k][s]);
    cJSON_AddNumberToObject(o, "valu under mfma", p->valu_hidden[k]);
    cJSON_AddItemToArray(list, o);
  }
}

static void json_use(cJSON *to, const mlaf_profile *p) {
  cJSON *list = cJSON_AddArrayToObject(to, "resources");
  for (int i = 0; i < p->n_uses; i++) {
    const mlaf_profile_use *u = &p->use[i];
    cJSON *o = cJSON_CreateObject();
    mlaf_cli_json(o, TEXT("name", u->name), NUMBER("bytes", u->bytes), NUMBER("achieved", u->achieved),
                  NUMBER("ceiling", u->limit), TEXT("unit", u->unit));
    cJSON_AddItemToArray(list, o);
  }
}

static void json_mix(cJSON *to, const mlaf_profile *p) {
  rig_evidence e = {.mfma = 0};
  mlaf_evidence_executed(p, &e);
  const struct {
    const char *name;
    unsigned value;
  } fields[] = {{"instructions", e.instructions}, {"mfma", e.mfma}, {"valu", e.valu},       {"salu", e.salu},
                {"ds", e.ds},                     {"vmem", e.vmem}, {"smem", e.smem},       {"waitcnt", e.waitcnt},
                {"nop", e.nop},                   {"barrier", e.barrier}, {"branch", e.branch}};
  cJSON *o = cJSON_AddObjectToObject(to, "hot_path");
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    cJSON_AddNumberToObject(o, fields[i].name, fields[i].value);
  mlaf_cli_json(o, NUMBER("other_per_mfma", e.other_per_mfma), NUMBER("code_bytes", (double)hot_bytes(p)));
}

static void json_instructions(const cli *c, const mlaf_profile *p, size_t index) {
  size_t n;
  const mlaf_profile_inst **list = select_shown(c, p, &n);
  for (size_t i = 0; list && i < n; i++) {
    const mlaf_profile_inst *x = list[i];
    cJSON *e = mlaf_cli_event("profile_instruction");
    mlaf_cli_json(e, TEXT("source", "modelled"), NUMBER("launch", index), NUMBER("pc", x->pc), TEXT("text", x->text),
                  NUMBER("executed", x->on_cu), NUMBER("executed_in_sample", x->executed), FLAG("hot", x->hot),
                  NUMBER("clk", cycles(x)));
    cJSON *why = cJSON_AddObjectToObject(e, "clk_by_reason");
    for (int w = 0; w < p->n_whys; w++)
      if (x->clk[w] > 0) cJSON_AddNumberToObject(why, p->why_names[w], x->clk[w]);
    mlaf_cli_emit(e);
  }
  free(list);
}

static void json_extent(cJSON *to, const char *name, const uint32_t extent[3]) {
  const int values[] = {(int)extent[0], (int)extent[1], (int)extent[2]};
  cJSON_AddItemToObject(to, name, cJSON_CreateIntArray(values, 3));
}

static void print_json(const cli *c, const target *t, const mlaf_profile *p, size_t index, const mlaf_timing *timing) {
  cJSON *e = mlaf_cli_event("profile");
  mlaf_cli_json(e, TEXT("source", "modelled"), NUMBER("launch", index));
  if (t->problem[0]) {
    mlaf_cli_json(e, TEXT("problem", t->problem), TEXT("variant", t->subject.variant), TEXT("rung", t->subject.rung));
  }
  cJSON_AddStringToObject(e, "kernel", p->kernel);
  json_extent(e, "grid", p->grid);
  json_extent(e, "block", p->block);
  mlaf_cli_json(e, NUMBER("workgroups_recorded", p->samples), NUMBER("workgroup_replayed", p->sample_id),
                NUMBER("workgroups_idle", p->idle), NUMBER("kernel_ns", p->kernel_ns), NUMBER("launch_ns", p->launch_ns),
                NUMBER("clock_mhz", p->clock_mhz), NUMBER("workgroups_per_cu", p->residents),
                NUMBER("waves_per_workgroup", p->waves), TEXT("occupancy_limit", p->limit), NUMBER("registers", p->vgprs),
                NUMBER("lds_bytes", p->lds_bytes), NUMBER("clk", p->clk), NUMBER("lds_clk", p->lds_clk),
                NUMBER("lds_conflict_clk", p->lds_conflict_clk));
  json_states(e, p);
  json_use(e, p);
  json_mix(e, p);
  mlaf_cli_json_timing(e, timing);
  mlaf_cli_emit(e);
  json_instructions(c, p, index);
}

/* --- the command --- */

static void print_text(const cli *c, const target *t, const mlaf_profile *p, const mlaf_timing *timing) {
  print_head(t, timing);
  for (size_t i = 0; i < t->n; i++) {
    print_launch(&p[i], i);
    print_states(&p[i]);
    print_use(&p[i]);
    print_mix(&p[i]);
    print_instructions(c, &p[i]);
  }
}

static int check_options(cli *c) {
  bool code = mlaf_cli_has(c, O_CODE), args = mlaf_cli_has(c, O_ARGS);
  if (code != args) return mlaf_cli_usage(c, "--code and --args go together");
  if (code && (mlaf_cli_names_problem(c) || mlaf_cli_has(c, O_VARIANT) || mlaf_cli_has(c, O_LENGTHS)))
    return mlaf_cli_usage(c, "--code takes no problem, no --variant and no --lengths");
  if (mlaf_cli_has(c, O_ALL) && mlaf_cli_has(c, O_TOP)) return mlaf_cli_usage(c, "--all and --top exclude each other");
  return CLI_OK;
}

/* Runs to save buffers: one whole run of the code object. It is all there is where nothing models times. */
static mlaf_status run_and_save(cli *c, target *t, bool *done) {
  const mlaf_device_info *info = mlaf_info(t->dev);
  if (!t->code || !t->code->n_saves) return MLAF_OK;
  mlaf_status st = mlaf_code_call_run(t->code, &c->err);
  *done = mlaf_ops(t->dev)->features & MLAF_DEVICE_MODELLED && !mlaf_ops(t->dev)->profile;
  if (st == MLAF_OK && *done && !c->json)
    printf("%d buffer%s saved; emu:%s has no timing model\n", t->code->n_saves, t->code->n_saves == 1 ? "" : "s", info->target);
  return st;
}

int mlaf_cli_profile(cli *c) {
  target t = {.n = 0};
  mlaf_profile p[2] = {{.kernel = NULL}, {.kernel = NULL}};
  mlaf_timing timing = {0};
  int usage = check_options(c);
  if (usage != CLI_OK) return usage;
  if (!c->given[O_DEVICE]) c->given[O_DEVICE] = "emu:gfx942"; /* nothing else can be profiled */
  mlaf_status st = c->given[O_CODE] ? open_code(c, &t) : open_variant(c, &t);
  bool done = false;
  if (st == MLAF_OK) st = run_and_save(c, &t, &done);
  if (done) t.n = 0;
  if (st == MLAF_OK && !done) st = mlaf_profile_run(t.dev, t.launches, t.n, p, &timing, &c->err);
  if (st == MLAF_OK && !done && c->given[O_TRACE]) st = mlaf_report_trace(c->given[O_TRACE], p, t.n, &c->err);
  if (st == MLAF_OK && c->json)
    for (size_t i = 0; i < t.n; i++) print_json(c, &t, &p[i], i, &timing);
  else if (st == MLAF_OK && !done) print_text(c, &t, p, &timing);
  for (size_t i = 0; i < 2; i++) mlaf_profile_clear(&p[i]);
  close_target(&t);
  return st == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}
