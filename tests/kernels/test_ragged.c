/* Launches that decide themselves how their batch is cut (templates/mla_decode/lib/fit_wave.h), of random requests: each against
 * fp64. Small ranks, so that there can be many: MLAF_RAGGED_CASES=N
 * launches of each kernel, and 40 without it (under a sanitizer 6). */
#include "cmocka_all.h"
#include "ops/mla_decode/compare.h"
#include "op/numeric.h"
#include "need.h"
#include "rig.h"
#include "point.h"

static const struct {
  const char *problem, *variant;
} kernels[] = {
    {"mla_decode:h5,r96,p32,q3,causal,bf16,page48,b8,s512",
     "mfma_reg:blocks=1,kvload=nt,psplit=1,qsrc=reg,rescale=lazy,schedule=fitted,tile=16,waves=4/s1,rows=4,team=2"},
    {"mla_decode:h20,r64,p0,q2,f16,page1,b8,s512",
     "mfma_reg:blocks=2,kvload=temporal,psplit=1,qsrc=lds,rescale=always,schedule=fitted,tile=32,waves=2/s3,rows=8,team=1"},
    {"mla_decode:h16,r32,p32,q1,bf16,page16,b8,s512",
     "mfma_reg:blocks=1,kvload=nt,psplit=2,qsrc=reg,rescale=lazy,schedule=fitted,tile=16,waves=1/s2,rows=1,team=4"},
    {"mla_decode:h8,r96,p0,q8,causal,bf16,page3,b8,s512",
     "mfma_reg:blocks=1,kvload=temporal,psplit=1,qsrc=lds,rescale=lazy,schedule=fitted,tile=16,waves=8/s1,rows=2,team=8"},
    {"mla_decode:h20,r128,p32,q2,causal,bf16,page64,b8,s512",
     "mfma_lds:blocks=1,load=dma,order=plain,rescale=lazy,schedule=fitted,stages=2,waves=2/s1,rows=4,team=2"},
    {"mla_decode:h40,r128,p64,q1,f16,page1,b8,s512",
     "mfma_lds:blocks=1,load=vgpr,order=plain,rescale=always,schedule=fitted,stages=2,waves=4/s2,rows=2,team=2"},
    {"mla_decode:h33,r256,p0,q1,bf16,page16,b8,s512",
     "mfma_lds:blocks=1,load=dma,order=ahead,rescale=lazy,schedule=fitted,stages=3,waves=3/s1,rows=8,team=2"},
    {"mla_decode:h64,r512,p64,q1,bf16,page1,b8,s512", /* partial results of 16 bits */
     "mfma_lds:blocks=1,load=vgpr,order=columns,rescale=lazy,schedule=fitted,stages=3,waves=4/s1,rows=4,team=1"},
    {"mla_decode:h20,r512,p64,q3,causal,f16,page64,b8,s512",
     "mfma_lds:blocks=1,load=vgpr,order=columns,rescale=lazy,schedule=fitted,stages=3,waves=4/s2,rows=2,team=4"},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* Mostly of one kind, some of any: empties, single tokens, equal ones, a long one among short ones. */
static int32_t length(mlaf_rng *rng, uint32_t kind) {
  switch (kind) {
    case 0: return 0;
    case 1: return 1;
    case 2: return 1 + (int32_t)mlaf_rng_below(rng, 40);
    case 3: return 160;
    case 4: return 1 + (int32_t)mlaf_rng_below(rng, 500);
    default: return 900 + (int32_t)mlaf_rng_below(rng, 1500);
  }
}

/* Now and then a request of more query tokens than the kernel's, which is refused; the total stays one that the host takes. */
static void lengthen(mlaf_case_spec *s, mlaf_rng *rng) {
  int32_t room = s->n * s->problem.q_len;
  for (int32_t b = 0; b < s->n; b++) room -= s->q_lens[b];
  for (int32_t b = 0; b < s->n; b++) {
    const int32_t more = s->problem.q_len + 1 + (int32_t)mlaf_rng_below(rng, 4) - s->q_lens[b];
    if (more > room || mlaf_rng_below(rng, 6)) continue;
    s->q_lens[b] += more;
    room -= more;
  }
}

static mlaf_case_spec draw(const mlaf_problem *p, mlaf_rng *rng) {
  mlaf_case_spec s = {.name = "ragged", .problem = *p, .seed = mlaf_rng_below(rng, 1 << 30), .unused_pages = 2, .score_std = 1.5};
  const uint32_t usual = mlaf_rng_below(rng, 5), strange = 2 + mlaf_rng_below(rng, 12);
  bool some = false;
  s.n = 1 + (int32_t)mlaf_rng_below(rng, MLAF_CASE_REQUESTS);
  for (int32_t b = 0; b < s.n; b++) {
    s.kv_lens[b] = length(rng, mlaf_rng_below(rng, strange) ? usual : mlaf_rng_below(rng, 6));
    s.q_lens[b] = mlaf_rng_below(rng, 8) ? p->q_len : (int32_t)mlaf_rng_below(rng, (uint32_t)p->q_len + 1);
    some |= s.q_lens[b] > 0;
  }
  if (!some) s.q_lens[0] = 1;
  lengthen(&s, rng);
  return s;
}

/* One launch beside its reference. */
static void check_case(rig *r, const mlaf_loaded *l, const mlaf_case_spec *s, int number) {
  mlaf_expected want = {.data = NULL};
  mlaf_err err = {MLAF_OK, ""};
  mlaf_verify_result result = {0};
  if (mlaf_testcase_make(s, MLAF_INJECT_NONE, &want.data, &err)) fail_msg("%s", err.text);
  const size_t rows = (size_t)want.data->batch.total_q * (size_t)s->problem.heads;
  want.o = calloc(rows * (size_t)s->problem.rank + 1, sizeof(double));
  want.lse = calloc(rows + 1, sizeof(double));
  want.magnitude = calloc(rows + 1, sizeof(double));
  assert_true(want.o && want.lse && want.magnitude);
  if (mlaf_reference(&want.data->batch, want.o, want.lse, want.magnitude, &err)) fail_msg("%s", err.text);
  rig_output got = rig_run(r, l, want.data, mlaf_loaded_knob(l));
  if (!mlaf_compare(&want, got.o, got.lse, &result)) {
    char text[256] = "";
    for (int32_t b = 0; b < s->n; b++) snprintf(text + strlen(text), sizeof text - strlen(text), " %d", s->kv_lens[b]);
    fail_msg("%s, case %d (tokens%s): %s", mlaf_loaded_name(l), number, text, result.detail);
  }
  rig_output_free(&got);
  mlaf_testcase_free(want.data);
  free(want.o), free(want.lse), free(want.magnitude);
}

TEST(any_lengths_are_served) {
  const char *wanted = getenv("MLAF_RAGGED_CASES");
  const int cases = wanted ? atoi(wanted) : SANITIZED ? 6 : 40;
  rig r;
  rig_open(&r);
  for (int k = 0; k < KERNELS; k++) {
    mlaf_problem p = rig_problem(kernels[k].problem);
    mlaf_variant v;
    mlaf_rng rng = {100 + (uint64_t)k};
    mlaf_err err;
    if (mlaf_gen_variant(r.gen, mlaf_point_text(pt(&p)).s, "gfx942", kernels[k].variant, &v, &err)) fail_msg("%s", err.text);
    mlaf_loaded *l = rig_load(&r, &p, &v);
    for (int i = 0; i < cases; i++) {
      const mlaf_case_spec s = draw(&p, &rng);
      check_case(&r, l, &s, i);
    }
    mlaf_loaded_close(l);
    mlaf_variant_clear(&v);
  }
  print_message("%d launches of %d kernels\n", cases * KERNELS, KERNELS);
  rig_close(&r);
}

TESTS(NULL, NULL)
