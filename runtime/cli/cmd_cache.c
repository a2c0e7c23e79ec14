/* `mlaforge cache list|verify|gc|seed`. */
#include <time.h>
#include <unistd.h>

#include "bundle/bundle.h"
#include "cli/cli.h"
#include "compile/cache_walk.h"

typedef struct listing {
  cli *c;
  cli_table *table;
  bool only_faults;
  size_t entries, faults;
  uint64_t bytes;
} listing;

static const char *kind_name(mlaf_cache_kind k) {
  return k == MLAF_CACHE_CODE ? "code" : k == MLAF_CACHE_TEXT ? "disassembly" : "answer";
}

static void day_of(int64_t when, char out[16]) {
  struct tm t;
  time_t at = (time_t)when;
  if (!gmtime_r(&at, &t) || !strftime(out, 16, "%Y-%m-%d", &t)) out[0] = 0;
}

static void entry_row(listing *l, const mlaf_cache_entry *e) {
  static const char *const columns[] = {"target", "key", "kind", ">bytes", "used", "name", "why", NULL};
  char day[16];
  if (l->c->json) {
    cJSON *x = mlaf_cli_event("cache_entry");
    mlaf_cli_json(x, TEXT("path", e->path), TEXT("target", e->target), TEXT("key", e->key), TEXT("kind", kind_name(e->kind)),
                  TEXT("name", e->name), TEXT("toolchain", e->toolchain), NUMBER("bytes", e->size), NUMBER("used", e->used));
    if (e->fault) cJSON_AddStringToObject(x, "why", e->fault);
    mlaf_cli_emit(x);
    return;
  }
  if (!l->table) l->table = mlaf_cli_table_new(columns);
  day_of(e->used, day);
  mlaf_cli_table_cell(l->table, "%s\t%.16s\t%s\t%llu\t%s\t%s\t%s", e->target, e->key, kind_name(e->kind),
                      (unsigned long long)e->size, day, e->name, e->fault ? e->fault : "");
}

static bool on_entry(void *user, const mlaf_cache_entry *e) {
  listing *l = user;
  l->entries++;
  l->bytes += e->size;
  l->faults += e->fault != NULL;
  if (!l->only_faults || e->fault) entry_row(l, e);
  return !l->c->cancel || !atomic_load(l->c->cancel);
}

static int list(cli *c, const mlaf_cache *cache, bool verify) {
  listing l = {.c = c, .only_faults = verify};
  mlaf_status status = mlaf_cache_each(cache, verify, on_entry, &l, &c->err);
  mlaf_cli_table_end(l.table);
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  if (!l.table && !c->json) puts(l.entries ? "nothing is damaged" : "empty");
  if (!c->json)
    printf("%zu entries, %.2f MB in %s%s\n", l.entries, (double)l.bytes / 1e6, cache->dir,
           verify ? "" : "; `mlaforge cache verify` checks what they hold");
  if (verify && l.faults && !c->json)
    printf("%zu are damaged: they are rebuilt at their next use, `mlaforge cache gc` removes them\n", l.faults);
  return verify && l.faults ? CLI_FINDINGS : CLI_OK;
}

static int collect(cli *c, const mlaf_cache *cache) {
  mlaf_cache_gc opts = {.max_age_s = 86400 * mlaf_cli_real(c, O_MAX_AGE, 0), .dry_run = mlaf_cli_has(c, O_DRY_RUN)};
  mlaf_cache_gc_result r = {0};
  size_t budget = 0;
  if (mlaf_cli_size(c, O_SIZE_BUDGET, &budget) != MLAF_OK) return mlaf_cli_fail(c);
  opts.size_budget = budget;
  listing l = {.c = c};
  mlaf_status status = mlaf_cache_collect(cache, &opts, on_entry, &l, &r, &c->err);
  mlaf_cli_table_end(l.table);
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  if (!l.entries && !c->json) puts("nothing to remove");
  if (!c->json)
    printf("%s %zu of %zu entries, %.2f of %.2f MB (%zu damaged) in %s\n", opts.dry_run ? "would remove" : "removed", r.removed,
           r.entries, (double)r.removed_bytes / 1e6, (double)r.bytes / 1e6, r.damaged, cache->dir);
  return CLI_OK;
}

/* --- seed --- */
typedef struct seeding {
  mlaf_cache *to;
  size_t taken, refused; /* refused: damaged where they come from */
  size_t unwritten;      /* could not be written here */
  bool dry;              /* only count */
} seeding;

