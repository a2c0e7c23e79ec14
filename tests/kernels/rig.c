#include "rig.h"

#include "cmocka_all.h"
#include "check/buffers.h"
#include "op/numeric.h"
#include "need.h"
#include "mlaforge/plan.h"
#include "point.h"

#define ok(call, err) do { if ((call) != MLAF_OK) fail_msg("%s", (err).text); } while (0)

void rig_open(rig *r) {
  mlaf_err err = {MLAF_OK, ""};
  need_compiler("gfx942");
  *r = (rig){NULL, NULL, NULL};
  ok(mlaf_gen_open(NULL, &r->gen, &err), err);
  ok(mlaf_compiler_open(&(mlaf_compiler_opts){.timeout_s = 120}, NULL, &r->compiler, &err), err);
  ok(mlaf_device_open("emu:gfx942", NULL, &r->dev, &err), err);
}

void rig_close(rig *r) {
  if (r->dev) mlaf_device_close(r->dev);
  mlaf_compiler_close(r->compiler);
  mlaf_gen_close(r->gen);
}

mlaf_problem rig_problem(const char *text) {
  mlaf_problem p;
  char why[256];
  if (mlaf_problem_parse(text, &p, why, sizeof why)) fail_msg("%s: %s", text, why);
  return p;
}

void rig_candidates_make(rig *r, const mlaf_problem *p, rig_candidates *out) {
  mlaf_err err;
  *out = (rig_candidates){NULL, 0, NULL, 0};
  ok(mlaf_gen_space(r->gen, mlaf_point_text(pt(p)).s, "gfx942", &out->all, &out->n_all, &err), err);
  out->distinct = calloc(out->n_all + 1, sizeof *out->distinct);
  for (size_t i = 0; i < out->n_all; i++) {
    const mlaf_variant *v = &out->all[i];
    bool seen = v->rejected != NULL;
    for (size_t j = 0; !seen && j < out->n; j++)
      seen = !strcmp(out->distinct[j]->kernels[0].symbol, v->kernels[0].symbol);
    if (!seen) out->distinct[out->n++] = v;
  }
}

void rig_candidates_free(rig_candidates *c) {
  mlaf_variants_free(c->all, c->n_all);
  free(c->distinct);
}

static mlaf_kernel_ref ref_of(const mlaf_kernel_desc *k) {
  mlaf_kernel_ref ref = {.threads = k->threads, .rows_per_wg = k->rows_per_wg};
  snprintf(ref.template_name, sizeof ref.template_name, "%s", k->template_name ? k->template_name : "");
  snprintf(ref.params, sizeof ref.params, "%s", k->params ? k->params : "");
  snprintf(ref.symbol, sizeof ref.symbol, "%s", k->symbol);
  return ref;
}

/* Checks the promise of every variant: nothing spilled, nothing in scratch, LDS as the budget says. */
static void require_clean(const mlaf_kernel_desc *k, const mlaf_compile_job *job) {
  mlaf_err err;
  mlaf_kernel_meta meta;
  size_t n = 0;
  ok(mlaf_code_meta(job->code, job->code_size, &meta, 1, &n, &err), err);
  assert_int_equal(n, 1);
  if (meta.scratch_bytes || meta.vgpr_spills || meta.sgpr_spills || meta.lds_bytes != k->lds_bytes)
    fail_msg("%s %s: scratch %u, spills %u/%u, LDS %u (budget %u)", k->template_name, k->params, meta.scratch_bytes,
             meta.vgpr_spills, meta.sgpr_spills, meta.lds_bytes, k->lds_bytes);
}

void rig_compile(rig *r, const mlaf_variant *const *v, size_t n) {
  mlaf_compile_job *jobs = calloc(2 * n + 1, sizeof *jobs);
  char **sources = calloc(2 * n + 1, sizeof *sources), hash[MLAF_HASH_HEX];
  const char *const *options;
  mlaf_err err = {MLAF_OK, ""};
  size_t count = 0;
  ok(mlaf_gen_options(r->gen, "gfx942", &options, &err), err);
  for (size_t i = 0; i < n; i++)
    for (int k = 0; k < (v[i]->kernels[1].template_name ? 2 : 1); k++) {
      const mlaf_kernel_desc *d = &v[i]->kernels[k];
      ok(mlaf_gen_render(r->gen, d, "gfx942", &sources[count], hash, &err), err);
      jobs[count] = (mlaf_compile_job){.source = sources[count], .options = options, .target = "gfx942", .name = d->symbol};
      count++;
    }
  ok(mlaf_compile(r->compiler, jobs, count, NULL, NULL, &err), err);
  for (size_t i = 0; i < count; i++) { /* a failed compile is reported by rig_load, which names the variant */
    mlaf_compile_job_clear(&jobs[i]);
    free(sources[i]);
  }
  free(jobs);
  free(sources);
}

