/* Memory runs out at every call site of the public API, once and from there on: each call says so (or gets by without) and
 * nothing crashes, leaks, or computes something else. What needs no memory works with none at all. A public function that no
 * scenario here calls is a failure.
 *
 * The sites of the emulator's instruction text differ by address only, so CI takes a sample in which is a site of every path of
 * callers in the program (see choose); MLAF_ALLOC_FAULTS=all tries every site, MLAF_ALLOC_CASE=tune:1500 those of one scenario
 * from the 1500th on. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sqlite3.h>

#include "base/base.h"
#include "compile/toolchain.h"
#include "plan/api_calls.h"
#include "plan/faulty_malloc.h"
#include "op/numeric.h"
#include "cuda/cuda_life.h"
#include "hip/hip_life.h"
#include "need.h"

/* ---- which functions a fault was tried in ---- */

enum { MAX_CALLED = 256 };
static const char *called[MAX_CALLED];
static atomic_int n_called;

static void api_called(const char *name) {
  if (heap.mode != RECORD && heap.mode != FAIL_ALL) return;
  const int n = n_called;
  for (int i = 0; i < n; i++)
    if (!strcmp(called[i], name)) return;
  if (n < MAX_CALLED) called[n_called++] = name;
}

static bool was_called(const char *name, size_t length) {
  for (int i = 0; i < n_called; i++)
    if (strlen(called[i]) == length && !memcmp(called[i], name, length)) return true;
  return false;
}

/* Each `MLAF_API ... name(` of a header. Returns their number. */
static int check_header(const char *path) {
  void *text;
  size_t size;
  int n = 0;
  assert_int_equal(mlaf_file_read(path, 1 << 20, &text, &size, NULL), MLAF_OK);
  for (const char *s = text; (s = strstr(s, "\nMLAF_API ")); n++) {
    const char *open = s += strlen("\nMLAF_API "), *name;
    while (*open != '(') open++;
    for (name = open; name[-1] != ' ' && name[-1] != '*'; name--) {}
    if (!was_called(name, (size_t)(open - name)))
      fail_msg("no fault was tried in %.*s: call it in a scenario of %s", (int)(open - name), name, __FILE__);
  }
  free(text);
  return n;
}

static void every_public_function_was_tried(void **state) {
  const char *source = getenv("MLAF_SOURCE_DIR");
  char dir_name[512], path[800];
  int n = 0;
  snprintf(dir_name, sizeof dir_name, "%s/include/mlaforge", source ? source : ".");
  DIR *headers = opendir(dir_name);
  assert_non_null(headers);
  for (struct dirent *e; (e = readdir(headers));) {
    snprintf(path, sizeof path, "%s/%s", dir_name, e->d_name);
    if (strstr(e->d_name, ".h")) n += check_header(path);
  }
  closedir(headers);
  assert_true(n >= 35);
}

/* ---- what a caller does ---- */

enum { HEADS = 16, RANK = 64, ROPE = 32, CTX = 24, PAGE = 16, PAGES = 2, ROW = RANK + ROPE };
#define PROBLEM "mla_decode:h16,r64,p32,q1,bf16,page16,b1,s24"
static char dir[64] = "/tmp/mlaf-alloc-XXXXXX", db_path[96], kept_db[96], cache_path[96], bundle_path[96];
static char measured_db[96];
static uint16_t expected[HEADS * RANK];
static const char *device = "emu:gfx942";

static mlaf_status make_ctx(uint32_t flags, const char *bundle, mlaf_ctx **out) {
  mlaf_ctx_opts o = MLAF_CTX_OPTS_INIT;
  char why[512] = "";
  o.device = device;
  o.db_path = db_path;
  o.cache_dir = cache_path;
  o.flags = flags;
  o.bundle = bundle;
  o.jobs = 1;
  mlaf_status st = mlaf_ctx_create(&o, out, why, sizeof why);
  require(!st || (why[0] && heap.failed && !*out), "mlaf_ctx_create", st, why);
  return st;
}

static const mlaf_problem *problem(void) {
  static mlaf_problem p;
  if (mlaf_problem_parse(PROBLEM, &p, NULL, 0)) abort();
  return &p;
}

/* Copy `bytes` to new device memory; NULL and *st set on failure. */
static void *upload(mlaf_ctx *ctx, const void *data, size_t bytes, mlaf_status *st) {
  void *p = NULL;
  if (!*st) *st = mlaf_mem_alloc(ctx, bytes, &p);
  if (!*st) *st = mlaf_mem_write(ctx, p, data, bytes);
  return p;
}

