/* The timing model: bank conflicts against the published table, and that what should be faster is faster. */
#include "emu/lds.h"
#include "emu/snippet.h"
#include "emu/timing.h"

/* --- bank conflicts of a row-major 16 x 576 bf16 tile --- */

/* Worst phase of a 128-bit read: clocks over the 8 phases it takes at best. */
static unsigned ways(const uint32_t addr[64]) {
  const unsigned clk = emu_lds_clocks(EMU_LDS_READ, addr, 16, ~0ull);
  assert_int_equal(clk % 8, 0);
  return clk / 8;
}

typedef uint32_t (*layout)(uint32_t row, uint32_t chunk);
static uint32_t plain(uint32_t row, uint32_t chunk) { return row * 1152 + 16 * chunk; }
static uint32_t pad16(uint32_t row, uint32_t chunk) { return row * 1168 + 16 * chunk; }
static uint32_t pad32(uint32_t row, uint32_t chunk) { return row * 1184 + 16 * chunk; }
static uint32_t pad64(uint32_t row, uint32_t chunk) { return row * 1216 + 16 * chunk; }
static uint32_t xor_row7(uint32_t row, uint32_t chunk) { return row * 1152 + 16 * (chunk ^ (row & 7)); }
static uint32_t xor_2row3(uint32_t row, uint32_t chunk) { return row * 1152 + 16 * (chunk ^ 2 * (row & 3)); }

TEST(conflicts_are_the_published_table) {
  static const struct { const char *name; layout at; unsigned k, v; } t[] = {
      {"plain 1152", plain, 4, 1}, {"pad 16", pad16, 2, 2}, {"pad 32", pad32, 1, 1}, {"pad 64", pad64, 2, 1},
      {"xor row & 7", xor_row7, 1, 2}, {"xor 2 (row & 3)", xor_2row3, 1, 1}};
  for (size_t i = 0; i < sizeof t / sizeof t[0]; i++) {
    unsigned k_ways = 0, v_ways = 0;
    for (uint32_t step = 0; step < 18; step++) { /* K: row l % 16, chunk 4k + l / 16 */
      uint32_t a[64];
      for (uint32_t l = 0; l < 64; l++) a[l] = t[i].at(l % 16, 4 * step + l / 16);
      if (ways(a) > k_ways) k_ways = ways(a);
    }
    for (uint32_t r = 0; r < 4; r++) /* V: row 4 (l / 16) + r, chunk 16 j + l % 16 */
      for (uint32_t j = 0; j < 4; j++) {
        uint32_t a[64];
        for (uint32_t l = 0; l < 64; l++) a[l] = t[i].at(4 * (l / 16) + r, 16 * j + l % 16);
        if (ways(a) > v_ways) v_ways = ways(a);
      }
    if (k_ways != t[i].k || v_ways != t[i].v) fail_msg("%s: K %u-way, V %u-way", t[i].name, k_ways, v_ways);
  }
}

TEST(conflicts_of_other_widths) {
  uint32_t a[64];
  for (uint32_t l = 0; l < 64; l++) a[l] = 4 * l;
  assert_int_equal(emu_lds_clocks(EMU_LDS_READ, a, 4, ~0ull), 2);
  for (uint32_t l = 0; l < 64; l++) a[l] = 8 * l; /* every second bank */
  assert_int_equal(emu_lds_clocks(EMU_LDS_READ, a, 4, ~0ull), 4);
  assert_int_equal(emu_lds_clocks(EMU_LDS_READ, a, 8, ~0ull), 4);
  for (uint32_t l = 0; l < 64; l++) a[l] = 128 * l; /* one bank */
  assert_int_equal(emu_lds_clocks(EMU_LDS_READ, a, 4, ~0ull), 64);
  for (uint32_t l = 0; l < 64; l++) a[l] = 64; /* one dword to all: a broadcast */
  assert_int_equal(emu_lds_clocks(EMU_LDS_READ, a, 4, ~0ull), 2);
  for (uint32_t l = 0; l < 64; l++) a[l] = 16 * l;
  assert_int_equal(emu_lds_clocks(EMU_LDS_WRITE, a, 16, ~0ull), 8);
  assert_int_equal(emu_lds_clocks(EMU_LDS_WRITE, a, 16, 0xff), 1); /* idle phases cost nothing */
  for (uint32_t l = 0; l < 64; l++) a[l] = 8 + 16 * l; /* wide but not aligned: the same banks, shifted */
  assert_int_equal(emu_lds_clocks(EMU_LDS_WRITE, a, 16, ~0ull), 8);
}

