/* emu-bench: how fast the emulator is, per host thread, with two, and per CPU second of both (which a busy machine distorts
 * less: equal figures mean that the threads do not disturb each other). Each line is one instruction mix in a loop, every
 * check on; MFMA and LDS lines issue what a kernel's inner loop issues. `emu-bench exp` runs the lines that contain "exp". */
#include <time.h>

#include "emu_asm.h"

enum { LOOPS = 2000 };

typedef struct bench {
  const char *name, *unit;
  emu_class cls;
  const char *setup, *body;
  int repeat; /* bodies per loop */
} bench;

static const bench benches[] = {
  {"VALU f32 mix", "VALU wave-inst/s", EMU_C_VALU,
   "v_mov_b32 v1, 1.0\nv_mov_b32 v2, 0.5\nv_mov_b32 v3, 2.0\nv_mov_b32 v4, 0\n",
   "v_fma_f32 v4, v1, v2, v4\nv_mul_f32 v5, v1, v2\nv_add_f32 v6, v5, v3\nv_max_f32 v7, v6, v1\n", 16},
  {"VALU integer mix", "VALU wave-inst/s", EMU_C_VALU,
   "v_mov_b32 v1, 17\nv_mov_b32 v2, 5\nv_mov_b32 v3, 0x03020706\n",
   "v_perm_b32 v4, v1, v2, v3\nv_lshl_add_u32 v5, v1, 3, v2\nv_and_or_b32 v6, v5, 15, v4\nv_add_u32 v7, v6, v5\n", 16},
  {"VALU half EXEC", "VALU wave-inst/s", EMU_C_VALU,
   "v_mov_b32 v1, 1.0\nv_mov_b32 v2, 0.5\nv_mov_b32 v4, 0\ns_mov_b32 exec_lo, 0x55555555\n",
   "v_fma_f32 v4, v1, v2, v4\nv_mul_f32 v5, v1, v2\nv_add_f32 v6, v5, v1\nv_max_f32 v7, v6, v1\n", 16},
  {"VALU exp", "VALU wave-inst/s", EMU_C_TRANS, "v_mov_b32 v1, 0.5\n", "v_exp_f32 v2, v1\ns_nop 0\n", 16},
  {"VALU packed f32", "VALU wave-inst/s", EMU_C_VALU,
   "v_mov_b32 v2, 1.0\nv_mov_b32 v3, 0.5\nv_mov_b32 v4, 2.0\nv_mov_b32 v5, 0\n",
   "v_pk_mul_f32 v[6:7], v[2:3], v[4:5]\nv_pk_fma_f32 v[8:9], v[2:3], v[4:5], v[6:7]\n", 16},
  {"MFMA 16x16x16 bf16", "MFMA/s", EMU_C_MFMA,
   "v_mov_b32 v2, 0x3f803f80\nv_mov_b32 v3, 0x3f803f80\nv_mov_b32 v4, 0x3f803f80\nv_mov_b32 v5, 0x3f803f80\n",
   "v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], v[8:11]\nv_mfma_f32_16x16x16_bf16 v[12:15], v[2:3], v[4:5], v[12:15]\n",
   8},
  {"LDS b128 reads", "wave-reads/s", EMU_C_DS_READ, "v_lshlrev_b32 v1, 4, v0\n",
   "ds_read_b128 v[4:7], v1\nds_read_b128 v[8:11], v1 offset:1024\ns_waitcnt lgkmcnt(0)\n", 8},
};

static void add_kernel(emu_asm *a, const bench *b, const char *name) {
  mlaf_text t = MLAF_TEXT_INIT(1 << 20);
  mlaf_text_str(&t, b->setup);
  if (b->cls == EMU_C_MFMA)
    for (int i = 8; i < 16; i++) mlaf_text_fmt(&t, "v_mov_b32 v%d, 0\n", i);
  if (b->cls == EMU_C_DS_READ)
    mlaf_text_str(&t, "v_mov_b32 v4, 0\nv_mov_b32 v5, 0\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\nds_write_b128 v1, v[4:7]\n"
                      "ds_write_b128 v1, v[4:7] offset:1024\ns_waitcnt lgkmcnt(0)\n");
  mlaf_text_fmt(&t, "s_mov_b32 s20, %d\ns_nop 7\n%s_loop:\n", LOOPS, name);
  for (int i = 0; i < b->repeat; i++) mlaf_text_str(&t, b->body);
  mlaf_text_fmt(&t, "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 %s_loop\ns_endpgm\n", name);
  emu_asm_kernel(a, name, EMU_ASM_RAW, 4096, t.data ? t.data : "");
  mlaf_text_free(&t);
}

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rate of the class's instructions, two waves' worth of groups per thread so that threads share nothing. */
static double rate(emu_asm *a, const bench *b, const char *name, int threads, double *per_cpu_second) {
  emu_counts counts = {0};
  emu_launch_opts opts = {.threads = threads};
  double best = 0;
  for (int i = 0; i < 3; i++) {
    double t = mlaf_now(), cpu = cpu_seconds();
    if (emu_asm_launch(a, name, 2u * (unsigned)threads, 64, NULL, 0, &opts, &counts, &a->err) != MLAF_OK) {
      fprintf(stderr, "%s: %s\n", b->name, a->err.text);
      return 0;
    }
    t = mlaf_now() - t;
    cpu = cpu_seconds() - cpu;
    if ((double)counts.issued[b->cls] / cpu > *per_cpu_second) *per_cpu_second = (double)counts.issued[b->cls] / cpu;
    if ((double)counts.issued[b->cls] / t > best) best = (double)counts.issued[b->cls] / t;
  }
  return best;
}

int main(int argc, char **argv) {
  emu_asm a;
  bool ok = emu_asm_open(&a);
  char name[16];
  enum { N = sizeof benches / sizeof *benches };
  for (int i = 0; ok && i < N; i++) {
    snprintf(name, sizeof name, "b%d", i);
    add_kernel(&a, &benches[i], name);
  }
  ok = ok && emu_asm_build(&a);
  if (!ok) fprintf(stderr, "emu-bench: %s\n", a.err.text);
  for (int i = 0; ok && i < N; i++) {
    if (argc > 1 && !strstr(benches[i].name, argv[1])) continue;
    snprintf(name, sizeof name, "b%d", i);
    double cpu = 0, cpu2 = 0, one = rate(&a, &benches[i], name, 1, &cpu), two = rate(&a, &benches[i], name, 2, &cpu2);
    printf("%-20s 1 thread %6.2f M, 2 threads %6.2f M (x%.2f); per CPU second %6.2f M, %6.2f M %s\n", benches[i].name,
           one / 1e6, two / 1e6, one > 0 ? two / one : 0, cpu / 1e6, cpu2 / 1e6, benches[i].unit);
    ok = one > 0;
  }
  emu_asm_close(&a);
  return ok ? 0 : 1;
}
