/* `mlaforge generate` without --targets: sources and a manifest, from the generator alone. */
#include "cli/cli.h"

static mlaf_status write_sources(cli *c, mlaf_gen *g, const char *dir, const cli_kernel *k, size_t n, const char *target) {
  mlaf_text manifest = MLAF_TEXT_INIT((size_t)16 << 20);
  mlaf_text_str(&manifest, "# file\ttarget\ttemplate\tparams\ttemplate_hash\tsrc_hash\tsha256\n"); /* of the code, of the file */
  mlaf_status status = mlaf_dir_make_open(dir, &c->err);
  for (size_t i = 0; status == MLAF_OK && i < n; i++) {
    char suffix[8] = "", digest[MLAF_HASH_HEX];
    status = mlaf_gen_suffix(g, k[i].desc->template_name, suffix, &c->err);
    if (status != MLAF_OK) break;
    char *path = mlaf_format("%s/%s%s", dir, k[i].desc->symbol, suffix);
    status = path ? mlaf_file_write(path, k[i].source, strlen(k[i].source), &c->err)
                  : mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for a path");
    free(path);
    mlaf_sha256_hex(k[i].source, strlen(k[i].source), digest);
    mlaf_text_fmt(&manifest, "%s%s\t%s\t%s\t%s\t%s\t%s\t%s\n", k[i].desc->symbol, suffix, target,
                  k[i].desc->template_name, k[i].desc->params, k[i].desc->template_hash, k[i].src_hash, digest);
  }
  /* last: a manifest names only files that are there */
  char *path = mlaf_format("%s/manifest.tsv", dir);
  if (status == MLAF_OK && (!path || manifest.failed))
    status = mlaf_fail(&c->err, MLAF_E_NOMEM, "no memory for the manifest");
  if (status == MLAF_OK) status = mlaf_file_write(path, manifest.data, manifest.len, &c->err);
  free(path);
  mlaf_text_free(&manifest);
  return status;
}

/* JSON carries the source itself when no directory takes it. */
static void list_kernels(const cli *c, const cli_kernel *k, size_t n, const char *target) {
  static const char *const columns[] = {"symbol", "template", ">bytes", "src_hash", "params", NULL};
  cli_table *t = c->json ? NULL : mlaf_cli_table_new(columns);
  for (size_t i = 0; i < n; i++) {
    if (c->json) {
      cJSON *e = mlaf_cli_event("source");
      mlaf_cli_json(e, TEXT("symbol", k[i].desc->symbol), TEXT("target", target), TEXT("template", k[i].desc->template_name),
                    TEXT("params", k[i].desc->params), TEXT("template_hash", k[i].desc->template_hash),
                    TEXT("src_hash", k[i].src_hash), TEXT("variant", k[i].variant));
      if (!c->given[O_OUT]) cJSON_AddStringToObject(e, "source", k[i].source);
      mlaf_cli_emit(e);
      continue;
    }
    mlaf_cli_table_cell(t, "%s\t%s\t%zu\t%.16s\t%s", k[i].desc->symbol, k[i].desc->template_name, strlen(k[i].source),
                        k[i].src_hash, k[i].desc->params);
  }
  mlaf_cli_table_end(t);
}

/* One variant without a directory: its sources as they are, to be piped on. */
static void print_sources(const cli_kernel *k, size_t n) {
  for (size_t i = 0; i < n; i++) fputs(k[i].source, stdout);
}

/* Options that only a bundle has, without --targets: a slip. Sources are of one problem. */
static int check_sources(cli *c) {
  static const cli_opt bundle_only[] = {O_MODELS, O_SIZE_BUDGET, O_EXTEND, O_JOBS, O_CACHE, O_DB, O_DEVICE_ID, O_COUNT};
  const int excess = mlaf_cli_excess(c, bundle_only, "is for bundles: give --targets too, e.g. --targets gfx942");
  if (excess) return excess;
  const char *grid = mlaf_cli_listed(c), *const others[] = {c->given[O_TP], c->given[O_MODEL]};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (others[i] && strpbrk(others[i], ",:@")) grid = others[i];
  if (grid)
    return mlaf_cli_usage(c, "sources are made for one problem, not for the grid '%s'; --targets T makes a bundle of one", grid);
  return CLI_OK;
}

int mlaf_cli_generate(cli *c) {
  if (mlaf_cli_has(c, O_TARGETS)) return mlaf_cli_bundle(c);
  int code = check_sources(c);
  if (code != CLI_OK) return code;
  mlaf_point p;
  mlaf_gen *g = NULL;
  cli_variants v = {NULL, 0, 0};
  cli_kernel *kernels = NULL;
  size_t n = 0;
  const char *target = mlaf_cli_target(c), *out = c->given[O_OUT];
  mlaf_status status = mlaf_cli_problem(c, &p);
  if (status == MLAF_OK) status = mlaf_gen_open(c->given[O_GEN_ROOT], &g, &c->err);
  if (status == MLAF_OK) status = mlaf_cli_variants(c, g, &p, target, &v);
  if (status == MLAF_OK) status = mlaf_cli_kernels(c, g, target, &v, &kernels, &n);
  if (status == MLAF_OK && out) status = write_sources(c, g, out, kernels, n, target);
  if (status == MLAF_OK && !out && !c->json && c->given[O_VARIANT]) print_sources(kernels, n);
  else if (status == MLAF_OK) list_kernels(c, kernels, n, target);
  if (status == MLAF_OK && out) fprintf(stderr, "mlaforge: %zu sources and manifest.tsv written to %s\n", n, out);
  mlaf_cli_kernels_free(kernels, n);
  mlaf_cli_variants_free(&v);
  mlaf_gen_close(g);
  return status == MLAF_OK ? CLI_OK : mlaf_cli_fail(c);
}
