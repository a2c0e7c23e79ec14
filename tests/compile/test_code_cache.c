/* The code-object cache: hits without a compiler, damage healed, faults of the disk survived, one compile per key. */
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "compile/cache_walk.h"
#include "compile_fixture.h"
#include "limit.h"

static mlaf_cache_label code_label(const char *key) {
  return (mlaf_cache_label){MLAF_CACHE_CODE, "gfx942", key, "test compiler", "scale"};
}

/* A cache with one entry of `size` bytes in it, no compiler involved. */
static char *cache_with_entry(mlaf_cache *c, const mlaf_log *log, char key[MLAF_HASH_HEX], void *payload, size_t size) {
  char *folder = make_folder();
  assert_int_equal(mlaf_cache_open(c, folder, false, log, NULL), MLAF_OK);
  mlaf_sha256_hex(payload, size, key);
  mlaf_cache_label label = code_label(key);
  mlaf_cache_store(c, &label, payload, size);
  return folder;
}

static void fill(unsigned char *p, size_t n) {
  uint32_t x = 12345;
  for (size_t i = 0; i < n; i++) p[i] = (unsigned char)((x = x * 1664525u + 1013904223u) >> 24);
}

TEST(what_was_stored_comes_back) {
  unsigned char payload[5000];
  fill(payload, sizeof payload);
  mlaf_cache c;
  char key[MLAF_HASH_HEX];
  char *folder = cache_with_entry(&c, NULL, key, payload, sizeof payload);
  mlaf_cache_label label = code_label(key);
  void *data;
  size_t size;
  for (int any = 0; any < 2; any++) { /* with the target, and by key alone */
    if (any) label.target = NULL;
    assert_int_equal(mlaf_cache_load(&c, &label, &data, &size, NULL), MLAF_OK);
    assert_int_equal(size, sizeof payload);
    assert_memory_equal(data, payload, size);
    assert_int_equal(((char *)data)[size], 0);
    free(data);
  }
  struct stat st;
  char *v1 = mlaf_format("%s/v1", folder);
  assert_int_equal(stat(v1, &st), 0);
  assert_int_equal(st.st_mode & 0777, 0700); /* cached code is executed: nobody else may put some there */
  label = code_label(key);
  label.kind = MLAF_CACHE_TEXT; /* the same key as another kind is another entry */
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_cache_load(&c, &label, &data, &size, &err), MLAF_E_NOT_COMPILED);
  free(v1);
  mlaf_cache_close(&c);
  remove_tree(folder);
}

/* Write `size` bytes over an entry's file. */
static void overwrite(const char *folder, const char *key, const void *data, size_t size) {
  char *path = mlaf_format("%s/v1/gfx942/%.2s/%s.co", folder, key, key);
  assert_int_equal(mlaf_file_publish(path, data, size, NULL), MLAF_OK);
  free(path);
}

