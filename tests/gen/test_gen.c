/* The generator through its C interface: same bytes as plain Lua, errors with file and line, limits that hold. */
#include <sys/stat.h>

#include "cmocka_all.h"
#include "gen/host.h"
#include "limit.h"
#include "decode_problem.h"
#include "point.h"
#include "op/op.h"
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

/* Sanitizers cost time that is not the generator's. Of the manifests' kernels a share is rendered here, all of them by
 * lua/generator_full: what renders is the same Lua, C gives it files and hashes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWDOWN = 20, MANIFEST_SHARE = 31 };
#else
enum { SLOWDOWN = 1, MANIFEST_SHARE = 4 };
#endif

static const char *source_dir(void) {
  const char *dir = getenv("MLAF_SOURCE_DIR");
  return dir ? dir : ".";
}

/* A directory with the real gen/ and one template "x" of the given text. */
typedef struct world {
  char dir[64];
} world;

static void world_write(const world *w, const char *name, const char *text) {
  char path[160];
  snprintf(path, sizeof path, "%s/templates/%s", w->dir, name);
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
  assert_int_equal(fclose(f), 0);
}

static world world_make(const char *text) {
  world w = {"/tmp/mlaf-gen-XXXXXX"};
  char path[160], gen[512];
  assert_non_null(mkdtemp(w.dir));
  snprintf(path, sizeof path, "%s/templates", w.dir);
  assert_int_equal(mkdir(path, 0700), 0);
  snprintf(path, sizeof path, "%s/gen", w.dir);
  snprintf(gen, sizeof gen, "%s/gen", source_dir());
  assert_int_equal(symlink(gen, path), 0);
  world_write(&w, "x.hip.in", text);
  return w;
}

static void world_remove(const world *w) {
  char path[160];
  snprintf(path, sizeof path, "%s/templates/x.hip.in", w->dir);
  unlink(path);
  snprintf(path, sizeof path, "%s/templates", w->dir);
  rmdir(path);
  snprintf(path, sizeof path, "%s/gen", w->dir);
  unlink(path);
  rmdir(w->dir);
}

static mlaf_gen *open_gen(const char *root) {
  mlaf_gen *g = NULL;
  mlaf_err err = {0};
  if (mlaf_gen_open(root, &g, &err)) fail_msg("open: %s", err.text);
  return g;
}

/* Renders template x of a world in so many steps and expects E_TEMPLATE with every given piece in the detail. */
static void expect_bad_within(int64_t steps, const char *text, const char *piece1, const char *piece2) {
  world w = world_make(text);
  mlaf_gen *g = open_gen(w.dir);
  assert_true(g->steps_max == MLAF_GEN_STEPS_MAX);
  g->steps_max = steps;
  mlaf_kernel_desc k = {.template_name = (char *)"x", .params = (char *)""};
  char *source = (char *)"untouched", hash[MLAF_HASH_HEX] = "untouched";
  mlaf_err err = {0};
  double start = cpu_now();
  assert_int_equal(mlaf_gen_render(g, &k, "gfx942", &source, hash, &err), MLAF_E_TEMPLATE);
  assert_true(cpu_now() - start < 60);
  if (!strstr(err.text, piece1) || !strstr(err.text, piece2)) fail_msg("'%s' or '%s' not in: %s", piece1, piece2, err.text);
  assert_string_equal(source, "untouched");
  assert_string_equal(hash, "untouched");
  mlaf_variant v = {0};
  mlaf_problem p = parsed("mla_decode:h16");
  assert_int_equal(mlaf_gen_variant(g, mlaf_point_text(pt(&p)).s, "gfx942", "nonsense", &v, &err),
                   MLAF_E_TEMPLATE); /* the state survives */
  assert_non_null(strstr(err.text, "nonsense"));
  world_write(&w, "x.hip.in", "fine\n");
  mlaf_gen *again = open_gen(w.dir);
  assert_int_equal(mlaf_gen_render(again, &k, "gfx942", &source, hash, &err), MLAF_OK);
  assert_non_null(strstr(source, "\nfine\n"));
  free(source);
  mlaf_gen_close(again);
  mlaf_gen_close(g);
  world_remove(&w);
}

static void expect_bad(const char *text, const char *piece1, const char *piece2) {
  expect_bad_within(MLAF_GEN_STEPS_MAX, text, piece1, piece2);
}

