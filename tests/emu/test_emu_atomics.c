/* Every atomic of every address space, one row per operation: 64 lanes with their own memory, random and special values, the
 * form that returns the old value and the one that does not, through global, flat (memory and LDS), buffer, LDS and scalar
 * instructions. Expected values are C on the row's type. */

#include "emu/snippet.h"
#include "half.h"

typedef union word { uint32_t u; int32_t i; float f; uint64_t q; int64_t l; double d; uint16_t h[4]; } word;
typedef word (*op_fn)(word m, word x, word c); /* memory, data, comparand */

#define FN(name, statement) \
  static word name(word m, word x, word c) { word r = m; (void)x, (void)c; statement; return r; }
FN(f_swap, r = x)
FN(f_cas, r = m.u == c.u ? x : m) FN(f_cas64, r = m.q == c.q ? x : m)
FN(f_casf, r = m.f == c.f ? x : m) FN(f_casd, r = m.d == c.d ? x : m)
FN(f_add, r.u = m.u + x.u) FN(f_add64, r.q = m.q + x.q) FN(f_sub, r.u = m.u - x.u) FN(f_sub64, r.q = m.q - x.q)
FN(f_rsub, r.u = x.u - m.u) FN(f_rsub64, r.q = x.q - m.q)
FN(f_smin, r.i = m.i < x.i ? m.i : x.i) FN(f_smin64, r.l = m.l < x.l ? m.l : x.l)
FN(f_smax, r.i = m.i > x.i ? m.i : x.i) FN(f_smax64, r.l = m.l > x.l ? m.l : x.l)
FN(f_umin, r.u = m.u < x.u ? m.u : x.u) FN(f_umin64, r.q = m.q < x.q ? m.q : x.q)
FN(f_umax, r.u = m.u > x.u ? m.u : x.u) FN(f_umax64, r.q = m.q > x.q ? m.q : x.q)
FN(f_and, r.q = m.q & x.q) FN(f_or, r.q = m.q | x.q) FN(f_xor, r.q = m.q ^ x.q)
FN(f_inc, r.u = m.u >= x.u ? 0 : m.u + 1) FN(f_inc64, r.q = m.q >= x.q ? 0 : m.q + 1)
FN(f_dec, r.u = m.u == 0 || m.u > x.u ? x.u : m.u - 1) FN(f_dec64, r.q = m.q == 0 || m.q > x.q ? x.q : m.q - 1)
FN(f_addf, r.f = m.f + x.f) FN(f_minf, r.f = m.f < x.f ? m.f : x.f) FN(f_maxf, r.f = m.f > x.f ? m.f : x.f)
FN(f_addd, r.d = m.d + x.d) FN(f_mind, r.d = m.d < x.d ? m.d : x.d) FN(f_maxd, r.d = m.d > x.d ? m.d : x.d)
/* x: what is set, c: what is cleared first */
FN(f_mskor, r.q = (m.q & ~c.q) | x.q)
FN(f_wrap, r.u = m.u >= c.u ? m.u - c.u : m.u + x.u)
FN(f_cond, for (int k = 0; k < 4; k += 2) if (x.h[k + 1] >> 15) { r.h[k] = x.h[k]; r.h[k + 1] = x.h[k + 1] & 0x7fff; })
static float half(uint16_t h) { return test_half_to_float(h); }
static uint16_t to_half(float f) { return test_half_of(f); }
static float brain(uint16_t h) { word w = {.u = (uint32_t)h << 16}; return w.f; }
/* Nearest even, by distance to the two neighbours. */
static uint16_t to_brain(float f) {
  word w = {.f = f};
  uint16_t low = (uint16_t)(w.u >> 16), rest = (uint16_t)w.u;
  return (uint16_t)(low + (rest > 0x8000 || (rest == 0x8000 && low & 1)));
}
FN(f_pkh, for (int k = 0; k < 2; k++) r.h[k] = to_half(half(m.h[k]) + half(x.h[k])))
FN(f_pkb, for (int k = 0; k < 2; k++) r.h[k] = to_brain(brain(m.h[k]) + brain(x.h[k])))

