/* Random programs, each as a HIP kernel and as C for the host: integers of 32 and 64 bits, f32 and f64, private arrays, nested
 * loops with break and continue, divergent ifs, switches; between such stretches the threads of a block meet: LDS, shuffles,
 * ballots, atomics. Made of the same statements, and of nothing that the two languages may compute differently: no signed
 * overflow, shifts and divisors in range, conversions that fit, no contraction, no functions of libm but sqrt and fabs. A program
 * is its seed. */
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include "base/base.h"

enum { RH_THREADS = 192, RH_INPUTS = 64, RH_OUTPUTS = 24 /* words a thread */ };

typedef struct rh {
  uint64_t seed;
  mlaf_text *hip, *host;
  int depth, budget, loops;
} rh;

static inline uint32_t rh_next(rh *g) {
  g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(g->seed >> 33);
}
static inline int rh_pick(rh *g, int n) { return (int)(rh_next(g) % (uint32_t)n); }

static inline void rh_both(rh *g, const char *fmt, ...) MLAF_PRINTF(2, 3);
static inline void rh_both(rh *g, const char *fmt, ...) {
  char line[8192];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  mlaf_text_str(g->hip, line);
  mlaf_text_str(g->host, line);
}

/* snprintf without the compiler's arithmetic on what might be cut: expressions are bounded by their depth. */
static inline void rh_text(char *to, size_t size, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(to, size, fmt, ap);
  va_end(ap);
}

/* --- expressions: into `to`, at most `size`; types u (32), l (64), f, d. A thread's variables are V(name). --- */
static inline void rh_expr(rh *g, char type, int depth, char *to, size_t size);

static inline void rh_leaf(rh *g, char type, char *to, size_t size) {
  static const char *const ints[] = {"0u", "1u", "0xffffffffu", "0x80000000u", "0x7fffffffu", "31u", "12345u", "0x55aa55aau"};
  static const char *const floats[] = {"0.0", "1.0", "-0.5", "1e20", "3.25", "-7.0", "1e-20", "0.1"};
  int k = rh_pick(g, 8);
  if (type == 'u') {
    if (k < 4) rh_text(to, size, "V(u%d)", rh_pick(g, 4));
    else if (k == 4) rh_text(to, size, "V(p)[%uu + (V(u%d) & 3u)]", 4u * (uint32_t)rh_pick(g, 2), rh_pick(g, 4));
    else if (k == 5) rh_text(to, size, "in[(V(u%d) + T) %% %du]", rh_pick(g, 4), RH_INPUTS);
    else if (k == 6) rh_text(to, size, "T");
    else rh_text(to, size, "%s", ints[rh_pick(g, 8)]);
  } else if (type == 'l') {
    if (k < 5) rh_text(to, size, "V(l%d)", rh_pick(g, 2));
    else rh_text(to, size, "(u64)V(u%d)", rh_pick(g, 4));
  } else {
    if (k < 5) rh_text(to, size, "V(%c%d)", type, rh_pick(g, 2));
    else if (k == 5) rh_text(to, size, "(%s)(int)(V(u%d) & 0xffffu)", type == 'f' ? "float" : "double", rh_pick(g, 4));
    else rh_text(to, size, "%s%s", floats[rh_pick(g, 8)], type == 'f' ? "f" : "");
  }
}

