/* The measurement protocol of real devices: double the repeats until a sample fills its window, then medians. */
#include "device/measure.h"

#include <time.h>

#include "mlaf_thresholds.h"

enum { MAX_SAMPLES = 1000, MAX_REPEATS = 1 << 20 };
#define SLOW_TIMES 3 /* the limit: so much longer may what has not enough samples yet go on */

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Linear interpolation in a sorted list. */
static double quantile(const double *sorted, int n, double q) {
  double at = q * (n - 1);
  int i = (int)at;
  return i + 1 < n ? sorted[i] + (at - i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static void summarise(double *ns, int n, mlaf_timing *out) {
  qsort(ns, (size_t)n, sizeof *ns, compare);
  out->ns = quantile(ns, n, 0.5);
  out->p10_ns = quantile(ns, n, 0.1);
  out->p90_ns = quantile(ns, n, 0.9);
  for (int i = 0; i < n; i++) ns[i] = fabs(ns[i] - out->ns);
  qsort(ns, (size_t)n, sizeof *ns, compare);
  out->mad_ns = quantile(ns, n, 0.5);
  out->samples = n;
}

static void rest(double seconds) {
  if (seconds <= 0) return;
  const double whole = floor(seconds);
  nanosleep(&(struct timespec){(time_t)whole, (long)((seconds - whole) * 1e9)}, NULL);
}

typedef struct measuring {
  mlaf_sample_fn sample;
  void *user;
  const mlaf_time_opts *o;
  double (*now)(void);
  double limit; /* seconds that the samples may take; what is slow takes longer (hard_limit) */
  int sets, least, first;
} measuring;

/* The sets go on where the sample before stopped, so that few sequences at a time go through all of them, too. */
static mlaf_status take(measuring *m, int repeats, double *ns, mlaf_err *err) {
  if (m->o->cancel && atomic_load(m->o->cancel)) return mlaf_fail(err, MLAF_E_CANCELLED, "a measurement was stopped on request");
  mlaf_status st = m->sample(m->user, m->first, repeats, ns, err);
  m->first = (m->first + repeats) % m->sets;
  return st;
}

/* Chooses how many sequences a sample begins with: one of each set, unless they take so long that the samples would not fit what
 * a timing may take. Then fewer, down to one. */
static mlaf_status begin_with(measuring *m, int *repeats, mlaf_err *err) {
  double ns = 0;
  *repeats = m->sets;
  if (m->sets == 1) return MLAF_OK;
  mlaf_status st = take(m, 1, &ns, err);
  m->first = 0;
  while (*repeats > 1 && ns * 1e-9 * *repeats * m->least > SLOW_TIMES * m->limit) *repeats /= 2;
  return st;
}

/* Repeats per sample: doubled until a sample is as long as the window, so that the events' resolution does not matter.
 * A candidate that is hopeless already here is given up without more samples. */
static mlaf_status calibrate(measuring *m, int begin, double deadline, int *repeats, double *ns, mlaf_err *err) {
  const mlaf_time_opts *o = m->o;
  mlaf_status st = MLAF_OK;
  m->first = 0;
  for (*repeats = begin;; *repeats *= 2) {
    st = take(m, *repeats, ns, err);
    if (st || *ns >= o->min_window_ns || *repeats >= MAX_REPEATS || m->now() > deadline) break;
    if (o->give_up_ns > 0 && *repeats >= 4 && *ns / *repeats > o->give_up_ns) break;
  }
  *ns /= *repeats;
  return st;
}

/* When a timing ends that has not enough samples yet. It follows the kernel's own time: with a fixed one whatever takes several
 * milliseconds would never have enough of them, and be no measurement at all. */
static double hard_limit(const measuring *m, double begin, double sample_ns) {
  const double enough = 1.5 * (m->least + 1) * sample_ns * 1e-9, fixed = SLOW_TIMES * m->limit,
               end = begin + (enough > fixed ? enough : fixed);
  return m->o->deadline > 0 && m->o->deadline < end ? m->o->deadline : end;
}

static mlaf_status collect(measuring *m, double *ns, mlaf_timing *out, mlaf_err *err) {
  const mlaf_time_opts *o = m->o;
  const int most = o->max_samples < 1 ? 1 : o->max_samples < MAX_SAMPLES ? o->max_samples : MAX_SAMPLES;
  int start = 1, repeats = 1, n = 0;
  double first = 0;
  bool hopeless = false;
  mlaf_status st = begin_with(m, &start, err);
  if (!st && o->give_up_ns > 0 && o->idle_s > 0) { /* a glance without a rest finds who need not be rested for */
    st = calibrate(m, start, m->now() + m->limit, &repeats, &first, err);
    hopeless = !st && 100 * first > MLAF_UNRESTED_PERCENT * o->give_up_ns;
  }
  if (!st && !hopeless) rest(o->idle_s);
  /* At the deadline a timing with enough samples ends; at the hard one any does. */
  const double begin = m->now(), deadline = begin + m->limit;
  if (!st && !hopeless) {
    st = calibrate(m, start, deadline, &repeats, &first, err);
    hopeless = !st && o->give_up_ns > 0 && first > o->give_up_ns;
  }
  double longest = first * repeats;
  if (hopeless) ns[n++] = first;
  while (!st && !hopeless && n < most) {
    double sum;
    st = take(m, repeats, &sum, err);
    if (!st) ns[n++] = sum / repeats;
    if (!st && sum > longest) longest = sum;
    if (m->now() > (n >= o->min_samples ? deadline : hard_limit(m, begin, longest))) break;
  }
  if (st) return st;
  summarise(ns, n, out);
  char sets[32] = "";
  if (m->sets > 1) snprintf(sets, sizeof sets, " over %d sets", m->sets);
  snprintf(out->detail, sizeof out->detail, "%d samples of %d sequences%s%s", n, repeats, sets,
           hopeless             ? ", given up early"
           : n < o->min_samples ? ", time limit"
                                : "");
  return MLAF_OK;
}

mlaf_status mlaf_measure(mlaf_sample_fn sample, void *user, const mlaf_time_opts *opts, mlaf_timing *out, mlaf_err *err) {
  measuring m = {.sample = sample, .user = user, .o = opts, .limit = opts->limit_s > 0 ? opts->limit_s : 10,
                 .now = opts->now ? opts->now : mlaf_now};
  double *ns = malloc(MAX_SAMPLES * sizeof *ns);
  if (!ns) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for samples");
  m.sets = opts->sets > 1 ? opts->sets : 1;
  m.least = opts->min_samples > 1 ? opts->min_samples : 1;
  mlaf_status st = collect(&m, ns, out, err);
  free(ns);
  return st;
}