/* --- launches --- */

typedef struct kernel {
  mlaf_module *module;
  mlaf_function *fn;
} kernel;

static mlaf_timing time_of(snip *s, int vgprs, int lds, uint32_t groups, int waves, const char *body) {
  kernel k;
  k.fn = snip_load(s, vgprs, lds, body, &k.module);
  void *args[2] = {s->in, s->out};
  mlaf_launch l = {.fn = k.fn, .grid = {groups, 1, 1}, .block = {64u * (uint32_t)waves, 1, 1}, .args = args,
      .args_size = sizeof args};
  mlaf_timing t;
  mlaf_time_opts opts = {0};
  if (mlaf_emu_ops.time(s->dev, &l, 1, &opts, &t, &s->err) != MLAF_OK) fail_msg("%s\nin:\n%s", s->err.text, body);
  mlaf_emu_ops.module_unload(s->dev, k.module);
  return t;
}

static double part(const mlaf_timing *t, const char *name) {
  for (int i = 0; i < t->n_parts; i++)
    if (strcmp(t->parts[i].name, name) == 0) return t->parts[i].ns;
  fail_msg("no part '%s'", name);
  return 0;
}

static const char loop_end[] = "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 loop\n";

/* A loop of `n` rounds of `text`, after `head`. */
static const char *loop(const char *head, int n, const char *text) {
  static char body[1 << 16];
  snprintf(body, sizeof body, "%s\ns_mov_b32 s20, %d\nloop:\n%s\n%s", head, n, text, loop_end);
  return body;
}

TEST_OF(result_is_whole, snip *s) {
  mlaf_timing t = time_of(s, 64, 0, 608, 4, loop("v_mov_b32 v9, 0", 100, "v_add_u32 v9, v9, v9"));
  double sum = 0;
  for (int i = 0; i < t.n_parts; i++) sum += t.parts[i].ns;
  assert_int_equal(t.source, MLAF_TIME_MODELLED);
  assert_true(fabs(sum - t.ns) < 1e-3 * t.ns);
  assert_true(t.ns == t.p10_ns && t.ns == t.p90_ns && t.mad_ns == 0);
  assert_true(t.clock_mhz >= 1200 && t.clock_mhz <= 2100);
  assert_non_null(strstr(t.detail, "of 608 workgroups"));
  assert_true(t.bound[0] != 0);
}

TEST_OF(matrix_time, snip *s) {
  char eight[2048] = "";
  for (int i = 0; i < 8; i++)
    snprintf(eight + strlen(eight), sizeof eight - strlen(eight),
        "v_mfma_f32_16x16x16_bf16 a[%d:%d], v[10:11], v[10:11], 0\n", 4 * i, 4 * i + 3);
  const char *head = "v_mov_b32 v10, 0\nv_mov_b32 v11, 0\ns_nop 1";
  mlaf_timing one = time_of(s, 512, 0, 304, 4, loop(head, 500, eight)), two = time_of(s, 512, 0, 304, 4, loop(head, 1000, eight));
  /* 8 of them take 128 clk of the pipe; loop overhead hides behind the last one. */
  double clk_one = (one.ns - emu_gfx942.launch_ns) * one.clock_mhz / 1000,
      clk_two = (two.ns - emu_gfx942.launch_ns) * two.clock_mhz / 1000;
  double clk = (clk_two - clk_one) / 500;
  assert_true(clk > 127 && clk < 145);
  assert_string_equal(two.bound, "mfma");
  assert_true(two.clock_mhz < one.clock_mhz && one.clock_mhz < 2100);
  mlaf_timing few = time_of(s, 512, 0, 16, 4, loop(head, 1000, eight)); /* 16 CUs do not heat the chip */
  assert_true(few.clock_mhz > two.clock_mhz && few.ns < two.ns);
}