/* One execution of `plan`; out receives O when the result is OK. */
static mlaf_status execute(mlaf_ctx *ctx, const mlaf_plan *plan, uint16_t *out) {
  static uint16_t q[HEADS * ROW], kv[PAGES * PAGE * ROW];
  static const int32_t qo[] = {0, 1}, kvp[] = {0, 2}, ids[] = {1, 0}, last[] = {CTX - PAGE};
  for (int i = 0; i < HEADS * ROW; i++) q[i] = (uint16_t)(0x3c00 + (i * 37) % 512);
  for (int i = 0; i < PAGES * PAGE * ROW; i++) kv[i] = (uint16_t)(0x3c00 + (i * 91) % 500);
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  mlaf_status st = MLAF_OK;
  a.batch = 1;
  a.total_q = 1;
  a.num_pages = PAGES;
  a.scale = 0.05f;
  const bool in_place = !strncmp(device, "emu:", 4); /* Q is read where it lies */
  if (in_place) st = mlaf_mem_register(ctx, q, sizeof q, MLAF_MEM_READ_ONLY);
  const bool registered = in_place && !st;
  a.q = in_place ? q : upload(ctx, q, sizeof q, &st);
  a.ckv = upload(ctx, kv, sizeof kv, &st);
  a.qo_indptr = upload(ctx, qo, sizeof qo, &st);
  a.kv_indptr = upload(ctx, kvp, sizeof kvp, &st);
  a.kv_indices = upload(ctx, ids, sizeof ids, &st);
  a.kv_last_page_lens = upload(ctx, last, sizeof last, &st);
  a.workspace_size = mlaf_plan_workspace_size(plan, 1);
  require(mlaf_run_workspace(plan, "mla_decode", &a) == a.workspace_size, "another workspace", 0, "");
  if (!st) st = mlaf_mem_alloc(ctx, sizeof expected, &a.o);
  if (!st) st = mlaf_mem_fill(ctx, a.o, 0x5a, sizeof expected);
  if (!st) st = mlaf_mem_alloc(ctx, a.workspace_size, &a.workspace);
  if (!st) st = mlaf_execute(plan, &a, NULL);
  if (!st) st = mlaf_run(plan, "mla_decode", &a, NULL); /* the same by its name */
  if (!st) st = mlaf_sync(ctx, NULL);
  if (!st) st = mlaf_mem_read(ctx, out, a.o, sizeof expected);
  if (registered) require(!mlaf_mem_unregister(ctx, q, sizeof q), "what was registered is not let go", 0, "");
  void *const all[] = {in_place ? NULL : (void *)a.q, (void *)a.ckv, (void *)a.qo_indptr, a.o,
                       (void *)a.kv_indptr, (void *)a.kv_indices, (void *)a.kv_last_page_lens, a.workspace};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) mlaf_mem_free(ctx, all[i]);
  return st;
}

/* A failure leaves its reason on the context; without a fault there is none. */
static void check_failure(mlaf_ctx *ctx, const char *call, mlaf_status st) {
  char text[4096] = "";
  mlaf_ctx_last_message(ctx, text, sizeof text);
  require(heap.failed, "failed although there was memory", st, text);
  require(text[0] != 0, "left no message", st, call);
}

static void check_query(const mlaf_plan *plan, mlaf_plan_info *info) {
  *info = (mlaf_plan_info)MLAF_PLAN_INFO_INIT;
  require(!mlaf_plan_query(plan, info), "mlaf_plan_query", 0, "");
}

/* Relative Frobenius distance of a result to the expected one. */
static double distance(const uint16_t *out) {
  double difference = 0, size = 0;
  for (int i = 0; i < HEADS * RANK; i++) {
    const double a = mlaf_decode16(MLAF_BF16, out[i]), b = mlaf_decode16(MLAF_BF16, expected[i]);
    difference += (a - b) * (a - b);
    size += b * b;
  }
  return sqrt(difference / size);
}

typedef struct plan_way {
  uint32_t ctx_flags, plan_flags;
  int32_t effort;
  const char *bundle;
} plan_way;

/* Plan, execute once, compare. */
static void plan_and_run(const void *how) {
  const plan_way *w = how;
  mlaf_ctx *ctx = NULL;
  mlaf_plan *plan = NULL;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  o.flags = w->plan_flags;
  o.effort = w->effort;
  if (make_ctx(w->ctx_flags, w->bundle, &ctx)) return;
  mlaf_status st = mlaf_plan_create(ctx, problem(), &o, &plan);
  if (st) {
    require(!plan, "a failed plan was handed out", st, "");
    check_failure(ctx, "mlaf_plan_create", st);
  } else {
    uint16_t out[HEADS * RANK];
    mlaf_plan_info info;
    check_query(plan, &info);
    st = execute(ctx, plan, out);
    if (st) check_failure(ctx, "mlaf_execute and its copies", st);
    else if (heap.mode == COUNT && !expected[0]) memcpy(expected, out, sizeof out);
    /* Another rung may stand in for the choice, or another candidate be chosen: the same sums in another order. */
    else if (!strcmp(info.rung, "exact") && w->effort != MLAF_EFFORT_MEASURE)
      require(!memcmp(out, expected, sizeof out), "another result", st, info.variant);
    else require(distance(out) < 5e-3, "another result", st, info.variant);
  }
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
}

