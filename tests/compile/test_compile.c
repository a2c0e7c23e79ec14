/* Real compiles through the worker, and every way in which a worker can go wrong. */
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compile_fixture.h"

TEST(compiles_and_states_resources) {
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  mlaf_compile_job job = compile_one(c, KERNEL);
  assert_compiled(&job);
  assert_false(job.cached);
  assert_int_equal(strlen(job.key), 64);
  mlaf_kernel_meta meta;
  size_t n = 0;
  assert_int_equal(mlaf_code_meta(job.code, job.code_size, &meta, 1, &n, NULL), MLAF_OK);
  assert_int_equal(n, 1);
  assert_string_equal(meta.symbol, "scale");
  assert_int_equal(meta.lds_bytes, 256);
  assert_int_equal(meta.scratch_bytes, 0);
  assert_true(meta.vgpr_count >= 1 && meta.vgpr_count <= 16);
  assert_true(meta.kernarg_bytes >= 20);
  clear_and_close(&job, c);
}

TEST(bytes_depend_on_the_source_alone) {
  need_compiler("gfx942");
  mlaf_compiler *a = open_compiler(NULL, 1, 0, NULL), *b = open_compiler(NULL, 1, 0, NULL);
  mlaf_compile_job cold = compile_one(a, KERNEL), warm_up = compile_one(b, KERNEL "// other\n"), warm = compile_one(b, KERNEL);
  assert_compiled(&cold);
  assert_compiled(&warm);
  assert_int_equal(cold.code_size, warm.code_size);
  assert_memory_equal(cold.code, warm.code, cold.code_size);
  assert_string_equal(cold.key, warm.key);
  print_message("compile of a small kernel: cold worker %.3f s, warm worker %.3f s\n", cold.seconds, warm.seconds);
  mlaf_compile_job_clear(&cold);
  mlaf_compile_job_clear(&warm_up);
  clear_and_close(&warm, a);
  mlaf_compiler_close(b);
}

static bool count_calls(void *user, size_t done, size_t total, const mlaf_compile_job *job) {
  int *calls = user;
  if (!job) return true; /* only asked whether to go on waiting */
  assert_int_equal(done, ++*calls);
  assert_int_equal(total, 6);
  assert_non_null(job->log);
  return true;
}

TEST(many_jobs_each_have_their_own_status) {
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 3, 0, NULL);
  static const char *const sources[6] = {KERNEL, KERNEL "// b\n", "int broken(", KERNEL "// c\n",
                                         KERNEL "//MLAF_TEST_CRASH\n", KERNEL "// d\n"};
  mlaf_compile_job jobs[6];
  for (int i = 0; i < 6; i++) jobs[i] = make_job(sources[i]);
  int calls = 0;
  assert_int_equal(mlaf_compile(c, jobs, 6, count_calls, &calls, NULL), MLAF_OK);
  assert_int_equal(calls, 6);
  for (int i = 0; i < 6; i++) {
    mlaf_status want = i == 2 ? MLAF_E_COMPILE : i == 4 ? MLAF_E_CRASH : MLAF_OK;
    if (jobs[i].status != want) fail_msg("job %d: %s: %s", i, mlaf_status_name(jobs[i].status), jobs[i].log);
    if (want != MLAF_OK) assert_null(jobs[i].code);
    mlaf_compile_job_clear(&jobs[i]);
  }
  assert_int_equal(stats_of(c).compiled, 4);
  assert_int_equal(stats_of(c).worker_crashes, 2); /* it was tried twice */
  mlaf_compiler_close(c);
}