TEST(bad_template_names_file_and_line) {
  expect_bad("one\ntwo ${nope}\n", "templates/x.hip.in:2:", "undefined name 'nope'");
  expect_bad("one\n\n//@ local = 1\n", "templates/x.hip.in:3:", "near '='");
  expect_bad("one ${64 / 2}\n", "templates/x.hip.in:1:", "float 32.0");
  expect_bad("//@ contract(false, \"too big: %d\", 7)\n", "templates/x.hip.in:1:", "contract: too big: 7");
  expect_bad("//@ include(\"lib/none.h\")\n", "templates/lib/none.h", "x");
  expect_bad("//@ include(\"../../etc/passwd\")\n", "no file templates/../../etc/passwd", "x");
}

TEST(runaway_loop_is_stopped) {
  expect_bad("one\n//@ while true do end\n", "templates/x.hip.in:2:", "does this loop end?");
  expect_bad_within(MLAF_GEN_STEPS_MAX / 20, "//@ local function f(x) return f(x) end\n//@ f(1)\n", "templates/x.hip.in:1:",
                    "does this loop end?");
}

TEST(runaway_recursion_is_stopped) {
  expect_bad("one\n//@ local function f(x) return 1 + f(x) end\n//@ f(1)\n", "templates/x.hip.in:2:", "stack overflow");
}

TEST(memory_is_limited) {
  expect_bad("//@ local s = \"x\"\n//@ while true do s = s .. s end\n", "MiB", "not enough memory");
  expect_bad("//@ local t = {}\n//@ for i = 1, 1000000000 do t[i] = fmt(\"%d\", i) end\n", "MiB", "not enough memory");
}

/* Blocks of random sizes, resized and dropped in any order, keep what they held. */
TEST(pools_keep_what_blocks_hold) {
  enum { BLOCKS = 200, TURNS = 40000, MOST = 2 * MLAF_GEN_POOL_SMALL };
  static struct { unsigned char *at; size_t size; } blocks[BLOCKS];
  mlaf_gen_pool pool = {.small = MLAF_GEN_POOL_SMALL};
  uint64_t seed = 7;
  for (int turn = 0; turn < TURNS; turn++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const size_t i = (seed >> 33) % BLOCKS, old = blocks[i].size, size = turn < TURNS - BLOCKS ? (seed >> 41) % MOST : 0;
    unsigned char *p = mlaf_gen_pool_resize(&pool, blocks[i].at, old, size);
    assert_true(size ? p && (uintptr_t)p % MLAF_GEN_POOL_STEP == 0 : !p);
    for (size_t k = 0; k < size && k < old; k++) assert_int_equal(p[k], (unsigned char)(i + k));
    for (size_t k = old; k < size; k++) p[k] = (unsigned char)(i + k);
    blocks[i].at = p;
    blocks[i].size = size;
  }
  for (size_t i = 0; i < BLOCKS; i++) mlaf_gen_pool_resize(&pool, blocks[i].at, blocks[i].size, 0);
  mlaf_gen_pool_clear(&pool);
  assert_null(pool.chunks);
}

#ifdef __SANITIZE_ADDRESS__
/* Dropped blocks are poisoned, as by free(): a string of Lua that is read too late is found. */
TEST(dropped_blocks_are_poisoned) {
  mlaf_gen_pool pool = {.small = MLAF_GEN_POOL_SMALL};
  char *p = mlaf_gen_pool_resize(&pool, NULL, 0, 40);
  assert_null(__asan_region_is_poisoned(p, 40));
  assert_non_null(__asan_region_is_poisoned(p + 40, 1));
  mlaf_gen_pool_resize(&pool, p, 40, 0);
  assert_ptr_equal(__asan_region_is_poisoned(p, 40), p);
  mlaf_gen_pool_clear(&pool);
}
#endif

/* Every allocation limit from "nothing works" to "all works": an error each time, never a crash, a leak or a wrong result. */
TEST(memory_limit_anywhere) {
  mlaf_problem p = parsed("mla_decode:h16,b64,s4096");
  int failed = 0;
  for (size_t limit = 300 << 10; ; limit += limit / 6) {
    mlaf_gen *g = open_gen(NULL);
    g->memory_max = limit;
    mlaf_err err = {0};
    mlaf_variant v = {0};
    mlaf_status st = mlaf_gen_baseline(g, mlaf_point_text(pt(&p)).s, "gfx942", &v, &err);
    if (st) {
      assert_int_equal(st, MLAF_E_TEMPLATE);
      assert_null(v.name);
      assert_non_null(strstr(err.text, "needed more than"));
      g->memory_max = MLAF_GEN_MEMORY_MAX; /* the state survives */
      failed++;
    }
    if (st && mlaf_gen_baseline(g, mlaf_point_text(pt(&p)).s, "gfx942", &v, &err)) fail_msg("after a failure at %zu: %s", limit,
                                                                                            err.text);
    assert_non_null(v.name);
    mlaf_variant_clear(&v);
    mlaf_gen_close(g);
    if (!st) break;
  }
  assert_true(failed > 0);
}

