/* Functions that the Lua side may call in C: text of a file, a list of files, SHA-256. */
#include <dirent.h>

#include <lauxlib.h>

#include "gen/host.h"

enum { MAX_DEPTH = 4 }; /* as stamp.c's */

/* Paths come from templates: nothing outside gen/ and templates/, no "..". */
static bool path_ok(const char *path) {
  if (strncmp(path, "gen/", 4) && strncmp(path, "templates/", 10)) return false;
  if (strlen(path) > 200 || strstr(path, "..") || strstr(path, "//")) return false;
  return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./")] == 0;
}

static int compare_path(const void *key, const void *file) {
  return strcmp(key, ((const mlaf_gen_file *)file)->path);
}

bool mlaf_gen_read(mlaf_gen *g, const char *path, const char **text, size_t *size) {
  if (!path_ok(path)) return false;
  if (!g->root) {
    const mlaf_gen_file *f = bsearch(path, mlaf_gen_files, mlaf_gen_n_files, sizeof *f, compare_path);
    if (!f) return false;
    *text = f->text;
    *size = f->size;
    return true;
  }
  free(g->scratch);
  g->scratch = NULL;
  char *full = mlaf_format("%s/%s", g->root, path);
  bool ok = full && mlaf_file_read(full, MLAF_GEN_FILE_MAX, &g->scratch, size, NULL) == MLAF_OK;
  free(full);
  *text = g->scratch;
  return ok;
}

/* host.read(path) -> text or nil */
static int host_read(lua_State *L) {
  const char *path = luaL_checkstring(L, 1), *text;
  size_t size;
  if (!mlaf_gen_read(mlaf_gen_of(L), path, &text, &size)) return 0;
  lua_pushlstring(L, text, size);
  return 1;
}

static int host_sha256(lua_State *L) {
  size_t n;
  const char *s = luaL_checklstring(L, 1, &n);
  char hex[MLAF_HASH_HEX];
  mlaf_sha256_hex(s, n, hex);
  lua_pushstring(L, hex);
  return 1;
}

/* Lines with the paths of the files below root/dir ("gen/ops/"). Raises no Lua error while it holds memory. */
static void list_below(mlaf_text *names, const char *root, const char *dir, int depth) {
  struct dirent **entries = NULL;
  char *full = mlaf_format("%s/%s", root, dir);
  const int n = full ? scandir(full, &entries, NULL, NULL) : -1;
  free(full);
  for (int i = 0; i < n; i++) {
    const char *name = entries[i]->d_name;
    char *below = mlaf_format("%s%s/", dir, name);
    const bool is_dir = entries[i]->d_type == DT_DIR;
    if (!is_dir) mlaf_text_fmt(names, "%s%s\n", dir, name);
    if (is_dir && name[0] != '.' && below && depth < MAX_DEPTH) list_below(names, root, below, depth + 1);
    free(below);
    free(entries[i]);
  }
  free(entries);
}

/* host.list("gen/arch/") -> paths of the files below that directory, in no order */
static int host_list(lua_State *L) {
  mlaf_gen *g = mlaf_gen_of(L);
  size_t len;
  const char *prefix = luaL_checklstring(L, 1, &len);
  if (!path_ok(prefix) || !len || prefix[len - 1] != '/') return luaL_error(L, "list: bad directory '%s'", prefix);
  mlaf_text names = MLAF_TEXT_INIT(1 << 20);
  if (g->root) { /* nothing below raises a Lua error before the text is in g->scratch */
    list_below(&names, g->root, prefix, 0);
  } else {
    for (size_t i = 0; i < mlaf_gen_n_files; i++)
      if (!strncmp(mlaf_gen_files[i].path, prefix, len)) mlaf_text_fmt(&names, "%s\n", mlaf_gen_files[i].path);
  }
  if (names.failed) {
    mlaf_text_free(&names);
    return mlaf_gen_no_memory(L);
  }
  free(g->scratch);
  g->scratch = names.data;
  lua_newtable(L);
  lua_Integer i = 0;
  for (const char *line = names.data, *end; line && (end = strchr(line, '\n')); line = end + 1) {
    lua_pushlstring(L, line, (size_t)(end - line));
    lua_rawseti(L, -2, ++i);
  }
  return 1;
}

void mlaf_gen_push_host(lua_State *L) {
  static const luaL_Reg fns[] = {{"read", host_read}, {"sha256", host_sha256}, {"list", host_list}, {NULL, NULL}};
  luaL_newlib(L, fns);
}