void rig_build(rig *r, const mlaf_variant *v, rig_code *out) {
  const mlaf_kernel_desc *kernels[2] = {&v->kernels[0], &v->kernels[1]};
  mlaf_compile_job jobs[2] = {{NULL}};
  char *sources[2] = {NULL, NULL}, hash[MLAF_HASH_HEX];
  const char *const *options;
  mlaf_err err = {MLAF_OK, ""};
  size_t n = v->kernels[1].template_name ? 2 : 1;
  ok(mlaf_gen_options(r->gen, "gfx942", &options, &err), err);
  *out = (rig_code){.variant = v, .refs = {ref_of(kernels[0]), ref_of(kernels[1])}};
  for (size_t i = 0; i < n; i++) {
    ok(mlaf_gen_render(r->gen, kernels[i], "gfx942", &sources[i], hash, &err), err);
    jobs[i] = (mlaf_compile_job){
        .source = sources[i], .options = options, .target = "gfx942", .name = kernels[i]->symbol};
  }
  ok(mlaf_compile(r->compiler, jobs, n, NULL, NULL, &err), err);
  for (size_t i = 0; i < n; i++) {
    if (jobs[i].status) fail_msg("%s: %s", kernels[i]->params, jobs[i].log ? jobs[i].log : mlaf_status_text(jobs[i].status));
    require_clean(kernels[i], &jobs[i]);
  }
  for (size_t i = 0; i < n; i++) {
    out->code[i] = (mlaf_code){jobs[i].code, jobs[i].code_size};
    jobs[i].code = NULL;
    mlaf_compile_job_clear(&jobs[i]);
    free(sources[i]);
  }
}

void rig_code_free(rig_code *c) {
  for (int i = 0; i < 2; i++) free((void *)c->code[i].bytes);
}

mlaf_status rig_open_code(rig *r, const mlaf_problem *p, const rig_code *c, mlaf_loaded **out, mlaf_err *err) {
  const mlaf_loaded_desc desc = {
      .name = c->variant->name, .kernels = {{&c->refs[0], c->code[0]}, {&c->refs[1], c->code[1]}}, .knob = c->variant->knob};
  return mlaf_loaded_open(r->dev, pt(p), &desc, out, err);
}

mlaf_loaded *rig_load(rig *r, const mlaf_problem *p, const mlaf_variant *v) {
  rig_code code;
  mlaf_loaded *loaded = NULL;
  mlaf_err err = {MLAF_OK, ""};
  rig_build(r, v, &code);
  ok(rig_open_code(r, p, &code, &loaded, &err), err);
  rig_code_free(&code);
  return loaded;
}

mlaf_status rig_try(rig *r, const mlaf_loaded *l, const mlaf_testcase *t, uint32_t splits, rig_output *result, mlaf_err *fault) {
  const mlaf_batch *x = &t->batch;
  const size_t rows = (size_t)x->total_q * (size_t)x->problem.heads, o_bytes = rows * (size_t)x->problem.rank * 2;
  rig_output out = {malloc(o_bytes), malloc(rows * 4), rows};
  mlaf_buffers set = {.dev = r->dev};
  mlaf_execute_args args = MLAF_EXECUTE_ARGS_INIT;
  mlaf_err err = {MLAF_OK, ""};
  args.batch = x->batch;
  args.total_q = x->total_q;
  args.num_pages = x->num_pages;
  args.ckv_row_stride = x->ckv_row_stride;
  args.scale = (float)x->scale;
  args.workspace_size = mlaf_loaded_workspace_size(l, splits, x->total_q);
  const struct {
    const char *name;
    const void *input;
    size_t size;
    void **to;
  } all[] = {
      {"q", t->q, t->q_count * 2, (void **)&args.q},
      {"ckv", t->ckv, t->ckv_count * 2, (void **)&args.ckv},
      {"qo_indptr", x->qo_indptr, ((size_t)x->batch + 1) * 4, (void **)&args.qo_indptr},
      {"kv_indptr", x->kv_indptr, ((size_t)x->batch + 1) * 4, (void **)&args.kv_indptr},
      {"kv_indices", x->kv_indices, (size_t)t->total_pages * 4, (void **)&args.kv_indices},
      {"kv_last_page_lens", x->kv_last_page_lens, (size_t)x->batch * 4, (void **)&args.kv_last_page_lens},
      {"o", NULL, o_bytes, (void **)&args.o},
      {"lse", NULL, rows * 4, (void **)&args.lse},
      {"workspace", NULL, args.workspace_size, &args.workspace},
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    const mlaf_use use = all[i].input ? MLAF_USE_INPUT : all[i].to == &args.workspace ? MLAF_USE_WORKSPACE : MLAF_USE_OUTPUT;
    const mlaf_case_buffer want = {.name = all[i].name, .use = use, .bytes = all[i].size, .input = all[i].input};
    if (want.bytes || want.input) ok(mlaf_buffers_add(&set, &want, 0xff, all[i].to, &err), err);
  }
  mlaf_status st = mlaf_loaded_launch(l, splits, &args, NULL, fault);
  if (!st) st = mlaf_ops(r->dev)->sync(r->dev, NULL, fault);
  ok(mlaf_ops(r->dev)->mem_read(r->dev, out.o, args.o, o_bytes, &err), err);
  ok(mlaf_ops(r->dev)->mem_read(r->dev, out.lse, args.lse, rows * 4, &err), err);
  mlaf_buffers_free(&set);
  *result = out;
  return st;
}

rig_output rig_run(rig *r, const mlaf_loaded *l, const mlaf_testcase *t, uint32_t splits) {
  rig_output out;
  mlaf_err err = {MLAF_OK, ""};
  ok(rig_try(r, l, t, splits, &out, &err), err);
  return out;
}

void rig_output_free(rig_output *o) {
  free(o->o);
  free(o->lse);
}

double rig_distance(const rig_output *a, const rig_output *b, const mlaf_problem *p) {
  double num = 0, den = 0;
  for (size_t i = 0; i < a->rows * (size_t)p->rank; i++) {
    double x = mlaf_decode16(p->dtype, a->o[i]), y = mlaf_decode16(p->dtype, b->o[i]);
    num += (x - y) * (x - y);
    den += y * y;
  }
  return sqrt(num / den);
}
