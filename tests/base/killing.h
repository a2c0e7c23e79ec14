/* Processes killed with SIGKILL at random moments of their life; under a sanitizer a third of them, since what a kill leaves is
 * nothing that it sees. One that was over before its kill came does not count; the next
 * moments are drawn from a shorter while then, and from a longer one after a kill, so that on fast, slow and busy machines
 * alike about seven of ten hit, and any moment of a life may be the last. MLAF_KILL_POINTS says how many have to hit; 200 in
 * a full run. */
#pragma once

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include "cmocka_all.h"
#include "op/numeric.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { KILLED_OF = 3 };
#else
enum { KILLED_OF = 1 };
#endif

typedef struct killing {
  mlaf_rng rng;
  double within_us; /* kills come in [0, within_us) after the start */
  int wanted, hit, tried;
} killing;

static inline killing killing_begin(int wanted, uint64_t seed, double within_us) {
  const char *full = getenv("MLAF_KILL_POINTS");
  return (killing){{seed}, within_us, full ? atoi(full) : (wanted + KILLED_OF - 1) / KILLED_OF, 0, 0};
}

/* Another one? Fails where hardly any can be hit. */
static inline bool killing_goes_on(const killing *k) {
  if (k->hit < k->wanted && k->tried >= 5 * k->wanted + 20) fail_msg("only %d of %d processes could be killed", k->hit, k->tried);
  return k->hit < k->wanted;
}

/* Kills `child` and waits for its end, but leaves its status to whoever calls waitpid. True when it was alive. */
static inline bool killing_hits(killing *k, pid_t child) {
  siginfo_t end = {0};
  usleep((useconds_t)mlaf_rng_below(&k->rng, (uint32_t)k->within_us));
  kill(child, SIGKILL);
  assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
  const bool alive = end.si_code == CLD_KILLED && end.si_status == SIGKILL;
  k->within_us *= alive ? 1.12 : 0.75;
  k->hit += alive;
  k->tried++;
  return alive;
}

static inline void killing_report(const killing *k, const char *what) {
  print_message("%d %s killed in mid-work, of %d started\n", k->hit, what, k->tried);
}