TEST(every_flipped_bit_and_every_torn_length_is_noticed) {
  unsigned char payload[700];
  fill(payload, sizeof payload);
  mlaf_cache c;
  char key[MLAF_HASH_HEX];
  log_lines lines = {0};
  mlaf_log log = {keep_line, &lines, MLAF_LOG_DEBUG};
  char *folder = cache_with_entry(&c, &log, key, payload, sizeof payload);
  char *path = mlaf_format("%s/v1/gfx942/%.2s/%s.co", folder, key, key);
  mlaf_cache_label label = code_label(key);
  void *file, *data;
  size_t size, n;
  assert_int_equal(mlaf_file_read(path, 1 << 20, &file, &size, NULL), MLAF_OK);
  unsigned char *bytes = file;
  uint64_t damaged = 0;
  for (size_t i = 0; i < size; i += 7) { /* 7 is prime to the header's fields: all of them are hit */
    bytes[i] ^= (unsigned char)(1u << (i % 8));
    overwrite(folder, key, bytes, size);
    bytes[i] ^= (unsigned char)(1u << (i % 8));
    if (mlaf_cache_load(&c, &label, &data, &n, NULL) != MLAF_E_NOT_COMPILED) fail_msg("a flipped bit in byte %zu passed", i);
    assert_int_equal(access(path, F_OK), -1); /* removed, so that it is rebuilt */
    damaged++;
  }
  static const size_t cuts[] = {0, 1, 8, 1023, 1024, 1025};
  for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++, damaged++) {
    overwrite(folder, key, bytes, cuts[i]);
    assert_int_equal(mlaf_cache_load(&c, &label, &data, &n, NULL), MLAF_E_NOT_COMPILED);
  }
  assert_int_equal(c.healed, damaged);
  assert_non_null(strstr(lines.last, key)); /* said, with the file's name */
  overwrite(folder, key, bytes, size);
  assert_int_equal(mlaf_cache_load(&c, &label, &data, &n, NULL), MLAF_OK);
  free(data);
  char other[MLAF_HASH_HEX]; /* a valid file under another entry's name is not that entry */
  mlaf_sha256_hex("other", 5, other);
  mlaf_cache_label wrong = code_label(other);
  char *other_dir = mlaf_format("%s/v1/gfx942/%.2s", folder, other);
  assert_int_equal(mlaf_dir_make(other_dir, NULL), MLAF_OK);
  overwrite(folder, other, bytes, size);
  assert_int_equal(mlaf_cache_load(&c, &wrong, &data, &n, NULL), MLAF_E_NOT_COMPILED);
  free(other_dir);
  free(file);
  free(path);
  mlaf_cache_close(&c);
  remove_tree(folder);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

TEST(a_hit_starts_and_loads_nothing) {
  need_proc();
  need_compiler("gfx942");
  char *folder = make_folder();
  mlaf_compiler *c = open_compiler(folder, 1, 0, NULL);
  mlaf_compile_job job = compile_one(c, KERNEL);
  assert_compiled(&job);
  assert_false(job.cached);
  mlaf_compiler_close(c);

  c = open_compiler(folder, 1, 0, NULL);
  mlaf_compile_job again = compile_one(c, KERNEL);
  assert_compiled(&again);
  assert_true(again.cached);
  assert_string_equal(again.key, job.key);
  assert_int_equal(again.code_size, job.code_size);
  assert_memory_equal(again.code, job.code, job.code_size);
  assert_int_equal(count_children(NULL), 0);
  assert_int_equal(stats_of(c).compiled, 0);
  assert_int_equal(stats_of(c).cache_hits, 1);
  void *maps, *code;
  size_t size;
  FILE *f = fopen("/proc/self/maps", "r");
  maps = calloc(1, 1 << 20);
  size = fread(maps, 1, (1 << 20) - 1, f);
  fclose(f);
  assert_true(size > 0);
  assert_null(strstr(maps, "libhiprtc"));
  assert_null(strstr(maps, "libamd_comgr"));
  free(maps);
  assert_int_equal(mlaf_cache_get(c, job.key, &code, &size, NULL), MLAF_OK);
  assert_memory_equal(code, job.code, job.code_size);
  free(code);
  job.key[3] = job.key[3] == '0' ? '1' : '0';
  assert_int_equal(mlaf_cache_get(c, job.key, &code, &size, NULL), MLAF_E_NOT_COMPILED);
  assert_int_equal(mlaf_cache_get(c, "../../etc/passwd", &code, &size, NULL), MLAF_E_ARG);
  mlaf_compile_job_clear(&job);
  clear_and_close(&again, c);
  remove_tree(folder);
}

