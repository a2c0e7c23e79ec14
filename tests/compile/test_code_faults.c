/* What a cache and its workers live through: files damaged at random, and workers killed at random moments. Whatever happens, a
 * code object that is handed out is the one that was compiled. MLAF_MUTATIONS and MLAF_KILL_POINTS set how often; what counts is
 * kills that cost a compile. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "compile/cache_walk.h"
#include "compile_fixture.h"
#include "op/numeric.h"

static int from_env(const char *name, int otherwise) { return getenv(name) ? atoi(getenv(name)) : otherwise; }

/* --- damaged files --- */

enum { ENTRIES = 5, PAYLOAD_MAX = 40000, BLOCK = 512 };

typedef struct stored {
  char key[MLAF_HASH_HEX];
  unsigned char *payload;
  size_t size;
} stored;

static mlaf_cache_label label_of(const stored *e) {
  return (mlaf_cache_label){MLAF_CACHE_CODE, "gfx942", e->key, "test compiler", "scale"};
}

static void store(mlaf_cache *c, stored *e, mlaf_rng *rng) {
  e->size = 1 + mlaf_rng_below(rng, PAYLOAD_MAX);
  e->payload = malloc(e->size);
  for (size_t i = 0; i < e->size; i++) e->payload[i] = (unsigned char)mlaf_rng_below(rng, 256);
  mlaf_sha256_hex(e->payload, e->size, e->key);
  const mlaf_cache_label l = label_of(e);
  mlaf_cache_store(c, &l, e->payload, e->size);
}

/* Bits flipped, a tail cut off or grown, blocks torn, zeroed, swapped, moved, another entry's file or its header. Returns the new
 * size; data has room for twice PAYLOAD_MAX. */
static size_t mutate(unsigned char *data, size_t size, const unsigned char *other, size_t other_size, mlaf_rng *rng) {
  unsigned char block[BLOCK];
  const size_t span = size < BLOCK ? size : BLOCK, a = mlaf_rng_below(rng, (uint32_t)(size - span + 1)),
               b = mlaf_rng_below(rng, (uint32_t)(size - span + 1)), most = other_size < 1024 ? other_size : 1024;
  switch (mlaf_rng_below(rng, 9)) {
    case 0: return mlaf_rng_below(rng, (uint32_t)size);
    case 1: memset(data + size, 0, BLOCK); return size + 1 + mlaf_rng_below(rng, BLOCK);
    case 2: memset(data + a, (int)mlaf_rng_below(rng, 256), span); return size;
    case 3: memset(data + a, 0, size - a); return size; /* what had not reached the disk */
    case 4: memcpy(block, data + a, span); memmove(data + a, data + b, span); memcpy(data + b, block, span); return size;
    case 5: memmove(data, data + a, size - a); return size;
    case 6: memcpy(data, other, most); return size < most ? most : size;
    case 7: memcpy(data, other, other_size); return other_size;
    default:
      for (uint32_t i = 0, n = 1 + mlaf_rng_below(rng, 8); i < n; i++)
        data[mlaf_rng_below(rng, (uint32_t)size)] ^= (unsigned char)(1u << mlaf_rng_below(rng, 8));
      return size;
  }
}

static char *file_of(const char *folder, const char *key) { return mlaf_format("%s/v1/gfx942/%.2s/%s.co", folder, key, key); }

static void write_file(const char *path, const void *data, size_t size) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(data, 1, size, f), size);
  assert_int_equal(fclose(f), 0);
}

static bool note_fault(void *user, const mlaf_cache_entry *e) {
  *(int *)user += e->fault != NULL;
  return true;
}

