/* The generator's functions for C: arguments to Lua tables, Lua tables to structs. */
#include <lauxlib.h>

#include "gen/host.h"
#include "gen/memo.h"

static void kernel_clear(mlaf_kernel_desc *k) {
  free(k->template_name);
  free(k->params);
}

void mlaf_variant_clear(mlaf_variant *v) {
  if (!v) return;
  free(v->name);
  free(v->rejected);
  for (int i = 0; i < MLAF_STAGES_MAX; i++) kernel_clear(&v->kernels[i]);
  *v = (mlaf_variant){0};
}

void mlaf_variants_free(mlaf_variant *list, size_t n) {
  for (size_t i = 0; list && i < n; i++) mlaf_variant_clear(&list[i]);
  free(list);
}

/* --- Lua tables to structs; the table is at the top of the stack --- */

/* Optional string field as malloc'ed text, NULL when nil. */
static char *field_text(lua_State *L, const char *name) {
  char *text = NULL;
  if (lua_getfield(L, -1, name) == LUA_TSTRING && !(text = mlaf_strdup(lua_tostring(L, -1))))
    mlaf_gen_no_memory(L);
  lua_pop(L, 1);
  return text;
}

static void field_copy(lua_State *L, const char *name, char *out, size_t size) {
  size_t len;
  lua_getfield(L, -1, name);
  const char *text = lua_tolstring(L, -1, &len);
  if (!text || len >= size) luaL_error(L, "field %s is missing or longer than %d bytes", name, (int)size - 1);
  memcpy(out, text, len + 1);
  lua_pop(L, 1);
}

static uint32_t field_u32(lua_State *L, const char *name) {
  int ok;
  lua_getfield(L, -1, name);
  lua_Integer v = lua_tointegerx(L, -1, &ok);
  if (!ok || v < 0 || v > UINT32_MAX) luaL_error(L, "field %s is not a 32-bit number", name);
  lua_pop(L, 1);
  return (uint32_t)v;
}

/* Element `stage` of the list at the top is a kernel, or nothing. */
static void read_kernel(lua_State *L, int stage, mlaf_kernel_desc *k) {
  if (lua_rawgeti(L, -1, stage + 1) == LUA_TTABLE) {
    k->template_name = field_text(L, "template");
    k->params = field_text(L, "params");
    field_copy(L, "symbol", k->symbol, sizeof k->symbol);
    field_copy(L, "template_hash", k->template_hash, sizeof k->template_hash);
    k->threads = field_u32(L, "threads");
    k->rows_per_wg = field_u32(L, "rows_per_wg");
    k->lds_bytes = field_u32(L, "lds_bytes");
    k->vgpr_budget = field_u32(L, "vgpr_budget");
    k->step = field_u32(L, "step");
    k->slots = field_u32(L, "slots");
  }
  lua_pop(L, 1);
}

static void read_variant(lua_State *L, mlaf_variant *v) {
  v->name = field_text(L, "name");
  v->rejected = field_text(L, "rejected");
  v->knob = field_u32(L, "knob");
  lua_getfield(L, -1, "kernels");
  if (!lua_istable(L, -1)) luaL_error(L, "field kernels is missing");
  for (int i = 0; i < MLAF_STAGES_MAX; i++) read_kernel(L, i, &v->kernels[i]);
  lua_pop(L, 1);
  lua_getfield(L, -1, "model_ns");
  v->model_ns = lua_tonumber(L, -1);
  lua_getfield(L, -2, "any_lengths");
  v->any_lengths = lua_toboolean(L, -1);
  lua_pop(L, 2);
}

/* --- calls --- */

typedef struct variant_call {
  mlaf_gen *g;
  const char *function; /* of gen/api.lua */
  const char *problem;
  const char *target, *name;
  size_t most; /* a list of so many at most; 0: name or nothing */
  const mlaf_gen_measured *measured; /* of "nearby" */
  size_t n_measured;
  bool any;         /* of "inside": ahead */
  const char *next; /* of "inside"; NULL: none */
  mlaf_gen_nearby *nearby;
  mlaf_variant *list; /* owned by the caller of mlaf_gen_call until success: Lua may raise half-way */
  size_t n;
} variant_call;