TEST(open_is_fast_and_says_what_is_missing) {
  double best = 1;
  for (int i = 0; i < 10; i++) {
    double start = cpu_now();
    mlaf_gen *g = open_gen(NULL);
    double t = cpu_now() - start;
    if (t < best) best = t;
    mlaf_gen_close(g);
  }
  print_message("open: %.3f ms\n", best * 1e3);
  assert_true(best < 0.003 * SLOWDOWN);
  mlaf_gen *g = (mlaf_gen *)&g;
  mlaf_gen *const before = g;
  mlaf_err err = {0};
  assert_int_equal(mlaf_gen_open("/nonexistent", &g, &err), MLAF_E_ARG); /* the caller's slip */
  assert_non_null(strstr(err.text, "/nonexistent"));
  assert_ptr_equal(g, before);
}

TEST(targets_and_options) {
  mlaf_gen *g = open_gen(NULL);
  const char *const *targets = mlaf_gen_targets(g);
  bool found = false;
  for (size_t i = 0; targets[i]; i++) found |= !strcmp(targets[i], "gfx942");
  assert_true(found);
  const char *const *options = NULL, *const *again = NULL;
  mlaf_err err = {0};
  assert_int_equal(mlaf_gen_options(g, "gfx942", &options, &err), MLAF_OK);
  assert_string_equal(options[0], "-O3");
  assert_int_equal(mlaf_gen_options(g, "gfx942", &again, &err), MLAF_OK);
  assert_ptr_equal(options, again);
  assert_int_equal(mlaf_gen_options(g, "gfx000", &again, &err), MLAF_E_TEMPLATE);
  assert_non_null(strstr(err.text, "gfx000"));
  char suffix[8] = "";
  assert_int_equal(mlaf_gen_suffix(g, "mla_decode/combine_wave", suffix, &err), MLAF_OK);
  assert_string_equal(suffix, ".hip");
  assert_int_equal(mlaf_gen_suffix(g, "mla_decode/combine_warp", suffix, &err), MLAF_OK);
  assert_string_equal(suffix, ".cu");
  assert_int_equal(mlaf_gen_suffix(g, "mla_nothing", suffix, &err), MLAF_E_TEMPLATE);
  mlaf_gen_close(g);
}

TEST(space_is_ordered_and_rebuilds) {
  mlaf_gen *g = open_gen(NULL);
  mlaf_problem p = parsed("mla_decode:h16,b64,s4096");
  mlaf_variant *list = NULL;
  size_t n = 0, candidates = 0;
  mlaf_err err = {0};
  double start = mlaf_now();
  if (mlaf_gen_space(g, mlaf_point_text(pt(&p)).s, "gfx942", &list, &n, &err)) fail_msg("%s", err.text);
  print_message("space: %zu variants in %.1f ms\n", n, (mlaf_now() - start) * 1e3);
  for (size_t i = 0; i < n; i++) {
    const mlaf_variant *v = &list[i];
    assert_true(!v->rejected || v->rejected[0]);
    assert_true(i == 0 || !list[i - 1].rejected || v->rejected);
    if (v->rejected) continue;
    candidates++;
    assert_true(v->model_ns > 0 && (i == 0 || list[i - 1].model_ns <= v->model_ns));
    const char *behind = strstr(v->name, "/s"); /* "/s4,rows=1,team=4": splits, then the combine kernel, if one comes behind */
    assert_true(v->knob >= 1 && behind && (strchr(behind, ',') != NULL) == (v->kernels[1].template_name != NULL));
    assert_true(v->knob == 1 || v->kernels[1].template_name);
    assert_int_equal(strlen(v->kernels[0].template_hash), MLAF_HASH_HEX - 1);
    assert_int_equal(strncmp(v->kernels[0].symbol, "mlaf_mla_decode_", 16), 0);
    if (i % 41) continue;
    mlaf_variant w = {0};
    if (mlaf_gen_variant(g, mlaf_point_text(pt(&p)).s, "gfx942", v->name, &w, &err)) fail_msg("%s", err.text);
    assert_string_equal(w.name, v->name);
    assert_string_equal(w.kernels[0].params, v->kernels[0].params);
    assert_string_equal(w.kernels[0].symbol, v->kernels[0].symbol);
    assert_int_equal(w.kernels[0].lds_bytes, v->kernels[0].lds_bytes);
    assert_true(w.model_ns == v->model_ns);
    mlaf_variant_clear(&w);
  }
  assert_true(candidates >= 24);
  mlaf_variant *best = NULL;
  size_t n_best = 0;
  for (size_t most = 1; most <= n; most += most == 3 ? n - 3 : 2) { /* 1, 3 and all there are */
    if (mlaf_gen_best(g, mlaf_point_text(pt(&p)).s, "gfx942", most, &best, &n_best, &err)) fail_msg("%s", err.text);
    assert_int_equal(n_best, most < candidates ? most : candidates);
    for (size_t i = 0; i < n_best; i++) assert_string_equal(best[i].name, list[i].name);
    mlaf_variants_free(best, n_best);
  }
  mlaf_variants_free(list, n);
  mlaf_gen_close(g);
}