enum { INT, FLT, DBL, HALF, BRAIN };
typedef struct row { const char *name; int words, kind, operands; op_fn want; } row;

static const row memory_rows[] = {
  {"swap", 1, INT, 1, f_swap}, {"swap_x2", 2, INT, 1, f_swap}, {"cmpswap", 1, INT, 2, f_cas}, {"cmpswap_x2", 2, INT, 2, f_cas64},
  {"add", 1, INT, 1, f_add}, {"add_x2", 2, INT, 1, f_add64}, {"sub", 1, INT, 1, f_sub}, {"sub_x2", 2, INT, 1, f_sub64},
  {"smin", 1, INT, 1, f_smin}, {"smin_x2", 2, INT, 1, f_smin64}, {"smax", 1, INT, 1, f_smax}, {"smax_x2", 2, INT, 1, f_smax64},
  {"umin", 1, INT, 1, f_umin}, {"umin_x2", 2, INT, 1, f_umin64}, {"umax", 1, INT, 1, f_umax}, {"umax_x2", 2, INT, 1, f_umax64},
  {"and", 1, INT, 1, f_and}, {"and_x2", 2, INT, 1, f_and}, {"or", 1, INT, 1, f_or}, {"or_x2", 2, INT, 1, f_or},
  {"xor", 1, INT, 1, f_xor}, {"xor_x2", 2, INT, 1, f_xor}, {"inc", 1, INT, 1, f_inc}, {"inc_x2", 2, INT, 1, f_inc64},
  {"dec", 1, INT, 1, f_dec}, {"dec_x2", 2, INT, 1, f_dec64},
  /* up to here scalar memory has them too */
  {"add_f32", 1, FLT, 1, f_addf}, {"pk_add_f16", 1, HALF, 1, f_pkh}, {"pk_add_bf16", 1, BRAIN, 1, f_pkb},
  {"add_f64", 2, DBL, 1, f_addd}, {"min_f64", 2, DBL, 1, f_mind}, {"max_f64", 2, DBL, 1, f_maxd}};
enum { SCALAR_ROWS = 26, MEMORY_ROWS = sizeof memory_rows / sizeof *memory_rows };

/* name and type apart, because "_rtn" goes between them; NULL:
    no form without it. Compare-and-store takes the comparand first. */
static const struct { const char *name, *type; bool rtn_only; row r; } lds_rows[] = {
  {"add", "u32", false, {"", 1, INT, 1, f_add}}, {"add", "u64", false, {"", 2, INT, 1, f_add64}},
  {"sub", "u32", false, {"", 1, INT, 1, f_sub}}, {"sub", "u64", false, {"", 2, INT, 1, f_sub64}},
  {"rsub", "u32", false, {"", 1, INT, 1, f_rsub}}, {"rsub", "u64", false, {"", 2, INT, 1, f_rsub64}},
  {"inc", "u32", false, {"", 1, INT, 1, f_inc}}, {"inc", "u64", false, {"", 2, INT, 1, f_inc64}},
  {"dec", "u32", false, {"", 1, INT, 1, f_dec}}, {"dec", "u64", false, {"", 2, INT, 1, f_dec64}},
  {"min", "i32", false, {"", 1, INT, 1, f_smin}}, {"min", "i64", false, {"", 2, INT, 1, f_smin64}},
  {"max", "i32", false, {"", 1, INT, 1, f_smax}}, {"max", "i64", false, {"", 2, INT, 1, f_smax64}},
  {"min", "u32", false, {"", 1, INT, 1, f_umin}}, {"min", "u64", false, {"", 2, INT, 1, f_umin64}},
  {"max", "u32", false, {"", 1, INT, 1, f_umax}}, {"max", "u64", false, {"", 2, INT, 1, f_umax64}},
  {"and", "b32", false, {"", 1, INT, 1, f_and}}, {"and", "b64", false, {"", 2, INT, 1, f_and}},
  {"or", "b32", false, {"", 1, INT, 1, f_or}}, {"or", "b64", false, {"", 2, INT, 1, f_or}},
  {"xor", "b32", false, {"", 1, INT, 1, f_xor}}, {"xor", "b64", false, {"", 2, INT, 1, f_xor}},
  {"add", "f32", false, {"", 1, FLT, 1, f_addf}}, {"add", "f64", false, {"", 2, DBL, 1, f_addd}},
  {"min", "f32", false, {"", 1, FLT, 1, f_minf}}, {"min", "f64", false, {"", 2, DBL, 1, f_mind}},
  {"max", "f32", false, {"", 1, FLT, 1, f_maxf}}, {"max", "f64", false, {"", 2, DBL, 1, f_maxd}},
  {"pk_add", "f16", false, {"", 1, HALF, 1, f_pkh}}, {"pk_add", "bf16", false, {"", 1, BRAIN, 1, f_pkb}},
  {"cmpst", "b32", false, {"", 1, INT, 2, f_cas}}, {"cmpst", "b64", false, {"", 2, INT, 2, f_cas64}},
  {"cmpst", "f32", false, {"", 1, FLT, 2, f_casf}}, {"cmpst", "f64", false, {"", 2, DBL, 2, f_casd}},
  {"mskor", "b32", false, {"", 1, INT, 2, f_mskor}}, {"mskor", "b64", false, {"", 2, INT, 2, f_mskor}},
  {"wrxchg", "b32", true, {"", 1, INT, 1, f_swap}}, {"wrxchg", "b64", true, {"", 2, INT, 1, f_swap}},
  {"wrap", "b32", true, {"", 1, INT, 2, f_wrap}}, {"condxchg32", "b64", true, {"", 2, INT, 1, f_cond}}};

