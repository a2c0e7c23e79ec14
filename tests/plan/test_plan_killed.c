/* Compile workers killed from outside while a plan is made: the plan does not take that for a kernel that does not compile and
 * stand on a worse one. It stands where it would have stood, or says that its workers are being killed. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "plan/place.h"
#include "need.h"

#define PROBLEM "mla_decode:h16,r512,p64,q1,bf16,page64,b4,s1024"

typedef struct killer {
  atomic_bool stop;
  int most, killed;
} killer;

/* All that live, but no more than it may: with one killed a plan finds another worker, with both at once perhaps none. */
static void kill_children(killer *k) {
  DIR *d = opendir("/proc/self/task");
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[300];
    long pid;
    snprintf(path, sizeof path, "/proc/self/task/%.200s/children", e->d_name);
    FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
    while (f && k->killed < k->most && fscanf(f, "%ld", &pid) == 1) k->killed += kill((pid_t)pid, SIGKILL) == 0;
    if (f) fclose(f);
  }
  if (d) closedir(d);
}

static void *kill_workers(void *user) {
  killer *k = user;
  while (!atomic_load(&k->stop) && k->killed < k->most) {
    int before = k->killed;
    kill_children(k);
    usleep(k->killed > before ? 300000 : 5000); /* a killed one is buried, the next one started */
  }
  return NULL;
}

/* The plan's status with `most` workers killed, and where it stands. */
static mlaf_status plan(int most, char variant[256], char rung[32], char *message, size_t size) {
  place at;
  mlaf_problem p;
  mlaf_plan *made = NULL;
  killer k = {.most = most};
  pthread_t thread;
  place_make(&at);
  mlaf_ctx *ctx = place_open(&at, NULL, NULL);
  assert_int_equal(mlaf_problem_parse(PROBLEM, &p, NULL, 0), MLAF_OK);
  assert_int_equal(pthread_create(&thread, NULL, kill_workers, &k), 0);
  const mlaf_status status = mlaf_plan_create(ctx, &p, NULL, &made);
  atomic_store(&k.stop, true);
  pthread_join(thread, NULL);
  if (most) assert_true(k.killed > 0);
  mlaf_ctx_last_message(ctx, message, size);
  if (!status) {
    mlaf_plan_info info = MLAF_PLAN_INFO_INIT;
    assert_int_equal(mlaf_plan_query(made, &info), MLAF_OK);
    snprintf(variant, 256, "%s", info.variant);
    snprintf(rung, 32, "%s", info.rung);
  }
  mlaf_plan_release(made);
  mlaf_ctx_destroy(ctx);
  place_remove(&at);
  return status;
}

TEST(no_worse_plan) {
  char variant[256], same[256], message[2000];
  char rung[32], again[32];
  need_proc();
  need_compiler("gfx942");
  setenv("MLAF_TUNING_DIR", "/nonexistent", 1);
  setenv("MLAF_SITE_DB", "", 1);
  assert_int_equal(plan(0, variant, rung, message, sizeof message), MLAF_OK);
  assert_string_equal(rung, "model");
  if (plan(1, same, again, message, sizeof message)) fail_msg("one worker killed: %s", message);
  assert_string_equal(same, variant);
  assert_string_equal(again, rung);
  assert_int_equal(plan(1000, same, again, message, sizeof message), MLAF_E_KILLED);
  assert_non_null(strstr(message, "signal 9"));
}

TESTS(NULL, NULL)