/* Shapes that come again, a registry that is emptied, and what a plan leaves behind the context. */
static void plans_of_the_registry(const void *how) {
  mlaf_ctx *ctx = NULL;
  mlaf_plan *held = NULL;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  o.flags = MLAF_PLAN_NO_COMPILE;
  o.effort = MLAF_EFFORT_DB_ONLY;
  if (make_ctx(MLAF_CTX_DB_READ_ONLY, NULL, &ctx)) return;
  const bool named = mlaf_ctx_device_id(ctx)[0] && mlaf_ctx_device_name(ctx)[0] && !strcmp(mlaf_ctx_target(ctx), "gfx942");
  require(named, "the context has no names", 0, "");
  require(!mlaf_ctx_db_status(ctx, NULL, 0) || heap.failed, "no database although there was memory", 0, "");
  require(mlaf_ctx_last_message(ctx, NULL, 0) == MLAF_OK, "a message before any failure", 0, "");
  mlaf_problem p = *problem();
  for (int i = 0; i < 6; i++) {
    mlaf_plan *plan = NULL;
    p.batch = 1 + i % 3;
    char text[MLAF_PROBLEM_TEXT_MAX];
    mlaf_problem_print(&p, text, sizeof text);
    mlaf_status st = i % 2 ? mlaf_plan_for(ctx, text, &o, &plan) : mlaf_plan_get(ctx, &p, &o, &plan);
    if (st) check_failure(ctx, i % 2 ? "mlaf_plan_for" : "mlaf_plan_get", st);
    require(!st == !!plan, "a failed plan was handed out", st, "");
    if (plan && !held) held = mlaf_plan_retain(plan);
    if (i == 3) mlaf_plan_forget(ctx);
    mlaf_plan_release(plan);
  }
  mlaf_ctx_destroy(ctx);
  mlaf_plan_info info;
  if (held) check_query(held, &info);
  mlaf_plan_release(held);
}

static mlaf_view view(void *data, int dtype, int dims, const int64_t *shape) {
  mlaf_view v = {.data = data, .dtype = dtype, .dims = dims};
  int64_t n = 1;
  for (int i = dims - 1; i >= 0; i--) {
    v.shape[i] = shape[i];
    v.stride[i] = n;
    n *= shape[i];
  }
  return v;
}

/* One request of no tokens, by block table, all in one piece of zeros. */
static mlaf_status call_once(mlaf_ctx *ctx, const mlaf_problem *p, char *memory) {
  mlaf_call c = MLAF_CALL_INIT;
  const int64_t columns = p->rank + p->rope;
  c.q = view(memory, MLAF_VIEW_BF16, 4, (int64_t[]){1, p->q_len, p->heads, columns});
  c.cache = view(memory + (1 << 16), MLAF_VIEW_BF16, 4, (int64_t[]){1, p->page_size, 1, columns});
  c.o = view(memory + (2 << 16), MLAF_VIEW_BF16, 4, (int64_t[]){1, p->q_len, p->heads, p->rank});
  c.block_table = view(memory + (3 << 16), MLAF_VIEW_INT32, 2, (int64_t[]){1, 1});
  c.seq_lens = view(memory + (3 << 16) + 256, MLAF_VIEW_INT32, 1, (int64_t[]){1});
  c.mean_kv_len = p->ctx;
  c.causal = p->causal;
  return mlaf_call_run(ctx, &c, NULL);
}

/* A reserved workspace is there: to take it wants no memory. */
static mlaf_status set_aside(mlaf_ctx *ctx, size_t bytes) {
  void *workspace = NULL;
  size_t size = 0;
  mlaf_status st = mlaf_workspace_reserve(ctx, MLAF_ANY_STREAM, bytes);
  const long asked = heap.asked;
  if (!st) st = mlaf_workspace_lock(ctx, NULL, bytes, &workspace, &size);
  if (!st) st = mlaf_workspace_unlock(ctx, NULL);
  if (!st) require(workspace && size >= bytes && heap.asked == asked, "nothing was reserved", 0, "");
  return st;
}

/* Serves as a server does: warm up, set memory aside, serve. */
static void serve(const void *how) {
  mlaf_ctx *ctx = NULL;
  mlaf_plan *plan = NULL;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  mlaf_warm_up_opts w = MLAF_WARM_UP_INIT;
  mlaf_warm_up_result made = MLAF_WARM_UP_RESULT_INIT;
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  void *memory = NULL, *workspace = NULL;
  if (make_ctx(MLAF_CTX_NO_DB, NULL, &ctx)) return;
  mlaf_problem p = *problem();
  p.batch = 1;
  o.flags = MLAF_PLAN_TABLES;
  w.plan = &o;
  w.batch_max = 2;
  char text[MLAF_PROBLEM_TEXT_MAX];
  mlaf_problem_print(&p, text, sizeof text);
  mlaf_status st = mlaf_ctx_ordinal(ctx) ? MLAF_E_INTERNAL : mlaf_warm_up_between(ctx, text, text, &o, &made);
  if (!st) require(made.plans > 0 && made.kernels > 0, "warmed up without a plan", made.plans, text);
  made = (mlaf_warm_up_result)MLAF_WARM_UP_RESULT_INIT;
  if (!st) st = mlaf_warm_up(ctx, &p, &w, &made);
  if (!st) require(made.plans > 0 && made.workspace > 0, "warmed up without a plan", made.plans, text);
  if (!st) st = set_aside(ctx, made.workspace);
  if (!st) st = mlaf_workspace_get(ctx, NULL, 1 << 20, &workspace, NULL);
  if (!st) require(workspace != NULL, "got no workspace", 0, "");
  if (!st) st = mlaf_plan_get(ctx, &p, &o, &plan);
  a.batch = 1;
  a.total_q = p.q_len;
  if (!st) require(mlaf_execute_workspace_size(plan, &a) <= made.workspace, "the workspace is too small", 0, "");
  mlaf_plan_release(plan);
  if (!st) st = mlaf_mem_alloc(ctx, 4 << 16, &memory);
  if (!st) st = mlaf_mem_fill(ctx, memory, 0, 4 << 16);
  if (!st) st = call_once(ctx, &p, memory);
  if (st) check_failure(ctx, "serving", st);
  mlaf_mem_free(ctx, memory);
  mlaf_ctx_destroy(ctx);
}