/* --- values: in[8 lane ..]: memory, data, comparand, two dwords each --- */
static uint64_t seed = 88172645463325252ull;
static uint32_t rnd(void) {
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return (uint32_t)(seed >> 20);
}
static word value(int kind) {
  static const uint32_t special[] = {0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, 0xfffffffe, 0x80000001};
  word w = {.q = 0};
  int n = (int)(rnd() % 4001) - 2000;
  if (n == 0) n = 7;
  switch (kind) {
    case FLT: w.f = (float)n * 0.375f; break;
    case DBL: w.d = n * 0.1; break;
    case HALF: w.h[0] = to_half((float)n / 16), w.h[1] = to_half((float)(int)(rnd() % 999) - 500.5f); break;
    case BRAIN: w.h[0] = to_brain((float)n / 16), w.h[1] = to_brain((float)(int)(rnd() % 999) - 500.5f); break;
    default:
      w.q = (uint64_t)(rnd() % 3 ? rnd() : special[rnd() % 8]) << 32 | (rnd() % 3 ? rnd() : special[rnd() % 8]);
      if (rnd() % 4 == 0) w.q = rnd() % 3;
  }
  return w;
}
static void fill(snip *s, const row *r) {
  for (uint32_t l = 0; l < 64; l++) {
    word m = value(r->kind), x = value(r->kind), c = l % 2 ? m : value(r->kind);
    const word w[4] = {m, x, c, {.q = 0}};
    memcpy(&s->in[8 * l], w, sizeof w);
  }
}

/* Memory after it at out[2 lane], what came back at out[256 + 2 lane]; 0xcccccccc where nothing did. */
static void check(snip *s, const row *r, const char *text, bool rtn, uint32_t lanes) {
  for (uint32_t l = 0; l < lanes; l++) {
    word w[3], want, mem = {.q = 0}, old = {.q = 0}, mask = {.q = r->words == 2 ? ~0ull : 0xffffffffull};
    memcpy(w, &s->in[8 * l], sizeof w);
    want = r->want(w[0], w[1], w[2]);
    memcpy(&mem, &s->out[2 * l], 4 * (size_t)r->words);
    memcpy(&old, &s->out[256 + 2 * l], 4 * (size_t)r->words);
    uint64_t back = (rtn ? w[0].q : 0xccccccccccccccccull) & mask.q;
    if ((mem.q ^ want.q) & mask.q || old.q != back)
      fail_msg("%s lane %u: memory %016llx, data %016llx, comparand %016llx: got %016llx returned %016llx, want %016llx", text, l,
               (unsigned long long)w[0].q, (unsigned long long)w[1].q, (unsigned long long)w[2].q, (unsigned long long)mem.q,
               (unsigned long long)old.q, (unsigned long long)(want.q & mask.q));
  }
}