static inline void rh_expr(rh *g, char type, int depth, char *to, size_t size) {
  char a[2048], b[2048], c[512];
  if (depth == 0 || rh_pick(g, 5) == 0) {
    rh_leaf(g, type, to, size);
    return;
  }
  if (type == 'u' && rh_pick(g, 6) == 0) { /* a comparison */
    static const char *const cmp[] = {"<", "<=", "==", "!="};
    const char of = "uulfd"[rh_pick(g, 5)];
    rh_expr(g, of, depth - 1, a, sizeof a), rh_expr(g, of, depth - 1, b, sizeof b);
    rh_text(to, size, "(u32)(%s %s %s)", a, cmp[rh_pick(g, 4)], b);
    return;
  }
  rh_expr(g, type, depth - 1, a, sizeof a), rh_expr(g, type, depth - 1, b, sizeof b);
  if (type == 'u' || type == 'l') {
    static const char *const plain[] = {"+", "-", "*", "&", "|", "^"};
    const char *word = type == 'u' ? "u32" : "u64", *one = type == 'u' ? "1u" : "1ull";
    int bits = type == 'u' ? 31 : 63;
    switch (rh_pick(g, 11)) {
      case 0: rh_text(to, size, "(%s << (int)(%s & %d))", a, b, bits); break;
      case 1: rh_text(to, size, "(%s >> (int)(%s & %d))", a, b, bits); break;
      case 2: rh_text(to, size, "(%s)(%s(%s) >> (int)(%s & %d))", word, type == 'u' ? "(int)" : "(s64)", a, b, bits); break;
      case 3: rh_text(to, size, "(%s / DIVISOR(%s | %s))", a, b, one); break;
      case 4: rh_text(to, size, "(%s %% DIVISOR(%s | %s))", a, b, one); break;
      case 5: rh_text(to, size, "(%s ? %s : ~%s)", (rh_expr(g, 'u', 1, c, sizeof c), c), a, b); break;
      case 6: rh_text(to, size, "(%s)(u64)((u64)(%s) * (u64)(%s) >> 7)", word, a, b); break;
      default: rh_text(to, size, "(%s %s %s)", a, plain[rh_pick(g, 6)], b); break;
    }
    return;
  }
  const char *suffix = type == 'f' ? "f" : "";
  switch (rh_pick(g, 8)) {
    case 0: rh_text(to, size, "(%s / %s)", a, b); break;
    case 1: rh_text(to, size, "ROOT%s(%s)", suffix, a); break;
    case 2: rh_text(to, size, "(%s ? %s : -(%s))", (rh_expr(g, 'u', 1, c, sizeof c), c), a, b); break;
    case 3:
      rh_text(to, size, "(%s)(%s)", type == 'f' ? "float" : "double", (rh_leaf(g, type == 'f' ? 'd' : 'f', c, sizeof c), c));
      break;
    case 4: rh_text(to, size, "(%s - %s)", a, b); break;
    case 5: rh_text(to, size, "(%s * %s)", a, b); break;
    default: rh_text(to, size, "(%s + %s)", a, b); break;
  }
}

/* --- statements --- */
static inline void rh_block(rh *g, int n);

static inline void rh_assign(rh *g) {
  static const char types[] = "uuulfd";
  char e[4096], type = types[rh_pick(g, 6)];
  rh_expr(g, type, 1 + rh_pick(g, 3), e, sizeof e);
  if (type == 'u' && rh_pick(g, 4) == 0) rh_both(g, "V(p)[V(u%d) & 7u] = %s;\n", rh_pick(g, 4), e);
  else rh_both(g, "V(%c%d) = %s;\n", type, rh_pick(g, type == 'u' ? 4 : 2), e);
}

static inline void rh_loop(rh *g) {
  int id = g->loops++, times = 1 + rh_pick(g, 6);
  char e[2048];
  rh_expr(g, 'u', 1, e, sizeof e);
  if (rh_pick(g, 2)) rh_both(g, "for (u32 i%d = 0; i%d < 1u + (%s) %% %du; i%d++) {\n", id, id, e, (unsigned)times, id);
  else rh_both(g, "for (u32 i%d = 0; i%d < %du && (%s) != 77u; i%d++) {\n", id, id, (unsigned)times, e, id);
  rh_both(g, "V(u%d) += i%d;\n", rh_pick(g, 4), id);
  rh_block(g, 1 + rh_pick(g, 3));
  if (rh_pick(g, 2)) {
    rh_expr(g, 'u', 1, e, sizeof e);
    rh_both(g, "if ((%s) & 1u) %s;\n", e, rh_pick(g, 2) ? "break" : "continue");
    rh_block(g, 1);
  }
  rh_both(g, "}\n");
}

static inline void rh_statement(rh *g) {
  char e[2048];
  int k = g->depth >= 4 || g->budget-- <= 0 ? 9 : rh_pick(g, 10);
  g->depth++;
  if (k < 2) {
    rh_loop(g);
  } else if (k < 4) {
    rh_expr(g, 'u', 2, e, sizeof e);
    rh_both(g, "if (%s) {\n", e);
    rh_block(g, 1 + rh_pick(g, 2));
    if (rh_pick(g, 2)) rh_both(g, "} else {\n"), rh_block(g, 1 + rh_pick(g, 2));
    rh_both(g, "}\n");
  } else if (k == 4) {
    rh_expr(g, 'u', 1, e, sizeof e);
    rh_both(g, "switch ((%s) & 3u) {\ncase 0:\n", e);
    rh_block(g, 1);
    rh_both(g, "break;\ncase 1:\n");
    rh_block(g, 1);
    rh_both(g, "default:\n");
    rh_block(g, 1);
    rh_both(g, "}\n");
  } else {
    rh_assign(g);
  }
  g->depth--;
}