TEST(bad_requests) {
  mlaf_gen *g = open_gen(NULL);
  mlaf_problem p = parsed("mla_decode:h16,b64,s4096");
  mlaf_variant v = {0}, *list = NULL;
  size_t n = 7;
  mlaf_err err = {0};
  assert_int_equal(mlaf_gen_variant(g, mlaf_point_text(pt(&p)).s, "gfx942", "nonsense", &v, &err), MLAF_E_TEMPLATE);
  assert_non_null(strstr(err.text, "nonsense"));
  assert_int_equal(mlaf_gen_space(g, mlaf_point_text(pt(&p)).s, "gfx000", &list, &n, &err), MLAF_E_TEMPLATE);
  assert_int_equal(mlaf_gen_best(g, mlaf_point_text(pt(&p)).s, "gfx000", 2, &list, &n, &err), MLAF_E_TEMPLATE);
  p.rank = 100;
  assert_int_equal(mlaf_gen_space(g, mlaf_point_text(pt(&p)).s, "gfx942", &list, &n, &err), MLAF_E_TEMPLATE);
  assert_non_null(strstr(err.text, "100"));
  assert_null(list);
  assert_int_equal(n, 7);
  assert_null(v.name);
  mlaf_kernel_desc none = {0};
  char *source = NULL, hash[MLAF_HASH_HEX];
  assert_int_equal(mlaf_gen_render(g, &none, "gfx942", &source, hash, &err), MLAF_E_ARG);
  mlaf_gen_close(g);
}

/* A rejected point comes back as an error that carries the space's own reason. */
TEST(rejected_variant_says_why) {
  mlaf_gen *g = open_gen(NULL);
  mlaf_problem p = parsed("mla_decode:h16,b64,s4096");
  mlaf_variant *list = NULL, v = {0};
  size_t n = 0, tried = 0;
  mlaf_err err = {0};
  assert_int_equal(mlaf_gen_space(g, mlaf_point_text(pt(&p)).s, "gfx942", &list, &n, &err), MLAF_OK);
  for (size_t i = n; i-- > 0 && list[i].rejected && tried < 5;) {
    if (list[i].knob > 1) continue;
    tried++;
    assert_int_equal(mlaf_gen_variant(g, mlaf_point_text(pt(&p)).s, "gfx942", list[i].name, &v, &err), MLAF_E_TEMPLATE);
    assert_non_null(strstr(err.text, list[i].rejected));
  }
  assert_true(tried > 0);
  mlaf_variants_free(list, n);
  mlaf_gen_close(g);
}

/* Renders kernels of a manifest from the embedded files: the binary renders what the checkout says it renders. A sanitizer sees
 * the same few calls each time: a share of them. */
static int check_manifest(mlaf_gen *g, FILE *list, int *all) {
  char line[1024];
  int lines = 0;
  while (fgets(line, sizeof line, list)) {
    if ((*all)++ % MANIFEST_SHARE) continue;
    char *save = NULL, *target = strtok_r(line, "\t", &save), *template_name = strtok_r(NULL, "\t", &save);
    char *params = strtok_r(NULL, "\t", &save);
    char *want = strtok_r(NULL, "\n", &save);
    assert_non_null(want);
    mlaf_kernel_desc k = {.template_name = template_name, .params = params};
    char *source = NULL, hash[MLAF_HASH_HEX];
    mlaf_err err = {0};
    if (mlaf_gen_render(g, &k, target, &source, hash, &err)) fail_msg("%s %s: %s", template_name, params, err.text);
    free(source);
    assert_int_equal(strlen(want), 8);
    if (strncmp(hash, want, 8))
      fail_msg("%s %s: source changed (if wanted: lua5.4 tools/golden-update.lua)", template_name, params);
    lines++;
  }
  return lines;
}

