/* Random programs of divergent control flow (loops, break and continue in ifs, switches, early returns), compiled by hiprtc at
 * three levels and run with every rule on, against this file's own evaluation of the same tree. Nothing in them is undefined, so
 * any fault is a false alarm and any difference an error of the emulator (or of the compiler). MLAF_RANDOM=N: seed N and more of
 * them. */
#include "hip_rig.h"

enum { VARS = 6, NODES = 4096, THREADS = 192, PER_SOURCE = 20, MAX_DEPTH = 4 };

/* --- the tree --- */

typedef enum kind {
  E_VAR, E_CONST, E_ADD, E_SUB, E_MUL, E_XOR, E_AND, E_OR, E_SHL, E_SHR, E_DIV, E_MOD, E_LESS, E_EQUAL, E_BOTH, E_EITHER, E_PICK,
  E_COUNT,
  S_SET, S_IF, S_FOR, S_WHILE, S_SWITCH, S_BREAK, S_CONTINUE, S_RETURN
} kind;
typedef struct node {
  kind kind;
  uint32_t value;        /* E_CONST; variable of E_VAR and S_SET; number of a loop */
  struct node *a, *b, *c; /* operands; condition, then, else; bodies of cases */
  struct node *next;     /* statement behind this one */
} node;

static node pool[NODES];
static size_t used;
static uint64_t seed;
static bool divides; /* gfx90a's division wants v_mad_f32 */
static uint32_t rnd(uint32_t n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(seed >> 33) % n;
}

static node *make(kind k, uint32_t value, node *a, node *b, node *c) {
  assert_true(used < NODES);
  pool[used] = (node){k, value, a, b, c, NULL};
  return &pool[used++];
}

static node *expression(int depth) {
  if (depth == 0 || rnd(4) == 0) return rnd(3) ? make(E_VAR, rnd(VARS), NULL, NULL, NULL) : make(E_CONST, rnd(64), NULL, NULL,
                                                                                                 NULL);
  kind k = (kind)(E_ADD + rnd(E_COUNT - E_ADD));
  if (!divides && (k == E_DIV || k == E_MOD)) k = E_MUL;
  return make(k, 0, expression(depth - 1), expression(depth - 1), k == E_PICK ? expression(depth - 1) : NULL);
}

static node *block(int depth, bool in_loop, bool breaks);

static node *statement(int depth, bool in_loop, bool breaks) {
  uint32_t what = rnd(depth > 0 ? 10 : 3), number = (uint32_t)used;
  if (what < 3) return make(S_SET, rnd(VARS), expression(3), NULL, NULL);
  if (what < 6) return make(S_IF, 0, expression(2), block(depth - 1, in_loop, breaks),
                            rnd(2) ? block(depth - 1, in_loop, breaks) : NULL);
  if (what < 7) return make(S_FOR, number, expression(1), block(depth - 1, true, true), NULL);
  if (what < 8) return make(S_WHILE, number, expression(2), block(depth - 1, true, true), NULL);
  if (what < 9) return make(S_SWITCH, 0, expression(2), block(depth - 1, in_loop, true), block(depth - 1, in_loop, true));
  if (breaks && rnd(2)) return make(S_BREAK, 0, NULL, NULL, NULL);
  if (in_loop) return make(S_CONTINUE, 0, NULL, NULL, NULL);
  return rnd(4) ? make(S_SET, rnd(VARS), expression(2), NULL, NULL) : make(S_RETURN, 0, NULL, NULL, NULL);
}

static node *block(int depth, bool in_loop, bool breaks) {
  node *first = NULL, **at = &first;
  for (uint32_t n = 1 + rnd(3); n--;) {
    *at = statement(depth, in_loop, breaks);
    kind k = (*at)->kind;
    if (k == S_BREAK || k == S_CONTINUE || k == S_RETURN) break; /* nothing behind it is reached */
    at = &(*at)->next;
  }
  return first;
}

/* --- as C --- */

static const char *const infix[E_COUNT] = {[E_ADD] = "+", [E_SUB] = "-", [E_MUL] = "*", [E_XOR] = "^", [E_AND] = "&",
    [E_OR] = "|",
                                           [E_LESS] = "<", [E_EQUAL] = "==", [E_BOTH] = "&&", [E_EITHER] = "||"};

