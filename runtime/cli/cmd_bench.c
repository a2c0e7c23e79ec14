/* `mlaforge bench`: the time of planned variants beside the ceilings of the device, measured in the same run. */
#include <errno.h>

#include "cli/bench.h"
#include "op/nearest.h"

#define HOT_S 0.3 /* a measurement with --hot */

typedef struct run {
  cli *c;
  mlaf_gen *gen;
  mlaf_device *dev;
  mlaf_pool *pool;
  mlaf_ceilings ceilings;
  mlaf_lengths lengths;
  bench_out out;
  mlaf_suite *suite; /* of the dims of suite_problem; NULL: none yet */
  mlaf_point suite_problem;
  char verified[256]; /* the variant it last passed */
  bool modelled;
} run;

static mlaf_time_opts time_opts(const run *r) {
  mlaf_time_opts o = r->modelled ? mlaf_bench_time_opts() : mlaf_bench_rested_opts();
  if (!r->modelled && r->out.hot) o.limit_s = HOT_S, o.idle_s = 0;
  o.cancel = r->c->cancel;
  return o;
}

/* The verifier's cases, kept while the dims stay the same. */
static mlaf_status verify(run *r, const mlaf_point *p, const cli_subject *s, mlaf_err *err) {
  mlaf_verify_result result;
  mlaf_status status = MLAF_OK;
  if (!r->suite || !mlaf_point_same_shape(p, &r->suite_problem)) {
    mlaf_suite_free(r->suite);
    r->suite = NULL;
    r->verified[0] = 0;
    r->suite_problem = *p;
    status = mlaf_suite_create(p, mlaf_cli_seed(r->c), MLAF_INJECT_NONE, &r->suite, err);
  }
  if (status != MLAF_OK || strcmp(r->verified, s->variant) == 0) return status;
  status = mlaf_suite_run(r->suite, s->loaded, &result, err);
  if (status == MLAF_OK) snprintf(r->verified, sizeof r->verified, "%s", s->variant);
  return status;
}

/* Under the device lock, like the tuner: a bench beside a tuning run would spoil both. */
static mlaf_status time_case(run *r, const bench_case *x, const cli_subject *s, bench_figures *f, mlaf_err *err) {
  const mlaf_bench_opts opts = {.data = {.seed = mlaf_cli_seed(r->c), .lengths = r->lengths, .tokens = x->tokens,
                                         .bound = mlaf_loaded_bound(s->loaded)},
                                .pool = r->pool};
  const mlaf_time_opts time = time_opts(r);
  mlaf_bench *bench = NULL;
  int lock = -1;
  mlaf_status status = mlaf_bench_create(r->dev, &x->problem, &opts, &bench, err);
  if (status == MLAF_OK && !r->modelled) {
    status = mlaf_tuner_share(r->dev, &r->c->log, r->c->cancel, 0, &lock, err);
    if (status == MLAF_OK) status = mlaf_bench_check(bench, s->loaded, &f->error, err);
    mlaf_tuner_unlock(lock);
    lock = -1;
    f->verified = status == MLAF_OK;
  }
  if (status == MLAF_OK) status = mlaf_tuner_lock(r->dev, &r->c->log, r->c->cancel, 0, &lock, err);
  if (status == MLAF_OK) status = mlaf_bench_time(bench, s->loaded, &time, &f->timing, err);
  mlaf_tuner_unlock(lock);
  if (status == MLAF_OK) {
    const mlaf_data *data = mlaf_bench_data(bench);
    f->work = data->work;
    f->tokens = data->tokens;
    f->sets = data->sets;
    f->floor_ns = mlaf_ceilings_ns(&r->ceilings, mlaf_work_main(&f->work), f->work.flops, &f->compute_bound);
  }
  mlaf_bench_free(bench);
  return status;
}

