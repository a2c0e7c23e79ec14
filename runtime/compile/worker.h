/* One worker process as its parent sees it: non-blocking, always with a deadline, never leaving a zombie. */
#ifndef MLAF_WORKER_H
#define MLAF_WORKER_H

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
  char *payload;
  mlaf_wire_field reply[MLAF_WIRE_FIELDS]; /* valid when done, until the next request */
  double deadline;
} mlaf_worker;

typedef enum mlaf_worker_state { MLAF_WORKER_BUSY, MLAF_WORKER_DONE, MLAF_WORKER_DEAD, MLAF_WORKER_GARBAGE } mlaf_worker_state;

mlaf_status mlaf_worker_start(const mlaf_toolchain *t, const char *executable, mlaf_worker **out, mlaf_err *err);
/* Kill, reap, free. Returns the wait status (-1 if somebody else reaped it). NULL is allowed. */
int mlaf_worker_stop(mlaf_worker *w);
/* True if an idle worker still lives. */
bool mlaf_worker_alive(const mlaf_worker *w);
/* Queue a request; nothing blocks. `timeout_s` becomes the deadline and rides along as the worker's own limit. */
mlaf_status mlaf_worker_send(mlaf_worker *w, mlaf_wire_kind kind, const mlaf_wire_field fields[3], double timeout_s,
                             mlaf_err *err);
/* Poll events to wait for, and what to do when they come. */
short mlaf_worker_events(const mlaf_worker *w);
mlaf_worker_state mlaf_worker_step(mlaf_worker *w);
/* Turn a worker that will not answer into a status: stops it (w is freed) and writes who, how and its last words. E_CRASH when
 * the compiler did it to itself, E_KILLED when somebody else did: then the same request deserves another worker. */
mlaf_status mlaf_worker_bury(mlaf_worker *w, mlaf_worker_state state, bool late, double timeout_s, mlaf_err *err);

#endif