/* v[10:11] memory, v[12:13] data, v[14:15] comparand, v[16:19] data then comparand, v3 = 8 * lane, v[20:21] returned. */
#define LOAD                                                                                                         \
  "v_lshlrev_b32 v3, 5, v0\nglobal_load_dwordx4 v[10:13], v3, s[4:5]\nglobal_load_dwordx2 v[14:15], v3, s[4:5] offset:16\n" \
  "v_lshlrev_b32 v3, 3, v0\nv_mov_b32 v20, 0xcccccccc\nv_mov_b32 v21, 0xcccccccc\ns_waitcnt vmcnt(0)\n"
#define STORE "s_waitcnt vmcnt(0) lgkmcnt(0)\nglobal_store_dwordx2 v3, v[20:21], s[6:7] offset:1024\n"

static const char *regs(char *buf, int at, int words) {
  if (words == 1) sprintf(buf, "v%d", at);
  else sprintf(buf, "v[%d:%d]", at, at + words - 1);
  return buf;
}

static void run_memory(snip *s, const row *r, int space, bool rtn) {
  static const char *const name[] = {"global", "flat", "buffer", "flat"};
  char body[2048], op[256], d[32], b[32];
  int data = r->words == 1 ? 16 : 16;
  const char *back = regs(b, 20, r->words), *from = regs(d, data, r->words * r->operands);
  int n = snprintf(body, sizeof body, LOAD "v_mov_b32 v16, v12\nv_mov_b32 v17, %s\n", r->words == 2 ? "v13" : "v14");
  if (r->words == 2) n += snprintf(body + n, sizeof body - (size_t)n, "v_mov_b32 v18, v14\nv_mov_b32 v19, v15\n");
  switch (space) {
    case 0: snprintf(op, sizeof op, "global_atomic_%s %s%sv3, %s, s[6:7]%s\n", r->name, rtn ? back : "", rtn ? ", " : "", from,
                     rtn ? " sc0" : ""); break;
    case 2: snprintf(op, sizeof op, "buffer_atomic_%s %s, v3, s[12:15], 0 offen%s\n%s", r->name, from, rtn ? " sc0" : "",
                     rtn ? "s_waitcnt vmcnt(0)\nv_mov_b32 v20, v16\nv_mov_b32 v21, v17\n" : ""); break;
    default: snprintf(op, sizeof op, "flat_atomic_%s %s%sv[4:5], %s%s\n", r->name, rtn ? back : "", rtn ? ", " : "", from,
                      rtn ? " sc0" : "");
  }
  if (space == 3)
    n += snprintf(body + n, sizeof body - (size_t)n, "ds_write_b64 v3, v[10:11]\ns_mov_b64 s[20:21], src_shared_base\n"
                  "v_mov_b32 v4, v3\nv_mov_b32 v5, s21\ns_waitcnt lgkmcnt(0)\n");
  else
    n += snprintf(body + n, sizeof body - (size_t)n, "global_store_dwordx2 v3, v[10:11], s[6:7]\nv_add_co_u32 v4, vcc, s6, v3\n"
                  "v_mov_b32 v5, s7\ns_nop 1\nv_addc_co_u32 v5, vcc, 0, v5, vcc\ns_mov_b32 s12, s6\ns_mov_b32 s13, s7\n"
                  "s_waitcnt vmcnt(0)\n");
  n += snprintf(body + n, sizeof body - (size_t)n, "%s%s", op, STORE);
  if (space == 3)
    snprintf(body + n, sizeof body - (size_t)n, "ds_read_b64 v[10:11], v3\ns_waitcnt lgkmcnt(0)\n"
             "global_store_dwordx2 v3, v[10:11], s[6:7]\n");
  fill(s, r);
  snip_ok(s, 1, 512, body);
  snprintf(op, sizeof op, "%s_atomic_%s%s%s", name[space], r->name, rtn ? " sc0" : "", space == 3 ? " in LDS" : "");
  check(s, r, op, rtn, 64);
}