static void print_expression(mlaf_text *t, const node *e) {
  static const char *const around[E_COUNT][2] = {[E_SHL] = {"<<", "& 31u"}, [E_SHR] = {">>", "& 31u"}, [E_DIV] = {"/", "| 1u"},
                                                 [E_MOD] = {"%", "| 1u"}};
  if (e->kind == E_VAR) return mlaf_text_fmt(t, "v%u", e->value);
  if (e->kind == E_CONST) return mlaf_text_fmt(t, "%uu", e->value);
  mlaf_text_str(t, e->kind >= E_LESS && e->kind <= E_EITHER ? "(u32)(" : "(");
  print_expression(t, e->a);
  if (e->kind == E_PICK) mlaf_text_str(t, " ? ");
  else mlaf_text_fmt(t, " %s ", infix[e->kind] ? infix[e->kind] : around[e->kind][0]);
  if (around[e->kind][0]) mlaf_text_str(t, "(");
  print_expression(t, e->b);
  if (around[e->kind][0]) mlaf_text_fmt(t, " %s)", around[e->kind][1]);
  if (e->kind == E_PICK) mlaf_text_str(t, " : "), print_expression(t, e->c);
  mlaf_text_str(t, ")");
}

static void print_block(mlaf_text *t, const node *s);

static void print_statement(mlaf_text *t, const node *s) {
  static const char *const words[] = {[S_BREAK] = "break;\n", [S_CONTINUE] = "continue;\n", [S_RETURN] = "goto done;\n"};
  switch (s->kind) {
    case S_SET: mlaf_text_fmt(t, "v%u = ", s->value); print_expression(t, s->a); mlaf_text_str(t, ";\n"); return;
    case S_IF: mlaf_text_str(t, "if ("); print_expression(t, s->a); mlaf_text_str(t, ") {\n"); print_block(t, s->b); break;
    case S_FOR: mlaf_text_fmt(t, "for (u32 i%u = 0; i%u < (7u & ", s->value, s->value); print_expression(t, s->a);
      mlaf_text_fmt(t, "); i%u++) {\n", s->value); print_block(t, s->b); break;
    case S_WHILE: mlaf_text_fmt(t, "for (u32 i%u = 0; (", s->value); print_expression(t, s->a);
      mlaf_text_fmt(t, ") && i%u < 5; i%u++) {\n", s->value, s->value); print_block(t, s->b); break;
    case S_SWITCH: mlaf_text_str(t, "switch (3u & "); print_expression(t, s->a); mlaf_text_str(t, ") {\ncase 0: {\n");
        print_block(t, s->b);
      mlaf_text_str(t, "} break;\ncase 1: v0 += 5;\ndefault: {\n"); print_block(t, s->c); mlaf_text_str(t, "} }\n"); return;
    default: mlaf_text_str(t, words[s->kind]); return;
  }
  if (s->c) mlaf_text_str(t, "} else {\n"), print_block(t, s->c);
  mlaf_text_str(t, "}\n");
}

static void print_block(mlaf_text *t, const node *s) {
  for (; s; s = s->next) print_statement(t, s);
}

/* --- as it should be --- */

static uint32_t value(const node *e, const uint32_t *v) {
  if (e->kind == E_VAR) return v[e->value];
  if (e->kind == E_CONST) return e->value;
  uint32_t a = value(e->a, v);
  if (e->kind == E_PICK) return value(a ? e->b : e->c, v);
  uint32_t b = value(e->b, v);
  switch (e->kind) {
    case E_ADD: return a + b;
    case E_SUB: return a - b;
    case E_MUL: return a * b;
    case E_XOR: return a ^ b;
    case E_AND: return a & b;
    case E_OR: return a | b;
    case E_SHL: return a << (b & 31);
    case E_SHR: return a >> (b & 31);
    case E_DIV: return a / (b | 1);
    case E_MOD: return a % (b | 1);
    case E_LESS: return a < b;
    case E_EQUAL: return a == b;
    case E_BOTH: return a && b;
    default: return a || b;
  }
}

typedef enum flow { ON, BREAK, CONTINUE, RETURN } flow;
static flow run(const node *s, uint32_t *v);

static flow run_loop(const node *s, uint32_t *v) {
  for (uint32_t i = 0; s->kind == S_FOR ? i < (7 & value(s->a, v)) : value(s->a, v) && i < 5; i++) {
    flow f = run(s->b, v);
    if (f == BREAK) return ON;
    if (f == RETURN) return f;
  }
  return ON;
}

