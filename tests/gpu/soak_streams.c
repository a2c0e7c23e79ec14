/* By hand, on a real GPU: kernels beside each other, in one process and context. Two threads soak a plan each (check/soak.h), on
 * two streams of their own beside a stream that reads memory; a third thread keeps the device busy with another plan.
 *
 *   make soak-streams && ./soak-streams [LAUNCHES [PROBLEM FAMILY]...]
 *
 * Each plan is the model's first candidate of its family. Its first launches are made while nothing else runs, and are checked
 * with fp64; every later output is compared with them, whole and bit for bit. Pairs: each plan beside the next one, and beside
 * itself, the same loaded kernels. A line for each plan of a pair: launches, wrong ones. Exit status 1 where any was wrong. */
#include <pthread.h>

#include "check/soak.h"
#include "mlaforge/mlaforge.h"
#include "plan/ctx.h"
#include "run/build.h"

enum { NO_DEVICE = 3, PLANS = 24, THREADS = 3, BUSY = 2 /* the third thread */ };
#define POOL ((int64_t)256 << 20) /* several times L2 */

typedef struct plan {
  const char *problem;
  mlaf_point point;
  mlaf_loaded *loaded;
} plan;

static struct {
  mlaf_ctx *ctx;
  mlaf_gen *gen;
  plan plans[PLANS];
  int n;
  pthread_mutex_t alone; /* held by the thread that makes its first launches */
  pthread_barrier_t ready;
} run = {.alone = PTHREAD_MUTEX_INITIALIZER};

typedef struct soaker {
  const plan *p;
  uint64_t seed;
  int64_t launches;
  atomic_bool *stop; /* set when the others are done */
  int ready; /* steps that all threads have made: first launches, their check */
  mlaf_soak_result out;
  mlaf_err err;
  pthread_t thread;
} soaker;

static void ok(mlaf_status st, const mlaf_err *err, const char *what) {
  if (!st) return;
  fprintf(stderr, "%s: %s\n", what, err->text);
  exit(NO_DEVICE);
}
#define DO(call) ok(call, &err, #call)

static bool is_of(const mlaf_variant *v, const char *family) {
  const size_t n = strlen(family);
  return !v->rejected && !strncmp(v->name, family, n) && (v->name[n] == ':' || v->name[n] == '/' || !v->name[n]);
}

/* The first variant of a family in a list that it frees; false: there is none. */
static bool load_of(plan *p, const char *family, mlaf_variant *list, size_t n) {
  mlaf_err err = {MLAF_OK, ""};
  mlaf_build build = {.n = 0};
  size_t i = 0;
  int compiles = 0;
  while (i < n && !is_of(&list[i], family)) i++;
  if (i < n) {
    DO(mlaf_build_init(&list[i], &build, &err));
    DO(mlaf_build_now(&build, run.gen, run.ctx->compiler, mlaf_ctx_target(run.ctx), true, &compiles, &err));
    DO(mlaf_build_load(&build, mlaf_ctx_device(run.ctx), &p->point, &p->loaded, &err));
    mlaf_build_clear(&build);
  }
  for (size_t k = 0; k < n; k++) mlaf_variant_clear(&list[k]);
  free(list);
  return p->loaded;
}

/* Variants that the space does not have are among the libraries': normed_fp8. */
static void load(const char *problem, const char *family) {
  mlaf_err err = {MLAF_OK, ""};
  plan *p = &run.plans[run.n];
  const char *target = mlaf_ctx_target(run.ctx);
  mlaf_variant *list = NULL;
  size_t n = 0;
  p->problem = problem;
  ok(mlaf_point_parse(NULL, problem, &p->point, err.text, sizeof err.text), &err, problem);
  DO(mlaf_gen_space(run.gen, problem, target, &list, &n, &err));
  if (load_of(p, family, list, n)) return (void)run.n++;
  list = NULL, n = 0;
  DO(mlaf_gen_libraries(run.gen, problem, target, &list, &n, &err));
  if (load_of(p, family, list, n)) return (void)run.n++;
  printf("%s: no candidate of %s\n", problem, family);
}

/* All threads wait for each other when their first launches were made, and again when these were checked: from there on the
 * launches of all run at once. */
static void progress(void *user, int64_t done, int64_t wrong) {
  soaker *s = user;
  if (s->ready == 2) return;
  if (!s->ready++) pthread_mutex_unlock(&run.alone);
  pthread_barrier_wait(&run.ready);
}

