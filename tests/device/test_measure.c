/* The measurement protocol over made-up samples: how many, of what, for how long. Samples pass on a clock of their own, so that
 * a busy machine changes nothing. */
#include "device/measure.h"

#include "cmocka_all.h"

static double clock_s;
static double now(void) { return clock_s; }

/* A device whose sequences take so long, and what was asked of it. */
typedef struct made_up {
  double sequence_ns;
  int calls, first[256], repeats[256];
  int cancel_at;
  atomic_bool cancel;
} made_up;

static mlaf_status sample(void *user, int first, int repeats, double *ns, mlaf_err *err) {
  made_up *m = user;
  assert_true(m->calls < 256);
  m->first[m->calls] = first;
  m->repeats[m->calls++] = repeats;
  *ns = m->sequence_ns * repeats;
  if (m->calls == m->cancel_at) atomic_store(&m->cancel, true);
  clock_s += *ns * 1e-9;
  return MLAF_OK;
}

/* As the tuner measures on a real device (mlaf_bench_rested_opts), but for the rest. */
static const mlaf_time_opts rested = {
    .warmup = 1, .min_samples = 7, .max_samples = 40, .min_window_ns = 2e4, .limit_s = 0.025, .sets = 4, .now = now};

static mlaf_timing run(made_up *m, const mlaf_time_opts *o) {
  mlaf_timing t = {.ns = 0};
  mlaf_err err = {MLAF_OK, ""};
  if (mlaf_measure(sample, m, o, &t, &err)) fail_msg("%s", err.text);
  return t;
}

/* From about 3.5 ms on nothing had seven samples, soon not five, and whatever was tried was "noisy: few": no problem of 128 heads
 * with 128 x 65536 tokens could be tuned. */
TEST(long_kernels_have_enough_samples) {
  static const double ms[] = {0.5, 2, 3.5, 6, 15, 60};
  for (size_t i = 0; i < sizeof ms / sizeof *ms; i++) {
    made_up m = {.sequence_ns = ms[i] * 1e6};
    const mlaf_timing t = run(&m, &rested);
    if (t.samples < rested.min_samples) fail_msg("%.1f ms: %s", ms[i], t.detail);
    assert_true(t.ns > 0.99 * m.sequence_ns && t.ns < 1.01 * m.sequence_ns);
    /* and no more work than they need: a glance, a calibration, the samples, of one sequence each where one is long */
    double worked = 0;
    for (int k = 0; k < m.calls; k++) worked += 0.001 * ms[i] * m.repeats[k];
    const double allowed = 0.001 * ms[i] * (2 + rested.min_samples) + 5 * rested.limit_s;
    if (worked > allowed) fail_msg("%.1f ms: %.3f s of work, %.3f s are enough", ms[i], worked, allowed);
  }
}

/* A retry asks for more samples and gets the time that they take. */
TEST(more_samples_take_more_time) {
  made_up m = {.sequence_ns = 8e6};
  mlaf_time_opts more = rested;
  more.min_samples *= 2;
  more.max_samples *= 2;
  assert_true(run(&m, &more).samples >= 14);
}

/* Few sequences at a time go through all sets in turn; many begin at the first. */
TEST(sets_are_gone_through) {
  made_up slow = {.sequence_ns = 15e6}, fast = {.sequence_ns = 2e3};
  run(&slow, &rested);
  assert_int_equal(slow.repeats[0], 1); /* the glance */
  for (int i = 1; i < slow.calls; i++) {
    assert_int_equal(slow.repeats[i], 1);
    assert_int_equal(slow.first[i], (i - 1) % 4);
  }
  run(&fast, &rested);
  for (int i = 1; i < fast.calls; i++) {
    assert_true(fast.repeats[i] >= 4);
    assert_int_equal(fast.first[i], 0);
  }
}

TEST(ends_when_told) {
  made_up m = {.sequence_ns = 5e6, .cancel_at = 5};
  mlaf_time_opts o = rested;
  mlaf_timing t = {.ns = 0};
  mlaf_err err = {MLAF_OK, ""};
  o.cancel = &m.cancel;
  assert_int_equal(mlaf_measure(sample, &m, &o, &t, &err), MLAF_E_CANCELLED);
  assert_int_equal(m.calls, 5);
  /* Out of time: what there is counts. */
  made_up late = {.sequence_ns = 5e6};
  o = rested;
  o.deadline = now() + 0.001;
  t = run(&late, &o);
  assert_int_equal(t.samples, 1);
  assert_non_null(strstr(t.detail, "time limit"));
}

TESTS(NULL, NULL)