/* Each operation's. */
TEST(manifest_hashes) {
  char command[1024];
  mlaf_gen *g = open_gen(NULL);
  for (const mlaf_op *const *op = mlaf_ops_all; *op; op++) {
    int all = 0;
    double start = mlaf_now();
    snprintf(command, sizeof command, "lua5.4 '%s/tools/golden-update.lua' --list %s", source_dir(), (*op)->name);
    FILE *list = popen(command, "r");
    assert_non_null(list);
    const int lines = check_manifest(g, list, &all);
    assert_int_equal(pclose(list), 0);
    print_message("%s: %d kernels, %.2f ms each\n", (*op)->name, lines, (mlaf_now() - start) * 1e3 / lines);
    assert_true(all > 20 && lines >= all / MANIFEST_SHARE);
  }
  mlaf_gen_close(g);
}

/* The stamp that the build computed is that of the bytes that are here. */
TEST(embedded_stamp_is_of_the_files) {
  mlaf_text lines = MLAF_TEXT_INIT(1 << 20);
  char hex[MLAF_HASH_HEX], stamp[MLAF_HASH_HEX];
  mlaf_err err;
  for (size_t i = 0; i < mlaf_gen_n_files; i++) {
    mlaf_sha256_hex(mlaf_gen_files[i].text, mlaf_gen_files[i].size, hex);
    mlaf_text_fmt(&lines, "%s %s\n", hex, mlaf_gen_files[i].path);
  }
  assert_false(lines.failed);
  mlaf_sha256_hex(lines.data, lines.len, hex);
  assert_int_equal(mlaf_gen_stamp(NULL, stamp, &err), MLAF_OK);
  assert_string_equal(stamp, hex);
  mlaf_text_free(&lines);
}

TEST(embedded_equals_directory) {
  mlaf_gen *a = open_gen(NULL), *b = open_gen(source_dir());
  mlaf_problem p = parsed("mla_decode:h128,r256,p32,q2,causal,f16,page3,b1,s777");
  mlaf_variant va = {0}, vb = {0};
  mlaf_err err = {0};
  assert_int_equal(mlaf_gen_baseline(a, mlaf_point_text(pt(&p)).s, "gfx942", &va, &err), MLAF_OK);
  double start = mlaf_now();
  assert_int_equal(mlaf_gen_baseline(b, mlaf_point_text(pt(&p)).s, "gfx942", &vb, &err), MLAF_OK);
  print_message("baseline from a directory, first call: %.2f ms\n", (mlaf_now() - start) * 1e3);
  assert_string_equal(va.name, vb.name);
  assert_string_equal(va.kernels[0].template_hash, vb.kernels[0].template_hash);
  char *sa = NULL, *sb = NULL, ha[MLAF_HASH_HEX], hb[MLAF_HASH_HEX], hex[MLAF_HASH_HEX];
  assert_int_equal(mlaf_gen_render(a, &va.kernels[0], "gfx942", &sa, ha, &err), MLAF_OK);
  assert_int_equal(mlaf_gen_render(b, &vb.kernels[0], "gfx942", &sb, hb, &err), MLAF_OK);
  assert_string_equal(sa, sb);
  assert_string_equal(ha, hb);
  mlaf_sha256_hex(sa, strlen(sa), hex);
  assert_string_not_equal(ha, hex); /* comments are not hashed */
  assert_non_null(strstr(sa, va.kernels[0].symbol));
  free(sa);
  free(sb);
  mlaf_variant_clear(&va);
  mlaf_variant_clear(&vb);
  mlaf_gen_close(a);
  mlaf_gen_close(b);
}

/* The Lua and the C side agree on what a problem string means. */
TEST(lua_problem_strings_agree) {
  static const char *const texts[] = {"mla_decode:h16,b64,s4096", "mla_decode:h128,r256,p32,q8,causal,f16,page1,b1,s1",
                                      "mla_decode:h5,r32,p0,q2,page3,b65536,s16777216"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    mlaf_problem p = parsed(texts[i]);
    char want[MLAF_PROBLEM_TEXT_MAX], command[1024], got[256] = "";
    assert_int_equal(mlaf_problem_print(&p, want, sizeof want), MLAF_OK);
    snprintf(command, sizeof command,
             "cd '%s' && lua5.4 -e 'local p = dofile(\"gen/host.lua\")(\".\").require(\"problem\") "
             "print(p.print(p.parse(\"%s\")))'",
             source_dir(), texts[i]);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(got, sizeof got, pipe));
    assert_int_equal(pclose(pipe), 0);
    got[strcspn(got, "\n")] = 0;
    assert_string_equal(got, want);
  }
}

TESTS(NULL, NULL)