static void *soak(void *user) {
  soaker *s = user;
  const mlaf_tool_env env = {mlaf_ctx_device(run.ctx), run.gen, run.ctx->compiler, mlaf_ctx_target(run.ctx)};
  const bool modelled = mlaf_ops(env.device)->features & MLAF_DEVICE_MODELLED; /* the emulator takes its own, smaller pool */
  const mlaf_soak_opts o = {.launches = s->launches, .seed = s->seed, .pool_bytes = modelled ? 0 : POOL, .cancel = s->stop,
                            .progress = progress, .user = s};
  pthread_mutex_lock(&run.alone);
  mlaf_soak_run(&env, s->p->loaded, &o, &s->out, &s->err);
  while (s->ready < 2) progress(s, 0, 0); /* one that failed early lets the others go on */
  return NULL;
}

static int say(const soaker *s, const plan *beside) {
  const bool wrong = s->err.status || s->out.wrong;
  printf("%s\t%s\t%s\tbeside %s\t%lld launches\t%lld wrong\t%.1f s%s%s\n", wrong ? "WRONG" : "right", s->p->problem,
         mlaf_loaded_name(s->p->loaded), mlaf_loaded_name(beside->loaded), (long long)s->out.launches, (long long)s->out.wrong,
         s->out.seconds, s->err.status ? "\t" : "", s->err.text);
  fflush(stdout);
  return wrong;
}

static int pair(const plan *a, const plan *b, const plan *busy, int64_t launches) {
  atomic_bool stop = false;
  const plan *of[THREADS] = {a, b, busy};
  soaker *all = calloc(THREADS, sizeof *all);
  if (!all) exit(4);
  pthread_barrier_init(&run.ready, NULL, THREADS);
  for (int i = 0; i < THREADS; i++) {
    all[i] = (soaker){.p = of[i], .seed = 11 + (uint64_t)i, .launches = i == BUSY ? INT64_MAX / 2 : launches};
    if (i == BUSY) all[i].stop = &stop;
    if (pthread_create(&all[i].thread, NULL, soak, &all[i])) exit(4);
  }
  for (int i = 0; i < BUSY; i++) pthread_join(all[i].thread, NULL);
  atomic_store(&stop, true);
  pthread_join(all[BUSY].thread, NULL);
  const int wrong = say(&all[0], b) + say(&all[1], a) + say(&all[BUSY], a);
  pthread_barrier_destroy(&run.ready);
  free(all);
  return wrong;
}

int main(int argc, char **argv) {
  static const char *const usual[] = {
      "mla_decode:h128,r512,p64,q1,bf16,page64,b40,s1500", "sm90_many",
      "mla_decode:h16,r512,p64,q1,bf16,page64,b64,s2000", "sm90_few",
      "mla_decode:h16,r512,p64,q1,e4m3fn,page64,b64,s3000", "sm90_raw",
      "mla_decode:h64,r512,p64,q1,e4m3fn,page64,b24,s3000", "sm90_raw_mid"};
  const int64_t launches = argc > 1 ? strtoll(argv[1], NULL, 10) : 2000;
  const char *const *list = argc > 2 ? (const char *const *)argv + 2 : usual;
  const int n = argc > 2 ? (argc - 2) / 2 : (int)(sizeof usual / sizeof *usual / 2);
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  mlaf_err err = {MLAF_OK, ""};
  char why[1024] = "";
  int wrong = 0;
  o.device = getenv("MLAF_DEVICE");
  o.gen_root = getenv("MLAF_GEN_ROOT");
  if (mlaf_ctx_create(&o, &run.ctx, why, sizeof why)) return fprintf(stderr, "soak-streams: %s\n", why), NO_DEVICE;
  DO(mlaf_ctx_gen(run.ctx, &run.gen, &err));
  for (int i = 0; i < n && i < PLANS; i++) load(list[2 * i], list[2 * i + 1]);
  for (int i = 0; i < run.n; i++) {
    const plan *p = &run.plans[i], *next = &run.plans[(i + 1) % run.n], *busy = &run.plans[(i + 2) % run.n];
    wrong += pair(p, next, busy, launches);
    wrong += pair(p, p, busy, launches);
  }
  for (int i = 0; i < run.n; i++) mlaf_loaded_close(run.plans[i].loaded);
  mlaf_ctx_destroy(run.ctx);
  return wrong ? 1 : 0;
}