static void damaged_entries_are_never_loaded(void **state) {
  char *folder = make_folder();
  mlaf_cache c;
  mlaf_rng rng = {11};
  stored all[ENTRIES];
  void *files[ENTRIES];
  size_t sizes[ENTRIES];
  assert_int_equal(mlaf_cache_open(&c, folder, false, NULL, NULL), MLAF_OK);
  for (int i = 0; i < ENTRIES; i++) {
    store(&c, &all[i], &rng);
    char *path = file_of(folder, all[i].key);
    assert_int_equal(mlaf_file_read(path, 1 << 20, &files[i], &sizes[i], NULL), MLAF_OK);
    free(path);
  }
  unsigned char *bad = malloc(4 * PAYLOAD_MAX);
  const int rounds = from_env("MLAF_MUTATIONS", 300);
  int refused = 0;
  for (int i = 0; i < rounds; i++) {
    const int k = i % ENTRIES, other = (k + 1 + (int)mlaf_rng_below(&rng, ENTRIES - 1)) % ENTRIES;
    char *path = file_of(folder, all[k].key);
    memcpy(bad, files[k], sizes[k]);
    const size_t n = mutate(bad, sizes[k], files[other], sizes[other], &rng);
    const bool same = n == sizes[k] && memcmp(bad, files[k], n) == 0;
    write_file(path, bad, n);
    int faults = 0;
    assert_int_equal(mlaf_cache_each(&c, true, note_fault, &faults, NULL), MLAF_OK); /* what `cache verify` says */
    if (faults != !same) fail_msg("mutation %d: %d entries are called damaged", i, faults);
    const mlaf_cache_label l = label_of(&all[k]);
    void *data = NULL;
    size_t size = 0;
    mlaf_status st = mlaf_cache_load(&c, &l, &data, &size, NULL);
    if ((st == MLAF_OK) != same) fail_msg("mutation %d: %s", i, mlaf_status_name(st));
    if (same) assert_true(size == all[k].size && memcmp(data, all[k].payload, size) == 0);
    else assert_int_equal(access(path, F_OK), -1); /* gone, so that it is compiled anew */
    free(data);
    refused += !same;
    write_file(path, files[k], sizes[k]);
    free(path);
  }
  print_message("%d mutations of cache entries, %d refused\n", rounds, refused);
  assert_true(refused > rounds * 9 / 10);
  for (int i = 0; i < ENTRIES; i++) {
    free(all[i].payload);
    free(files[i]);
  }
  free(bad);
  mlaf_cache_close(&c);
  remove_tree(folder);
}

/* --- killed workers --- */

enum { JOBS = 3 };

typedef struct killer {
  long after_us;
  atomic_bool stop;
  int killed;
} killer;

/* One of our children, after a while. A worker that is just being started or has just ended is one as well. */
static void *kill_one(void *user) {
  killer *k = user;
  pid_t worker = 0;
  for (long slept = 0; slept < k->after_us && !k->stop; slept += 1000) usleep(1000);
  if (!k->stop && count_children(&worker) > 0) k->killed += kill(worker, SIGKILL) == 0;
  return NULL;
}

/* What nobody disturbed. */
static void compile_in_peace(char sources[JOBS][sizeof KERNEL + 32], mlaf_compile_job *good) {
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  for (int j = 0; j < JOBS; j++) {
    snprintf(sources[j], sizeof KERNEL + 32, "%s// %d\n", KERNEL, j);
    good[j] = compile_one(c, sources[j]);
    assert_compiled(&good[j]);
  }
  mlaf_compiler_close(c);
}

static void killed_workers_spoil_nothing(void **state) {
  need_proc();
  need_compiler("gfx942");
  char *folder = make_folder(), sources[JOBS][sizeof KERNEL + 32];
  mlaf_rng rng = {5};
  mlaf_compile_job good[JOBS], jobs[JOBS];
  compile_in_peace(sources, good);
  mlaf_compiler *c = open_compiler(folder, 2, 60, NULL);
  const int kills = from_env("MLAF_KILL_POINTS", SANITIZED ? 4 : 12); /* nothing that a sanitizer sees */
  int killed = 0, crashed = 0, compiled = 0;
  for (int i = 0; crashed < kills; i++) {
    if (i >= 5 * kills) fail_msg("only %d compiles were lost to %d kills", crashed, killed);
    killer k = {.after_us = mlaf_rng_below(&rng, 600000)};
    pthread_t thread;
    for (int j = 0; j < JOBS; j++) jobs[j] = make_job(sources[j]);
    assert_int_equal(pthread_create(&thread, NULL, kill_one, &k), 0);
    assert_int_equal(mlaf_compile(c, jobs, JOBS, NULL, NULL, NULL), MLAF_OK);
    atomic_store(&k.stop, true);
    pthread_join(thread, NULL);
    killed += k.killed;
    crashed = (int)stats_of(c).worker_crashes; /* each was compiled again, by another worker */
    for (int j = 0; j < JOBS; j++, compiled++) {
      assert_compiled(&jobs[j]);
      assert_int_equal(jobs[j].code_size, good[j].code_size);
      assert_memory_equal(jobs[j].code, good[j].code, good[j].code_size);
      char *path = entry_of(folder, &jobs[j]);
      assert_int_equal(unlink(path), 0); /* the next round compiles again */
      free(path);
      mlaf_compile_job_clear(&jobs[j]);
    }
  }
  mlaf_compiler_close(c);
  print_message("%d workers killed, %d compiles lost by it and repeated, %d code objects right\n", killed, crashed, compiled);
  for (int j = 0; j < JOBS; j++) mlaf_compile_job_clear(&good[j]);
  remove_tree(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(damaged_entries_are_never_loaded),
                                     cmocka_unit_test(killed_workers_spoil_nothing)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