TEST(a_compile_error_begins_with_its_first_error_line) {
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  mlaf_compile_job job = compile_one(c, "#warning first a warning\n" KERNEL "\nint f() { return undefined_thing; }\n");
  assert_int_equal(job.status, MLAF_E_COMPILE);
  assert_null(job.code);
  assert_memory_equal(job.log, "kernel.hip:9:", 13); /* no temporary folder in front: the same text in every run */
  char first[256];
  snprintf(first, sizeof first, "%.*s", (int)strcspn(job.log, "\n"), job.log);
  assert_non_null(strstr(first, "error: use of undeclared identifier 'undefined_thing'"));
  assert_non_null(strstr(job.log, "first a warning"));
  assert_null(strstr(job.log, "/comgr-"));
  assert_non_null(strstr(job.log, "source of scale kept in "));
  mlaf_compile_job_clear(&job);
  /* the worker is none the worse */
  job = compile_one(c, KERNEL);
  assert_compiled(&job);
  clear_and_close(&job, c);
}

/* The file that a message says the source was kept in holds that source. */
static void assert_source_kept(const mlaf_compile_job *job) {
  const char *mark = strstr(job->log, "kept in ");
  assert_non_null(mark);
  void *text;
  size_t size;
  assert_int_equal(mlaf_file_read(mark + 8, 1 << 20, &text, &size, NULL), MLAF_OK);
  assert_string_equal(text, job->source);
  free(text);
}

TEST(misbehaving_workers_are_named_and_replaced) {
  static const struct {
    const char *source;
    mlaf_status status;
    const char *says;
  } cases[] = {
      {KERNEL "//MLAF_TEST_CRASH\n", MLAF_E_CRASH, "signal 11"},
      {KERNEL "//MLAF_TEST_EXIT\n", MLAF_E_CRASH, "exit status 3"},
      {KERNEL "//MLAF_TEST_GARBAGE\n", MLAF_E_CRASH, "malformed reply"},
      {KERNEL "//MLAF_TEST_SAY\n", MLAF_E_CRASH, "last words of the compiler"},
      {KERNEL "//MLAF_TEST_SPIN\n", MLAF_E_TIMEOUT, "more than 3 s of CPU time"},
  };
  need_proc();
  need_compiler("gfx942");
  char *cache = make_folder();
  mlaf_compiler *c = open_compiler(cache, 1, 3, NULL);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_compile_job job = compile_one(c, cases[i].source);
    if (job.status != cases[i].status) fail_msg("case %zu: %s: %s", i, mlaf_status_name(job.status), job.log);
    if (!strstr(job.log, cases[i].says)) fail_msg("case %zu does not say '%s': %s", i, cases[i].says, job.log);
    assert_source_kept(&job);
    mlaf_compile_job_clear(&job);
    /* the dead ones are reaped, no zombie; after a crash there is the one that compiled an empty kernel */
    assert_int_equal(count_children(NULL), cases[i].status == MLAF_E_CRASH);
  }
  assert_int_equal(stats_of(c).worker_crashes, 8); /* each was tried twice */
  assert_int_equal(stats_of(c).timeouts, 1);
  mlaf_compile_job job = compile_one(c, KERNEL);
  assert_compiled(&job);
  clear_and_close(&job, c);
  remove_tree(cache);
}

typedef struct killer {
  int signal;
  pid_t pid;
} killer;

/* From another thread: wait for the worker, give it a moment to be in mid-compile, then send it a signal. */
static void *kill_the_worker(void *user) {
  killer *k = user;
  for (int i = 0; i < 100000 && count_children(&k->pid) == 0; i++) usleep(10000);
  usleep(200000);
  if (k->pid) kill(k->pid, k->signal);
  return NULL;
}

static void *kill_two_workers(void *user) {
  killer *k = user;
  kill_the_worker(k);
  const pid_t first = k->pid;
  for (int i = 0; i < 100000 && (count_children(&k->pid) == 0 || k->pid == first); i++) usleep(10000);
  usleep(200000);
  if (k->pid && k->pid != first) kill(k->pid, k->signal);
  return NULL;
}

static int count_scratch(void) {
  int n = 0;
  DIR *d = opendir(getenv("TMPDIR"));
  for (struct dirent *e; (e = readdir(d));) n += strncmp(e->d_name, "mlaforge-worker", strlen("mlaforge-worker")) == 0;
  closedir(d);
  return n;
}

