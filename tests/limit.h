/* Limits of a test. No limit is by the wall clock, which a busy machine lets run: CPU time is what the program took. */
#pragma once

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* CPU seconds of this process so far, all its threads. */
static inline double cpu_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* This process ends by a signal when it takes more CPU time; one that stands still does, too, but only after long. */
static inline void limit_cpu(unsigned seconds) {
  const struct rlimit limit = {seconds, seconds + 5};
  setrlimit(RLIMIT_CPU, &limit);
  alarm(60 * seconds);
}