TEST(a_hit_of_30_kb_is_quick) {
  enum { SIZE = 30000, RUNS = 201 };
  unsigned char *payload = malloc(SIZE);
  fill(payload, SIZE);
  mlaf_cache c;
  char key[MLAF_HASH_HEX];
  char *folder = cache_with_entry(&c, NULL, key, payload, SIZE);
  mlaf_cache_label label = code_label(key);
  double times[RUNS];
  for (int i = 0; i < RUNS; i++) {
    void *data;
    size_t size;
    double start = cpu_now();
    assert_int_equal(mlaf_cache_load(&c, &label, &data, &size, NULL), MLAF_OK);
    times[i] = cpu_now() - start;
    free(data);
  }
  qsort(times, RUNS, sizeof *times, by_value);
  print_message("cache hit of a 30 KB object: median %.3f ms\n", 1e3 * times[RUNS / 2]);
  assert_true(times[RUNS / 2] < 5e-3); /* generous: sanitizers and shared machines; a process start takes 20 times that */
  free(payload);
  mlaf_cache_close(&c);
  remove_tree(folder);
}

TEST(a_torn_entry_is_rebuilt_once) {
  need_compiler("gfx942");
  char *folder = make_folder();
  log_lines lines = {0};
  mlaf_compiler *c = open_compiler(folder, 1, 0, &lines);
  mlaf_compile_job job = compile_one(c, KERNEL);
  assert_compiled(&job);
  char *path = entry_of(folder, &job);
  assert_int_equal(truncate(path, 1500), 0);
  mlaf_compile_job again = compile_one(c, KERNEL), third = compile_one(c, KERNEL);
  assert_compiled(&again);
  assert_false(again.cached);
  assert_true(third.cached);
  assert_memory_equal(third.code, job.code, job.code_size);
  mlaf_compile_stats s = stats_of(c);
  assert_int_equal(s.cache_healed, 1);
  assert_int_equal(s.compiled, 2);
  assert_int_equal(lines.count, 1);
  free(path);
  mlaf_compile_job_clear(&job);
  mlaf_compile_job_clear(&again);
  clear_and_close(&third, c);
  remove_tree(folder);
}

TEST(the_key_covers_all_that_decides_the_code) {
  need_compiler("gfx942");
  static const char *const o2[] = {"-O2", NULL}, *const joined[] = {"-O", "3", NULL}, *const more[] = {"-O3", "-g", NULL};
  mlaf_compile_job jobs[7];
  for (int i = 0; i < 7; i++) jobs[i] = make_job(KERNEL);
  jobs[1].source = KERNEL " ";
  jobs[2].options = o2;
  jobs[3].options = joined;
  jobs[4].options = more;
  jobs[5].target = "gfx942:xnack-";
  jobs[6].name = "another name"; /* for messages only: the same key */
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  for (int i = 0; i < 7; i++) assert_int_equal(mlaf_compile_key(c, &jobs[i], NULL), MLAF_OK);
  for (int i = 0; i < 6; i++)
    for (int j = 0; j < i; j++) assert_string_not_equal(jobs[i].key, jobs[j].key);
  assert_string_equal(jobs[6].key, jobs[0].key);
  jobs[0].target = "../gfx942";
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_compile_key(c, &jobs[0], &err), MLAF_E_ARG);
  const char *id;
  assert_int_equal(mlaf_compiler_identity(c, &id, NULL), MLAF_OK);
  assert_memory_equal(id, "hiprtc ", 7);
  assert_non_null(strstr(id, "build-id "));
  mlaf_compiler_close(c);
}

/* A different compiler is a different key: the same folder of libraries with one byte more in one of them. */
TEST(the_key_follows_the_compiler) {
  char *folder = make_folder();
  static const char *const names[] = {"libhiprtc.so.6", "libamd_comgr.so.3"};
  char identity[2][256] = {"", ""};
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 2; i++) {
      char *path = mlaf_format("%s/%s", folder, names[i]);
      assert_int_equal(mlaf_file_publish(path, "library?", round && i ? 8 : 7, NULL), MLAF_OK);
      free(path);
    }
    mlaf_toolchain t;
    assert_int_equal(mlaf_toolchain_find(folder, &t, NULL), MLAF_OK);
    snprintf(identity[round], sizeof identity[round], "%s", t.identity);
    mlaf_toolchain_clear(&t);
  }
  assert_string_not_equal(identity[0], identity[1]);
  remove_tree(folder);
}