static inline void rh_block(rh *g, int n) {
  for (int i = 0; i < n; i++) rh_statement(g);
}

/* --- where threads meet. The host does it in passes over all threads. --- */
static inline void rh_pass(rh *g, const char *hip, const char *host) {
  mlaf_text_str(g->hip, hip);
  mlaf_text_str(g->host, host);
}

static inline void rh_meet(rh *g) {
  char e[2048], line[4096];
  int k = rh_pick(g, 6), v = rh_pick(g, 4), step = 1 + rh_pick(g, 191);
  rh_expr(g, 'u', 2, e, sizeof e);
  rh_pass(g, "", "} ALL {\n"); /* what stood before is over for every thread */
  switch (k) {
    case 0: /* everybody's word through LDS */
      rh_both(g, "sh[T] = %s;\n", e);
      rh_pass(g, "__syncthreads();\n", "} ALL {\n");
      rh_both(g, "V(u%d) ^= sh[(T * 5u + %du) %% %du];\n", v, (unsigned)step, RH_THREADS);
      rh_pass(g, "__syncthreads();\n", "");
      break;
    case 1: /* a histogram */
      rh_pass(g, "if (T < 16u) sh[T] = 0;\n__syncthreads();\n", "if (T < 16u) sh[T] = 0;\n} ALL {\n");
      snprintf(line, sizeof line, "atomicAdd(&sh[V(u%d) & 15u], %s);\n__syncthreads();\n", v, e);
      mlaf_text_str(g->hip, line);
      snprintf(line, sizeof line, "sh[V(u%d) & 15u] += %s;\n} ALL {\n", v, e);
      mlaf_text_str(g->host, line);
      rh_both(g, "V(u%d) += sh[T & 15u];\n", rh_pick(g, 4));
      rh_pass(g, "__syncthreads();\n", "");
      break;
    case 2: /* a ballot */
      snprintf(line, sizeof line, "V(l0) ^= __ballot((%s) & 1u);\n", e);
      mlaf_text_str(g->hip, line);
      snprintf(line, sizeof line,
               "sh[T] = (%s) & 1u;\n} ALL {\nu64 m = 0;\nfor (u32 j = 0; j < 64; j++) m |= (u64)sh[(T & ~63u) + j] << j;\n"
               "V(l0) ^= m;\n",
               e);
      mlaf_text_str(g->host, line);
      break;
    default: { /* a shuffle: from any lane, from a neighbour, from further down */
      static const char *const hip[] = {"__shfl(x, (int)((T * 7u + %du) & 63u))", "__shfl_xor(x, %d)", "__shfl_down(x, %d)"};
      static const char *const host[] = {"sh[(T & ~63u) + ((T * 7u + %du) & 63u)]", "sh[T ^ %du]",
                                         "sh[(T & 63u) + %du < 64u ? T + %du : T]"};
      unsigned n = (unsigned)(k == 3 ? step : 1 + rh_pick(g, 31));
      snprintf(line, sizeof line, "{ u32 x = %s; V(u%d) += ", e, v);
      mlaf_text_str(g->hip, line);
      mlaf_text_fmt(g->hip, hip[k - 3], n);
      mlaf_text_str(g->hip, "; }\n");
      snprintf(line, sizeof line, "sh[T] = %s;\n} ALL {\nV(u%d) += ", e, v);
      mlaf_text_str(g->host, line);
      mlaf_text_fmt(g->host, host[k - 3], n, n);
      mlaf_text_str(g->host, ";\n");
      break;
    }
  }
  rh_pass(g, "", "} ALL {\n");
}

/* Without optimization LLVM before its pull request 196418 (ROCm 6.4's too) divides unsigned words wrongly: with 9 or more equal
 * bits at the top of both operands it takes them for small, ones as well as zeros, and goes through f32: 0xffffffffu / (T | 1u)
 * becomes 0x4f800000 * v_rcp_f32(T | 1), ANDed with 0x3ff. DIVISOR hides the divisor's bits from it, and hence that way is not
 * taken; the optimizer's own expansion looks at known zeros, so it keeps the plain operator. */
