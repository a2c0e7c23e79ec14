/* The measurement protocol of real devices: double the repeats until a sample fills its window, then medians. */
#include "device/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_SAMPLES = 1000, MAX_REPEATS = 1 << 20 };
#define UNRESTED 1.25 /* a card that has not rested was seen 15 % slower at most: beyond this rest does not help */

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

/* Repeats per sample: doubled until a sample is as long as the window, so that the events' resolution does not matter; each
 * set at least once.
 * A candidate that is hopeless already here is given up without more samples. */
static mlaf_status calibrate(mlaf_sample_fn sample, void *user, const mlaf_time_opts *o, double deadline, int *repeats,
                             double *ns, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  for (*repeats = o->sets > 1 ? o->sets : 1;; *repeats *= 2) {
    st = sample(user, *repeats, ns, err);
    if (st || *ns >= o->min_window_ns || *repeats >= MAX_REPEATS || mlaf_now() > deadline) break;
    if (o->give_up_ns > 0 && *repeats >= 4 && *ns / *repeats > o->give_up_ns) break;
  }
  *ns /= *repeats;
  return st;
}

static mlaf_status collect(mlaf_sample_fn sample, void *user, const mlaf_time_opts *o, double *ns, mlaf_timing *out,
                           mlaf_err *err) {
  const double limit = o->limit_s > 0 ? o->limit_s : 10;
  const int most = o->max_samples < 1 ? 1 : o->max_samples < MAX_SAMPLES ? o->max_samples : MAX_SAMPLES;
  int repeats = 1, n = 0;
  double first = 0;
  bool hopeless = false;
  mlaf_status st = MLAF_OK;
  if (o->give_up_ns > 0 && o->idle_s > 0) { /* a glance without a rest finds who need not be rested for */
    st = calibrate(sample, user, o, mlaf_now() + limit, &repeats, &first, err);
    hopeless = !st && first > UNRESTED * o->give_up_ns;
  }
  if (!st && !hopeless) rest(o->idle_s);
  /* At the deadline a timing with enough samples ends; at three times it any does. */
  const double begin = mlaf_now(), deadline = begin + limit;
  if (!st && !hopeless) {
    st = calibrate(sample, user, o, deadline, &repeats, &first, err);
    hopeless = !st && o->give_up_ns > 0 && first > o->give_up_ns;
  }
  if (hopeless) ns[n++] = first;
  while (!st && !hopeless && n < most) {
    double sum;
    st = sample(user, repeats, &sum, err);
    if (!st) ns[n++] = sum / repeats;
    if (mlaf_now() > (n >= o->min_samples ? deadline : begin + 3 * limit)) break;
  }
  if (st) return st;
  summarise(ns, n, out);
  char sets[32] = "";
  if (o->sets > 1) snprintf(sets, sizeof sets, " over %d sets", o->sets);
  snprintf(out->detail, sizeof out->detail, "%d samples of %d sequences%s%s", n, repeats, sets,
           hopeless             ? ", given up early"
           : n < o->min_samples ? ", time limit"
                                : "");
  return MLAF_OK;
}

mlaf_status mlaf_measure(mlaf_sample_fn sample, void *user, const mlaf_time_opts *opts, mlaf_timing *out, mlaf_err *err) {
  double *ns = malloc(MAX_SAMPLES * sizeof *ns);
  if (!ns) return mlaf_fail(err, MLAF_E_NOMEM, "no memory for samples");
  mlaf_status st = collect(sample, user, opts, ns, out, err);
  free(ns);
  return st;
}