static mlaf_status run_case(run *r, const bench_case *x) {
  cli *c = r->c;
  cli_subject s = {.loaded = NULL};
  bench_figures f = {.error = 0};
  mlaf_status status = mlaf_cli_subject(c, &x->problem, r->gen, &s);
  if (status == MLAF_OK && s.notes && s.notes[0]) mlaf_log_line(&c->log, MLAF_LOG_INFO, "plan: %s", s.notes);
  if (status == MLAF_OK && !r->modelled) status = verify(r, &x->problem, &s, &c->err);
  if (status == MLAF_OK) status = time_case(r, x, &s, &f, &c->err);
  if (status == MLAF_OK) r->out.fastest_gbs = fmax(r->out.fastest_gbs, mlaf_work_main(&f.work) / f.timing.ns);
  if (status == MLAF_OK) mlaf_cli_bench_print(&r->out, x, &s, &f);
  else if (r->out.many) mlaf_cli_bench_failed(&r->out, x, &s, &c->err);
  mlaf_cli_subject_clear(&s);
  return status;
}

/* True for failures after which the other cases cannot go on. */
static bool is_final(mlaf_status status) {
  return status == MLAF_E_CANCELLED || status == MLAF_E_DEVICE || status == MLAF_E_FAULT || status == MLAF_E_NOMEM;
}

static mlaf_status prepare(run *r) {
  cli *c = r->c;
  mlaf_status status = mlaf_cli_open(c, false);
  if (status == MLAF_OK) status = mlaf_ctx_gen(c->ctx, &r->gen, &c->err);
  if (status != MLAF_OK) return status;
  r->dev = mlaf_ctx_device(c->ctx);
  r->modelled = mlaf_ops(r->dev)->features & MLAF_DEVICE_MODELLED;
  r->out.hot = mlaf_cli_has(c, O_HOT);
  const mlaf_time_opts time = time_opts(r);
  status = mlaf_pool_create(r->dev, mlaf_cli_seed(c), &r->pool, &c->err);
  const mlaf_ceilings_env env = {.device = r->dev, .gen = r->gen, .compiler = c->ctx->compiler, .target = mlaf_ctx_target(c->ctx),
                                 .pool = r->pool};
  if (status == MLAF_OK) status = mlaf_ceilings_measure(&env, &time, &r->ceilings, &c->err);
  if (status == MLAF_OK && c->given[O_CSV] && !(r->out.csv = mlaf_file_create(c->given[O_CSV], &c->err))) status = c->err.status;
  return status;
}

static mlaf_status run_cases(run *r, const bench_cases *cases) {
  mlaf_status first = MLAF_OK, status = MLAF_OK;
  if (r->out.many || !r->c->json) mlaf_cli_bench_ceilings(&r->out);
  mlaf_cli_bench_head(&r->out);
  for (size_t i = 0; i < cases->n && !is_final(status); i++) {
    if (r->c->cancel && *r->c->cancel) status = mlaf_fail(&r->c->err, MLAF_E_CANCELLED, "stopped on request");
    else status = run_case(r, &cases->list[i]);
    if (status != MLAF_OK && first == MLAF_OK) first = status;
  }
  mlaf_cli_bench_end(&r->out);
  return first;
}

int mlaf_cli_bench(cli *c) {
  run r = {.c = c, .out = {.c = c}};
  bench_cases cases = {NULL, 0, NULL};
  mlaf_status status = c->given[O_LENGTHS] ? mlaf_lengths_parse(c->given[O_LENGTHS], &r.lengths, &c->err) : MLAF_OK;
  if (status == MLAF_OK) status = mlaf_cli_bench_cases(c, &cases);
  r.out.ceilings = &r.ceilings;
  r.out.many = cases.n > 1;
  if (status == MLAF_OK) status = prepare(&r);
  if (status == MLAF_OK) status = run_cases(&r, &cases);
  const bool torn = r.out.csv && ferror(r.out.csv); /* rows are flushed one by one, long before the file is closed */
  if (r.out.csv && (fclose(r.out.csv) != 0 || torn) && status == MLAF_OK)
    status = mlaf_fail(&c->err, MLAF_E_IO, "'%s' is not written whole: %s", c->given[O_CSV], strerror(errno));
  mlaf_suite_free(r.suite);
  mlaf_pool_free(r.pool);
  mlaf_cli_bench_cases_free(&cases);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}
