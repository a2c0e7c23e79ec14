/* The profile: every clock booked once, on what the kernel was written to spend it on. */
#include "emu/profile.h"
#include "emu/snippet.h"

typedef struct run {
  mlaf_module *module;
  mlaf_profile p;
  mlaf_timing timing;
} run;

static run profile(snip *s, int vgprs, int lds, uint32_t groups, int waves, const char *body) {
  run r = {.module = NULL};
  mlaf_function *fn = snip_load(s, vgprs, lds, body, &r.module);
  void *args[2] = {s->in, s->out};
  mlaf_launch l = {.fn = fn, .grid = {groups, 1, 1}, .block = {64u * (uint32_t)waves, 1, 1}, .args = args,
                   .args_size = sizeof args};
  if (mlaf_profile_run(s->dev, &l, 1, &r.p, &r.timing, &s->err) != MLAF_OK) fail_msg("%s\nin:\n%s", s->err.text, body);
  mlaf_timing plain;
  mlaf_time_opts opts = {0};
  if (mlaf_emu_ops.time(s->dev, &l, 1, &opts, &plain, &s->err) != MLAF_OK) fail_msg("%s", s->err.text);
  assert_true(plain.ns == r.timing.ns); /* looking changes nothing */
  return r;
}

static void done(run *r) {
  mlaf_profile_clear(&r->p);
  mlaf_emu_ops.module_unload(NULL, r->module);
}

/* SIMDs add up to the CU's time, instructions to the waves' lives. */
static void assert_whole(const mlaf_profile *p) {
  for (int k = 0; k < 4; k++) {
    double sum = 0;
    for (int i = 0; i < EMU_S_COUNT; i++) {
      assert_true(p->state[k][i] >= 0);
      sum += p->state[k][i];
    }
    if (fabs(sum - (double)p->clk) > 1e-6 * (double)p->clk)
      fail_msg("SIMD %d: %.3f of %llu clk", k, sum, (unsigned long long)p->clk);
    assert_true(p->valu_hidden[k] <= p->state[k][EMU_S_MFMA]);
  }
  double lives = 0, booked = 0;
  for (int i = 0; i < p->n_waves; i++) lives += p->wave[i].n ? p->wave[i].span[p->wave[i].n - 1].end : 0;
  for (size_t i = 0; i < p->n_insts; i++)
    for (int w = 0; w < EMU_WHY_COUNT; w++) booked += p->inst[i].clk[w];
  assert_true(fabs(lives - booked) < 1e-6 * lives);
}

static const char *loop(const char *head, int n, const char *text) {
  static char body[1 << 16];
  snprintf(body, sizeof body, "%s\ns_mov_b32 s20, %d\nloop:\n%s\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\n"
           "s_cbranch_scc1 loop\n", head, n, text);
  return body;
}

static const mlaf_profile_inst *find(const mlaf_profile *p, const char *text) {
  for (size_t i = 0; i < p->n_insts; i++)
    if (strncmp(p->inst[i].text, text, strlen(text)) == 0) return &p->inst[i];
  fail_msg("no '%s'", text);
  return NULL;
}

static double share(const mlaf_profile *p, emu_state s) { return p->state[0][s] / (double)p->clk; }