/* Its second worker hangs as well, and is killed as well: that is no error of the kernel's, and has a status of its own. */
TEST(a_worker_killed_in_mid_compile_is_killed) {
  need_proc();
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 7200, NULL);
  killer k = {SIGKILL, 0};
  pthread_t thread;
  pthread_create(&thread, NULL, kill_two_workers, &k);
  double start = mlaf_now();
  mlaf_compile_job job = make_job(KERNEL "//MLAF_TEST_HANG\n");
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_compile(c, &job, 1, NULL, NULL, &err), MLAF_E_KILLED);
  pthread_join(thread, NULL);
  assert_int_equal(job.status, MLAF_E_KILLED);
  assert_non_null(strstr(job.log, "signal 9"));
  assert_int_equal(stats_of(c).worker_crashes, 2);
  assert_true(mlaf_now() - start < 3600); /* noticed at once, not at the deadline */
  mlaf_compile_job_clear(&job);
  assert_int_equal(count_scratch(), 0); /* what it had in its temporary folder is gone with it */
  mlaf_compiler_close(c);
}

static pid_t spared; /* what signals of the library must not go to */

/* Stands in for libc's. */
int kill(pid_t pid, int number) {
  if (spared && pid == spared && number) fail_msg("signal %d goes to %ld, no process of ours any more", number, (long)pid);
  return (int)syscall(SYS_kill, pid, number);
}

/* A program that ignores SIGCHLD never learns how a worker ended: that is no error of the kernel's either. */
TEST(how_a_worker_ended_may_be_lost) {
  need_proc();
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 7200, NULL);
  killer k = {SIGKILL, 0};
  pthread_t thread;
  signal(SIGCHLD, SIG_IGN);
  pthread_create(&thread, NULL, kill_two_workers, &k);
  mlaf_compile_job job = make_job(KERNEL "//MLAF_TEST_HANG\n");
  mlaf_err err = {MLAF_OK, ""};
  const mlaf_status status = mlaf_compile(c, &job, 1, NULL, NULL, &err);
  pthread_join(thread, NULL);
  signal(SIGCHLD, SIG_DFL);
  assert_int_equal(status, MLAF_E_KILLED);
  assert_int_equal(job.status, MLAF_E_KILLED);
  assert_non_null(strstr(job.log, "ignores SIGCHLD"));
  clear_and_close(&job, c);
}

/* Once the program has waited for a worker, the worker's number may be another process's. */
TEST(a_number_that_was_waited_for_is_left_alone) {
  need_proc();
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  mlaf_compile_job job = compile_one(c, KERNEL);
  pid_t pid = 0;
  assert_int_equal(count_children(&pid), 1);
  kill(pid, SIGKILL);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  mlaf_compile_job_clear(&job);
  spared = pid;
  job = compile_one(c, KERNEL "// again\n");
  spared = 0;
  assert_compiled(&job);
  clear_and_close(&job, c);
}

/* Killed once, it is compiled by another worker, and nobody is told. */
TEST(a_worker_killed_once_is_replaced) {
  need_proc();
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 60, NULL);
  killer k = {SIGKILL, 0};
  pthread_t thread;
  pthread_create(&thread, NULL, kill_the_worker, &k);
  mlaf_compile_job job = compile_one(c, KERNEL "//MLAF_TEST_NAP\n");
  pthread_join(thread, NULL);
  assert_compiled(&job);
  assert_int_equal(stats_of(c).worker_crashes, 1);
  clear_and_close(&job, c);
}

/* Ctrl-C goes to the terminal's process group, a service manager's SIGTERM to all processes of a service: neither ends a
 * compile. */