static void export_and_import(const void *how) {
  mlaf_ctx *ctx = NULL;
  char *text = NULL;
  if (make_ctx(0, NULL, &ctx)) return;
  mlaf_status st = mlaf_tuning_export(ctx, 0, &text);
  if (st) check_failure(ctx, "mlaf_tuning_export", st);
  else if ((st = mlaf_tuning_import(ctx, text, NULL))) check_failure(ctx, "mlaf_tuning_import", st);
  mlaf_tuning_text_free(text);
  mlaf_ctx_destroy(ctx);
}

/* One candidate, from the cache, verified, timed, recorded. */
static void tune(const void *how) {
  mlaf_ctx *ctx = NULL;
  mlaf_tune_opts o = MLAF_TUNE_OPTS_INIT;
  mlaf_tune_result r = MLAF_TUNE_RESULT_INIT;
  o.max_candidates = 1;
  o.flags = MLAF_TUNE_NO_RESUME;
  if (make_ctx(0, NULL, &ctx)) return;
  mlaf_status st = mlaf_tune_for(ctx, PROBLEM, &o, &r); /* mlaf_tune with a string */
  if (st) check_failure(ctx, "mlaf_tune_for", st);
  else require(r.variant[0] && r.ns > 0, "tuned without a result", 0, "");
  mlaf_ctx_destroy(ctx);
}

/* ---- what needs no memory ---- */

static void host_only(const void *how) {
  mlaf_problem p;
  char text[MLAF_PROBLEM_TEXT_MAX], why[256];
  static const int32_t qo[] = {0, 1}, kvp[] = {0, 2}, ids[] = {1, 0}, last[] = {CTX - PAGE};
  mlaf_host_tables t = {sizeof t, 1, 1, PAGES, 0, qo, kvp, ids, last};
  bool well = !mlaf_problem_parse(PROBLEM, &p, why, sizeof why) && !mlaf_problem_check(&p, why, sizeof why) &&
              !mlaf_problem_print(&p, text, sizeof text) && !strcmp(text, PROBLEM);
  require(well, "a problem cannot do without memory", 0, why);
  require(mlaf_problem_parse("mla_decode:h0", &p, why, sizeof why) == MLAF_E_PROBLEM && why[0], "a wrong problem passed", 0, "");
  require(!mlaf_check_tables(&p, &t, why, sizeof why), "mlaf_check_tables cannot do without memory", 0, why);
  t.num_pages = 1;
  require(mlaf_check_tables(&p, &t, why, sizeof why) == MLAF_E_ARG && strstr(why, "kv_indices"), "a wrong page passed", 0, why);
  const mlaf_model *m = mlaf_model_find("deepseek-v3");
  require(m && mlaf_model_at(0) && !mlaf_model_find("none such"), "models", 0, "");
  float table[64];
  double theta[32];
  mlaf_rope rope = m->rotation;
  well = !mlaf_rope_frequencies(&rope, theta, why, sizeof why);
  well = well && !mlaf_rope_table(&rope, 1, table, sizeof table, why, sizeof why);
  rope.factor = 0;
  well = well && !mlaf_rope_table_bf16(&rope, 1, table, sizeof table, why, sizeof why) && mlaf_rope_mscale(40, 1) > 1;
  require(well && mlaf_softmax_scale(128, &rope) > 0, "rotary positions", 0, why);
  require(!strcmp(mlaf_status_name(MLAF_E_NOMEM), "MLAF_E_NOMEM") && mlaf_status_text(MLAF_E_NOMEM)[0], "statuses", 0, "");
  require(mlaf_operation_at(0) && !mlaf_operation_at(1000), "operations", 0, "");
  well = !mlaf_operation_check(PROBLEM, text, sizeof text, why, sizeof why) && !strcmp(text, PROBLEM);
  require(well, "a problem's string", 0, why);
  require(mlaf_tune(NULL, &p, NULL, NULL) == MLAF_E_ARG, "tuned without a context", 0, "");
  require(mlaf_version()[0] && mlaf_version_number() == MLAF_VERSION_NUMBER, "version", 0, "");
}

