/* A cache and its workers outlive faults: files damaged at random, workers killed at random moments, and machines on which
 * nothing can be compiled. Whatever happens, a code object that is handed out is the one that was compiled, and a kernel is
 * blamed for its own faults alone. MLAF_MUTATIONS and MLAF_KILL_POINTS set how often; what counts is kills that
 * cost a compile. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "compile/cache_walk.h"
#include "compile_fixture.h"
#include "op/numeric.h"
#include "files.h"

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

static bool note_fault(void *user, const mlaf_cache_entry *e) {
  *(int *)user += e->fault != NULL;
  return true;
}

TEST(damaged_entries_are_never_loaded) {
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

/* Compiles undisturbed, for the objects to compare with. */
static void compile_in_peace(char sources[JOBS][sizeof KERNEL + 32], mlaf_compile_job *good) {
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  for (int j = 0; j < JOBS; j++) {
    snprintf(sources[j], sizeof KERNEL + 32, "%s// %d\n", KERNEL, j);
    good[j] = compile_one(c, sources[j]);
    assert_compiled(&good[j]);
  }
  mlaf_compiler_close(c);
}

TEST(killed_workers_spoil_nothing) {
  need_proc();
  need_compiler("gfx942");
  char *folder = make_folder(), sources[JOBS][sizeof KERNEL + 32];
  mlaf_rng rng = {5};
  mlaf_compile_job good[JOBS], jobs[JOBS];
  compile_in_peace(sources, good);
  mlaf_compiler *c = open_compiler(folder, 2, 60, NULL);
  const int kills = from_env("MLAF_KILL_POINTS", SANITIZED ? 4 : 12); /* nothing that a sanitizer sees */
  int killed = 0, crashed = 0, compiled = 0;
  double took = 0.6; /* seconds: of the round before, so that a fast machine's are killed within it, too */
  for (int i = 0; crashed < kills; i++) {
    if (i >= 5 * kills) fail_msg("only %d compiles were lost to %d kills", crashed, killed);
    const double began = mlaf_now();
    killer k = {.after_us = mlaf_rng_below(&rng, (uint32_t)(1e6 * took) + 1)};
    pthread_t thread;
    for (int j = 0; j < JOBS; j++) jobs[j] = make_job(sources[j]);
    assert_int_equal(pthread_create(&thread, NULL, kill_one, &k), 0);
    assert_int_equal(mlaf_compile(c, jobs, JOBS, NULL, NULL, NULL), MLAF_OK);
    took = mlaf_now() - began;
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

/* --- a machine on which nothing can be compiled --- */

enum { CANNOT = 77, TOO_FEW = 3 };

static bool limit(int what, rlim_t most) { return setrlimit(what, &(struct rlimit){most, most}) == 0; }

static bool as_nobody(void) {
  const uid_t nobody = 65534;
  return geteuid() != 0 || (setresgid(nobody, nobody, nobody) == 0 && setresuid(nobody, nobody, nobody) == 0);
}

static bool no_scratch(const char *dir) { return setenv("TMPDIR", "/proc/nowhere", 1) == 0; }
static bool closed_scratch(const char *dir) { return setenv("TMPDIR", "/sys", 1) == 0; } /* to root, too */
static bool full_scratch(const char *dir) {
  return own_mounts() && mount("none", dir, "tmpfs", 0, "size=64k") == 0 && setenv("TMPDIR", dir, 1) == 0;
}
static bool percent_scratch(const char *dir) {
  char *path = mlaf_format("%s/50%%off", dir);
  const bool made = path && mkdir(path, 0700) == 0 && setenv("TMPDIR", path, 1) == 0;
  free(path);
  return made;
}
static bool no_bytes(const char *dir) { return limit(RLIMIT_FSIZE, 0); }
static bool few_bytes(const char *dir) { return limit(RLIMIT_FSIZE, 64 << 10); }
static bool few_files(const char *dir) { return limit(RLIMIT_NOFILE, TOO_FEW + 2); }
static bool no_files(const char *dir) { return limit(RLIMIT_NOFILE, TOO_FEW); }
static bool no_process(const char *dir) { return as_nobody() && limit(RLIMIT_NPROC, 1); }
static bool no_memory(const char *dir) { return SANITIZED || limit(RLIMIT_AS, 60 << 20); }
static bool little_memory(const char *dir) { return SANITIZED || limit(RLIMIT_DATA, 20 << 20); }
static bool little_time(const char *dir) { return limit(RLIMIT_CPU, 1); }
static bool small_stack(const char *dir) { return limit(RLIMIT_STACK, 64 << 10); }
static bool gone_folder(const char *dir) { return chdir(dir) == 0 && rmdir(dir) == 0; }
static bool closed_folder(const char *dir) {
  return chdir(dir) == 0 && chmod(".", 0) == 0 && as_nobody() && setenv("TMPDIR", "/tmp", 1) == 0;
}
static bool strange_worker(const char *dir) { return setenv("MLAF_WORKER", "/etc/passwd", 1) == 0; }
static bool other_program(const char *dir) { return setenv("MLAF_WORKER", "/bin/cat", 1) == 0; }
static bool relative_prefix(const char *dir) {
  mlaf_toolchain t;
  if (mlaf_toolchain_find(NULL, &t, NULL) != MLAF_OK) return false;
  char *prefix = mlaf_format(".%s%s", t.lib_dir, t.loader ? "/../../.." : ""); /* above usr/lib/x86_64-linux-gnu */
  return chdir("/") == 0 && setenv("MLAF_ROCM", prefix, 1) == 0;
}

typedef struct surroundings {
  const char *name;
  bool (*enter)(const char *dir);
  mlaf_status want;
  const char *says; /* cause and cure */
} surroundings;
static const surroundings all_surroundings[] = {
    {"no scratch folder", no_scratch, MLAF_E_IO, "'/proc/nowhere': No such file or directory (name another folder with TMPDIR)"},
    {"scratch folder that cannot be written", closed_scratch, MLAF_E_IO, "name another folder with TMPDIR"},
    {"full scratch folder", full_scratch, MLAF_E_IO,
     "No space left on device (free some space or name another folder with TMPDIR)"},
    {"scratch folder with a % in its name", percent_scratch, MLAF_OK, NULL},
    {"file-size limit 0", no_bytes, MLAF_E_IO, "File too large (raise the file-size limit: ulimit -f)"},
    {"file-size limit 64 KiB", few_bytes, MLAF_E_IO, "File too large (raise the file-size limit: ulimit -f)"},
    {"limit of open files", few_files, MLAF_E_IO, "ulimit -n"},
    {"no open files", no_files, MLAF_E_IO, "ulimit -n"},
    {"limit of processes", no_process, MLAF_E_NOMEM, "ulimit -u"},
    {"limit of the address space", no_memory, MLAF_E_NOMEM, "ulimit -v"},
    {"limit of the heap", little_memory, MLAF_E_NOMEM, "ulimit -v"},
    {"limit of CPU time", little_time, MLAF_E_KILLED, "ulimit -t"},
    {"small stacks", small_stack, MLAF_OK, NULL},
    {"working directory gone", gone_folder, MLAF_OK, NULL},
    {"working directory not searchable", closed_folder, MLAF_OK, NULL},
    {"relative MLAF_ROCM", relative_prefix, MLAF_OK, NULL},
    {"a file that is no worker", strange_worker, MLAF_E_NO_COMPILER, "'/etc/passwd' (from MLAF_WORKER)"},
    {"another program as worker", other_program, MLAF_E_NO_COMPILER, "/bin/cat, fails on an empty kernel for gfx942, too"},
};

/* Runs in a child. Returns its exit status; messages go to stderr. */
static int compile_in(const surroundings *s, const char *folder, const char *dir) {
  const char *source = s->enter == little_time ? KERNEL "//MLAF_TEST_SPIN\n" : KERNEL;
  mlaf_compiler *c = open_compiler(folder, 1, 60, NULL);
  mlaf_err err = {MLAF_OK, ""};
  mlaf_compile_job job = make_job(source);
  if (!s->enter(dir)) return CANNOT;
  const mlaf_status status = mlaf_compile(c, &job, 1, NULL, NULL, &err);
  const bool blamed = mlaf_compile_blames_kernel(job.status), named = !s->says || strstr(err.text, s->says);
  if (SANITIZED && (s->enter == no_memory || s->enter == little_memory)) return 0; /* no limit of theirs is set */
  if (status == s->want && job.status == status && !blamed && named) return 0;
  fprintf(stderr, "%s: %s instead of %s: %s\n%s\n", s->name, mlaf_status_name(status), mlaf_status_name(s->want), err.text,
          job.log ? job.log : "");
  return 1;
}

TEST(no_kernel_is_blamed_for_its_surroundings) {
  need_compiler("gfx942");
  setenv("MLAF_WORKER_TEST", "1", 1);
  int bad = 0;
  for (size_t i = 0; i < sizeof all_surroundings / sizeof *all_surroundings; i++) {
    const surroundings *s = &all_surroundings[i];
    char *folder = make_folder(), *dir = make_folder(), *failed = mlaf_format("%s/failed", folder);
    int status = -1;
    chmod(folder, 0755);
    fflush(NULL);
    const pid_t child = fork();
    if (!child) _exit(compile_in(s, folder, dir));
    waitpid(child, &status, 0);
    if (status) bad++, print_error("%s: status %x\n", s->name, (unsigned)status);
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT && s->enter == full_scratch) fail_msg(NO_MOUNTS);
    assert_int_equal(access(failed, F_OK), -1); /* its source is not kept as that of a bad kernel */
    remove_tree(dir);
    /* nothing is remembered: elsewhere the same cache serves */
    mlaf_compiler *c = open_compiler(folder, 1, 0, NULL);
    if (s->want == MLAF_E_IO || s->want == MLAF_E_NOMEM) {
      mlaf_compile_job job = compile_one(c, KERNEL);
      assert_compiled(&job);
      mlaf_compile_job_clear(&job);
    }
    mlaf_compiler_close(c);
    free(failed);
    remove_tree(folder);
  }
  assert_int_equal(bad, 0);
}

/* A kernel's fault is not held against the next one: the compiler runs out of memory at any of its allocations. */
TEST(any_limit_of_memory_is_named) {
  need_compiler("gfx942");
  int out_of_memory = 0;
  for (rlim_t mib = 160; !SANITIZED && mib <= 340; mib += 36) {
    int status = -1;
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
      mlaf_compiler *c = open_compiler(NULL, 1, 60, NULL);
      mlaf_compile_job job = make_job(KERNEL);
      limit(RLIMIT_AS, mib << 20);
      mlaf_compile(c, &job, 1, NULL, NULL, NULL);
      if (mlaf_compile_blames_kernel(job.status)) fprintf(stderr, "%d MiB: %s\n", (int)mib, job.log);
      _exit(job.status == MLAF_E_NOMEM ? TOO_FEW : mlaf_compile_blames_kernel(job.status));
    }
    waitpid(child, &status, 0);
    out_of_memory += WIFEXITED(status) && WEXITSTATUS(status) == TOO_FEW;
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) != 1);
  }
  print_message("%d limits of memory were too low\n", out_of_memory);
}

TESTS(NULL, NULL)
