/* One worker process as its parent sees it: non-blocking, always with a limit, never leaving a zombie. */
#pragma once

#include "base/base.h"
#include "compile/nvrtc.h"
#include "compile/toolchain.h"
#include "compile/wire.h"

#include <sys/types.h>

typedef struct mlaf_worker {
  mlaf_tool tool; /* whose loader and libraries it runs with */
  pid_t pid, owner; /* owner: the process that started it; a fork of that process must leave it alone */
  int fd;      /* our end of the socket that is the worker's stdin and stdout */
  int words;   /* memory file that is its stderr: what it said before it died */
  char *scratch; /* its TMPDIR, removed with it; NULL if none could be made */
  mlaf_text out;
  size_t sent;
  mlaf_wire_header header;
  size_t got;  /* bytes of header and payload so far */
  double limit_s;        /* of CPU time, for this request */
  double cpu_from;       /* what it had taken when the request was sent */
  double seen_cpu, seen; /* its CPU time and the moment when it was last seen to work */
  size_t seen_got;
  char *payload;
  mlaf_wire_field reply[MLAF_WIRE_FIELDS]; /* valid when done, until the next request */
} mlaf_worker;

typedef enum mlaf_worker_state {
  MLAF_WORKER_BUSY, MLAF_WORKER_DONE, MLAF_WORKER_DEAD, MLAF_WORKER_GARBAGE, MLAF_WORKER_NO_MEMORY, /* here, for the reply */
  MLAF_WORKER_LATE, MLAF_WORKER_STILL
} mlaf_worker_state;

mlaf_status mlaf_worker_start(const mlaf_toolchain *t, mlaf_tool tool, const char *executable, mlaf_worker **out, mlaf_err *err);
/* Kill, reap, free. Returns the wait status (-1 if somebody else reaped it). NULL is allowed. */
int mlaf_worker_stop(mlaf_worker *w);
/* True if an idle worker still lives. */
bool mlaf_worker_alive(const mlaf_worker *w);
/* Queue a request; nothing blocks. `limit_s`, of CPU time, rides along as the worker's own limit. */
mlaf_status mlaf_worker_send(mlaf_worker *w, mlaf_wire_kind kind, const mlaf_wire_field fields[3], double limit_s,
                             mlaf_err *err);
/* Poll events to wait for, and what to do when they come. */
short mlaf_worker_events(const mlaf_worker *w);
mlaf_worker_state mlaf_worker_step(mlaf_worker *w);
/* Says whether a BUSY worker is to be given up. LATE: it has taken its CPU time, however long that took on a busy machine.
 * STILL: it took next to none for as long as its limit, as a stopped process does. */
mlaf_worker_state mlaf_worker_pace(mlaf_worker *w);
/* Turn a worker that will not answer into a status: stops it (w is freed) and writes who, how and its last words. E_CRASH when
 * the compiler did it to itself, E_TIMEOUT when it was LATE, E_KILLED when somebody else killed or stopped it: then the same
 * request deserves another worker. */
mlaf_status mlaf_worker_bury(mlaf_worker *w, mlaf_worker_state state, mlaf_err *err);