/* The cache cannot be written: the compile succeeds, is warned of once, and leaves no rubbish. */
static void assert_compiles_uncached(mlaf_compiler *c, log_lines *lines) {
  for (int i = 0; i < 2; i++) {
    mlaf_compile_job job = compile_one(c, KERNEL);
    assert_compiled(&job);
    assert_false(job.cached);
    mlaf_compile_job_clear(&job);
  }
  if (lines->count != 1) fail_msg("%d warnings, the last: %s", lines->count, lines->last);
}

TEST(an_unusable_directory_costs_one_warning) {
  need_compiler("gfx942");
  char *folder = make_folder();
  char *file = mlaf_format("%s/file", folder), *below = mlaf_format("%s/file/cache", folder);
  assert_int_equal(mlaf_file_publish(file, "x", 1, NULL), MLAF_OK);
  log_lines lines = {0};
  mlaf_compiler *c = open_compiler(below, 1, 0, &lines); /* below a file: nobody, not even root, can make that */
  assert_compiles_uncached(c, &lines);
  mlaf_compiler_close(c);

  assert_int_equal(chmod(folder, 0777), 0); /* open to everybody: not trusted, neither read nor written */
  lines.count = 0;
  c = open_compiler(folder, 1, 0, &lines);
  assert_compiles_uncached(c, &lines);
  assert_non_null(strstr(lines.last, "chmod 700"));
  mlaf_compiler_close(c);
  free(file);
  free(below);
  remove_tree(folder);
}

/* Run `body` in a child, so that what it does to mounts, limits and users ends with it. Returns its exit status. */
static int in_child(int (*body)(const char *folder), const char *folder) {
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) _exit(body(folder));
  int status = -1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* As assert_compiles_uncached, by exit status: cmocka's asserts must not unwind into the parent's tests. */
static int compiles_uncached(mlaf_compiler *c, log_lines *lines) {
  for (int i = 0; i < 2; i++) {
    mlaf_compile_job job = make_job(KERNEL);
    if (mlaf_compile(c, &job, 1, NULL, NULL, NULL) != MLAF_OK || job.status != MLAF_OK) return 2;
    if (job.cached) return 3;
    mlaf_compile_job_clear(&job);
  }
  return lines->count == 1 ? 0 : 4;
}

enum { CANNOT = 77, MODES_DO_NOT_COUNT }; /* this machine does not allow what the child needs */

/* Root ignores file modes: give up the capabilities by which it does, and stay who we are. */
static bool obey_modes(void) {
  struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct data[2];
  uint32_t drop = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER;
  if (syscall(SYS_capget, &header, data) != 0) return false;
  data[0].effective &= ~drop;
  data[0].permitted &= ~drop;
  data[0].inheritable &= ~drop;
  return syscall(SYS_capset, &header, data) == 0;
}