TEST(executions_and_the_hot_path) {
  run r = profile(*state, 512, 0, 4, 2, loop("v_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v20, 0\ns_nop 1", 64,
      "v_mfma_f32_32x32x8_bf16 v[32:47], v[10:11], v[10:11], 0\n"
      "v_mfma_f32_32x32x8_bf16 v[48:63], v[10:11], v[10:11], 0\n"
      "s_and_b32 s21, s20, 7\ns_cmp_eq_u32 s21, 0\ns_cbranch_scc0 seldom\nv_xor_b32 v20, 1, v20\nseldom:\n"
      "v_or_b32 v21, 1, v20"));
  const mlaf_profile *p = &r.p;
  assert_whole(p);
  assert_int_equal(p->samples, 4); /* a small grid is recorded whole */
  assert_int_equal(p->base, 64 * 2 * 4);
  assert_int_equal(find(p, "v_mfma")->executed, 64 * 2 * 4);
  assert_int_equal(find(p, "v_mfma")->on_cu, 64 * 2);
  assert_int_equal(find(p, "v_xor_b32")->executed, 8 * 2 * 4);
  assert_true(find(p, "v_mfma")->hot && find(p, "v_or_b32")->hot && find(p, "s_cbranch_scc0")->hot);
  assert_false(find(p, "v_xor_b32")->hot || find(p, "s_mov_b32 s20")->hot || find(p, "s_endpgm")->hot);
  assert_true(share(p, EMU_S_MFMA) > 0.6); /* two of 32 clk a round; arguments and the end take the rest */
  assert_true(p->valu_hidden[0] >= 4 * 50);
  assert_true(find(p, "v_mfma_f32_32x32x8_bf16 v[48:63]")->clk[EMU_WHY_MFMA] > 64 * 40);
  assert_true(p->state[2][EMU_S_IDLE] == (double)p->clk); /* two waves on four SIMDs */
  double busy = 0;
  for (int k = 0; k < 4; k++) busy += p->state[k][EMU_S_MFMA];
  double whole = 64.0 * 2 * 2 * 32; /* pipe clocks, but for a tail past the end */
  if (busy > whole || busy <= whole - 2 * 64) fail_msg("%.0f of %.0f clk", busy, whole);
  done(&r);
}

TEST(vector_work_and_issue) {
  run r = profile(*state, 64, 0, 1, 4, loop("v_mov_b32 v9, 0", 200,
                  "v_add_u32 v9, v9, v9\nv_exp_f32 v10, v9\nv_add_u32 v9, v9, v9"));
  assert_whole(&r.p);
  assert_true(share(&r.p, EMU_S_VALU) > 0.4);
  assert_true(share(&r.p, EMU_S_BRANCH) > 0.1);
  assert_true(find(&r.p, "v_exp_f32")->hot);
  assert_true(share(&r.p, EMU_S_MFMA) == 0);
  done(&r);
  r = profile(*state, 64, 0, 1, 4, loop("", 200,
              "s_mov_b32 s21, 1\ns_mov_b32 s22, 1\ns_mov_b32 s23, 1\ns_mov_b32 s24, 1"));
  assert_whole(&r.p);
  assert_true(share(&r.p, EMU_S_ISSUE) > 0.5);
  done(&r);
}

TEST(waits) {
  run r = profile(*state, 64, 0, 8, 1, loop("v_lshlrev_b32 v3, 4, v0", 50,
                  "global_load_dwordx4 v[20:23], v3, s[4:5]\ns_waitcnt vmcnt(0)"));
  assert_whole(&r.p);
  assert_true(share(&r.p, EMU_S_VMCNT) > 0.6);
  const mlaf_profile_inst *wait = find(&r.p, "s_waitcnt vmcnt(0)");
  assert_true(wait->clk[EMU_WHY_VMCNT] > 0.6 * (double)r.p.clk && wait->clk[EMU_WHY_LGKM] == 0);
  done(&r);
  r = profile(*state, 64, 0, 1, 1, loop("", 100, "s_nop 15"));
  assert_whole(&r.p);
  assert_true(share(&r.p, EMU_S_HAZARD) > 0.6);
  assert_true(find(&r.p, "s_nop 15")->clk[EMU_WHY_HAZARD] == 100 * 4 * 15);
  done(&r);
  r = profile(*state, 64, 0, 1, 2, "s_cmp_eq_u32 s8, 0\ns_cbranch_scc0 other\ns_sleep 100\nother:\ns_barrier");
  assert_whole(&r.p);
  assert_true(r.p.state[1][EMU_S_BARRIER] > 0.9 * 6400); /* wave 1 is on SIMD 1 and waits for wave 0 */
  assert_true(r.p.state[0][EMU_S_SLEEP] >= 6400);
  done(&r);
}

