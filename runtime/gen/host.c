/* A Lua state with a memory limit and a step limit, entered only through lua_pcall. */
#include <unistd.h>

#include <lauxlib.h>
#include <lualib.h>

#include "gen/host.h"

enum { HOOK_EVERY = 100 * 1000 };

/* Stored in the state's extra space: no registry look-up, nothing that can raise. */
mlaf_gen *mlaf_gen_of(lua_State *L) { return *(mlaf_gen **)lua_getextraspace(L); }

static void *allocate(void *ud, void *ptr, size_t old_size, size_t new_size) {
  mlaf_gen *g = ud;
  size_t old = ptr ? old_size : 0; /* for new objects Lua passes a type tag here */
  if (new_size == 0) {
    mlaf_gen_pool_resize(&g->pool, ptr, old, 0);
    g->memory -= old;
    return NULL;
  }
  if (new_size > old && g->memory - old + new_size > g->memory_max) {
    g->over_memory = true;
    return NULL;
  }
  void *p = mlaf_gen_pool_resize(&g->pool, ptr, old, new_size);
  if (p) g->memory += new_size - old;
  else g->no_memory = true;
  return p;
}

/* Position of the innermost Lua function, "file:line: ". */
static void push_where(lua_State *L) {
  lua_Debug ar;
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    lua_getinfo(L, "Sl", &ar);
    if (ar.currentline > 0) {
      lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
      return;
    }
  }
  lua_pushliteral(L, "");
}

static void count_steps(lua_State *L, lua_Debug *ar) {
  (void)ar;
  mlaf_gen *g = mlaf_gen_of(L);
  g->steps += HOOK_EVERY;
  if (g->steps <= g->steps_max) return;
  push_where(L);
  lua_pushfstring(L, "stopped after %I million steps: does this loop end?", (LUAI_UACINT)(g->steps_max / 1000000));
  lua_concat(L, 2);
  lua_error(L);
}

int mlaf_gen_no_memory(lua_State *L) {
  mlaf_gen_of(L)->no_memory = true;
  return luaL_error(L, "out of memory");
}

/* Error text as people need it: a template's own line says enough; an error inside gen/ is a bug and gets its stack. */
static int describe_error(lua_State *L) {
  const char *message = lua_tostring(L, 1);
  if (!message) {
    lua_pushfstring(L, "error object of type %s", luaL_typename(L, 1));
    return 1;
  }
  if (!strncmp(message, "gen/", 4)) luaL_traceback(L, L, message, 1);
  return 1;
}

static mlaf_status run(mlaf_gen *g, lua_CFunction fn, void *ctx, mlaf_err *err) {
  lua_State *L = g->L;
  /* Buffers of Lua's library fail at the limit without a collection before: a long-lived generator begins with room. */
  if (g->memory > g->memory_max / 2) lua_gc(L, LUA_GCCOLLECT);
  g->steps = 0;
  g->over_memory = g->no_memory = false;
  lua_settop(L, 0);
  lua_pushcfunction(L, describe_error); /* light C functions: none of these allocates */
  lua_pushcfunction(L, fn);
  lua_pushlightuserdata(L, ctx);
  const mlaf_locale before = mlaf_locale_enter(); /* Lua reads and prints numbers as the locale says */
  int rc = lua_pcall(L, 1, 0, 1);
  mlaf_locale_leave(before);
  if (rc == LUA_OK) {
    lua_settop(L, 0);
    return MLAF_OK;
  }
  const char *message = lua_tostring(L, -1);
  mlaf_status st;
  if (g->over_memory)
    st = mlaf_fail(err, MLAF_E_TEMPLATE,
                   "the generator needed more than %zu MiB: does a template build text in an endless loop? (%s)",
                   g->memory_max >> 20, message ? message : "no detail");
  else if (rc == LUA_ERRMEM || g->no_memory)
    st = mlaf_fail(err, MLAF_E_NOMEM, "out of memory in the generator");
  else
    st = mlaf_fail(err, MLAF_E_TEMPLATE, "%s", message ? message : "unknown Lua error");
  lua_settop(L, 0);
  lua_gc(L, LUA_GCCOLLECT);
  return st;
}