TEST(memory_atomics) {
  for (int i = 0; i < MEMORY_ROWS; i++)
    for (int space = 0; space < 4; space++)
      for (int rtn = 0; rtn < 2; rtn++) {
        if (space == 2 && strcmp(memory_rows[i].name, "pk_add_bf16") == 0) continue; /* buffers have none on gfx942 */
        run_memory(*state, &memory_rows[i], space, rtn);
      }
}

TEST_OF(lds_atomics, snip *s) {
  for (size_t i = 0; i < sizeof lds_rows / sizeof *lds_rows; i++)
    for (int rtn = lds_rows[i].rtn_only; rtn < 2; rtn++) {
      const row *r = &lds_rows[i].r;
      char body[2048], text[160], x[32], y[32], b[32];
      const char *first = regs(x, r->operands == 2 ? 14 : 12, r->words), *second = regs(y, 12, r->words);
      snprintf(text, sizeof text, "ds_%s%s_%s %s%sv3, %s%s%s", lds_rows[i].name, rtn ? "_rtn" : "", lds_rows[i].type,
               rtn ? regs(b, 20, r->words) : "", rtn ? ", " : "", first, r->operands == 2 ? ", " : "",
               r->operands == 2 ? second : "");
      snprintf(body, sizeof body, LOAD "ds_write_b64 v3, v[10:11] offset:64\n%s offset:64\n" STORE
               "ds_read_b64 v[10:11], v3 offset:64\ns_waitcnt lgkmcnt(0)\nglobal_store_dwordx2 v3, v[10:11], s[6:7]\n", text);
      fill(s, r);
      snip_ok(s, 1, 1024, body);
      check(s, r, text, rtn, 64);
    }
}

/* Scalar memory: 16 "lanes" one after the other, plain and through a descriptor. */
TEST_OF(scalar_atomics, snip *s) {
  for (int i = 0; i < SCALAR_ROWS; i++)
    for (int form = 0; form < 4; form++) {
      const row *r = &memory_rows[i];
      bool buffer = form & 1, rtn = form & 2;
      char body[16384], text[128];
      int n = 0, last = 23 + r->words * r->operands;
      fill(s, r);
      if (last == 24) snprintf(text, sizeof text, "s_%satomic_%s s24, ", buffer ? "buffer_" : "", r->name);
      else snprintf(text, sizeof text, "s_%satomic_%s s[24:%d], ", buffer ? "buffer_" : "", r->name, last);
      n = snprintf(body, sizeof body, "s_mov_b32 s12, s6\ns_mov_b32 s13, s7\ns_mov_b64 s[40:41], s[6:7]\n");
      for (int l = 0; l < 16; l++)
        n += snprintf(body + n, sizeof body - (size_t)n,
                      "s_load_dwordx4 s[16:19], s[4:5], 0x%x\ns_load_dwordx2 s[20:21], s[4:5], 0x%x\ns_waitcnt lgkmcnt(0)\n"
                      "s_store_dwordx2 s[16:17], s[40:41], 0x%x\ns_mov_b64 s[24:25], s[18:19]\n%s\ns_mov_b64 s[26:27], s[20:21]\n"
                      "s_waitcnt lgkmcnt(0)\n%s%s, 0x%x%s\ns_waitcnt lgkmcnt(0)\n%s"
                      "s_store_dwordx2 s[24:25], s[40:41], 0x%x\ns_waitcnt lgkmcnt(0)\n",
                      32 * l, 32 * l + 16, 8 * l, r->words == 1 && r->operands == 2 ? "s_mov_b32 s25, s20" : "", text,
                      buffer ? "s[12:15]" : "s[40:41]", 8 * l, rtn ? " glc" : "",
                      rtn ? "" : "s_mov_b32 s24, 0xcccccccc\ns_mov_b32 s25, 0xcccccccc\n", 1024 + 8 * l);
      snip_ok(s, 1, 0, body);
      check(s, r, text, rtn, 16);
    }
}

TESTS(snip_open, snip_close)