static void works_without_memory(void **state) {
  const scenario s = {"host only", host_only, NULL, NULL, NULL, 0, NULL, 0};
  run_scenario(&s, FAIL_ALL);
  assert_int_equal(heap.failed, 0); /* nothing even asked */
}

/* ---- scenarios ---- */

static void copy_file(const char *from, const char *to) {
  void *data;
  size_t size;
  if (mlaf_file_read(from, 1 << 26, &data, &size, NULL)) abort();
  int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size || close(fd)) abort();
  free(data);
}

static void on_emulator(void) {
  device = "emu:gfx942";
  heap.foreign[0] = heap.foreign[1] = 0;
}

static void put_database(const char *kept) {
  char side[128];
  on_emulator();
  snprintf(side, sizeof side, "%s-wal", db_path);
  unlink(side);
  snprintf(side, sizeof side, "%s-shm", db_path);
  unlink(side);
  copy_file(kept, db_path);
}
/* The database as it was after setup; and one in which the problem has a candidate left to time. */
static void fresh_database(void) { put_database(kept_db); }
static void unfinished_database(void) { put_database(measured_db); }

/* ---- back ends, on drivers of our own ---- */

typedef struct fake {
  const char *variable, *file;
  void *library;
  uintptr_t begin, end;
  int (*leaks)(void);
  int before; /* what it never frees */
} fake;
static fake fakes[] = {{"MLAF_HIP_LIBRARY", "fakehip/libamdhip64_fakehip6.so", NULL, 0, 0, NULL, 0},
                       {"MLAF_CUDA_LIBRARY", "fakecuda/libfakecuda.so", NULL, 0, 0, NULL, 0}};
static fake *driver;
static built hip_kernel;

static int find_fake(struct dl_phdr_info *info, size_t size, void *user) {
  fake *f = user;
  if (!strstr(info->dlpi_name, f->file)) return 0;
  f->begin = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_LOAD) f->end = f->begin + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
  return 1;
}

/* Kept loaded, so that its addresses stay. */
static void load_fake(fake *f, const char *build) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", build, f->file);
  f->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!f->library || !dl_iterate_phdr(find_fake, f)) fail_msg("%s: %s", path, dlerror());
  void *leaks = dlsym(f->library, "fake_leaks");
  assert_non_null(leaks);
  memcpy(&f->leaks, &leaks, sizeof leaks);
  setenv(f->variable, path, 1);
}

static void on_fake(fake *f, const char *name) {
  driver = f;
  device = name;
  heap.foreign[0] = f->begin;
  heap.foreign[1] = f->end;
  f->before = f->leaks();
}
static void on_fake_hip(void) { on_fake(&fakes[0], "hip"); }
static void on_fake_cuda(void) { on_fake(&fakes[1], "cuda"); }

static void check_life(mlaf_status st, const mlaf_err *err) {
  require(!st || heap.failed, "failed although there was memory", st, err->text);
  require(!st || err->text[0], "left no message", st, "");
}
static void live_on_hip(const void *how) {
  mlaf_err err = {MLAF_OK, ""};
  check_life(hip_life(&hip_kernel, &err), &err);
}
static void live_on_cuda(const void *how) {
  mlaf_err err = {MLAF_OK, ""};
  check_life(cuda_life(&err), &err);
}
static mlaf_status find_rocm(mlaf_toolchain *out, mlaf_err *err) { return mlaf_toolchain_find(NULL, out, err); }

static void nothing_is_left(const void *how) {
  require(driver->leaks() == driver->before, "the driver's memory or handles leaked", driver->leaks() - driver->before, device);
}

/* A layer of zeros: its output is zero. */
static mlaf_status run_layer(mlaf_ctx *ctx, const mlaf_layer *layer, void *zeros, void *out, size_t bytes) {
  static const int32_t lists[] = {0, 1, 0, 1}; /* one request, one page, page 0, one token in it */
  uint8_t y[256];
  mlaf_layer_args a = MLAF_LAYER_ARGS_INIT;
  mlaf_layer_stage s = MLAF_LAYER_STAGE_INIT;
  mlaf_status st = mlaf_mem_write(ctx, (char *)out + 4096, lists, sizeof lists);
  const int32_t *const on_device = (const int32_t *)((char *)out + 4096);
  a.batch = 1;
  a.num_pages = 1;
  a.hidden = a.positions = a.slots = zeros;
  a.out = out;
  a.cache = (char *)out + 8192;
  a.qo_indptr = a.kv_indptr = on_device, a.kv_indices = on_device + 2, a.kv_last_page_lens = on_device + 3;
  a.workspace = (char *)out + 65536;
  a.workspace_size = mlaf_layer_workspace_size(layer, &a);
  require(a.workspace_size > 0 && a.workspace_size < bytes - 65536, "a layer's workspace", 0, "");
  if (!st) st = mlaf_layer_execute(layer, &a, NULL);
  for (size_t i = 0; !st && i < mlaf_layer_stages(layer); i++) {
    st = mlaf_layer_stage_at(layer, i, &a, &s);
    if (!st) st = mlaf_layer_execute_stage(layer, i, &a, NULL);
  }
  if (!st) st = mlaf_sync(ctx, NULL);
  if (!st) st = mlaf_mem_read(ctx, y, out, sizeof y);
  for (size_t i = 0; !st && i < sizeof y; i++) require(y[i] == 0, "another output of a layer", y[i], "");
  return st;
}