static const char rh_hip_head[] =
    "typedef unsigned u32; typedef unsigned long long u64; typedef long long s64;\n"
    "#define V(x) x\n#define T ((u32)threadIdx.x)\n#define ROOTf(x) __builtin_sqrtf(__builtin_fabsf(x))\n"
    "#define ROOT(x) __builtin_sqrt(__builtin_fabs(x))\n"
    "#ifdef __OPTIMIZE__\n#define DIVISOR(x) (x)\n#else\n#define DIVISOR(x) hidden(x)\n#endif\n"
    "__device__ __attribute__((always_inline)) inline u32 hidden(u32 x) { asm(\"\" : \"+v\"(x)); return x; }\n"
    "__device__ __attribute__((always_inline)) inline u64 hidden(u64 x) { asm(\"\" : \"+v\"(x)); return x; }\n"
    "__device__ u32 bits_f(float x) { return x != x ? 0x7fc00000u : __builtin_bit_cast(u32, x); }\n"
    "__device__ u64 bits_d(double x) { return x != x ? 0x7ff8000000000000ull : __builtin_bit_cast(u64, x); }\n";
static const char rh_host_head[] =
    "#include <math.h>\n#include <string.h>\ntypedef unsigned u32; typedef unsigned long long u64; typedef long long s64;\n"
    "#define DIVISOR(x) (x)\n"
    "typedef struct thread { u32 u0, u1, u2, u3, p[8]; u64 l0, l1; float f0, f1; double d0, d1; } thread;\n"
    "enum { N = 192 };\n#define V(x) t[T].x\n#define ALL for (u32 T = 0; T < N; T++)\n#define ROOTf(x) sqrtf(fabsf(x))\n#define "
    "ROOT(x) sqrt(fabs(x))\n"
    "static u32 bits_f(float x) { u32 u; memcpy(&u, &x, 4); return x != x ? 0x7fc00000u : u; }\n"
    "static u64 bits_d(double x) { u64 u; memcpy(&u, &x, 8); return x != x ? 0x7ff8000000000000ull : u; }\n";

/* Program `seed`, appended to both sources: kernel and function r<seed>(in, out). */
static inline void rh_program(uint64_t seed, mlaf_text *hip, mlaf_text *host) {
  rh g = {.seed = seed * 7919 + 1, .hip = hip, .host = host};
  mlaf_text_fmt(hip,
                "extern \"C\" __global__ void __launch_bounds__(%d) r%llu(const u32* in, u32* out) {\n  __shared__ u32 sh[%d];\n"
                "u32 u0, u1, u2, u3, p[8]; u64 l0, l1; float f0, f1; double d0, d1;\n{\n",
                RH_THREADS, (unsigned long long)seed, RH_THREADS);
  mlaf_text_fmt(host, "void r%llu(const u32 *in, u32 *out) {\nstatic thread t[N]; static u32 sh[N];\nALL {\n",
                (unsigned long long)seed);
  rh_both(&g, "V(u0) = in[T %% %du]; V(u1) = T * 2654435761u; V(u2) = 3u; V(u3) = ~T;\n", RH_INPUTS);
  rh_both(&g, "for (u32 i = 0; i < 8; i++) V(p)[i] = V(u0) >> i;\n");
  rh_both(&g,
          "V(l0) = (u64)V(u0) << 17 | V(u3); V(l1) = 1; V(f0) = (float)(int)(V(u0) & 1023u) * 0.25f; V(f1) = 1.5f; V(d0) = "
          "V(f0); V(d1) = -2.0;\n");
  int parts = 2 + rh_pick(&g, 4);
  for (int i = 0; i < parts; i++) {
    g.budget = 12;
    rh_block(&g, 3 + rh_pick(&g, 4));
    if (i + 1 < parts) rh_meet(&g);
  }
  rh_pass(&g, "", "} ALL {\n");
  rh_both(&g,
          "u32 *o = out + %du * T;\nu64 w;\no[0] = V(u0); o[1] = V(u1); o[2] = V(u2); o[3] = V(u3); o[4] = bits_f(V(f0)); o[5] = "
          "bits_f(V(f1));\n"
          "w = bits_d(V(d0)); o[6] = (u32)w; o[7] = (u32)(w >> 32); w = bits_d(V(d1)); o[8] = (u32)w; o[9] = (u32)(w >> 32);\n"
          "o[10] = (u32)V(l0); o[11] = (u32)(V(l0) >> 32); o[12] = (u32)V(l1); o[13] = (u32)(V(l1) >> 32);\n"
          "for (u32 i = 0; i < 8; i++) o[14 + i] = V(p)[i];\no[22] = o[23] = 0;\n}\n}\n",
          RH_OUTPUTS);
}

static inline void rh_input(uint64_t seed, uint32_t in[RH_INPUTS]) {
  rh g = {.seed = seed + 99};
  for (int i = 0; i < RH_INPUTS; i++) in[i] = rh_next(&g) ^ rh_next(&g) << 9;
}