TEST_OF(lds_conflicts_cost, snip *s) {
  static const char *const stride[] = {"v_lshlrev_b32 v3, 4, v0", "v_lshlrev_b32 v3, 5, v0", "v_lshlrev_b32 v3, 6, v0",
      "v_lshlrev_b32 v3, 7, v0"};
  double last = 0;
  for (int i = 0; i < 4; i++) {
    char head[4096], reads[512] = "";
    int n = snprintf(head, sizeof head,
        "%s\nv_and_b32 v3, 0x1fff, v3\nv_mov_b32 v10, 0\nv_mov_b32 v11, 0\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\n"
                     "v_lshlrev_b32 v4, 4, v0\nv_mov_b32 v5, v4\n", stride[i]);
    for (int k = 0; k < 8; k++) n += snprintf(head + n, sizeof head - (size_t)n, "ds_write_b128 v5, v[10:13] offset:%d\n",
        4096 * k);
    snprintf(head + n, sizeof head - (size_t)n, "s_waitcnt lgkmcnt(0)\ns_barrier");
    for (int k = 0; k < 4; k++) snprintf(reads + strlen(reads), sizeof reads - strlen(reads), "ds_read_b128 v[%d:%d], v3\n",
        20 + 4 * k, 23 + 4 * k);
    strcat(reads, "s_waitcnt lgkmcnt(0)");
    mlaf_timing t = time_of(s, 128, 32768, 8, 4, loop(head, 200, reads));
    assert_true(t.ns > last * 1.05); /* 1-, 2-, 4- and 8-way */
    if (i == 3) assert_string_equal(t.bound, "lds");
    last = t.ns;
  }
}

TEST_OF(more_bytes_take_longer, snip *s) {
  void *big;
  const size_t bytes = 64u << 20;
  if (mlaf_emu_ops.mem_alloc(s->dev, bytes, &big, &s->err) != MLAF_OK) fail_msg("%s", s->err.text);
  uint32_t *in = s->in;
  s->in = big;
  /* Each of 608 workgroups reads its own 64 or 96 KB, 8 loads in flight. s2 is no workgroup id here: use the hardware's. */
  double last = 0;
  static const char *const rounds[] = {"16", "24"};
  for (int i = 0; i < 2; i++) {
    char body[2048];
    int n = snprintf(body, sizeof body,
        "s_mul_i32 s16, s2, 0x18000\ns_mul_hi_u32 s17, s2, 0x18000\ns_add_u32 s4, s4, s16\ns_addc_u32 s5, s5, s17\n"
                     "v_lshlrev_b32 v3, 4, v0\ns_mov_b32 s20, %s\nloop:\n", rounds[i]);
    for (int k = 0; k < 4; k++)
      n += snprintf(body + n, sizeof body - (size_t)n, "global_load_dwordx4 v[%d:%d], v3, s[4:5]\nv_add_u32 v3, 0x400, v3\n",
          20 + 4 * k, 23 + 4 * k);
    snprintf(body + n, sizeof body - (size_t)n, "s_waitcnt vmcnt(0)\n%s", loop_end);
    mlaf_timing t = time_of(s, 64, 0, 608, 1, body);
    assert_true(t.ns > 1.2 * last);
    assert_true(part(&t, "latency") + part(&t, "hbm") > 0.5 * (t.ns - part(&t, "launch")));
    last = t.ns;
  }
  s->in = in;
  mlaf_emu_ops.mem_free(s->dev, big, &s->err);
}

TEST_OF(overlap_pays, snip *s) {
  const char *head = "v_lshlrev_b32 v3, 4, v0";
  char serial[1024] = "", parallel[1024] = "";
  for (int k = 0; k < 4; k++) {
    snprintf(serial + strlen(serial), sizeof serial - strlen(serial),
        "global_load_dwordx4 v[%d:%d], v3, s[4:5] offset:%d\ns_waitcnt vmcnt(0)\n", 20 + 4 * k, 23 + 4 * k, 1024 * k);
    snprintf(parallel + strlen(parallel), sizeof parallel - strlen(parallel),
        "global_load_dwordx4 v[%d:%d], v3, s[4:5] offset:%d\n", 20 + 4 * k, 23 + 4 * k, 1024 * k);
  }
  strcat(parallel, "s_waitcnt vmcnt(0)\n");
  double a = time_of(s, 64, 0, 8, 1, loop(head, 50, serial)).ns, b = time_of(s, 64, 0, 8, 1, loop(head, 50, parallel)).ns;
  assert_true(b < 0.7 * a);
  /* Two resident workgroups hide each other's latency: half the registers, less time. */
  double full = time_of(s, 512, 0, 608, 4, loop(head, 50, serial)).ns, half = time_of(s, 256, 0, 608, 4, loop(head, 50,
      serial)).ns;
  assert_true(half < 0.8 * full);
}

TEST_OF(uncoalesced_loads_cost, snip *s) {
  const char *near = "v_lshlrev_b32 v3, 2, v0", *far = "v_lshlrev_b32 v3, 9, v0"; /* 512 bytes apart: one tag bank */
  const char *text = "global_load_dword v20, v3, s[4:5]\nglobal_load_dword v21, v3, s[4:5] offset:4\ns_waitcnt vmcnt(0)";
  mlaf_timing a = time_of(s, 64, 0, 8, 1, loop(near, 200, text)), b = time_of(s, 64, 0, 8, 1, loop(far, 200, text));
  assert_true(b.ns > 1.5 * a.ns);
}

