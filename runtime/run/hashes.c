/* File: <cache>/generator/<first 32 hex digits of the stamp>.tsv, lines "target\tname\thash". The stamp covers
 * every byte the hashes are computed from, so an entry cannot go stale. */
#include "run/hashes.h"
#include "gen/gen.h"

enum { FILE_MAX = 256 * 1024 };

static bool hash_ok(const char *s) {
  return strlen(s) == MLAF_HASH_HEX - 1 && strspn(s, "0123456789abcdef") == MLAF_HASH_HEX - 1;
}

bool mlaf_hashes_put(mlaf_hashes *h, const char *target, const char *name, const char *hash) {
  if (!hash_ok(hash) || mlaf_hashes_find(h, target, name)) return false;
  if (strlen(target) >= sizeof h->rows->target || strlen(name) >= sizeof h->rows->name) return false;
  const int at = h->n < MLAF_HASHES_MAX ? h->n : h->oldest;
  if (h->n < MLAF_HASHES_MAX) h->n++;
  else h->oldest = (h->oldest + 1) % MLAF_HASHES_MAX;
  snprintf(h->rows[at].target, sizeof h->rows->target, "%s", target);
  snprintf(h->rows[at].name, sizeof h->rows->name, "%s", name);
  memcpy(h->rows[at].hash, hash, MLAF_HASH_HEX);
  return true;
}

static void parse(mlaf_hashes *h, char *text) {
  char *line_state, *field_state;
  for (char *line = strtok_r(text, "\n", &line_state); line; line = strtok_r(NULL, "\n", &line_state)) {
    char *target = strtok_r(line, "\t", &field_state), *name = strtok_r(NULL, "\t", &field_state);
    char *hash = strtok_r(NULL, "\t", &field_state);
    if (hash) mlaf_hashes_put(h, target, name, hash); /* a damaged line is a hash we do not know */
  }
}

void mlaf_hashes_load(mlaf_hashes *h, const char *cache_dir, const char *gen_root) {
  char stamp[MLAF_HASH_HEX];
  void *text = NULL;
  size_t size;
  if (h->loaded) return;
  h->loaded = true;
  if (!cache_dir || mlaf_gen_stamp(gen_root, stamp, NULL)) return;
  h->path = mlaf_format("%s/generator/%.32s.tsv", cache_dir, stamp);
  if (h->path && !mlaf_file_read(h->path, FILE_MAX, &text, &size, NULL)) parse(h, text);
  free(text);
}

const char *mlaf_hashes_find(const mlaf_hashes *h, const char *target, const char *name) {
  for (int i = 0; i < h->n; i++)
    if (!strcmp(h->rows[i].name, name) && !strcmp(h->rows[i].target, target)) return h->rows[i].hash;
  return NULL;
}

void mlaf_hashes_save(const mlaf_hashes *h) {
  if (!h->path) return;
  mlaf_text t = MLAF_TEXT_INIT(FILE_MAX);
  for (int i = 0; i < h->n; i++) { /* the oldest first: who loads them replaces it first, too */
    const int at = (h->oldest + i) % h->n;
    mlaf_text_fmt(&t, "%s\t%s\t%s\n", h->rows[at].target, h->rows[at].name, h->rows[at].hash);
  }
  char *dir = mlaf_strdup(h->path);
  char *slash = dir ? strrchr(dir, '/') : NULL;
  if (slash) *slash = 0;
  if (slash && !t.failed && t.data && !mlaf_dir_make(dir, NULL)) mlaf_file_publish(h->path, t.data, t.len, NULL);
  free(dir);
  mlaf_text_free(&t);
}

void mlaf_hashes_add(mlaf_hashes *h, const char *target, const char *name, const char *hash) {
  if (mlaf_hashes_put(h, target, name, hash)) mlaf_hashes_save(h);
}

void mlaf_hashes_free(mlaf_hashes *h) {
  free(h->path);
  h->path = NULL;
  h->n = h->oldest = 0;
  h->loaded = false;
}