static void make_and_run_layer(const void *how) {
  enum { BYTES = 1 << 20 };
  static const struct {
    const char *name;
    int rows, cols;
  } shapes[] = {{"q_a_proj.weight", 64, 128}, {"q_a_layernorm.weight", 1, 64}, {"q_b_proj.weight", 4 * 96, 64},
                {"kv_a_proj_with_mqa.weight", 96, 128}, {"kv_a_layernorm.weight", 1, 64}, {"kv_b_proj.weight", 4 * 96, 64},
                {"o_proj.weight", 128, 128}};
  mlaf_layer_weight w[7];
  mlaf_layer_desc d = MLAF_LAYER_DESC_INIT;
  char text[MLAF_PROBLEM_TEXT_MAX], why[200];
  mlaf_ctx *ctx = NULL;
  mlaf_layer *layer = NULL;
  void *zeros = NULL, *out = NULL;
  d.hidden = 128, d.heads = 4, d.q_rank = 64, d.rank = 64, d.rope = 32, d.nope = 64, d.v = 32, d.page_size = 16, d.ctx_max = 16;
  d.table_rows = 1;
  require(!mlaf_layer_problem_at(&d, 0, 0, text, sizeof text, why, sizeof why), "mlaf_layer_problem_at", 0, why);
  if (make_ctx(MLAF_CTX_NO_DB, NULL, &ctx)) return;
  mlaf_status st = mlaf_mem_alloc(ctx, BYTES, &zeros);
  if (!st) st = mlaf_mem_alloc(ctx, BYTES, &out);
  if (!st) st = mlaf_mem_fill(ctx, zeros, 0, BYTES);
  if (!st) st = mlaf_mem_fill(ctx, out, 0, BYTES);
  d.cos = zeros;
  for (int i = 0; i < 7; i++) w[i] = (mlaf_layer_weight){shapes[i].name, zeros, shapes[i].rows, shapes[i].cols, 0};
  if (!st) st = mlaf_layer_create(ctx, &d, w, 7, &layer);
  require(!st || !layer, "a failed layer was handed out", st, "");
  if (!st) { /* it has no prefill */
    const int32_t one = 1;
    int32_t words[64];
    require(!mlaf_layer_prefill_words(layer, 1, &one, &one) && mlaf_layer_prefill_crossover(layer, 9) == INT64_MAX &&
                mlaf_layer_prefill_schedule(layer, 1, &one, &one, words, 64) == MLAF_E_ARG, "a layer without prefill", 0, "");
  }
  if (!st) st = run_layer(ctx, layer, zeros, out, BYTES);
  if (!st) st = mlaf_layer_weights_changed(layer, NULL);
  require(st || !mlaf_layer_copies_size(layer), "copies of weights of 16 bits", 0, "");
  if (st) check_failure(ctx, "a layer", st);
  mlaf_layer_destroy(layer);
  mlaf_mem_free(ctx, zeros);
  mlaf_mem_free(ctx, out);
  mlaf_ctx_destroy(ctx);
}

/* Two new tokens over 16 cached ones in two chunks, all of them zeros: the output is zero. */
static mlaf_status run_chunked(mlaf_ctx *ctx, const mlaf_chunked_prefill *c, void *zeros, char *out, size_t bytes) {
  static const int32_t fresh[] = {2}, cached[] = {16};
  int32_t words[256];
  uint8_t y[256];
  mlaf_chunked_prefill_args a = MLAF_CHUNKED_PREFILL_ARGS_INIT;
  const size_t n = mlaf_chunked_prefill_words(c, 1, fresh, cached);
  require(n > 0 && n <= 256, "words of a schedule", (int)n, "");
  mlaf_status st = mlaf_chunked_prefill_schedule(c, 1, fresh, cached, words, n);
  require(!st && mlaf_chunked_prefill_chunks(words) == 2, "a schedule", st, "");
  require(mlaf_chunked_prefill_crossover(c, 4096) > 0, "a crossover", 0, "");
  a.schedule = words;
  a.schedule_device = (int32_t *)(void *)(out + 4096);
  st = mlaf_mem_write(ctx, out + 4096, words, n * sizeof *words);
  a.fresh.scale = 1;
  a.fresh.q = a.fresh.k = a.fresh.v = a.fresh.k_pe = zeros;
  a.fresh.o = out;
  a.cached.cache = a.cached.table = a.cached.w = zeros;
  a.cached.num_pages = 1, a.cached.table_stride = 2;
  a.workspace = out + 65536;
  a.workspace_size = mlaf_chunked_prefill_workspace(c, words);
  require(a.workspace_size > 0 && a.workspace_size < bytes - 65536, "a workspace of chunks", 0, "");
  if (!st) st = mlaf_chunked_prefill_execute(c, &a, NULL);
  if (!st) st = mlaf_sync(ctx, NULL);
  if (!st) st = mlaf_mem_read(ctx, y, out, sizeof y);
  for (size_t i = 0; !st && i < sizeof y; i++) require(y[i] == 0, "another output in chunks", y[i], "");
  return st;
}