TEST_OF(same_answer_on_any_number_of_threads, snip *s) {
  const char *head = "v_lshlrev_b32 v3, 4, v0\ns_and_b32 s21, s2, 31\ns_add_u32 s21, s21, 3\ns_mov_b32 s20, s21\n";
  char body[2048];
  /* Ragged: 3 to 34 rounds by workgroup. */
  snprintf(body, sizeof body,
      "%sloop:\nglobal_load_dwordx4 v[20:23], v3, s[4:5]\ns_waitcnt vmcnt(0)\nv_mul_f32 v9, v20, v21\n%s", head, loop_end);
  int threads = ((emu_device *)s->dev)->threads;
  ((emu_device *)s->dev)->threads = 1;
  mlaf_timing one = time_of(s, 64, 0, 500, 4, body);
  ((emu_device *)s->dev)->threads = 5;
  mlaf_timing five = time_of(s, 64, 0, 500, 4, body), again = time_of(s, 64, 0, 500, 4, body);
  ((emu_device *)s->dev)->threads = threads;
  assert_true(one.ns == five.ns && five.ns == again.ns);
  for (int i = 0; i < one.n_parts; i++) assert_true(one.parts[i].ns == five.parts[i].ns);
}

TEST_OF(sequences_add_launches_and_reuse_caches, snip *s) {
  kernel k;
  k.fn = snip_load(s, 64, 0, "global_load_dword v9, v1, s[6:7]\ns_waitcnt vmcnt(0)\nglobal_store_dword v1, v9, s[6:7]\n",
      &k.module);
  void *args[2] = {s->in, s->out};
  mlaf_launch l = {.fn = k.fn, .grid = {8, 1, 1}, .block = {256, 1, 1}, .args = args, .args_size = sizeof args};
  mlaf_launch two[2] = {l, l};
  mlaf_timing a, b;
  mlaf_time_opts opts = {0};
  assert_int_equal(mlaf_emu_ops.time(s->dev, two, 1, &opts, &a, &s->err), MLAF_OK);
  assert_int_equal(mlaf_emu_ops.time(s->dev, two, 2, &opts, &b, &s->err), MLAF_OK);
  /* The second launch finds what the first one wrote in the Infinity Cache. */
  double second = b.ns - a.ns, first = a.ns - emu_gfx942.launch_ns + emu_gfx942.next_launch_ns;
  assert_true(second > emu_gfx942.next_launch_ns && second < first);
  mlaf_emu_ops.module_unload(s->dev, k.module);
}

/* Rows that a launch appends to a large buffer do not bring the rest of it into the Infinity Cache; a launch that writes all of
 * it does. */
TEST_OF(single_rows_do_not_fill_the_infinity_cache, snip *s) {
  enum { GROUPS = 304, EACH = 1 << 17 };
  static const char *const writes[] = {
      "s_lshl_b32 s20, s2, 21\nv_add_u32 v10, s20, v1\nv_mov_b32 v9, 0\nglobal_store_dword v10, v9, s[6:7]\n",
      "s_lshl_b32 s20, s2, 17\nv_lshlrev_b32 v10, 2, v1\nv_add_u32 v10, s20, v10\nv_mov_b32 v12, 0\nv_mov_b32 v13, 0\n"
      "v_mov_b32 v14, 0\nv_mov_b32 v15, 0\ns_mov_b32 s20, 32\nloop:\nglobal_store_dwordx4 v10, v[12:15], s[6:7]\n"
      "v_add_u32 v10, 4096, v10\ns_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 loop\n"};
  const uint32_t groups[] = {16, GROUPS};
  kernel reader, writer[2];
  void *memory;
  assert_int_equal(mlaf_emu_ops.mem_alloc(s->dev, (size_t)GROUPS * EACH, &memory, &s->err), MLAF_OK);
  assert_int_equal(mlaf_emu_ops.mem_fill(s->dev, memory, 0, (size_t)GROUPS * EACH, &s->err), MLAF_OK);
  void *args[2] = {s->in, memory};
  reader.fn = snip_load(s, 64, 0, loop("s_lshl_b32 s21, s2, 17\nv_lshlrev_b32 v10, 2, v1\nv_add_u32 v10, s21, v10", 32,
                                       "global_load_dwordx4 v[12:15], v10, s[6:7]\nv_add_u32 v10, 4096, v10\n"
                                       "s_waitcnt vmcnt(0)"), &reader.module);
  mlaf_launch two[2];
  two[1] = (mlaf_launch){.fn = reader.fn, .grid = {GROUPS, 1, 1}, .block = {256, 1, 1}, .args = args, .args_size = sizeof args};
  mlaf_timing cold, alone, both;
  mlaf_time_opts opts = {0};
  assert_int_equal(mlaf_emu_ops.time(s->dev, two + 1, 1, &opts, &cold, &s->err), MLAF_OK);
  const double first = cold.ns - emu_gfx942.launch_ns;
  for (int i = 0; i < 2; i++) {
    writer[i].fn = snip_load(s, 64, 0, writes[i], &writer[i].module);
    two[0] = (mlaf_launch){.fn = writer[i].fn, .grid = {groups[i], 1, 1}, .block = {256, 1, 1}, .args = args,
                           .args_size = sizeof args};
    assert_int_equal(mlaf_emu_ops.time(s->dev, two, 1, &opts, &alone, &s->err), MLAF_OK);
    assert_int_equal(mlaf_emu_ops.time(s->dev, two, 2, &opts, &both, &s->err), MLAF_OK);
    const double second = both.ns - alone.ns - emu_gfx942.next_launch_ns;
    if (i == 0 ? second < 0.98 * first : second > 0.9 * first) fail_msg("%d: %.0f ns, cold %.0f ns", i, second, first);
    mlaf_emu_ops.module_unload(s->dev, writer[i].module);
  }
  mlaf_emu_ops.module_unload(s->dev, reader.module);
  assert_int_equal(mlaf_emu_ops.mem_free(s->dev, memory, &s->err), MLAF_OK);
}

