/* `mlaforge env` and `mlaforge devices`. */
#include <sqlite3.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/cli.h"
#include "compile/vendor.h"

enum { MOST_ORDINALS = 64 };

/* --- devices --- */
static void print_device(const cli *c, const mlaf_device_ops *ops, int ordinal, mlaf_device *dev, const char *why) {
  const mlaf_device_info *d = dev ? mlaf_info(dev) : NULL;
  if (c->json) {
    cJSON *e = mlaf_cli_event("device");
    mlaf_cli_json(e, TEXT("backend", ops->name), NUMBER("ordinal", ordinal), FLAG("works", d != NULL));
    if (!d) cJSON_AddStringToObject(e, "reason", why);
    if (d) {
      mlaf_cli_json(e, TEXT("id", d->id), TEXT("name", d->name), TEXT("target", d->full_target), TEXT("driver", d->driver),
                    TEXT("place", d->place), NUMBER("compute_units", d->compute_units), NUMBER("xcc", d->xcc),
                    NUMBER("lds_bytes", d->lds_bytes), NUMBER("mem_bytes", d->mem_bytes), NUMBER("clock_mhz", d->clock_mhz));
    }
    mlaf_cli_emit(e);
  } else if (d) {
    printf("%-12s %s\n%-12s %s, %d CUs, %d XCCs, %.0f GiB, %d MHz, %s\n", ops->name, d->id, "", d->name,
           d->compute_units, d->xcc, (double)d->mem_bytes / 0x1p30, d->clock_mhz, d->driver);
  } else {
    printf("%-12s not here: %s\n", ops->name, why);
  }
}

/* Ordinals are tried until one fails; the first failure of a back end says why it is not here. */
static int list_devices(cli *c) {
  int working = 0;
  for (const mlaf_device_ops *const *b = mlaf_backends; *b; b++) {
    for (int ordinal = 0; ordinal < MOST_ORDINALS; ordinal++) {
      mlaf_device *dev = NULL;
      mlaf_err why = {MLAF_OK, ""};
      if ((*b)->open(ordinal, &c->log, &dev, &why) != MLAF_OK) {
        if (ordinal == 0) print_device(c, *b, ordinal, NULL, why.text);
        break;
      }
      print_device(c, *b, ordinal, dev, "");
      (*b)->close(dev);
      working++;
    }
  }
  return working;
}

int mlaf_cli_devices(cli *c) {
  if (list_devices(c)) return CLI_OK;
  fprintf(stderr, "mlaforge: no device works here; the lines above say why\n");
  return CLI_ENVIRONMENT;
}

/* --- env --- */
/* One fact as a line, or as a field of the one JSON object. */
static void fact(const cli *c, cJSON *to, const char *name, const char *value) {
  if (c->json) cJSON_AddStringToObject(to, name, value);
  else printf("%-14s %s\n", name, value);
}

static void host_facts(const cli *c, cJSON *e) {
  struct utsname host;
  char text[512];
  fact(c, e, "mlaforge", mlaf_version());
  if (uname(&host) == 0) {
    snprintf(text, sizeof text, "%.60s %.100s %.60s, %ld CPUs", host.sysname, host.release, host.machine,
             sysconf(_SC_NPROCESSORS_ONLN));
    fact(c, e, "host", text);
  }
  fact(c, e, "sqlite", sqlite3_libversion());
  fact(c, e, "cjson", cJSON_Version());
}