static int read_only_body(const char *folder) {
  char *probe = mlaf_format("%s/probe", folder);
  if (!obey_modes() || open(probe, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0) return MODES_DO_NOT_COUNT;
  free(probe);
  log_lines lines = {0};
  mlaf_compiler *c = open_compiler(folder, 1, 0, &lines);
  int rc = compiles_uncached(c, &lines);
  if (rc) fprintf(stderr, "%d warnings, the last: %s\n", lines.count, lines.last);
  /* what is in a read-only cache is still used */
  mlaf_compile_job job = make_job(KERNEL "// shipped\n");
  if (!rc && (mlaf_compile(c, &job, 1, NULL, NULL, NULL) != MLAF_OK || job.status != MLAF_OK || !job.cached)) rc = 5;
  clear_and_close(&job, c);
  return rc;
}

static int make_readable(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  return chmod(path, type == FTW_F ? 0444 : 0555);
}

TEST(a_read_only_directory_serves_hits_and_compiles_the_rest) {
  need_compiler("gfx942");
  char *folder = make_folder();
  mlaf_compiler *c = open_compiler(folder, 1, 0, NULL);
  mlaf_compile_job job = compile_one(c, KERNEL "// shipped\n");
  assert_compiled(&job);
  clear_and_close(&job, c);
  assert_int_equal(nftw(folder, make_readable, 16, FTW_PHYS | FTW_DEPTH), 0);
  int rc = in_child(read_only_body, folder);
  if (rc == MODES_DO_NOT_COUNT) fail_msg("%s lies on a file system without modes: set TMPDIR to another", folder);
  remove_tree(folder);
  assert_int_equal(rc, 0);
}

static int full_mount_body(const char *folder) {
  if (!own_mounts() || mount("none", folder, "tmpfs", 0, "size=4k,mode=0700") != 0) return CANNOT;
  log_lines lines = {0};
  mlaf_compiler *c = open_compiler(folder, 1, 0, &lines);
  int rc = compiles_uncached(c, &lines);
  if (!rc && !strstr(lines.last, "No space left")) rc = 6;
  if (rc) fprintf(stderr, "%d warnings, the last: %s\n", lines.count, lines.last);
  mlaf_compiler_close(c);
  umount2(folder, MNT_DETACH);
  return rc;
}

static int file_limit_body(const char *folder) {
  log_lines lines = {0};
  mlaf_compiler *c = open_compiler(folder, 1, 0, &lines);
  mlaf_compile_job first = make_job(KERNEL "// start the worker before the limit, which it would inherit\n");
  if (mlaf_compile(c, &first, 1, NULL, NULL, NULL) != MLAF_OK || first.status != MLAF_OK) return 7;
  mlaf_compile_job_clear(&first);
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit limit = {512, 512};
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return CANNOT;
  int rc = compiles_uncached(c, &lines);
  if (!rc && !strstr(lines.last, "File too large")) rc = 6;
  mlaf_compiler_close(c);
  return rc;
}

/* Names that hold `part` anywhere below a folder. */
static int found;
static const char *wanted_part;
static int count_part(const char *path, const struct stat *st, int type, struct FTW *ftw) {
  found += type == FTW_F && strstr(path + ftw->base, wanted_part) != NULL;
  return 0;
}
static int files_named(const char *folder, const char *part) {
  found = 0;
  wanted_part = part;
  nftw(folder, count_part, 16, FTW_PHYS);
  return found;
}

TEST(a_full_disk_costs_one_warning) {
  need_compiler("gfx942");
  char *folder = make_folder();
  int mounted = in_child(full_mount_body, folder);
  int limited = in_child(file_limit_body, folder);
  int rubbish = files_named(folder, ".tmp.");
  remove_tree(folder);
  if (mounted == CANNOT) fail_msg(NO_MOUNTS);
  assert_int_equal(mounted, 0);
  assert_int_equal(limited, 0);
  assert_int_equal(rubbish, 0);
}

/* Each child compiles the same slow key and says in its exit status how often the compiler ran and whether it hit. */
static int same_key_body(const char *folder) {
  mlaf_compiler *c = open_compiler(folder, 1, 60, NULL);
  mlaf_compile_job job = make_job(KERNEL "//MLAF_TEST_NAP\n");
  if (mlaf_compile(c, &job, 1, NULL, NULL, NULL) != MLAF_OK || job.status != MLAF_OK) return 50;
  mlaf_compile_stats s = stats_of(c);
  clear_and_close(&job, c);
  return (int)(s.compiled * 10 + s.cache_hits);
}

TEST(processes_compile_a_key_once) {
  enum { N = 4 };
  need_compiler("gfx942");
  char *folder = make_folder();
  pid_t pids[N];
  fflush(NULL);
  for (int i = 0; i < N; i++)
    if ((pids[i] = fork()) == 0) _exit(same_key_body(folder));
  int compiled = 0, hits = 0;
  for (int i = 0; i < N; i++) {
    int status;
    assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 50);
    compiled += WEXITSTATUS(status) / 10;
    hits += WEXITSTATUS(status) % 10;
  }
  assert_int_equal(compiled, 1);
  assert_int_equal(hits, N - 1);
  assert_int_equal(files_named(folder, ".lock"), 0);
  assert_int_equal(files_named(folder, ".co"), 1);
  remove_tree(folder);
}