TEST_OF(few_workgroups_take_the_device_longer, snip *s) {
  const char *body = loop("v_mov_b32 v9, 0", 500, "v_add_u32 v9, v9, v9");
  double one = time_of(s, 512, 0, 304, 4, body).ns, two = time_of(s, 512, 0, 305, 4, body).ns, full = time_of(s, 512, 0, 608,
      4, body).ns;
  assert_true(two > one * 1.3); /* the 305th needs a second round */
  assert_true(fabs(full - two) < 0.1 * two);
}

/* Consecutive workgroups go to the XCDs in turn: 76 long ones of 608 keep the 38 CUs of one XCD busy for two rounds when they
 * are every eighth, and 76 CUs for one when they are the first. */
TEST_OF(workgroups_go_round_the_xcds, snip *s) {
  static const char *const choose[] = {"s_and_b32 s21, s2, 7\ns_cmp_eq_u32 s21, 0", "s_cmp_lt_u32 s2, 76"};
  double ns[2];
  for (int i = 0; i < 2; i++) {
    char body[512];
    snprintf(body, sizeof body, "v_mov_b32 v9, 0\n%s\ns_cselect_b32 s20, 2000, 10\nloop:\nv_add_u32 v9, v9, v9\n%s", choose[i],
             loop_end);
    mlaf_timing t = time_of(s, 512, 0, 608, 4, body);
    ns[i] = t.ns - emu_gfx942.launch_ns;
    assert_non_null(strstr(t.detail, "1 per CU"));
  }
  if (ns[0] < 1.8 * ns[1] || ns[0] > 2.2 * ns[1]) fail_msg("%.0f ns on one XCD, %.0f ns on all", ns[0], ns[1]);
}

/* --- the table of constants --- */

/* Is there a point of docs/lab/published-mi300x.tsv, used for fitting, whose name begins like this? */
static bool is_fit_point(const char *name, size_t length) {
  const char *root = getenv("MLAF_SOURCE_DIR");
  char path[512], line[512];
  bool found = false;
  snprintf(path, sizeof path, "%s/docs/lab/published-mi300x.tsv", root ? root : "../..");
  FILE *f = fopen(path, "r");
  if (!f) fail_msg("cannot open %s: set MLAF_SOURCE_DIR to the source folder", path);
  while (fgets(line, sizeof line, f)) {
    const char *tab = strchr(line, '\t');
    found |= tab && strncmp(line, name, length) == 0 && strncmp(tab, "\tfit\t", 5) == 0;
  }
  fclose(f);
  return found;
}