static void variable_facts(const cli *c, cJSON *e) {
  static const char *const names[] = {"MLAF_DB",           "MLAF_CACHE_DIR",   "MLAF_ROCM",     "MLAF_NVRTC",     "MLAF_WORKER",
                                      "MLAF_HIP_LIBRARY",  "MLAF_CUDA_LIBRARY", "MLAF_LAUNCH_GRAPHS", "MLAF_LOAD_AHEAD",
                                      "MLAF_CUBLASLT_LIBRARY",
                                      "MLAF_HIPBLASLT_LIBRARY", "MLAF_EMU_THREADS",
                                      "XDG_DATA_HOME",     "XDG_CACHE_HOME",   "HOME"};
  cJSON *object = c->json ? cJSON_AddObjectToObject(e, "variables") : NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (c->json && value) cJSON_AddStringToObject(object, names[i], value);
    if (!c->json) printf("%-14s %s\n", names[i], value ? value : "(not set)");
  }
}

/* The identity is part of every cache key, so two machines that disagree here share no code objects. */
static void compiler_facts(const cli *c, cJSON *e, bool *found) {
  mlaf_compiler_opts o = {.cache_dir = c->given[O_CACHE]};
  mlaf_compiler *compiler = NULL;
  mlaf_err why = {MLAF_OK, ""};
  const char *id = NULL;
  static const struct {
    const char *name, *target;
  } both[] = {{"hiprtc", "gfx942"}, {"nvrtc", "sm_90a"}};
  mlaf_status status = mlaf_compiler_open(&o, &c->log, &compiler, &why);
  for (int i = 0; i < 2; i++) {
    if (compiler) status = mlaf_compiler_identity_for(compiler, both[i].target, &id, &why);
    *found |= status == MLAF_OK;
    fact(c, e, both[i].name, status == MLAF_OK ? id : why.text);
  }
  const char *cache = compiler ? mlaf_compiler_cache_dir(compiler) : NULL;
  fact(c, e, "cache", cache ? cache : "(none)");
  mlaf_compiler_close(compiler);
}

/* The same of the libraries whose products may be variants: choices name theirs by it. */
static void library_facts(const cli *c, cJSON *e) {
  for (int i = 0; i < MLAF_VENDORS; i++) {
    mlaf_vendor_library found;
    mlaf_err why = {MLAF_OK, ""};
    const mlaf_status status = mlaf_vendor_find((mlaf_vendor)i, &found, &why);
    fact(c, e, mlaf_vendor_name((mlaf_vendor)i), status == MLAF_OK ? found.identity : why.text);
  }
}

static void database_facts(cli *c, cJSON *e) {
  mlaf_db *db = NULL;
  mlaf_db_counts n = {0};
  char text[600];
  if (mlaf_cli_open_db(c, true, &db) != MLAF_OK) {
    fact(c, e, "database", c->err.text);
    return;
  }
  mlaf_db_count(db, &n, NULL);
  snprintf(text, sizeof text, "%.400s (%lld choices, %lld samples, %lld problems, %lld misses)", mlaf_db_path(db),
           (long long)n.choices, (long long)n.samples, (long long)n.problems, (long long)n.misses);
  fact(c, e, "database", text);
  mlaf_db_close(db);
}

/* The stamp covers gen/ and templates/: equal stamps generate equal sources. */
static void generator_facts(const cli *c, cJSON *e) {
  char stamp[MLAF_HASH_HEX] = "";
  mlaf_err why = {MLAF_OK, ""};
  const char *root = c->given[O_GEN_ROOT];
  mlaf_status status = mlaf_gen_stamp(root, stamp, &why);
  char text[MLAF_ERR_MAX + 80];
  snprintf(text, sizeof text, "%s, %s", root ? root : "embedded", status == MLAF_OK ? stamp : why.text);
  fact(c, e, "generator", text);
}

int mlaf_cli_env(cli *c) {
  bool compiler = false;
  cJSON *e = c->json ? mlaf_cli_event("env") : NULL;
  host_facts(c, e);
  generator_facts(c, e);
  compiler_facts(c, e, &compiler);
  library_facts(c, e);
  database_facts(c, e);
  variable_facts(c, e);
  if (e) mlaf_cli_emit(e);
  int devices = list_devices(c);
  return compiler && devices ? CLI_OK : CLI_ENVIRONMENT;
}