TEST(workers_leave_signals_to_their_parent) {
  need_proc();
  need_compiler("gfx942");
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  mlaf_compiler *c = open_compiler(NULL, 1, 60, NULL);
  mlaf_compile_job first = compile_one(c, KERNEL);
  pid_t worker = 0;
  assert_int_equal(count_children(&worker), 1);
  assert_true(getpgid(worker) != getpgrp());
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    char source[sizeof KERNEL + 64];
    killer k = {numbers[i], 0};
    pthread_t thread;
    snprintf(source, sizeof source, KERNEL "//MLAF_TEST_NAP %zu\n", i);
    pthread_create(&thread, NULL, kill_the_worker, &k);
    mlaf_compile_job job = compile_one(c, source);
    pthread_join(thread, NULL);
    assert_compiled(&job);
    assert_int_equal(k.pid, worker);
    mlaf_compile_job_clear(&job);
  }
  assert_int_equal(stats_of(c).worker_crashes, 0);
  clear_and_close(&first, c);
}

/* While nothing is finished, the caller is asked too. */
static bool stop_soon(void *user, size_t done, size_t total, const mlaf_compile_job *job) {
  assert_null(job);
  assert_int_equal(done, 0);
  return ++*(int *)user < 3;
}

TEST(waiting_can_be_cancelled) {
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 7200, NULL);
  mlaf_compile_job job = make_job(KERNEL "//MLAF_TEST_HANG\n");
  int calls = 0;
  const double start = mlaf_now();
  assert_int_equal(mlaf_compile(c, &job, 1, stop_soon, &calls, NULL), MLAF_E_CANCELLED);
  assert_int_equal(calls, 3);
  assert_true(mlaf_now() - start < 3600); /* the compile would have taken twice as long */
  clear_and_close(&job, c);
}

/* One that somebody stopped takes no CPU time: another compiles, and nobody is told. */
TEST(a_stopped_worker_is_replaced) {
  need_proc();
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 4, NULL);
  killer k = {SIGSTOP, 0};
  pthread_t thread;
  pthread_create(&thread, NULL, kill_the_worker, &k);
  mlaf_compile_job job = compile_one(c, KERNEL "//MLAF_TEST_NAP\n");
  pthread_join(thread, NULL);
  assert_compiled(&job);
  assert_int_equal(stats_of(c).worker_crashes, 1);
  clear_and_close(&job, c);
  assert_int_equal(count_children(NULL), 0);
}

/* Nor does one that waits for ever; the second one that does ends the compile, and the kernel is not to blame. */
TEST(a_worker_that_stands_still_is_no_fault_of_the_kernel) {
  need_proc();
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 1, NULL);
  mlaf_compile_job job = make_job(KERNEL "//MLAF_TEST_HANG\n");
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_compile(c, &job, 1, NULL, NULL, &err), MLAF_E_KILLED);
  assert_int_equal(job.status, MLAF_E_KILLED);
  assert_non_null(strstr(job.log, "took no CPU time for 1 s"));
  mlaf_compile_job_clear(&job);
  assert_int_equal(count_children(NULL), 0);
  mlaf_compiler_close(c);
}

TEST(a_worker_that_died_idle_is_nobodys_fault) {
  need_proc();
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  mlaf_compile_job job = compile_one(c, KERNEL);
  assert_compiled(&job);
  mlaf_compile_job_clear(&job);
  pid_t pid = 0;
  assert_int_equal(count_children(&pid), 1);
  kill(pid, SIGKILL);
  siginfo_t info = {0};
  assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0); /* dead for certain, still to be reaped */
  job = compile_one(c, KERNEL "// again\n");
  assert_compiled(&job);
  assert_int_equal(stats_of(c).worker_crashes, 0);
  clear_and_close(&job, c);
  assert_int_equal(count_children(NULL), 0);
}

