/* The Lua state behind mlaf_gen: its limits, its files, and the one way into it. */
#pragma once

#include <lua.h>

#include "gen/gen.h"
#include "gen/pool.h"

/* One file of gen/ or templates/, embedded at build time by tools/embed.lua; sorted by path. */
typedef struct mlaf_gen_file {
  const char *path;
  size_t size;
  const char *text;
} mlaf_gen_file;
extern const mlaf_gen_file mlaf_gen_files[];
extern const size_t mlaf_gen_n_files;
extern const char mlaf_gen_files_stamp[]; /* mlaf_gen_stamp's of these files */

/* A template is code that somebody is still writing: it may loop for ever or build an endless string. Both limits are
 * per call from C, far above what any real template takes (a space of 600 variants: 20 M steps, 8 MiB). */
enum { MLAF_GEN_MEMORY_MAX = 96 << 20, MLAF_GEN_STEPS_MAX = 400 * 1000 * 1000, MLAF_GEN_FILE_MAX = 4 << 20 };

typedef struct mlaf_gen_options_row {
  char *target;
  const char **list; /* NULL-terminated; the strings follow in the same allocation */
  struct mlaf_gen_options_row *next;
} mlaf_gen_options_row;

struct mlaf_gen {
  lua_State *L;
  mlaf_gen_pool pool; /* its memory */
  char *root; /* NULL: embedded files */
  char *memo; /* folder of what was answered before; NULL: none */
  int api;    /* registry reference of gen/api.lua's table */
  size_t memory, memory_max;
  int64_t steps, steps_max;
  bool over_memory; /* the limit, not the machine, refused an allocation */
  bool no_memory;   /* the machine did; Lua that catches errors may have made another error of it */
  void *scratch; /* a file's or a listing's bytes until Lua has them: kept here because Lua may raise before they are freed */
  const char **targets;
  mlaf_gen_options_row *options;
};

/* Run fn(L) protected, with `ctx` as light userdata at index 1, both limits reset. Any Lua error becomes
 * MLAF_E_TEMPLATE (or NOMEM) with "file:line: message" in err; the stack is empty afterwards. */
mlaf_status mlaf_gen_call(mlaf_gen *g, lua_CFunction fn, void *ctx, mlaf_err *err);
/* For C functions that Lua calls: raises the error that mlaf_gen_call knows for what it is. */
int mlaf_gen_no_memory(lua_State *L);
/* The mlaf_gen a state belongs to. */
mlaf_gen *mlaf_gen_of(lua_State *L);

/* Push the host table {read, sha256, list} of this generator. */
void mlaf_gen_push_host(lua_State *L);
/* Text of one file, valid until the next call. False when there is no such file. */
bool mlaf_gen_read(mlaf_gen *g, const char *path, const char **text, size_t *size);
