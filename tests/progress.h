/* Limits of other processes that a busy machine cannot trip: what they took of the CPU, and whether they stand still. */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* CPU seconds of a process, those of the children it has waited for with them; 0 when it is gone. *state: 'R' runs or wants to,
 * 'S' waits, 'D' waits for a disk. */
static inline double stat_cpu(const char *path, char *state) {
  char text[512] = "";
  unsigned long user = 0, system = 0;
  long waited_user = 0, waited_system = 0;
  FILE *f = fopen(path, "r");
  const size_t got = f ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f) fclose(f);
  text[got] = 0;
  const char *end = strrchr(text, ')'); /* a name may hold anything */
  *state = 'Z';
  if (!end || sscanf(end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", state, &user, &system, &waited_user,
                     &waited_system) != 5)
    return 0;
  return (double)(user + system + (unsigned long)(waited_user + waited_system)) / (double)sysconf(_SC_CLK_TCK);
}

static inline double process_cpu(pid_t pid) {
  char path[64], state;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  return stat_cpu(path, &state);
}

/* The same with all that descend from it; *wants: a thread of them runs, or would if the machine let it. */
static inline double tree_cpu(pid_t pid, bool *wants) {
  char path[300], state, children[1024];
  double sum = process_cpu(pid);
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *tasks = opendir(path);
  for (struct dirent *t; tasks && (t = readdir(tasks));) {
    if (t->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%.32s/stat", (int)pid, t->d_name);
    stat_cpu(path, &state);
    *wants |= state == 'R' || state == 'D';
    snprintf(path, sizeof path, "/proc/%d/task/%.32s/children", (int)pid, t->d_name);
    FILE *f = fopen(path, "r");
    children[f ? fread(children, 1, sizeof children - 1, f) : 0] = 0;
    if (f) fclose(f);
    char *at = children;
    for (long child; (child = strtol(at, &at, 10)) > 0;) sum += tree_cpu((pid_t)child, wants);
  }
  if (tasks) closedir(tasks);
  return sum;
}

static inline bool has_ended(pid_t child) {
  siginfo_t end = {0};
  return waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT | WNOHANG) != 0 || end.si_pid;
}

/* Until a child has worked for so long, or has ended. with_children: theirs counts, too. */
static inline void wait_for_work(pid_t child, double cpu_s, bool with_children) {
  bool wants = false; /* tree_cpu adds to it */
  while (!has_ended(child) && (with_children ? tree_cpu(child, &wants) : process_cpu(child)) < cpu_s) usleep(5000);
}

/* A child that is looked at now and then, 10 ms apart at least. */
typedef struct progress {
  pid_t of;
  double most, begun, last; /* CPU seconds: what it may take, what it had taken, and at the last look */
  int still;                /* looks since anything happened or could have happened */
} progress;

enum { STILL_MAX = 6000 }; /* a minute of looks at which nothing wanted to run */

static inline progress progress_of(pid_t child, double cpu_s) {
  bool wants = false;
  const double now = tree_cpu(child, &wants);
  return (progress){child, cpu_s, now, now, 0};
}

/* NULL, or why it is to be given up. */
static inline const char *progress_fault(progress *p) {
  bool wants = false;
  const double now = tree_cpu(p->of, &wants);
  p->still = wants || now != p->last ? 0 : p->still + 1;
  p->last = now;
  if (now - p->begun > p->most) return "took more CPU time than it may";
  return p->still > STILL_MAX ? "stood still" : NULL;
}