/* As the generator's table: it reads the string by the same fields. The api and one of its functions are at the top. */
static void push_problem(lua_State *L, const char *text) {
  lua_getfield(L, -2, "problem");
  lua_pushstring(L, text);
  lua_call(L, 1, 1);
}

static void push_measured(lua_State *L, const mlaf_gen_measured *list, size_t n) {
  lua_createtable(L, (int)n, 0);
  for (size_t i = 0; i < n; i++) {
    lua_createtable(L, 0, 6);
    lua_pushstring(L, list[i].problem);
    lua_setfield(L, -2, "problem");
    lua_pushstring(L, list[i].variant);
    lua_setfield(L, -2, "variant");
    lua_pushstring(L, list[i].template_hash);
    lua_setfield(L, -2, "template_hash");
    lua_pushstring(L, list[i].lengths);
    lua_setfield(L, -2, "lengths");
    lua_pushnumber(L, list[i].ns);
    lua_setfield(L, -2, "ns");
    lua_pushboolean(L, list[i].slow);
    lua_setfield(L, -2, "slow");
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* The result of "nearby" is at the top: what it says of the variant, and the variant in its place. */
static void read_nearby(lua_State *L, mlaf_gen_nearby *out) {
  out->from = (int)field_u32(L, "from") - 1;
  lua_getfield(L, -1, "ns");
  out->ns = lua_tonumber(L, -1);
  lua_getfield(L, -2, "nearest_ns");
  out->nearest_ns = lua_tonumber(L, -1);
  lua_pop(L, 2);
  lua_getfield(L, -1, "variant");
}

/* api.<function>(problem, target[, name, most or measured, any, next]); the result is one variant, or where there is a `most` a
 * list. */
static int call_variants(lua_State *L) {
  variant_call *c = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, c->g->api);
  lua_getfield(L, -1, c->function);
  push_problem(L, c->problem);
  lua_pushstring(L, c->target);
  if (c->name) lua_pushstring(L, c->name);
  else if (c->nearby) push_measured(L, c->measured, c->n_measured);
  else lua_pushinteger(L, (lua_Integer)c->most);
  lua_pushboolean(L, c->any);
  lua_pushstring(L, c->next);
  lua_call(L, 5, 1);
  if (c->nearby) read_nearby(L, c->nearby);
  bool is_list = c->most > 0;
  size_t n = is_list ? lua_rawlen(L, -1) : 1;
  if (!(c->list = calloc(n ? n : 1, sizeof *c->list))) return mlaf_gen_no_memory(L);
  for (c->n = 0; c->n < n; c->n++) {
    if (is_list) lua_rawgeti(L, -1, (lua_Integer)c->n + 1);
    read_variant(L, &c->list[c->n]);
    lua_pop(L, is_list ? 1 : 0);
  }
  return 0;
}

/* --- what was answered before --- */

/* All that the answer depends on, beside the generator's files. NULL: not kept (spaces are large, and nobody waits for them). */
static char *question(const variant_call *c) {
  mlaf_text t = MLAF_TEXT_INIT(256 * 1024);
  if (!c->g->memo || c->most == SIZE_MAX) return NULL;
  mlaf_text_fmt(&t, "%s %s %s\n%s\n%zu %d\n", c->function, c->target, c->problem, c->name ? c->name : "", c->most, c->any);
  if (c->next) mlaf_text_fmt(&t, "%s\n", c->next);
  for (size_t i = 0; i < c->n_measured; i++) {
    const mlaf_gen_measured *m = &c->measured[i];
    mlaf_text_fmt(&t, "%s %s %s %s %a %d\n", m->problem, m->variant, m->template_hash, m->lengths, m->ns, m->slow);
  }
  return mlaf_text_take(&t);
}

static bool recall(variant_call *c, const char *asked) {
  mlaf_memo_answer a;
  if (!asked || !mlaf_memo_get(c->g->memo, asked, &a)) return false;
  if (!c->most && a.n != 1) {
    mlaf_variants_free(a.list, a.n);
    return false;
  }
  c->list = a.list;
  c->n = a.n;
  if (c->nearby) {
    c->nearby->from = a.from;
    c->nearby->ns = a.ns;
    c->nearby->nearest_ns = a.nearest_ns;
  }
  return true;
}

static void remember(const variant_call *c, const char *asked) {
  mlaf_memo_answer a = {.list = c->list, .n = c->n, .from = -1};
  if (!asked) return;
  if (c->nearby) a.from = c->nearby->from, a.ns = c->nearby->ns, a.nearest_ns = c->nearby->nearest_ns;
  mlaf_memo_put(c->g->memo, asked, &a);
}

/* Calls, and on failure frees what was read so far. The element being read when an error came is included: calloc made it
 * clearable. */
static mlaf_status variants(variant_call *c, const char *problem, mlaf_err *err) {
  mlaf_status st = MLAF_OK;
  c->problem = problem;
  char *asked = question(c);
  if (!recall(c, asked)) {
    st = mlaf_gen_call(c->g, call_variants, c, err);
    if (st && c->list) mlaf_variants_free(c->list, c->n + 1);
    if (!st) remember(c, asked);
  }
  free(asked);
  return st;
}

static mlaf_status some_variants(variant_call *c, const char *problem, mlaf_variant **list, size_t *n, mlaf_err *err) {
  mlaf_status st = variants(c, problem, err);
  if (st) return st;
  *list = c->list;
  *n = c->n;
  return MLAF_OK;
}

mlaf_status mlaf_gen_space(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                           mlaf_err *err) {
  return some_variants(&(variant_call){.g = g, .function = "space", .target = target, .most = SIZE_MAX}, problem, list, n, err);
}

mlaf_status mlaf_gen_libraries(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                               mlaf_err *err) {
  return some_variants(&(variant_call){.g = g, .function = "libraries", .target = target, .most = SIZE_MAX}, problem, list, n,
                       err);
}

mlaf_status mlaf_gen_known_library(mlaf_gen *g, const char *problem, const char *target, mlaf_variant **list, size_t *n,
                                   mlaf_err *err) {
  return some_variants(&(variant_call){.g = g, .function = "libraries", .target = target, .most = 1}, problem, list, n, err);
}

mlaf_status mlaf_gen_best(mlaf_gen *g, const char *problem, const char *target, size_t most, mlaf_variant **list, size_t *n,
                          mlaf_err *err) {
  return some_variants(&(variant_call){.g = g, .function = "best", .target = target, .most = most}, problem, list, n, err);
}

static mlaf_status one_variant(variant_call *c, const char *problem, mlaf_variant *out, mlaf_err *err) {
  mlaf_status st = variants(c, problem, err);
  if (st) return st;
  *out = c->list[0];
  free(c->list);
  return MLAF_OK;
}

mlaf_status mlaf_gen_variant(mlaf_gen *g, const char *problem, const char *target, const char *name,
                             mlaf_variant *out, mlaf_err *err) {
  variant_call c = {.g = g, .function = "variant", .target = target, .name = name};
  return one_variant(&c, problem, out, err);
}

mlaf_status mlaf_gen_refit(mlaf_gen *g, const char *problem, const char *target, const char *name, mlaf_variant *out,
                           mlaf_err *err) {
  variant_call c = {.g = g, .function = "refit", .target = target, .name = name};
  return one_variant(&c, problem, out, err);
}

mlaf_status mlaf_gen_serve(mlaf_gen *g, const char *problem, const char *target, const char *name, char **reason,
                           mlaf_err *err) {
  variant_call c = {.g = g, .function = "serve", .target = target, .name = name};
  mlaf_variant v = {.name = NULL};
  mlaf_status st = one_variant(&c, problem, &v, err);
  if (st) return st;
  *reason = v.rejected;
  v.rejected = NULL;
  mlaf_variant_clear(&v);
  return MLAF_OK;
}

mlaf_status mlaf_gen_inside(mlaf_gen *g, const char *problem, const char *target, const char *name, bool ahead, const char *next,
                            mlaf_variant **list, size_t *n, mlaf_err *err) {
  enum { MOST = 8 };
  variant_call c = {.g = g, .function = "inside", .target = target, .name = name, .most = MOST, .any = ahead, .next = next};
  return some_variants(&c, problem, list, n, err);
}

mlaf_status mlaf_gen_nearby_variant(mlaf_gen *g, const char *problem, const char *target, const mlaf_gen_measured *measured,
                                    size_t n, bool any, mlaf_gen_nearby *out, mlaf_err *err) {
  variant_call c = {.g = g, .function = "nearby", .target = target, .measured = measured, .n_measured = n, .any = any,
                    .nearby = out};
  if (!n) return mlaf_fail(err, MLAF_E_ARG, "nothing was measured nearby");
  return one_variant(&c, problem, &out->variant, err);
}

mlaf_status mlaf_gen_baseline(mlaf_gen *g, const char *problem, const char *target, mlaf_variant *out,
                              mlaf_err *err) {
  variant_call c = {.g = g, .function = "baseline", .target = target};
  return one_variant(&c, problem, out, err);
}

mlaf_status mlaf_gen_invariant(mlaf_gen *g, const char *problem, const char *target, mlaf_variant *out, mlaf_err *err) {
  variant_call c = {.g = g, .function = "invariant", .target = target};
  return one_variant(&c, problem, out, err);
}

/* api.<function>(texts, numbers) of plain values. */
typedef struct plain_call {
  mlaf_gen *g;
  const char *function, *text[3]; /* NULL: there are no more */
  int n_numbers, n_results;
  double number[2]; /* the numbers, then results that are numbers */
  char *said[2];    /* results that are texts, malloc'ed */
} plain_call;

static int call_plain(lua_State *L) {
  plain_call *c = lua_touserdata(L, 1);
  int n = 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, c->g->api);
  lua_getfield(L, -1, c->function);
  for (; n < 3 && c->text[n]; n++) lua_pushstring(L, c->text[n]);
  for (int i = 0; i < c->n_numbers; i++) lua_pushnumber(L, c->number[i]);
  lua_call(L, n + c->n_numbers, c->n_results);
  for (int i = 0; i < c->n_results; i++) {
    const int at = i - c->n_results, type = lua_type(L, at);
    if (type == LUA_TNUMBER) c->number[i] = lua_tonumber(L, at);
    if (type == LUA_TSTRING && !(c->said[i] = mlaf_strdup(lua_tostring(L, at)))) return mlaf_gen_no_memory(L);
  }
  return 0;
}