TEST(every_constant_has_a_source_or_a_fit) {
  static const char *const sources[] = {"wp", "isa", "llvm", "maf", "ubench", "cc", "lds", "clrx", "gem5",
                                        "wave-lang documentation", "Linux amdgpu"};
  size_t bytes = 0;
  for (size_t i = 0; i < emu_arch_n_constants; i++) {
    const emu_arch_constant *c = &emu_arch_constants[i];
    size_t length = strcspn(c->source, ": ");
    bool known = false;
    bytes += c->count * (c->real ? sizeof(double) : sizeof(int));
    if (c->basis == EMU_ARCH_FITTED) {
      for (const char *at = c->source; ; at += strspn(at, ", ")) {
        size_t n = strcspn(at, ",:");
        if (!is_fit_point(at, n)) fail_msg("%s is fitted on '%.*s', which is no fit point", c->name, (int)n, at);
        at += n;
        if (*at != ',') break;
      }
      continue;
    }
    for (size_t k = 0; k < sizeof sources / sizeof *sources; k++)
      known |= strncmp(c->source, sources[k], strlen(sources[k])) == 0 && strlen(sources[k]) >= length;
    if (!known) fail_msg("%s has no source: '%s'", c->name, c->source);
  }
  assert_true(bytes <= sizeof(emu_arch) && bytes + 8 * emu_arch_n_constants > sizeof(emu_arch)); /* but for padding */
  assert_false(emu_arch_scale("no_such_constant", 2));
  double before = emu_gfx942.hbm_bps;
  assert_true(emu_arch_scale("hbm_bps", 0.5) && emu_arch_scale("barrier_clk", 1.3));
  assert_true(emu_gfx942.hbm_bps == 0.5 * before && emu_gfx942.barrier_clk == 42);
  assert_true(emu_arch_scale(NULL, 0) && emu_gfx942.hbm_bps == before && emu_gfx942.barrier_clk == 32);
}

/* A line that was read is found again when another buffer was read meanwhile, be that one above or below it in memory. */
TEST_OF(lines_are_found_again, snip *s) {
  const char *body = "v_lshlrev_b32 v3, 2, v0\n"
                     "global_load_dword v20, v3, s[4:5]\ns_waitcnt vmcnt(0)\n"
                     "global_load_dword v21, v3, s[6:7]\ns_waitcnt vmcnt(0)\n"
                     "global_load_dword v22, v3, s[4:5]\ns_waitcnt vmcnt(0)\n";
  uint32_t *in = s->in, *out = s->out;
  double ns[2];
  for (int i = 0; i < 2; i++) {
    s->in = i ? out : in, s->out = i ? in : out;
    ns[i] = time_of(s, 64, 0, 1, 1, body).ns;
  }
  s->in = in, s->out = out;
  if (fabs(ns[0] - ns[1]) > 100) fail_msg("%.0f and %.0f ns", ns[0], ns[1]); /* a line from memory takes hundreds */
}

/* --- policies, translation, instruction cache, limits --- */

/* 8 workgroups on 8 XCDs read the same 32 KB: what one brings, the others find in the Infinity Cache, unless it streams. */
TEST_OF(streaming_loads_are_not_kept, snip *s) {
  const char *head = "v_lshlrev_b32 v3, 2, v0";
  static char kept[1 << 16], streamed[1 << 16];
  snprintf(kept, sizeof kept, "%s", loop(head, 128, "global_load_dword v20, v3, s[4:5]\ns_waitcnt vmcnt(0)\n"
                                                   "v_add_u32 v3, 0x100, v3"));
  snprintf(streamed, sizeof streamed, "%s", loop(head, 128, "global_load_dword v20, v3, s[4:5] nt\ns_waitcnt vmcnt(0)\n"
                                                           "v_add_u32 v3, 0x100, v3"));
  double a = time_of(s, 64, 0, 8, 1, kept).ns, b = time_of(s, 64, 0, 8, 1, streamed).ns;
  if (b < 1.2 * a) fail_msg("%.0f ns kept, %.0f ns streamed", a, b);
  assert_true(time_of(s, 64, 0, 1, 1, streamed).ns == time_of(s, 64, 0, 1, 1, kept).ns); /* nobody to keep it for */
}

TEST_OF(far_pages_cost_a_translation, snip *s) {
  void *big;
  if (mlaf_emu_ops.mem_alloc(s->dev, 128u << 20, &big, &s->err) != MLAF_OK) fail_msg("%s", s->err.text);
  uint32_t *in = s->in;
  s->in = big;
  double ns[2];
  for (int i = 0; i < 2; i++) { /* 64 pages of 2 MB in turn are more than the TLB holds, 16 are not; lines never repeat */
    char head[256];
    snprintf(head, sizeof head, "v_lshlrev_b32 v3, 2, v0\ns_mov_b32 s22, 0x%x", 64 << 20);
    char text[512];
    snprintf(text, sizeof text, "global_load_dword v20, v3, s[4:5]\ns_waitcnt vmcnt(0)\nv_add_u32 v3, 0x%x, v3\n"
             "v_and_b32 v3, 0x%x, v3\n", (2 << 20) + 256, i ? (128 << 20) - 1 : (32 << 20) - 1);
    ns[i] = time_of(s, 64, 0, 1, 1, loop(head, 300, text)).ns;
  }
  s->in = in;
  mlaf_emu_ops.mem_free(s->dev, big, &s->err);
  double each = (ns[1] - ns[0]) * 2.1 / 284; /* clk per load; both miss while their first pages are new */
  if (each < 0.8 * emu_gfx942.tlb_miss_clk || each > 1.3 * emu_gfx942.tlb_miss_clk) fail_msg("%.1f clk", each);
}