static flow run_switch(const node *s, uint32_t *v) {
  uint32_t which = 3 & value(s->a, v);
  if (which == 1) v[0] += 5;
  flow f = run(which == 0 ? s->b : s->c, v);
  return f == BREAK ? ON : f;
}

static flow run(const node *s, uint32_t *v) {
  for (; s; s = s->next) {
    flow f = ON;
    if (s->kind == S_SET) v[s->value] = value(s->a, v);
    else if (s->kind == S_IF) f = run(value(s->a, v) ? s->b : s->c, v);
    else if (s->kind == S_SWITCH) f = run_switch(s, v);
    else if (s->kind == S_FOR || s->kind == S_WHILE) f = run_loop(s, v);
    else f = s->kind == S_BREAK ? BREAK : s->kind == S_CONTINUE ? CONTINUE : RETURN;
    if (f != ON) return f;
  }
  return ON;
}

/* --- programs --- */

static node *programs[PER_SOURCE];

static void write_source(mlaf_text *t) {
  used = 0;
  mlaf_text_str(t, "typedef unsigned u32;\n");
  for (int i = 0; i < PER_SOURCE; i++) {
    size_t before = used;
    do used = before, programs[i] = block(MAX_DEPTH, false, false);
    while (used - before < 30 || used - before > 180);
    mlaf_text_fmt(t, "extern \"C\" __global__ void p%d(const u32 *in, u32 *out) {\nu32 t = blockIdx.x * blockDim.x +"
                     " threadIdx.x;\n", i);
    for (int k = 0; k < VARS; k++) mlaf_text_fmt(t, "u32 v%d = in[t * %d + %d];\n", k, VARS, k);
    mlaf_text_str(t, "{\n");
    print_block(t, programs[i]);
    mlaf_text_str(t, "}\ndone:\n");
    for (int k = 0; k < VARS; k++) mlaf_text_fmt(t, "out[t * %d + %d] = v%d;\n", VARS, k, k);
    mlaf_text_str(t, "}\n");
  }
}

static void check_program(hip_rig *r, int i, const char *where, const char *text) {
  uint32_t *in = hip_rig_buffer(r, THREADS * VARS * 4), *out = hip_rig_buffer(r, THREADS * VARS * 4);
  const void *args[2] = {in, out};
  char name[16];
  for (int k = 0; k < THREADS * VARS; k++) in[k] = rnd(4) ? rnd(20) : rnd(1u << 31);
  snprintf(name, sizeof name, "p%d", i);
  if (hip_rig_try(r, name, 2, THREADS / 2, args, sizeof args, NULL)) fail_msg("%s, %s: %s\n%s", where, name, r->err.text, text);
  for (int t = 0; t < THREADS; t++) {
    uint32_t v[VARS];
    memcpy(v, in + t * VARS, sizeof v);
    run(programs[i], v);
    if (memcmp(v, out + t * VARS, sizeof v)) fail_msg("%s, %s: thread %d differs\n%s", where, name, t, text);
  }
}

TEST(random_programs) {
  static const struct { const mlaf_device_ops *ops; const char *target; } devices[] = {
      {&mlaf_emu_ops, "gfx942"}, {&mlaf_emu_gfx950_ops, "gfx950"}, {&mlaf_emu_gfx90a_ops, "gfx90a"}};
  static const char *const levels[] = {"-O0", "-O1", "-O3"};
  const char *more = getenv("MLAF_RANDOM");
  int rounds = more ? 10 : 1;
  for (int round = 0; round < rounds; round++)
    for (int d = 0; d < 3; d++)
      for (int l = 0; l < 3; l++) {
        mlaf_text t = MLAF_TEXT_INIT(1 << 20);
        char where[64];
        hip_rig r;
        bool private_memory = d < 2; /* emu:gfx90a has none, and unoptimised code wants it */
        if (!private_memory && l == 0) continue;
        divides = d < 2;
        seed = (more ? strtoull(more, NULL, 10) : 1) * 1000 + (uint64_t)round * 10 + (uint64_t)(3 * d + l);
        snprintf(where, sizeof where, "seed %llu, %s %s", (unsigned long long)seed, devices[d].target, levels[l]);
        write_source(&t);
        hip_rig_open(&r, devices[d].ops, devices[d].target, levels[l], t.data);
        for (int i = 0; i < PER_SOURCE; i++) check_program(&r, i, where, more ? "" : t.data);
        hip_rig_close(&r);
        mlaf_text_free(&t);
      }
}

TESTS(NULL, NULL)