/* Its workers remove them, also those that wait for work. */
TEST(a_process_that_ends_without_closing_leaves_no_folders) {
  enum { PROCESSES = 6 };
  need_proc();
  need_compiler("gfx942");
  for (int i = 0; i < PROCESSES; i++) {
    fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
      mlaf_compile_job job = compile_one(open_compiler(NULL, 1, 0, NULL), KERNEL);
      _exit(job.status || count_scratch() < 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
  }
  for (int left = 3000; left && count_scratch(); left--) usleep(10000); /* half a minute */
  assert_int_equal(count_scratch(), 0);
}

static bool stop_after_two(void *user, size_t done, size_t total, const mlaf_compile_job *job) {
  *(int *)user += job != NULL;
  return done < 2;
}

TEST(cancelling_stops_the_rest_at_once) {
  need_proc();
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 2, 7200, NULL);
  mlaf_compile_job jobs[5];
  static const char *const sources[5] = {KERNEL, KERNEL "// b\n", KERNEL "//MLAF_TEST_HANG 1\n",
                                         KERNEL "//MLAF_TEST_HANG 2\n", KERNEL "// c\n"};
  for (int i = 0; i < 5; i++) jobs[i] = make_job(sources[i]);
  int calls = 0;
  mlaf_err err = {MLAF_OK, ""};
  double start = mlaf_now();
  assert_int_equal(mlaf_compile(c, jobs, 5, stop_after_two, &calls, &err), MLAF_E_CANCELLED);
  assert_true(mlaf_now() - start < 3600); /* at once, not when the hanging ones are given up */
  assert_int_equal(calls, 2); /* nothing is reported after the caller said stop */
  assert_non_null(strstr(err.text, "3 of 5"));
  int cancelled = 0;
  for (int i = 0; i < 5; i++) {
    cancelled += jobs[i].status == MLAF_E_CANCELLED;
    assert_true((jobs[i].status == MLAF_OK) == (jobs[i].code != NULL));
    mlaf_compile_job_clear(&jobs[i]);
  }
  assert_int_equal(cancelled, 3);
  mlaf_compiler_close(c);
  assert_int_equal(count_children(NULL), 0);
}

/* A progress function may use the compiler it is called from: the tuner disassembles what was just compiled. */
static bool disassemble_it(void *user, size_t done, size_t total, const mlaf_compile_job *job) {
  char *text = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (!job) return true;
  if (mlaf_disassemble(user, "gfx942", job->code, job->code_size, &text, &err) != MLAF_OK) fail_msg("%s", err.text);
  assert_non_null(strstr(text, "s_endpgm"));
  free(text);
  return true;
}

TEST(calls_from_the_progress_function_do_not_deadlock) {
  need_proc();
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  mlaf_compile_job jobs[3] = {make_job(KERNEL), make_job(KERNEL "// b\n"), make_job(KERNEL "// c\n")};
  assert_int_equal(mlaf_compile(c, jobs, 3, disassemble_it, c, NULL), MLAF_OK);
  for (int i = 0; i < 3; i++) {
    assert_compiled(&jobs[i]);
    mlaf_compile_job_clear(&jobs[i]);
  }
  assert_true(count_children(NULL) <= 1); /* the extra worker of the nested call is not kept */
  mlaf_compiler_close(c);
}

static void *compile_in_thread(void *user) {
  mlaf_compile_job *job = user;
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static mlaf_compiler *shared;
  pthread_mutex_lock(&mutex);
  if (!job) {
    mlaf_compiler_close(shared);
    shared = NULL;
  } else if (!shared) {
    shared = open_compiler(NULL, 2, 0, NULL);
  }
  pthread_mutex_unlock(&mutex);
  if (job) mlaf_compile(shared, job, 1, NULL, NULL, NULL);
  return NULL;
}

TEST(threads_may_share_a_compiler) {
  need_compiler("gfx942");
  mlaf_compile_job jobs[4] = {make_job(KERNEL), make_job(KERNEL "// b\n"), make_job(KERNEL "// c\n"), make_job("broken")};
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, compile_in_thread, &jobs[i]);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; i++) assert_compiled(&jobs[i]);
  assert_int_equal(jobs[3].status, MLAF_E_COMPILE);
  for (int i = 0; i < 4; i++) mlaf_compile_job_clear(&jobs[i]);
  compile_in_thread(NULL);
}

