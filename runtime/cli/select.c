/* Which variants and kernels a command works on. */
#include "cli/cli.h"

/* A target without an arch table is a slip on the command line, not a broken generator. */
mlaf_status mlaf_cli_check_target(cli *c, mlaf_gen *g, const char *target) {
  mlaf_text names = MLAF_TEXT_INIT(1024);
  bool found = false;
  for (const char *const *t = mlaf_gen_targets(g); t && *t; t++) {
    found = found || strcmp(*t, target) == 0;
    mlaf_text_fmt(&names, "%s%s", names.len ? ", " : "", *t);
  }
  mlaf_status status = found
                           ? MLAF_OK
                           : mlaf_fail(&c->err, MLAF_E_ARG, "there is no arch table for the target '%s'; there are: %s",
                                       target, names.data ? names.data : "none");
  mlaf_text_free(&names);
  return status;
}

mlaf_status mlaf_cli_variants(cli *c, mlaf_gen *g, const mlaf_point *p, const char *target, cli_variants *out) {
  *out = (cli_variants){NULL, 0, 0};
  if (mlaf_cli_check_target(c, g, target) != MLAF_OK) return c->err.status;
  if (c->given[O_VARIANT]) {
    out->list = calloc(1, sizeof *out->list);
    if (!out->list) return mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for a variant");
    mlaf_status status = mlaf_gen_variant(g, mlaf_point_text(p).s, target, c->given[O_VARIANT], &out->list[0], &c->err);
    if (status == MLAF_OK) out->n = 1;
    if (status != MLAF_E_TEMPLATE) return status;
    /* the name came from the command line: what is wrong with it is a matter of usage, and the traceback is of no use */
    char *trace = strstr(c->err.text, "\nstack traceback");
    if (trace) *trace = 0;
    return mlaf_fail_prefix(&c->err, MLAF_E_ARG, "--variant '%s'", c->given[O_VARIANT]);
  }
  mlaf_status status = mlaf_gen_space(g, mlaf_point_text(p).s, target, &out->list, &out->n, &c->err);
  size_t kept = 0;
  for (size_t i = 0; status == MLAF_OK && i < out->n; i++) {
    if (out->list[i].rejected) mlaf_variant_clear(&out->list[i]);
    else if (kept++ != i) out->list[kept - 1] = out->list[i];
  }
  out->rejected = out->n - kept;
  out->n = kept;
  if (status == MLAF_OK && !kept)
    status = mlaf_fail(&c->err, MLAF_E_NOT_TUNED,
                       "no variant of the space fits this problem on %s; `mlaforge tune --dry-run` "
                       "lists the reasons",
                       target);
  return status;
}

static bool same_kernels(const mlaf_variant *a, const mlaf_variant *b) {
  bool same = true;
  for (int i = 0; i < MLAF_STAGES_MAX; i++) same = same && strcmp(a->kernels[i].symbol, b->kernels[i].symbol) == 0;
  return same;
}

void mlaf_cli_distinct_kernels(cli_variants *v) {
  size_t kept = 0;
  for (size_t i = 0; i < v->n; i++) {
    bool seen = false;
    for (size_t k = 0; k < kept && !seen; k++) seen = same_kernels(&v->list[k], &v->list[i]);
    if (seen) mlaf_variant_clear(&v->list[i]);
    else if (kept++ != i) v->list[kept - 1] = v->list[i];
  }
  v->n = kept;
}

void mlaf_cli_variants_free(cli_variants *v) {
  mlaf_variants_free(v->list, v->n);
  *v = (cli_variants){NULL, 0, 0};
}

/* Variants share kernels: the knob is a launch argument, and all share a few kernels of the later stages. */
static void add_kernel(cli_kernel *list, size_t *n, const mlaf_kernel_desc *k, const char *variant, int stage) {
  if (!k->template_name) return;
  for (size_t i = 0; i < *n; i++)
    if (strcmp(list[i].desc->symbol, k->symbol) == 0) {
      list[i].variants++;
      return;
    }
  list[(*n)++] = (cli_kernel){.desc = k, .variant = variant, .variants = 1, .stage = stage};
}

/* Those of the first stage first, in the model's order. */
mlaf_status mlaf_cli_kernels(cli *c, mlaf_gen *g, const char *target, const cli_variants *v, cli_kernel **out,
                             size_t *n) {
  cli_kernel *list = calloc(MLAF_STAGES_MAX * v->n + 1, sizeof *list);
  size_t have = 0;
  if (!list) return mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for %zu kernels", MLAF_STAGES_MAX * v->n);
  for (int stage = 0; stage < MLAF_STAGES_MAX; stage++)
    for (size_t i = 0; i < v->n; i++) add_kernel(list, &have, &v->list[i].kernels[stage], v->list[i].name, stage);
  mlaf_status status = MLAF_OK;
  for (size_t i = 0; status == MLAF_OK && i < have; i++) {
    status = mlaf_cli_go_on(c);
    if (status == MLAF_OK) status = mlaf_gen_render(g, list[i].desc, target, &list[i].source, list[i].src_hash, &c->err);
  }
  if (status != MLAF_OK) {
    mlaf_cli_kernels_free(list, have);
    return status;
  }
  *out = list;
  *n = have;
  return MLAF_OK;
}

static bool keep_compiling(void *user, size_t done, size_t total, const mlaf_compile_job *one) {
  cli *c = user;
  mlaf_cli_progress(c, "compiled %zu of %zu kernels", done, total);
  return !atomic_load(c->cancel);
}

mlaf_status mlaf_cli_warm_cache(cli *c, mlaf_gen *g, const cli_variants *v) {
  const char *target = mlaf_ctx_target(c->ctx), *const *options = NULL;
  cli_kernel *kernels = NULL;
  size_t n = 0;
  mlaf_status status = mlaf_cli_kernels(c, g, target, v, &kernels, &n);
  if (status == MLAF_OK) status = mlaf_gen_options(g, target, &options, &c->err);
  mlaf_compile_job *jobs = status == MLAF_OK ? calloc(n + 1, sizeof *jobs) : NULL;
  for (size_t i = 0; jobs && i < n; i++)
    jobs[i] = (mlaf_compile_job){
        .source = kernels[i].source, .options = options, .target = target, .name = kernels[i].desc->symbol};
  if (jobs) status = mlaf_compile(c->ctx->compiler, jobs, n, keep_compiling, c, &c->err);
  for (size_t i = 0; jobs && i < n; i++) mlaf_compile_job_clear(&jobs[i]);
  free(jobs);
  mlaf_cli_kernels_free(kernels, n);
  return status;
}

void mlaf_cli_kernels_free(cli_kernel *k, size_t n) {
  for (size_t i = 0; k && i < n; i++) free(k[i].source);
  free(k);
}