TEST(equal_jobs_of_one_call_compile_once) {
  need_compiler("gfx942");
  char *folder = make_folder();
  mlaf_compiler *c = open_compiler(folder, 2, 0, NULL);
  mlaf_compile_job jobs[3] = {make_job(KERNEL), make_job(KERNEL), make_job(KERNEL)};
  assert_int_equal(mlaf_compile(c, jobs, 3, NULL, NULL, NULL), MLAF_OK);
  for (int i = 0; i < 3; i++) {
    assert_compiled(&jobs[i]);
    mlaf_compile_job_clear(&jobs[i]);
  }
  assert_int_equal(stats_of(c).compiled, 1);
  mlaf_compiler_close(c);
  remove_tree(folder);
}

static int hang_body(const char *folder) {
  mlaf_compiler *c = open_compiler(folder, 1, 60, NULL);
  mlaf_compile_job job = make_job(KERNEL "//MLAF_TEST_HANG\n");
  mlaf_compile(c, &job, 1, NULL, NULL, NULL);
  return 0; /* never: it is killed in mid-compile */
}

/* Dead, and only not yet reaped by whoever inherited it. */
static bool is_zombie(pid_t pid) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
  FILE *f = fopen(path, "r");
  if (!f) return true;
  text[fread(text, 1, sizeof text - 1, f)] = 0;
  fclose(f);
  const char *end = strrchr(text, ')');
  return end && strncmp(end, ") Z", 3) == 0;
}

/* A process that dies with the lock, in mid-compile, blocks nobody, and its worker dies with it. */
TEST(a_killed_holder_frees_its_lock) {
  need_proc();
  need_compiler("gfx942");
  char *folder = make_folder();
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) _exit(hang_body(folder));
  pid_t worker = 0;
  for (int i = 0; i < 12000 && count_children_of(pid, &worker) == 0; i++) usleep(10000);
  for (int i = 0; i < 12000 && files_named(folder, ".lock") == 0; i++) usleep(10000);
  usleep(300000);
  assert_int_equal(files_named(folder, ".lock"), 1);
  assert_true(worker > 0);
  kill(pid, SIGKILL);
  waitpid(pid, NULL, 0);
  int left = 12000; /* two minutes */
  while (left && kill(worker, 0) == 0 && !is_zombie(worker)) usleep(10000), left--;
  assert_true(left > 0);
  log_lines lines = {0};
  mlaf_compiler *c = open_compiler(folder, 1, 1, &lines);
  mlaf_compile_job job = make_job(KERNEL "//MLAF_TEST_HANG\n");
  assert_int_equal(mlaf_compile(c, &job, 1, NULL, NULL, NULL), MLAF_E_KILLED); /* it got the lock, and then hung as well */
  assert_int_equal(lines.count, 0);             /* no "compiling without the lock": it was free */
  clear_and_close(&job, c);
  remove_tree(folder);
}