TEST_OF(loops_beyond_the_instruction_cache_cost, snip *s) {
  static char text[1 << 19], body[1 << 20];
  double each[2];
  for (int i = 0; i < 2; i++) { /* 48 KB and 96 KB of code */
    int n = i ? 24 << 10 : 12 << 10, rounds = 6, at = 0;
    for (int k = 0; k < n; k++) at += snprintf(text + at, sizeof text - (size_t)at, "v_mov_b32 v9, 0\n");
    snprintf(body, sizeof body, "s_mov_b32 s20, %d\nloop:\n%ss_sub_u32 s20, s20, 1\ns_cmp_eq_u32 s20, 0\n"
             "s_cbranch_scc1 out\ns_getpc_b64 s[22:23]\nbase:\ns_sub_u32 s22, s22, base-loop\ns_subb_u32 s23, s23, 0\n"
             "s_setpc_b64 s[22:23]\nout:\n", rounds, text);
    each[i] = time_of(s, 64, 0, 1, 1, body).ns / n;
  }
  assert_true(each[1] > 2 * each[0]);
}

TEST_OF(limits_are_kept, snip *s) {
  kernel k;
  k.fn = snip_load(s, 64, 0, loop("v_mov_b32 v9, 0", 4000, "v_add_u32 v9, v9, v9\nv_add_u32 v9, v9, v9"), &k.module);
  void *args[2] = {s->in, s->out};
  mlaf_launch l = {.fn = k.fn, .grid = {4000, 1, 1}, .block = {256, 1, 1}, .args = args, .args_size = sizeof args};
  mlaf_launch two[2] = {l, l};
  mlaf_timing whole, brief, hopeless;
  int of_whole = 0;
  mlaf_time_opts opts = {.limit_s = 0};
  assert_int_equal(mlaf_emu_ops.time(s->dev, &l, 1, &opts, &whole, &s->err), MLAF_OK);
  opts.limit_s = 1e-9; /* no instruction at all: one chain of workgroups, which tells what siblings share */
  assert_int_equal(mlaf_emu_ops.time(s->dev, &l, 1, &opts, &brief, &s->err), MLAF_OK);
  assert_int_equal(sscanf(whole.detail, "simulated %d of 4000", &of_whole), 1);
  assert_true(of_whole > 5);
  assert_non_null(strstr(brief.detail, "simulated 5 of 4000"));
  assert_true(brief.ns > 0.99 * whole.ns && brief.ns < 1.01 * whole.ns);
  assert_true(whole.clock_mhz < 2000 && fabs(brief.clock_mhz / whole.clock_mhz - 1) < 0.02); /* not left at boost clock */
  opts = (mlaf_time_opts){.give_up_ns = whole.ns / 4};
  assert_int_equal(mlaf_emu_ops.time(s->dev, two, 2, &opts, &hopeless, &s->err), MLAF_OK);
  assert_non_null(strstr(hopeless.detail, "given up early"));
  assert_true(hopeless.ns > opts.give_up_ns && hopeless.ns < 1.2 * whole.ns); /* the second launch was not looked at */
  assert_non_null(strstr(hopeless.detail, "simulated 1 of")); /* nor a second workgroup */
  opts.give_up_ns = 2 * whole.ns; /* who is worth it gets the very time it has without a limit */
  assert_int_equal(mlaf_emu_ops.time(s->dev, &l, 1, &opts, &hopeless, &s->err), MLAF_OK);
  assert_memory_equal(&hopeless, &whole, sizeof whole);
  mlaf_emu_ops.module_unload(s->dev, k.module);
}

/* --- a limit is an amount of work --- */