TEST(nothing_is_leaked) {
  need_proc();
  need_compiler("gfx942");
  int before = count_descriptors();
  for (int round = 0; round < 3; round++) {
    mlaf_compiler *c = open_compiler(NULL, 2, 0, NULL);
    mlaf_compile_job jobs[2] = {make_job("broken"), make_job(KERNEL "//MLAF_TEST_EXIT\n")};
    mlaf_compile(c, jobs, 2, NULL, NULL, NULL);
    mlaf_compile_job_clear(&jobs[0]);
    mlaf_compile_job_clear(&jobs[1]);
    mlaf_compiler_close(c);
  }
  assert_int_equal(count_descriptors(), before);
  assert_int_equal(count_children(NULL), 0);
}

TEST(assembly_comes_back_from_the_disassembler) {
  static const char *const lines[] = {"v_add_f32_e32 v0, v1, v2", "v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], v[4:5], a[0:3]",
                                      "s_waitcnt vmcnt(3) lgkmcnt(0)", "ds_read_b128 v[4:7], v1 offset:1024",
                                      "global_load_dwordx4 v[8:11], v[0:1], off offset:16", "s_endpgm"};
  need_compiler("gfx942");
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  mlaf_text source = MLAF_TEXT_INIT(4096), want = MLAF_TEXT_INIT(4096);
  mlaf_text_str(&source, ".text\n.globl f\n.type f,@function\nf:\n");
  static const int sizes[] = {4, 8, 4, 8, 8, 4};
  for (int i = 0, at = 0; i < 6; at += sizes[i++]) {
    mlaf_text_fmt(&source, "  %s\n", lines[i]);
    mlaf_text_fmt(&want, "%x %d %s\n", at, sizes[i], lines[i]);
  }
  void *code = NULL;
  size_t size = 0;
  char *text = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_assemble(c, "gfx942", source.data, &code, &size, &err) != MLAF_OK) fail_msg("%s", err.text);
  if (mlaf_disassemble(c, "gfx942", code, size, &text, &err) != MLAF_OK) fail_msg("%s", err.text);
  assert_string_equal(text, want.data);
  free(code);
  free(text);
  mlaf_text_free(&source);
  mlaf_text_free(&want);

  assert_int_equal(mlaf_assemble(c, "gfx942", "v_no_such_thing v0\n", &code, &size, &err), MLAF_E_COMPILE);
  assert_non_null(strstr(err.text, "error:"));
  assert_int_equal(mlaf_disassemble(c, "gfx942", "no ELF at all", 13, &text, &err), MLAF_E_ARG);
  assert_int_equal(mlaf_disassemble(c, "no/such", "x", 1, &text, &err), MLAF_E_ARG);
  mlaf_compiler_close(c);
}

TEST(a_missing_compiler_is_said_once_and_clearly) {
  mlaf_compiler_opts opts = {.no_cache = true, .rocm_prefix = "/nonexistent/rocm"};
  mlaf_compiler *c;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_compiler_open(&opts, NULL, &c, &err), MLAF_OK); /* opening looks at nothing */
  mlaf_compile_job job = make_job(KERNEL);
  assert_int_equal(mlaf_compile(c, &job, 1, NULL, NULL, &err), MLAF_E_NO_COMPILER);
  assert_int_equal(job.status, MLAF_E_NO_COMPILER);
  assert_non_null(strstr(err.text, "/nonexistent/rocm"));
  assert_non_null(strstr(job.log, "/nonexistent/rocm"));
  clear_and_close(&job, c);

  opts = (mlaf_compiler_opts){.jobs = -1};
  assert_int_equal(mlaf_compiler_open(&opts, NULL, &c, &err), MLAF_E_ARG);
  opts = (mlaf_compiler_opts){.timeout_s = -3};
  assert_int_equal(mlaf_compiler_open(&opts, NULL, &c, &err), MLAF_E_ARG);
}