/* A lock that is held for longer than a compile may take is not waited for any longer: compile without it. */
TEST(a_lock_that_never_comes_is_given_up) {
  need_compiler("gfx942");
  char *folder = make_folder();
  log_lines lines = {0};
  enum { LIMIT_S = 8 }; /* of waiting and of compiling, which on a busy machine takes its time */
  mlaf_compiler *c = open_compiler(folder, 1, LIMIT_S, &lines);
  mlaf_compile_job job = make_job(KERNEL);
  assert_int_equal(mlaf_compile_key(c, &job, NULL), MLAF_OK);
  mlaf_cache other;
  long holder = 0;
  assert_int_equal(mlaf_cache_open(&other, folder, false, NULL, NULL), MLAF_OK);
  mlaf_cache_label label = code_label(job.key);
  int lock = mlaf_cache_try_lock(&other, &label, &holder);
  assert_true(lock >= 0);
  assert_int_equal(mlaf_cache_try_lock(&other, &label, &holder), MLAF_LOCK_BUSY);
  assert_int_equal(holder, getpid());
  double start = mlaf_now();
  assert_int_equal(mlaf_compile(c, &job, 1, NULL, NULL, NULL), MLAF_OK);
  assert_compiled(&job);
  assert_true(mlaf_now() - start >= LIMIT_S);
  assert_int_equal(lines.count, 1);
  assert_non_null(strstr(lines.last, "compiling without"));
  mlaf_cache_unlock(&other, &label, lock);
  mlaf_cache_close(&other);
  clear_and_close(&job, c);
  remove_tree(folder);
}

TEST(disassembly_is_cached_by_content) {
  need_compiler("gfx942");
  char *folder = make_folder();
  mlaf_compiler *c = open_compiler(folder, 1, 0, NULL);
  mlaf_compile_job job = compile_one(c, KERNEL);
  assert_compiled(&job);
  char *first, *second;
  assert_int_equal(mlaf_disassemble(c, "gfx942", job.code, job.code_size, &first, NULL), MLAF_OK);
  mlaf_compiler_close(c);
  /* a machine without any compiler can still read what was disassembled once: an emulator needs no comgr for that */
  mlaf_compiler_opts opts = {.cache_dir = folder, .rocm_prefix = "/nonexistent"};
  assert_int_equal(mlaf_compiler_open(&opts, NULL, &c, NULL), MLAF_OK);
  assert_int_equal(mlaf_disassemble(c, "gfx942", job.code, job.code_size, &second, NULL), MLAF_OK);
  assert_string_equal(first, second);
  free(second);
  ((char *)job.code)[job.code_size - 1] ^= 1;
  assert_int_equal(mlaf_disassemble(c, "gfx942", job.code, job.code_size, &second, NULL), MLAF_E_NO_COMPILER);
  free(first);
  clear_and_close(&job, c);
  remove_tree(folder);
}

TEST(old_leftovers_are_swept) {
  char payload[10] = "payload", key[MLAF_HASH_HEX];
  mlaf_cache c;
  char *folder = cache_with_entry(&c, NULL, key, payload, sizeof payload);
  char *old = mlaf_format("%s/v1/gfx942/%.2s/x.co.tmp.1.abcdef", folder, key);
  char *young = mlaf_format("%s/v1/gfx942/%.2s/y.co.tmp.2.abcdef", folder, key);
  assert_int_equal(mlaf_file_publish(old, "x", 1, NULL), MLAF_OK);
  assert_int_equal(mlaf_file_publish(young, "x", 1, NULL), MLAF_OK);
  struct timespec times[2] = {{time(NULL) - 200000, 0}, {time(NULL) - 200000, 0}};
  assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
  mlaf_cache_label label = code_label(key);
  mlaf_cache_store(&c, &label, payload, sizeof payload);
  assert_int_equal(access(old, F_OK), -1);
  assert_int_equal(access(young, F_OK), 0); /* may be a process at work */
  free(old);
  free(young);
  mlaf_cache_close(&c);
  remove_tree(folder);
}

/* --- collecting --- */