static void take(seeding *s, const mlaf_cache_label *label, const void *data, size_t size) {
  void *there = NULL;
  size_t n;
  if (s->dry) {
    s->taken++;
    return;
  }
  if (mlaf_cache_load(s->to, label, &there, &n, NULL) != MLAF_OK) {
    mlaf_cache_store(s->to, label, data, size);
    if (mlaf_cache_load(s->to, label, &there, &n, NULL) != MLAF_OK) s->unwritten++; /* the store has said why */
  }
  s->taken += there != NULL;
  free(there);
}

static mlaf_status seed_from_bundle(cli *c, const mlaf_bundle *b, seeding *s) {
  for (size_t i = 0; i < b->n_kernels; i++) {
    const mlaf_bundle_kernel *k = &b->kernels[i];
    const char *compiler = "";
    void *code = NULL;
    mlaf_err why = {MLAF_OK, ""};
    for (size_t t = 0; t < b->n_targets; t++)
      if (!strcmp(b->targets[t].name, k->target)) compiler = b->targets[t].compiler;
    if (strlen(k->key) != MLAF_HASH_HEX - 1 || mlaf_bundle_code(b, k, &code, &why) != MLAF_OK) {
      mlaf_log_line(&c->log, MLAF_LOG_WARN, "%s is left out: %s", k->symbol, why.text);
      s->refused++;
      continue;
    }
    const mlaf_cache_label label = {MLAF_CACHE_CODE, k->target, k->key, compiler, k->symbol};
    take(s, &label, code, k->size);
    free(code);
  }
  return MLAF_OK;
}

typedef struct copying {
  mlaf_cache from;
  seeding *s;
} copying;

static bool copy_entry(void *user, const mlaf_cache_entry *e) {
  copying *x = user;
  const mlaf_cache_label label = {e->kind, e->target, e->key, e->toolchain, e->name};
  void *data = NULL;
  size_t size;
  if (e->fault) x->s->refused++;
  else if (mlaf_cache_load(&x->from, &label, &data, &size, NULL) == MLAF_OK) take(x->s, &label, data, size);
  free(data);
  return true;
}

static int seed(cli *c, mlaf_cache *cache) {
  const char *from = c->given[O_FROM];
  mlaf_bundle *b = NULL;
  seeding s = {.to = cache, .dry = mlaf_cli_has(c, O_DRY_RUN)};
  if (!from) return mlaf_cli_usage(c, "cache seed wants --from DIR, a bundle or another cache");
  char *entries = mlaf_format("%s/v1", from);
  mlaf_status status;
  if (entries && access(entries, X_OK) == 0) {
    copying x = {.s = &s};
    status = mlaf_cache_open(&x.from, from, false, &c->log, &c->err);
    if (status == MLAF_OK) status = mlaf_cache_each(&x.from, true, copy_entry, &x, &c->err);
    mlaf_cache_close(&x.from);
  } else {
    status = mlaf_bundle_open(from, &b, &c->err);
    if (status == MLAF_OK) status = seed_from_bundle(c, b, &s);
  }
  mlaf_bundle_close(b);
  free(entries);
  if (status != MLAF_OK) return mlaf_cli_fail(c);
  if (c->json) {
    mlaf_cli_print("cache_seed", NUMBER("taken", s.taken), NUMBER("refused", s.refused), NUMBER("unwritten", s.unwritten),
                   FLAG("dry_run", s.dry));
  } else {
    printf(s.dry ? "%zu code objects of %s would be in %s" : "%zu code objects of %s are in %s now", s.taken, from, cache->dir);
    if (s.refused) printf("; %zu are damaged there and were left out", s.refused);
    puts("");
  }
  if (s.unwritten) {
    mlaf_fail(&c->err, MLAF_E_IO, "%zu code objects could not be written to '%s' (the warning says why)", s.unwritten,
              cache->dir);
    return mlaf_cli_fail(c);
  }
  return s.refused ? CLI_FINDINGS : CLI_OK;
}

int mlaf_cli_cache(cli *c) {
  const char *what = c->n_arguments ? c->arguments[0] : NULL;
  mlaf_cache cache;
  if (!what) return mlaf_cli_usage(c, "cache wants one of: list, verify, gc, seed");
  if (mlaf_cache_open(&cache, c->given[O_CACHE], false, &c->log, &c->err) != MLAF_OK) return mlaf_cli_fail(c);
  int code;
  if (strcmp(what, "list") == 0) code = list(c, &cache, false);
  else if (strcmp(what, "verify") == 0) code = list(c, &cache, true);
  else if (strcmp(what, "gc") == 0) code = collect(c, &cache);
  else if (strcmp(what, "seed") == 0) code = seed(c, &cache);
  else code = mlaf_cli_usage(c, "'%s' is nothing cache can do: list, verify, gc, seed", what);
  mlaf_cache_close(&cache);
  return code;
}
