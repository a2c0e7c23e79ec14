/* The end of a command that was asked to stop. A signal sets the flag that commands look at between two steps, and most end by
 * themselves within moments. What cannot look (a launch in the emulator, a driver's call, one long compile in this process) is
 * ended here: what is done is on disk already, since being killed at any moment must lose nothing, and the rows of unfinished
 * tables are printed. */
#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"

static const double step_s = 0.05, delay_max_s = 10;
static _Atomic double grace_s = 0.7;

static sem_t signalled;
static _Atomic(const cli *) current;

void mlaf_cli_stop_grace(double s) { atomic_store(&grace_s, s); }
void mlaf_cli_stop_current(const cli *c) { atomic_store(&current, c); }
void mlaf_cli_stop_signalled(void) { sem_post(&signalled); } /* async-signal-safe */

/* The longest that one of our threads had to wait for a CPU so far, in seconds: on a busy machine that is not the command's own
 * time. 0 where the kernel does not say. */
static double waited(void) {
  double most = 0;
  DIR *d = opendir("/proc/self/task");
  for (struct dirent *e; d && (e = readdir(d));) {
    char path[300];
    unsigned long long ran, waits;
    snprintf(path, sizeof path, "/proc/self/task/%.200s/schedstat", e->d_name);
    FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
    if (f && fscanf(f, "%llu %llu", &ran, &waits) == 2 && 1e-9 * (double)waits > most) most = 1e-9 * (double)waits;
    if (f) fclose(f);
  }
  if (d) closedir(d);
  return most;
}

static void say_json(void) {
  printf("{\"schema\":\"mlaforge.error\",\"version\":%d,\"status\":\"MLAF_E_CANCELLED\",\"message\":\"stopped on request\","
         "\"exit\":%d}\n", MLAF_CLI_JSON_VERSION, CLI_FINDINGS);
}

static void give_up(void) {
  const cli *c = atomic_load(&current);
  static const char text[] = "mlaforge: stopped on request in the middle of a step; what was finished before it is kept\n";
  signal(SIGALRM, SIG_DFL);
  alarm(1); /* should nobody read what we print */
  if (c && ftrylockfile(stdout) == 0) { /* else the command is at it, or stuck in it */
    mlaf_cli_tables_flush();
    if (c->json) say_json();
    fflush(stdout);
    funlockfile(stdout);
  }
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(CLI_ENVIRONMENT);
  _exit(CLI_FINDINGS);
}

static void *watch(void *ignored) {
  while (sem_wait(&signalled) != 0) continue;
  const double start = mlaf_now(), before = waited();
  for (;;) {
    nanosleep(&(struct timespec){0, (long)(1e9 * step_s)}, NULL);
    double delay = waited() - before;
    if (delay > delay_max_s) delay = delay_max_s;
    if (mlaf_now() - start >= atomic_load(&grace_s) + (delay > 0 ? delay : 0)) break;
  }
  give_up();
  return NULL;
}

/* It takes the two signals as well, should every other thread have them blocked at that moment (posix_spawn does while the child
 * starts); the rest go to the others. Where no thread is to be had, a second signal kills. */
void mlaf_cli_stop_begin(void) {
  sigset_t all, before;
  pthread_t thread;
  pthread_attr_t attr;
  if (sem_init(&signalled, 0, 0) != 0 || pthread_attr_init(&attr) != 0) return;
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  sigdelset(&all, SIGINT);
  sigdelset(&all, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_create(&thread, &attr, watch, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
}
