/* Microbenchmarks of the published kind, each run at two lengths: the difference drops what surrounds the loop. */
#include "model_report.h"

/* WARM_BUFFER fits the Infinity Cache. */
enum { HOT = 64, BUFFER = 1 << 30, WARM_BUFFER = 240 << 20 };

typedef enum kind { PER_ROUND_CLK, PER_ROUND_NS, READ_TBS, TFLOPS } kind;

typedef struct micro {
  const char *name;
  kind kind;
  uint32_t groups, waves;
  int rounds;      /* of the longer run; the shorter has a third of them */
  double per;      /* operations a round, bytes a workgroup and round, or FLOP a wave and round */
  const char *setup, *body;
  bool warm;       /* an earlier launch wrote what is read */
} micro;

/* s[4:5] = buffer, s2 = workgroup, v0 = thread, v1 = 16 * thread, s20 = rounds to go. */
#define X4(s) s s s s
#define X16(s) X4(s) X4(s) X4(s) X4(s)
/* As dependent as a pointer chase: the next address is known when the value has come. */
#define CHASE(op) op "\ns_waitcnt lgkmcnt(0)\n"
#define LOAD_WAIT "global_load_dword v4, v1, s[4:5]\ns_waitcnt vmcnt(0)\n"
#define STREAM(k) "global_load_dwordx4 v[" k "], v1, s[4:5] nt\nv_add_u32 v1, s22, v1\n"
#define STREAM8 STREAM("4:7") STREAM("8:11") STREAM("12:15") STREAM("16:19") STREAM("20:23") STREAM("24:27") STREAM("28:31") \
    STREAM("32:35") "s_waitcnt vmcnt(4)\n"
/* Workgroup w of 1216 reads 4 KB pieces w, w + 1216, ... */
#define STREAM_SETUP "s_mul_i32 s23, s2, 4096\nv_add_u32 v1, s23, v1\ns_mov_b32 s22, 1216*4096\n"
#define MFMA4(op, ab) op " a[0:15], " ab ", " ab ", a[0:15]\n" op " a[16:31], " ab ", " ab ", a[16:31]\n" \
    op " a[32:47], " ab ", " ab ", a[32:47]\n" op " a[48:63], " ab ", " ab ", a[48:63]\n"
#define MFMA_SETUP "v_mov_b32 v8, 0\nv_mov_b32 v9, 0\ns_nop 1\n"

static const micro micros[] = {
    {"lds_read_rate", PER_ROUND_CLK, 1, 1, 120, 16, "s_nop 0\n", X16("ds_read_b128 v[4:7], v1\n"), false},
    {"lds_write_rate", PER_ROUND_CLK, 1, 1, 120, 16, "s_nop 0\n", X16("ds_write_b128 v1, v[12:15]\n"), false},
    {"lds_latency_b32", PER_ROUND_CLK, 1, 1, 120, 16, "v_lshlrev_b32 v1, 2, v0\n", X16(CHASE("ds_read_b32 v4, v1")), false},
    {"lds_latency_b64", PER_ROUND_CLK, 1, 1, 120, 16, "v_lshlrev_b32 v1, 3, v0\n", X16(CHASE("ds_read_b64 v[4:5], v1")), false},
    {"lds_latency_b128", PER_ROUND_CLK, 1, 1, 120, 16, "s_nop 0\n", X16(CHASE("ds_read_b128 v[4:7], v1")), false},
    {"l1_latency", PER_ROUND_CLK, 1, 1, 120, 16, "v_mov_b32 v1, 0\n", X16(LOAD_WAIT), false},
    /* 1 MB, larger than L1, over and over: rounds past the first 512 find it in L2 */
    {"l2_latency", PER_ROUND_CLK, 1, 1, 3072, 16, "v_mov_b32 v1, 0\n",
     X16(LOAD_WAIT "v_add_u32 v1, 0x80, v1\n") "v_and_b32 v1, 0xfffff, v1\n", false},
    {"mall_latency", PER_ROUND_NS, 1, 1, 120, 16, "v_mov_b32 v1, 0\n", X16(LOAD_WAIT "v_add_u32 v1, 0x100, v1\n"), true},
    {"hbm_latency", PER_ROUND_NS, 1, 1, 120, 16, "v_mov_b32 v1, 0\n", X16(LOAD_WAIT "v_add_u32 v1, 0x100, v1\n"), false},
    {"hbm_read", READ_TBS, 1216, 4, 24, 8 * 4096, STREAM_SETUP, STREAM8, false},
    {"mall_read", READ_TBS, 1216, 4, 6, 8 * 4096, STREAM_SETUP, STREAM8, true},
    {"mfma_bf16", TFLOPS, 304, 4, 8000, 4 * 16384, MFMA_SETUP, MFMA4("v_mfma_f32_32x32x8_bf16", "v[8:9]"), false},
    {"mfma_f16", TFLOPS, 304, 4, 8000, 4 * 16384, MFMA_SETUP, MFMA4("v_mfma_f32_32x32x8_f16", "v[8:9]"), false},
    {"mfma_fp8", TFLOPS, 304, 4, 8000, 4 * 32768, MFMA_SETUP, MFMA4("v_mfma_f32_32x32x16_fp8_fp8", "v[8:9]"), false},
};