static void make_and_run_chunked(const void *how) {
  enum { BYTES = 1 << 20 };
  mlaf_chunked_prefill_desc d = MLAF_CHUNKED_PREFILL_DESC_INIT;
  mlaf_ctx *ctx = NULL;
  mlaf_chunked_prefill *c = NULL;
  void *zeros = NULL, *out = NULL;
  d.heads = 2, d.nope = 32, d.rope = 32, d.vdim = 64, d.rank = 64, d.page_tokens = 8, d.chunk_tokens = 8, d.tokens = 32;
  require(mlaf_prefill_crossover(512, 128, 128, 4096) == 164, "mlaf_prefill_crossover", 0, "");
  if (make_ctx(MLAF_CTX_NO_DB, NULL, &ctx)) return;
  mlaf_status st = mlaf_mem_alloc(ctx, BYTES, &zeros);
  if (!st) st = mlaf_mem_alloc(ctx, BYTES, &out);
  if (!st) st = mlaf_mem_fill(ctx, zeros, 0, BYTES);
  if (!st) st = mlaf_mem_fill(ctx, out, 0xff, BYTES);
  if (!st) st = mlaf_chunked_prefill_create(ctx, &d, &c);
  require(!st || !c, "a failed plan of chunks was handed out", st, "");
  if (!st) st = run_chunked(ctx, c, zeros, out, BYTES);
  if (st) check_failure(ctx, "prefill in chunks", st);
  mlaf_chunked_prefill_destroy(c);
  mlaf_mem_free(ctx, zeros);
  mlaf_mem_free(ctx, out);
  mlaf_ctx_destroy(ctx);
}

static const plan_way database = {0, MLAF_PLAN_NO_COMPILE, MLAF_EFFORT_DB_ONLY, NULL};
static const plan_way model = {MLAF_CTX_NO_DB, 0, MLAF_EFFORT_ESTIMATE, NULL};
static const plan_way compiling = {MLAF_CTX_NO_DB | MLAF_CTX_NO_CACHE, 0, MLAF_EFFORT_ESTIMATE, NULL};
static const plan_way bundled = {MLAF_CTX_NO_DB, MLAF_PLAN_NO_COMPILE, MLAF_EFFORT_ESTIMATE, bundle_path};

static const plan_way measuring = {0, 0, MLAF_EFFORT_MEASURE, NULL};

/* A compiler is found and has its own name, or there is an error: with a library left out it would be another one. */
static void name_compilers(const void *how) {
  static mlaf_status (*const find[])(mlaf_toolchain *, mlaf_err *) = {find_rocm, mlaf_nvrtc_find};
  static char names[2][256];
  for (int i = 0; i < 2; i++) {
    mlaf_toolchain t;
    mlaf_err err = {MLAF_OK, ""};
    if (find[i](&t, &err)) continue;
    if (!names[i][0]) snprintf(names[i], sizeof names[i], "%s", t.identity); /* the first run has all memory */
    require(!strcmp(names[i], t.identity), "another name", 0, t.identity);
    mlaf_toolchain_clear(&t);
  }
}
static const scenario names_of_compilers = {"names of compilers", name_compilers, NULL, NULL, NULL, 5, NULL, 0};
static const scenario from_database = {"database", plan_and_run, &database, fresh_database, NULL, 100, NULL, 0};
static const scenario from_model = {"model", plan_and_run, &model, on_emulator, NULL, 50, NULL, 0};
static const scenario from_compiler = {"compiler", plan_and_run, &compiling, on_emulator, &from_model, 1000, NULL, 0};
static const scenario from_bundle = {"bundle", plan_and_run, &bundled, on_emulator, NULL, 25, NULL, 0};
static const scenario from_registry = {"registry", plans_of_the_registry, NULL, fresh_database, NULL, 100, NULL, 0};
static const scenario serving = {"server", serve, NULL, on_emulator, NULL, 60, NULL, 0};
static const scenario whole_layer = {"layer", make_and_run_layer, NULL, on_emulator, NULL, 40, NULL, 0};
static const scenario in_chunks = {"chunks", make_and_run_chunked, NULL, on_emulator, NULL, 40, NULL, 0};
static const scenario text_out_and_in = {"text", export_and_import, NULL, fresh_database, NULL, 50, NULL, 0};
/* A tune ranks a space: its Lua has its pool, since the scenarios before refuse Lua's blocks one by one. */
static void database_to_tune(void) {
  fresh_database();
  if (!all_sites()) mlaf_gen_pool_small = MLAF_GEN_POOL_SMALL;
}
static const scenario tuning = {"tune", tune, NULL, database_to_tune, NULL, 1000, NULL, 15};
/* A run takes four times as long as one of tuning, whose sites are most of its own. */
static const scenario by_measuring = {"measure", plan_and_run, &measuring, unfinished_database, &tuning, 300, NULL, 12};
static const scenario hip_plan = {"hip", plan_and_run, &model, on_fake_hip, NULL, 40, nothing_is_left, 0};
static const scenario hip_backend = {"hip back end", live_on_hip, NULL, on_fake_hip, NULL, 12, nothing_is_left, 0};
static const scenario cuda_backend = {"cuda back end", live_on_cuda, NULL, on_fake_cuda, NULL, 6, nothing_is_left, 0};
static const scenario *const scenarios[] = {
    &whole_layer,   &in_chunks,       &names_of_compilers, &from_database, &from_model, &from_compiler, &from_bundle,
    &from_registry, &text_out_and_in, &tuning,             &by_measuring,  &hip_plan,   &hip_backend,   &cuda_backend,
    &serving};