/* Times of a launch of 4000 workgroups: as it is, and with no instruction to record. */
static void with_and_without_work(snip *s, const char *body, mlaf_timing *whole, mlaf_timing *brief) {
  kernel k;
  k.fn = snip_load(s, 64, 0, body, &k.module);
  void *args[2] = {s->in, s->out};
  mlaf_launch l = {.fn = k.fn, .grid = {4000, 1, 1}, .block = {256, 1, 1}, .args = args, .args_size = sizeof args};
  mlaf_time_opts opts = {.limit_s = 0};
  if (mlaf_emu_ops.time(s->dev, &l, 1, &opts, whole, &s->err)) fail_msg("%s", s->err.text);
  opts.limit_s = 1e-9;
  if (mlaf_emu_ops.time(s->dev, &l, 1, &opts, brief, &s->err)) fail_msg("%s", s->err.text);
  mlaf_emu_ops.module_unload(s->dev, k.module);
}

/* Workgroup 0 alone works: a launch that deals little to the machine. The chain's workgroups end at once, and tell nothing. */
TEST_OF(a_short_limit_finds_the_one_workgroup_that_works, snip *s) {
  static char body[1024];
  mlaf_timing whole, brief;
  snprintf(body, sizeof body, "s_mov_b32 s20, 4000\ns_cmp_eq_u32 s2, 0\ns_cselect_b32 s20, s20, 1\nloop:\n"
           "v_add_u32 v9, v0, v0\n%s", loop_end);
  with_and_without_work(s, body, &whole, &brief);
  if (fabs(brief.ns / whole.ns - 1) > 0.02) fail_msg("%.0f ns, all: %.0f ns (%s)", brief.ns, whole.ns, brief.detail);
}

/* All workgroups read the same lines. One alone would have each of them come from memory. */
TEST_OF(a_short_limit_knows_what_siblings_share, snip *s) {
  mlaf_timing whole, brief;
  const char *body = loop("v_lshlrev_b32 v3, 4, v0", 256, "global_load_dwordx4 v[20:23], v3, s[4:5]\nv_add_u32 v3, 0x1000, v3");
  void *big;
  if (mlaf_emu_ops.mem_alloc(s->dev, 4u << 20, &big, &s->err) != MLAF_OK) fail_msg("%s", s->err.text);
  uint32_t *in = s->in;
  s->in = big;
  with_and_without_work(s, body, &whole, &brief);
  s->in = in;
  mlaf_emu_ops.mem_free(s->dev, big, &s->err);
  if (fabs(brief.ns / whole.ns - 1) > 0.02) fail_msg("%.0f ns, all: %.0f ns (%s)", brief.ns, whole.ns, brief.detail);
}

/* --- a busy host --- */

static atomic_int ticks;
static double ticking(void) { return atomic_fetch_add(&ticks, 1); }

/* Wherever the caller's time ends in the middle of a timing, there is the very time of an idle host, or none. */
TEST_OF(the_end_of_the_run_gives_a_whole_time_or_none, snip *s) {
  kernel k;
  static char body[1024];
  snprintf(body, sizeof body, "s_and_b32 s20, s2, 7\ns_lshl_b32 s20, s20, 6\ns_add_u32 s20, s20, 64\nloop:\n"
           "v_add_u32 v9, v0, v0\n%s", loop_end);
  k.fn = snip_load(s, 64, 0, body, &k.module);
  void *args[2] = {s->in, s->out};
  mlaf_launch l = {.fn = k.fn, .grid = {300, 1, 1}, .block = {256, 1, 1}, .args = args, .args_size = sizeof args};
  mlaf_timing idle, busy;
  mlaf_time_opts opts = {.limit_s = 2};
  int whole = 0, none = 0;
  if (mlaf_emu_ops.time(s->dev, &l, 1, &opts, &idle, &s->err)) fail_msg("%s", s->err.text);
  opts.now = ticking;
  for (int end = 0; end < 400; end += end < 30 ? 1 : 30) { /* 0: no end; the clock reads past any limit in seconds */
    opts.deadline = end;
    atomic_store(&ticks, end ? 0 : 1000000);
    mlaf_status st = mlaf_emu_ops.time(s->dev, &l, 1, &opts, &busy, &s->err);
    if (st == MLAF_OK) assert_memory_equal(&busy, &idle, sizeof idle);
    else if (st != MLAF_E_TIMEOUT || !strstr(s->err.text, "the run's time limit ended the timing model"))
      fail_msg("end %d: %s", end, s->err.text);
    whole += st == MLAF_OK, none += st != MLAF_OK;
  }
  if (whole < 2 || none < 20) fail_msg("%d times, %d refusals", whole, none);
  mlaf_emu_ops.module_unload(s->dev, k.module);
}

TESTS(snip_open, snip_close)