TEST(a_library_folder_without_libraries_is_no_compiler) {
  char *folder = make_folder();
  char *lib = mlaf_format("%s/lib", folder), *rtc = mlaf_format("%s/libhiprtc.so.6", lib),
       *comgr = mlaf_format("%s/libamd_comgr.so.3", lib);
  assert_int_equal(mlaf_dir_make(lib, NULL), MLAF_OK);
  assert_int_equal(mlaf_file_publish(rtc, "junk", 4, NULL), MLAF_OK);
  assert_int_equal(mlaf_file_publish(comgr, "junk", 4, NULL), MLAF_OK);
  mlaf_compiler_opts opts = {.no_cache = true, .rocm_prefix = folder};
  mlaf_compiler *c;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(mlaf_compiler_open(&opts, NULL, &c, &err), MLAF_OK);
  mlaf_compile_job job = make_job(KERNEL);
  mlaf_status status = mlaf_compile(c, &job, 1, NULL, NULL, &err);
  /* where a system ROCm exists the loader finds that one instead; here the junk must be refused with a reason */
  if (status != MLAF_OK) {
    assert_int_equal(status, MLAF_E_NO_COMPILER);
    assert_non_null(strstr(err.text, "tools/setup.sh"));
  }
  clear_and_close(&job, c);
  free(lib);
  free(rtc);
  free(comgr);
  remove_tree(folder);
}

/* In-process transport, in the only process here in which the private prefix's libraries load: this program run again
 * through that prefix's loader. Prints the key and the hash of the code object. */
static int compile_in_process(void) {
  mlaf_compiler_opts opts = {.no_cache = true, .in_process = true, .worker_path = "/nonexistent/worker"};
  mlaf_compiler *c;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_compile_job job = make_job(KERNEL);
  char hash[MLAF_HASH_HEX], *text = NULL;
  if (mlaf_compiler_open(&opts, NULL, &c, &err) != MLAF_OK || mlaf_compile(c, &job, 1, NULL, NULL, &err) != MLAF_OK ||
      job.status != MLAF_OK || mlaf_disassemble(c, "gfx942", job.code, job.code_size, &text, &err) != MLAF_OK) {
    printf("%s %s\n", err.text, job.log ? job.log : "");
    return 1;
  }
  mlaf_sha256_hex(job.code, job.code_size, hash);
  printf("%s %s\n", job.key, hash);
  return count_children(NULL);
}

/* Not with sanitizers: this program is run again beside another libc. */
static void both_transports_give_the_same_bytes(void **state) {
  need_proc();
  need_compiler("gfx942");
  mlaf_toolchain t;
  assert_int_equal(mlaf_toolchain_find(NULL, &t, NULL), MLAF_OK);
  char self[512] = "", want[256], got[1024] = "";
  assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
  mlaf_compiler *c = open_compiler(NULL, 1, 0, NULL);
  mlaf_compile_job job = compile_one(c, KERNEL);
  assert_compiled(&job);
  char hash[MLAF_HASH_HEX];
  mlaf_sha256_hex(job.code, job.code_size, hash);
  snprintf(want, sizeof want, "%s %s\n", job.key, hash);
  const char *system = "/usr/lib/x86_64-linux-gnu:/lib/x86_64-linux-gnu"; /* cmocka and libcrypto */
  char *command = t.loader ? mlaf_format("'%s' --library-path '%s:%s' '%s' --in-process", t.loader, t.lib_dir, system, self)
                           : mlaf_format("'%s' --in-process", self);
  FILE *p = popen(command, "r");
  assert_non_null(p);
  got[fread(got, 1, sizeof got - 1, p)] = 0;
  assert_int_equal(pclose(p), 0);
  assert_string_equal(got, want);
  free(command);
  clear_and_close(&job, c);
  mlaf_toolchain_clear(&t);
}

int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--in-process") == 0) return compile_in_process();
  setenv("MLAF_WORKER_TEST", "1", 1);
  char *scratch = make_folder(); /* sources kept of failed compiles land here */
  setenv("TMPDIR", scratch, 1);
  const struct CMUnitTest unsanitized[] = {cmocka_unit_test(both_transports_give_the_same_bytes)};
  int failed = tests_run(NULL, NULL);
  if (!SANITIZED) failed += cmocka_run_group_tests(unsanitized, NULL, NULL);
  remove_tree(scratch);
  return failed;
}