static void kernel_text(emu_asm *a, const char *name, const micro *m, int rounds) {
  mlaf_text t = MLAF_TEXT_INIT(1 << 20);
  mlaf_text_fmt(&t, "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_lshlrev_b32 v1, 4, v0\ns_mov_b32 s20, %d\n", rounds);
  for (int i = 8; i < 16; i++) mlaf_text_fmt(&t, "v_mov_b32 v%d, 0\n", i);
  for (int i = 0; i < HOT; i++) mlaf_text_fmt(&t, "v_accvgpr_write_b32 a%d, 0\n", i);
  if (m->groups == 1) mlaf_text_str(&t, "ds_write_b128 v1, v[12:15]\n");
  mlaf_text_fmt(&t, "s_waitcnt lgkmcnt(0)\n%s\ns_nop 7\n%s_loop:\n%s", m->setup, name, m->body);
  mlaf_text_fmt(&t, "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 %s_loop\ns_waitcnt vmcnt(0)\ns_endpgm\n", name);
  emu_asm_kernel(a, name, EMU_ASM_RAW, 4096, t.data ? t.data : "");
  mlaf_text_free(&t);
}

/* Modelled ns of the launch, after one that wrote the buffer when asked. */
static bool timed(emu_asm *a, const micro *m, const char *name, void **buffer, double *ns, double *mhz) {
  mlaf_function *fn, *fill;
  mlaf_timing t;
  mlaf_time_opts opts = {0};
  if (mlaf_emu_ops.function_get(a->dev, a->module, name, &fn, &a->err) != MLAF_OK ||
      mlaf_emu_ops.function_get(a->dev, a->module, "fill", &fill, &a->err) != MLAF_OK)
    return false;
  mlaf_launch l[2] = {{.fn = fill, .grid = {1216, 1, 1}, .block = {256, 1, 1}, .args = buffer, .args_size = sizeof *buffer},
                      {.fn = fn, .grid = {m->groups, 1, 1}, .block = {64 * m->waves, 1, 1}, .args = buffer,
                       .args_size = sizeof *buffer}};
  if (mlaf_emu_ops.time(a->dev, m->warm ? l : l + 1, m->warm ? 2 : 1, &opts, &t, &a->err) != MLAF_OK) return false;
  *ns = t.ns;
  *mhz = t.clock_mhz;
  return true;
}

static double figure(const micro *m, const double ns[2], double mhz) {
  double rounds = m->rounds - m->rounds / 3, dns = ns[1] - ns[0];
  switch (m->kind) {
    case PER_ROUND_CLK: return dns / rounds / m->per * mhz / 1000;
    case PER_ROUND_NS: return dns / rounds / m->per;
    case TFLOPS: return m->groups * m->waves * rounds * m->per / dns / 1000; /* FLOP per ns is GFLOPS */
    default: return m->groups * rounds * m->per / dns / 1000;
  }
}

bool report_micro(emu_asm *a, const char *name, double *value) {
  static const micro fill = {"fill", READ_TBS, 1216, 4, 8, 4096, STREAM_SETUP,
                             "global_store_dwordx4 v1, v[12:15], s[4:5]\nv_add_u32 v1, s22, v1\n", false};
  for (size_t i = 0; i < sizeof micros / sizeof *micros; i++) {
    const micro *m = &micros[i];
    emu_asm k = *a; /* its device and compiler, a module of its own */
    double ns[2], mhz = 0;
    void *buffer = NULL;
    bool ok = true;
    if (strcmp(m->name, name) != 0) continue;
    k.vgprs = 128, k.accum_offset = 64;
    k.text = MLAF_TEXT_INIT(1 << 20);
    mlaf_text_str(&k.text, "  .amdgcn_target \"amdgcn-amd-amdhsa--gfx942\"\n  .text\n");
    k.module = NULL;
    kernel_text(&k, "fill", &fill, fill.rounds);
    kernel_text(&k, "less", m, m->rounds / 3);
    kernel_text(&k, "more", m, m->rounds);
    ok = emu_asm_build(&k) &&
         mlaf_emu_ops.mem_alloc(k.dev, m->warm ? WARM_BUFFER : BUFFER, &buffer, &k.err) == MLAF_OK &&
         timed(&k, m, "less", &buffer, &ns[0], &mhz) && timed(&k, m, "more", &buffer, &ns[1], &mhz);
    if (ok) *value = figure(m, ns, mhz);
    if (buffer) mlaf_emu_ops.mem_free(k.dev, buffer, &a->err);
    if (k.module) mlaf_emu_ops.module_unload(k.dev, k.module);
    mlaf_text_free(&k.text);
    a->err = k.err;
    return ok;
  }
  mlaf_fail(&a->err, MLAF_E_ARG, "no microbenchmark '%s'; those there are stand in tests/emu/model_report_micro.c", name);
  return false;
}