/* Strides of 16, 32, 64 and 128 bytes: none, 2-, 4- and 8-way conflicts of a 128-bit read. */
TEST(lds_conflicts) {
  static const char *const stride[] = {"v_lshlrev_b32 v3, 4, v0", "v_lshlrev_b32 v3, 5, v0", "v_lshlrev_b32 v3, 6, v0",
                                       "v_lshlrev_b32 v3, 7, v0"};
  double last = -1;
  for (int i = 0; i < 4; i++) {
    char head[1024];
    int n = snprintf(head, sizeof head, "%s\nv_and_b32 v3, 0x1fff, v3\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\n"
                                        "v_mov_b32 v13, 0\nv_lshlrev_b32 v4, 4, v0\n", stride[i]);
    for (int k = 0; k < 2; k++)
      n += snprintf(head + n, sizeof head - (size_t)n, "ds_write_b128 v4, v[10:13] offset:%d\n", 4096 * k);
    snprintf(head + n, sizeof head - (size_t)n, "s_waitcnt lgkmcnt(0)\ns_barrier");
    run r = profile(*state, 128, 32768, 1, 4, loop(head, 50, "ds_read_b128 v[20:23], v3\ns_waitcnt lgkmcnt(0)"));
    assert_whole(&r.p);
    assert_true(r.p.lds_conflict_clk == 50.0 * 4 * 8 * ((1 << i) - 1));
    double conflict = share(&r.p, EMU_S_CONFLICT);
    assert_true(i == 0 ? conflict == 0 : conflict > last);
    assert_true(share(&r.p, EMU_S_LGKM) > 0.1);
    last = conflict;
    done(&r);
  }
  assert_true(last > 0.4);
}

TEST(repeats_exactly) {
  static const char body[] = "v_lshlrev_b32 v3, 4, v0\nglobal_load_dwordx4 v[20:23], v3, s[4:5]\ns_waitcnt vmcnt(0)\n"
                             "v_add_u32 v9, v20, v21\ns_barrier\ns_nop 3";
  run a = profile(*state, 64, 0, 700, 4, body), b = profile(*state, 64, 0, 700, 4, body);
  assert_whole(&a.p);
  assert_memory_equal(a.p.state, b.p.state, sizeof a.p.state);
  assert_int_equal(a.p.sample_id, b.p.sample_id);
  assert_int_equal(a.p.clk, b.p.clk);
  for (int i = 0; i < EMU_USE_COUNT; i++)
    assert_true(a.p.use[i].bytes == b.p.use[i].bytes && a.p.use[i].achieved == b.p.use[i].achieved);
  for (size_t i = 0; i < a.p.n_insts; i++) assert_memory_equal(a.p.inst[i].clk, b.p.inst[i].clk, sizeof a.p.inst[i].clk);
  /* 700 workgroups read the same 4 KB: L2 sees far more than HBM */
  assert_true(a.p.use[EMU_USE_L1].bytes >= 700 * 4096.0);
  assert_true(a.p.use[EMU_USE_HBM].bytes < 0.2 * a.p.use[EMU_USE_L2].bytes);
  assert_string_equal(a.p.limit, "grid");
  assert_int_equal(a.p.residents, 3);
  done(&a);
  done(&b);
}

TEST_OF(counts_without_a_replay, snip *s) {
  mlaf_module *m;
  mlaf_function *fn = snip_load(s, 64, 0, loop("v_mov_b32 v9, 0", 10, "v_add_u32 v9, v9, v9"), &m);
  void *args[2] = {s->in, s->out};
  mlaf_launch l = {.fn = fn, .grid = {3, 1, 1}, .block = {64, 1, 1}, .args = args, .args_size = sizeof args};
  mlaf_profile p;
  assert_int_equal(mlaf_profile_count(s->dev, &l, &p, &s->err), MLAF_OK);
  assert_int_equal(find(&p, "v_add_u32_e32 v9")->executed, 30);
  assert_int_equal(p.base, 30); /* no MFMA: the most executed instruction */
  mlaf_profile_clear(&p);
  mlaf_emu_ops.module_unload(s->dev, m);
  mlaf_device_ops other = {.name = "other"};
  mlaf_device_base base = {.ops = &other};
  assert_int_equal(mlaf_profile_count((mlaf_device *)&base, &l, &p, &s->err), MLAF_E_ARG);
  assert_non_null(strstr(s->err.text, "use --device emu:gfx942"));
}

TESTS(snip_open, snip_close)
