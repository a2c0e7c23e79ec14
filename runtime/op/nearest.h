/* Distance at which a tuned point may answer for another one: the same for every operation. What distance is: op/op.h. */
#pragma once

#include "op/calls.h"

/* Farther than this, 16 times the batch or the context, another regime begins, and the model, which looks at the problem
 * itself, is the better guess: on the emulator a fitted choice within it was at most 3.9 % behind the tuned best, farther
 * away 13.5 %, the model there 0.2 % (docs/lab/search.md). Who may not ask the model takes a farther choice all the same. */
#define MLAF_REACH 4.0

/* A default without hashes is somebody's estimate: farther than this the model picks better (on the emulator, such defaults two
 * doublings away were up to 1.7 times slower than its pick). */
#define MLAF_DEFAULT_REACH 1.0

/* estimate: such a default. */
static inline bool mlaf_in_reach(const mlaf_point *asked, double doublings, bool estimate) {
  const mlaf_calls *calls = asked->op->calls; /* a composition has none */
  const double own = calls ? calls->reach : 0, most = own > 0 ? own : MLAF_REACH;
  return doublings <= (estimate && most > MLAF_DEFAULT_REACH ? MLAF_DEFAULT_REACH : most);
}

/* True where a choice tuned for `tuned` serves `asked` only if nothing else does (op/calls.h). */
static inline bool mlaf_stands_back(const mlaf_point *asked, const mlaf_point *tuned) {
  return asked->op->calls->stands_back && asked->op->calls->stands_back(asked, tuned);
}

/* The knob that suits p, of a kernel that was tuned with `knob` for other sizes. */
static inline uint32_t mlaf_fit_knob(const mlaf_point *p, const mlaf_fit_kernel *k, uint32_t knob) {
  return p->op->calls->fit_knob ? p->op->calls->fit_knob(p, k, knob) : knob;
}