/* Only the libraries gen/loader.lua builds its environments from: no io, os, package or coroutine. */
static void open_libraries(lua_State *L) {
  static const luaL_Reg libs[] = {
      {LUA_GNAME, luaopen_base}, {LUA_STRLIBNAME, luaopen_string}, {LUA_TABLIBNAME, luaopen_table},
      {LUA_MATHLIBNAME, luaopen_math}, {LUA_DBLIBNAME, luaopen_debug}, {NULL, NULL}};
  for (const luaL_Reg *lib = libs; lib->func; lib++) {
    luaL_requiref(L, lib->name, lib->func, 1);
    lua_pop(L, 1);
  }
}

/* load("gen/loader.lua")(host).require("api"), kept as a registry reference. */
static int boot(lua_State *L) {
  mlaf_gen *g = lua_touserdata(L, 1);
  open_libraries(L);
  mlaf_gen_push_host(L);
  int host = lua_gettop(L);
  lua_getfield(L, host, "read");
  lua_pushliteral(L, "gen/loader.lua");
  lua_call(L, 1, 1);
  size_t size;
  const char *text = lua_tolstring(L, -1, &size);
  if (!text) return luaL_error(L, "no gen/loader.lua under '%s'", g->root ? g->root : "the embedded files");
  if (luaL_loadbufferx(L, text, size, "@gen/loader.lua", "t")) return lua_error(L);
  lua_pushvalue(L, host);
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "require");
  lua_pushliteral(L, "api");
  lua_call(L, 1, 1);
  g->api = luaL_ref(L, LUA_REGISTRYINDEX);
  return 0;
}

/* A Lua list of strings at the top of the stack as one block: pointers, NULL, then the bytes. NULL when out of memory. */
static const char **string_list(lua_State *L) {
  size_t n = lua_rawlen(L, -1), bytes = (n + 1) * sizeof(char *);
  for (size_t i = 1; i <= n; i++) {
    if (lua_rawgeti(L, -1, (lua_Integer)i) != LUA_TSTRING) luaL_error(L, "list of strings expected");
    bytes += lua_rawlen(L, -1) + 1;
    lua_pop(L, 1);
  }
  const char **list = malloc(bytes);
  if (!list) return NULL;
  char *at = (char *)(list + n + 1);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    size_t len;
    const char *s = lua_tolstring(L, -1, &len);
    list[i] = memcpy(at, s, len + 1);
    at += len + 1;
    lua_pop(L, 1);
  }
  list[n] = NULL;
  return list;
}

static int load_targets(lua_State *L) {
  mlaf_gen *g = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, g->api);
  lua_getfield(L, -1, "targets");
  lua_call(L, 0, 1);
  g->targets = string_list(L);
  return g->targets ? 0 : mlaf_gen_no_memory(L);
}

/* Open the Lua state, unless it is open. */
static mlaf_status wake(mlaf_gen *g, mlaf_err *err) {
  if (g->L) return MLAF_OK;
  g->pool.small = mlaf_gen_pool_small;
  if (!(g->L = lua_newstate(allocate, g))) return mlaf_fail(err, MLAF_E_NOMEM, "out of memory for a Lua state");
  *(mlaf_gen **)lua_getextraspace(g->L) = g;
  lua_gc(g->L, LUA_GCINC, 400, 0, 0); /* memory is there, and collecting is a sixth of the time */
  lua_sethook(g->L, count_steps, LUA_MASKCOUNT, HOOK_EVERY);
  mlaf_status st = run(g, boot, g, err);
  if (!st) st = run(g, load_targets, g, err);
  if (st) {
    lua_close(g->L);
    mlaf_gen_pool_clear(&g->pool);
    g->L = NULL;
  }
  return st;
}

bool mlaf_gen_is_loaded(const mlaf_gen *g) { return g->L != NULL; }