mlaf_status mlaf_gen_render(mlaf_gen *g, const mlaf_kernel_desc *k, const char *target, char **source,
                            char src_hash[MLAF_HASH_HEX], mlaf_err *err) {
  if (!k->template_name || !k->params) return mlaf_fail(err, MLAF_E_ARG, "render: the variant has no such kernel");
  plain_call c = {.g = g, .function = "render", .text = {k->template_name, k->params, target}, .n_results = 2};
  mlaf_status st = mlaf_gen_call(g, call_plain, &c, err);
  const char *hash = c.said[1];
  if (!st && (!c.said[0] || !hash || strlen(hash) != MLAF_HASH_HEX - 1))
    st = mlaf_fail(err, MLAF_E_TEMPLATE, "render: text expected");
  if (!st) *source = c.said[0];
  else free(c.said[0]);
  if (!st && src_hash) memcpy(src_hash, hash, MLAF_HASH_HEX);
  free(c.said[1]);
  return st;
}

mlaf_status mlaf_gen_suffix(mlaf_gen *g, const char *template_name, char out[8], mlaf_err *err) {
  plain_call c = {.g = g, .function = "suffix", .text = {template_name}, .n_results = 1};
  mlaf_status st = mlaf_gen_call(g, call_plain, &c, err);
  if (!st && (!c.said[0] || strlen(c.said[0]) >= 8))
    st = mlaf_fail(err, MLAF_E_TEMPLATE, "there is no template '%s'", template_name);
  if (!st) memcpy(out, c.said[0], strlen(c.said[0]) + 1);
  free(c.said[0]);
  return st;
}

mlaf_status mlaf_gen_units(mlaf_gen *g, const char *target, int32_t *units, mlaf_err *err) {
  plain_call c = {.g = g, .function = "units", .text = {target}, .n_results = 1};
  const mlaf_status st = mlaf_gen_call(g, call_plain, &c, err);
  if (!st) *units = (int32_t)c.number[0];
  return st;
}

mlaf_status mlaf_gen_roofline(mlaf_gen *g, const char *target, double bytes, double flops, double *memory_ns,
                              double *compute_ns, mlaf_err *err) {
  plain_call c = {.g = g, .function = "roofline", .text = {target}, .n_numbers = 2, .n_results = 2, .number = {bytes, flops}};
  const mlaf_status st = mlaf_gen_call(g, call_plain, &c, err);
  if (!st) *memory_ns = c.number[0], *compute_ns = c.number[1];
  return st;
}