enum { N_SCENARIOS = sizeof scenarios / sizeof *scenarios };

/* ---- a tuned problem, its database, and a bundle of it ---- */

static int tune_once(char *text, size_t size) {
  mlaf_ctx *ctx = NULL;
  mlaf_tune_opts o = MLAF_TUNE_OPTS_INIT;
  o.max_candidates = 2;
  if (make_ctx(0, NULL, &ctx)) return -1;
  mlaf_status st = mlaf_tune(ctx, problem(), &o, NULL);
  mlaf_ctx_last_message(ctx, text, size);
  mlaf_ctx_destroy(ctx);
  return (int)st;
}

/* The state that a plan by measuring begins with: every candidate but the last is timed, nothing chosen. */
static int measure_all_but_one(void) {
  mlaf_ctx *ctx = NULL;
  mlaf_plan *plan = NULL;
  mlaf_plan_opts o = MLAF_PLAN_OPTS_INIT;
  sqlite3 *db = NULL;
  o.effort = MLAF_EFFORT_MEASURE;
  unlink(db_path);
  if (make_ctx(0, NULL, &ctx) || mlaf_plan_create(ctx, problem(), &o, &plan)) return -1;
  mlaf_plan_release(plan);
  mlaf_ctx_destroy(ctx);
  const int bad = sqlite3_open(db_path, &db) ||
                  sqlite3_exec(db, "DELETE FROM choice; DELETE FROM sample WHERE id = (SELECT max(id) FROM sample);"
                                   "PRAGMA wal_checkpoint(TRUNCATE);", NULL, NULL, NULL);
  sqlite3_close(db);
  copy_file(db_path, measured_db);
  return bad ? -1 : 0;
}

static int setup(void **state) {
  void *frames[2];
  char text[1024] = "", command[1024];
  const char *build = getenv("MLAF_BUILD_DIR");
  backtrace(frames, 2); /* loads what it needs */
  if (!mkdtemp(dir)) return -1;
  snprintf(db_path, sizeof db_path, "%s/t.db", dir);
  snprintf(kept_db, sizeof kept_db, "%s/kept.db", dir);
  snprintf(measured_db, sizeof measured_db, "%s/measured.db", dir);
  snprintf(cache_path, sizeof cache_path, "%s/cache", dir);
  snprintf(bundle_path, sizeof bundle_path, "%s/bundle", dir);
  setenv("MLAF_EMU_THREADS", "1", 1);
  setenv("MLAF_TUNING_DIR", "/nonexistent", 1); /* what is shipped or installed does not enter */
  setenv("MLAF_SITE_DB", "", 1);
  need_compiler("gfx942");
  if (tune_once(text, sizeof text)) {
    puts(text);
    return -1;
  }
  copy_file(db_path, kept_db);
  if (measure_all_but_one()) return -1;
  for (int i = 0; i < 2; i++) load_fake(&fakes[i], build ? build : ".");
  built_open(&hip_kernel, "mla_decode:h4,r64,p32,q1,bf16,page16,b1,s16", NULL);
  snprintf(command, sizeof command, "'%s/mlaforge' generate '" PROBLEM "' --targets gfx942 --db '%s' --cache '%s' --out '%s' "
           ">'%s/log' 2>&1 || { cat '%s/log'; false; }", build ? build : ".", db_path, cache_path, bundle_path, dir, dir);
  return system(command) ? -1 : 0;
}

static int teardown(void **state) {
  built_close(&hip_kernel);
  char command[128];
  snprintf(command, sizeof command, "rm -rf '%s'", dir);
  return system(command) ? -1 : 0;
}

int main(void) {
  struct CMUnitTest tests[N_SCENARIOS + 2] = {cmocka_unit_test(works_without_memory)};
  size_t n = 1;
  for (size_t i = 0; i < N_SCENARIOS; i++)
    if (is_wanted(scenarios[i]))
      tests[n++] = (struct CMUnitTest){scenarios[i]->name, every_site, NULL, NULL, (void *)(uintptr_t)scenarios[i]};
  if (n > N_SCENARIOS) tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_public_function_was_tried); /* all of them ran */
  return _cmocka_run_group_tests("alloc", tests, n, setup, teardown);
}