static void write_old(const char *path, int64_t days) {
  const struct timespec then = {time(NULL) - days * 86400, 0}, times[2] = {then, then};
  assert_int_equal(mlaf_file_publish(path, "answer", 6, NULL), MLAF_OK);
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Each generator has a folder of its own: nothing else would ever remove what older ones answered, or a killed process left. */
TEST(answers_of_the_generator_are_collected) {
  static const struct {
    const char *name;
    int days;
    bool aged, spent; /* gone with --max-age 30, with a budget of one byte */
  } files[] = {{"old/question", 40, true, true},
               {"old.tsv", 40, true, true},
               {"new/asked", 1, false, true},
               {"new/half.tmp.1.abcdef", 40, true, true},
               {"new/half.tmp.2.abcdef", 0, false, false}, /* may be a process at work */
               {"cut.tsv.tmp.3.abcdef", 40, true, true}};
  enum { FILES = sizeof files / sizeof *files };
  char payload[10] = "payload", key[MLAF_HASH_HEX];
  for (int budget = 0; budget < 2; budget++) {
    mlaf_cache c;
    char *folder = cache_with_entry(&c, NULL, key, payload, sizeof payload), *paths[FILES];
    char *old = mlaf_format("%s/generator/old", folder), *new = mlaf_format("%s/generator/new", folder);
    assert_int_equal(mlaf_dir_make(old, NULL), MLAF_OK);
    assert_int_equal(mlaf_dir_make(new, NULL), MLAF_OK);
    for (int i = 0; i < FILES; i++) write_old(paths[i] = mlaf_format("%s/generator/%s", folder, files[i].name), files[i].days);
    mlaf_cache_gc opts = {.max_age_s = budget ? 0 : 30 * 86400, .size_budget = budget, .dry_run = true};
    mlaf_cache_gc_result r;
    assert_int_equal(mlaf_cache_collect(&c, &opts, NULL, NULL, &r, NULL), MLAF_OK);
    for (int i = 0; i < FILES; i++) assert_int_equal(access(paths[i], F_OK), 0);
    opts.dry_run = false;
    assert_int_equal(mlaf_cache_collect(&c, &opts, NULL, NULL, &r, NULL), MLAF_OK);
    assert_int_equal(r.entries, 4);
    assert_int_equal(r.removed, budget ? 4 : 2);
    for (int i = 0; i < FILES; i++) {
      assert_int_equal(access(paths[i], F_OK), budget ? -files[i].spent : -files[i].aged);
      free(paths[i]);
    }
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(new, F_OK), 0);
    free(old);
    free(new);
    mlaf_cache_close(&c);
    remove_tree(folder);
  }
}

/* Links lead out of the cache: to a folder in place of generator/, to a generator's folder and to a file. */
TEST(links_out_of_the_cache_are_not_collected) {
  static const char *const links[] = {"generator", "generator/linked", "generator/linked.tsv"};
  char payload[10] = "payload", key[MLAF_HASH_HEX];
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    mlaf_cache c;
    char *folder = cache_with_entry(&c, NULL, key, payload, sizeof payload), *outside = make_folder();
    char *path = mlaf_format("%s/question", outside), *half = mlaf_format("%s/half.tmp.1.abcdef", outside);
    char *link = mlaf_format("%s/%s", folder, links[i]), *parent = mlaf_format("%s/generator", folder);
    write_old(path, 40);
    write_old(half, 40);
    if (i) assert_int_equal(mlaf_dir_make(parent, NULL), MLAF_OK);
    assert_int_equal(symlink(i < 2 ? outside : path, link), 0);
    mlaf_cache_gc_result r;
    const mlaf_cache_gc opts = {.max_age_s = 86400, .size_budget = 1};
    assert_int_equal(mlaf_cache_collect(&c, &opts, NULL, NULL, &r, NULL), MLAF_OK);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(access(half, F_OK), 0);
    mlaf_cache_close(&c);
    unlink(link);
    remove_tree(folder);
    remove_tree(outside);
    free(path);
    free(half);
    free(link);
    free(parent);
  }
}

int main(void) {
  setenv("MLAF_WORKER_TEST", "1", 1);
  char *scratch = make_folder();
  setenv("TMPDIR", scratch, 1);
  const int failed = tests_run(NULL, NULL);
  remove_tree(scratch);
  return failed;
}
