/* The layers behind the user's file: the site's tuning data and the default tuning table. Opened when a choice is first looked
 * for, read only, and none of them needed. */
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/db_internal.h"

static const char tuning_text[] = "# mlaforge tuning text ", site_default[] = "/etc/mlaforge/tuning.db";

const char *mlaf_layer_name(mlaf_choice_layer layer) {
  static const char *const names[MLAF_LAYER_COUNT] = {"user", "site", "shipped"};
  return (unsigned)layer < MLAF_LAYER_COUNT ? names[layer] : "unknown";
}

/* Other tables lie in the same directory (models.tsv): only what says it is a tuning text is one. */
static bool is_tuning_text(const char *path) { return mlaf_file_begins(path, tuning_text); }

/* --- the site's --- */
static mlaf_db *open_site(mlaf_db *db) {
  const char *path = getenv("MLAF_SITE_DB");
  bool asked = path && *path;
  mlaf_db *site = NULL;
  mlaf_err err = {MLAF_OK, ""};
  if (!asked) path = site_default;
  if (!asked && access(path, F_OK) != 0) return NULL;
  mlaf_status status = MLAF_OK;
  if (is_tuning_text(path)) {
    status = mlaf_db_texts_open(path, &db->log, &site, &err);
    if (status == MLAF_OK) status = mlaf_db_texts_add(site, path, &err);
  } else {
    status = mlaf_db_open(path, true, &db->log, &site, &err);
  }
  if (status == MLAF_OK) return site;
  mlaf_log_line(&db->log, MLAF_LOG_WARN, "going on without the site's tuning data: %s", err.text);
  mlaf_db_close(site);
  return NULL;
}

/* --- what was shipped --- */
static bool is_dir(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* share/mlaforge/tuning of the prefix whose bin, lib or lib/ARCH this code was loaded from. */
static bool installed_dir(char *out, size_t size) {
  static const char *const up[] = {"..", "../.."};
  Dl_info info;
  char path[PATH_MAX];
  if (!dladdr(tuning_text, &info) || !info.dli_fname || !realpath(info.dli_fname, path)) return false;
  char *slash = strrchr(path, '/');
  if (slash) *slash = 0;
  for (size_t i = 0; i < sizeof up / sizeof *up; i++) {
    int n = snprintf(out, size, "%s/%s/share/mlaforge/tuning", path, up[i]);
    if (n > 0 && (size_t)n < size && is_dir(out)) return true;
  }
  return false;
}

static bool shipped_dir(char *out, size_t size) {
  const char *asked = getenv("MLAF_TUNING_DIR");
  if (asked && *asked) return (size_t)snprintf(out, size, "%s", asked) < size && is_dir(out);
  if (installed_dir(out, size)) return true;
  return (size_t)snprintf(out, size, "%s", MLAF_SOURCE_TUNING) < size && is_dir(out);
}

static int is_tsv(const struct dirent *e) {
  size_t n = strlen(e->d_name);
  return n > 4 && strcmp(e->d_name + n - 4, ".tsv") == 0;
}

/* Opens the default texts in the order of their names: a later file's entry replaces an earlier one's. A file that is wrong is
 * one file less. */
static mlaf_db *open_shipped(mlaf_db *db) {
  char dir[PATH_MAX], path[PATH_MAX + 256];
  struct dirent **list = NULL;
  mlaf_db *shipped = NULL;
  mlaf_err err = {MLAF_OK, ""};
  int n = shipped_dir(dir, sizeof dir) ? scandir(dir, &list, is_tsv, alphasort) : 0;
  for (int i = 0; i < n; i++) {
    snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
    mlaf_status status = !is_tuning_text(path) ? MLAF_E_NOT_TUNED
                         : shipped             ? MLAF_OK
                                               : mlaf_db_texts_open(dir, &db->log, &shipped, &err);
    if (status == MLAF_OK) status = mlaf_db_texts_add(shipped, path, &err);
    if (status != MLAF_OK && status != MLAF_E_NOT_TUNED)
      mlaf_log_line(&db->log, MLAF_LOG_WARN, "going on without shipped tuning data: %s", err.text);
    free(list[i]);
  }
  free(list);
  return shipped;
}

/* --- all of them --- */
mlaf_db *mlaf_db_layer(mlaf_db *db, mlaf_choice_layer layer) {
  static mlaf_db *(*const open[MLAF_LAYER_COUNT])(mlaf_db *) = {NULL, open_site, open_shipped};
  if (layer == MLAF_LAYER_USER || (unsigned)layer >= MLAF_LAYER_COUNT) return db;
  if (!db->layered) return NULL;
  if (!db->asked[layer]) {
    db->asked[layer] = true;
    mlaf_db *outer = open[layer](db);
    if (outer) outer->layer = layer;
    db->outer[layer] = outer;
  }
  return db->outer[layer];
}

mlaf_status mlaf_db_open_layered(const char *path, bool read_only, const mlaf_log *log, mlaf_db **out, mlaf_err *err) {
  mlaf_status status = mlaf_db_open(path, read_only, log, out, err);
  if (status == MLAF_OK) (*out)->layered = true;
  return status;
}

mlaf_status mlaf_db_open_text(const char *name, const char *text, const mlaf_log *log, mlaf_db **out, mlaf_err *err) {
  mlaf_db *db = NULL;
  mlaf_status status = mlaf_db_open_memory(name, log, &db, err);
  if (status == MLAF_OK) status = mlaf_db_import(db, text, NULL, err);
  if (status == MLAF_OK) *out = db;
  else mlaf_db_close(db);
  return status;
}

mlaf_status mlaf_db_open_outer(const char *why, const mlaf_log *log, mlaf_db **out, mlaf_err *err) {
  mlaf_status status = mlaf_db_open_memory("(none)", log, out, err);
  if (status != MLAF_OK) return status;
  (*out)->layered = (*out)->read_only = true;
  snprintf((*out)->read_only_why, sizeof (*out)->read_only_why, "%s", why);
  return MLAF_OK;
}