mlaf_status mlaf_gen_call(mlaf_gen *g, lua_CFunction fn, void *ctx, mlaf_err *err) {
  mlaf_status st = wake(g, err);
  return st ? st : run(g, fn, ctx, err);
}

/* A wrong folder is the caller's slip; what is wrong inside a right one is the generator's. */
static mlaf_status check_root(const char *root, mlaf_err *err) {
  char *path = root ? mlaf_format("%s/gen/loader.lua", root) : NULL;
  if (root && !path) return mlaf_fail(err, MLAF_E_NOMEM, "out of memory opening the generator");
  const bool there = !root || access(path, R_OK) == 0;
  free(path);
  return there ? MLAF_OK
               : mlaf_fail(err, MLAF_E_ARG, "there is no generator in '%s': it has no readable gen/loader.lua (name the folder "
                           "that holds gen/ and templates/)", root);
}

mlaf_status mlaf_gen_open_memo(const char *root, const char *cache_dir, mlaf_gen **out, mlaf_err *err) {
  char stamp[MLAF_HASH_HEX];
  mlaf_gen *g = calloc(1, sizeof *g);
  if (!g) return mlaf_fail(err, MLAF_E_NOMEM, "out of memory opening the generator");
  g->memory_max = MLAF_GEN_MEMORY_MAX;
  g->steps_max = MLAF_GEN_STEPS_MAX;
  g->root = mlaf_strdup(root);
  mlaf_status st = root && !g->root ? mlaf_fail(err, MLAF_E_NOMEM, "out of memory opening the generator") : check_root(root, err);
  if (!st && cache_dir && !mlaf_gen_stamp(root, stamp, NULL)) g->memo = mlaf_format("%s/generator/%.32s", cache_dir, stamp);
  if (!st && !g->memo) st = wake(g, err);
  if (st) {
    mlaf_gen_close(g);
    return st;
  }
  *out = g;
  return MLAF_OK;
}

mlaf_status mlaf_gen_open(const char *root, mlaf_gen **out, mlaf_err *err) { return mlaf_gen_open_memo(root, NULL, out, err); }

void mlaf_gen_close(mlaf_gen *g) {
  if (!g) return;
  if (g->L) lua_close(g->L);
  mlaf_gen_pool_clear(&g->pool);
  while (g->options) {
    mlaf_gen_options_row *row = g->options;
    g->options = row->next;
    free(row->list);
    free(row->target);
    free(row);
  }
  free(g->targets);
  free(g->scratch);
  free(g->root);
  free(g->memo);
  free(g);
}

const char *const *mlaf_gen_targets(mlaf_gen *g) {
  static const char *const none[] = {NULL};
  return wake(g, NULL) ? none : g->targets;
}

typedef struct options_call {
  mlaf_gen *g;
  const char *target;
  const char **list;
} options_call;

static int load_options(lua_State *L) {
  options_call *c = lua_touserdata(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, c->g->api);
  lua_getfield(L, -1, "options");
  lua_pushstring(L, c->target);
  lua_call(L, 1, 1);
  c->list = string_list(L);
  return c->list ? 0 : mlaf_gen_no_memory(L);
}

mlaf_status mlaf_gen_options(mlaf_gen *g, const char *target, const char *const **options, mlaf_err *err) {
  for (mlaf_gen_options_row *row = g->options; row; row = row->next)
    if (!strcmp(row->target, target)) {
      *options = row->list;
      return MLAF_OK;
    }
  options_call c = {g, target, NULL};
  mlaf_status st = mlaf_gen_call(g, load_options, &c, err);
  if (st) return st;
  mlaf_gen_options_row *row = calloc(1, sizeof *row);
  char *name = mlaf_strdup(target);
  if (!row || !name) {
    free(row);
    free(name);
    free(c.list);
    return mlaf_fail(err, MLAF_E_NOMEM, "out of memory for the options of %s", target);
  }
  *row = (mlaf_gen_options_row){name, c.list, g->options};
  g->options = row;
  *options = c.list;
  return MLAF_OK;
}
