/* Exports of libmlaforge.so are those that tests/abi.txt lists; the headers stand alone, in C and in C++. */
#include <dlfcn.h>
#include <elf.h>

#include "base/base.h"
#include "cmocka_all.h"
#include "mlaforge/mlaforge.h"

static void library_path(char *out, size_t size) {
  snprintf(out, size, "%s/libmlaforge.so", getenv("MLAF_BUILD_DIR") ? getenv("MLAF_BUILD_DIR") : ".");
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Sorted names of the defined global symbols of an ELF file, one a line. */
static char *exported(const char *path) {
  void *data;
  size_t size, n = 0;
  assert_int_equal(mlaf_file_read(path, (size_t)1 << 28, &data, &size, NULL), MLAF_OK);
  const char *elf = data;
  const Elf64_Ehdr *h = data;
  const Elf64_Shdr *s = (const Elf64_Shdr *)(elf + h->e_shoff);
  const char *names[4096];
  for (int i = 0; i < h->e_shnum; i++) {
    if (s[i].sh_type != SHT_DYNSYM) continue;
    const Elf64_Sym *symbols = (const Elf64_Sym *)(elf + s[i].sh_offset);
    for (size_t k = 0; k < s[i].sh_size / sizeof *symbols && n < 4096; k++)
      if (symbols[k].st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbols[k].st_info) != STB_LOCAL)
        names[n++] = elf + s[s[i].sh_link].sh_offset + symbols[k].st_name;
  }
  qsort(names, n, sizeof *names, by_name);
  mlaf_text t = MLAF_TEXT_INIT(1 << 20);
  for (size_t i = 0; i < n; i++)
    if (strncmp(names[i], "__tsan_", 7)) mlaf_text_fmt(&t, "%s\n", names[i]); /* what we tell a sanitizer is no interface */
  free(data);
  return mlaf_text_take(&t);
}

/* Lines of a that are not in b. */
static void report_missing(const char *a, const char *b, const char *what) {
  for (const char *s = a; *s; s = strchr(s, '\n') + 1) {
    char line[200];
    snprintf(line, sizeof line, "\n%.*s\n", (int)strcspn(s, "\n"), s);
    char *padded = mlaf_format("\n%s", b);
    if (!strstr(padded, line)) print_message("%s: %.*s\n", what, (int)strlen(line) - 2, line + 1);
    free(padded);
  }
}

TEST(exported_symbols) {
  char path[600], list[600];
  void *want;
  size_t size;
  library_path(path, sizeof path);
  snprintf(list, sizeof list, "%s/tests/abi.txt", getenv("MLAF_SOURCE_DIR"));
  char *got = exported(path);
  assert_int_equal(mlaf_file_read(list, 1 << 20, &want, &size, NULL), MLAF_OK);
  if (strcmp(got, want)) {
    report_missing(got, want, "exported and not listed");
    report_missing(want, got, "listed and not exported");
    fail_msg("the exported symbols changed; if that is meant: nm -D --defined-only %s | awk '{print $3}' | LC_ALL=C "
             "sort > tests/abi.txt",
             path);
  }
  free(got);
  free(want);
}

/* Loaded by itself, as a program would that knows nothing of the rooms. */
TEST(loads_alone) {
  char path[600];
  library_path(path, sizeof path);
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib) fail_msg("%s", dlerror());
  int (*number)(void);
  void *symbol = dlsym(lib, "mlaf_version_number");
  memcpy(&number, &symbol, sizeof symbol);
  assert_int_equal(number(), MLAF_VERSION_NUMBER);
  mlaf_status (*parse)(const char *, mlaf_problem *, char *, size_t);
  symbol = dlsym(lib, "mlaf_problem_parse");
  memcpy(&parse, &symbol, sizeof symbol);
  mlaf_problem p;
  assert_int_equal(parse("mla_decode:h16,b4", &p, NULL, 0), MLAF_OK);
  assert_int_equal(p.batch, 4);
  assert_null(dlsym(lib, "mlaf_file_read"));
}

static const char *const compilers[] = {"cc -std=c11 -Wall -Wextra -pedantic -Werror -x c",
                                        "c++ -std=c++11 -Wall -Wextra -Werror -x c++"};

TEST(headers_stand_alone) {
  static const char *const headers[] = {"call", "chunked_prefill", "context", "context_split", "database", "layer",
                                        "mla_append", "mla_decode", "mla_dequant", "mla_gather_kv_b", "mla_index",
                                        "mla_index_append", "mla_merge", "mla_merge_parts", "mla_prefill", "mla_q_scale",
                                        "mlaforge", "operation", "plan", "problem", "projection", "rope", "status", "tune"};
  for (int c = 0; c < 2; c++) {
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
      char cmd[800];
      snprintf(cmd, sizeof cmd, "echo '#include \"mlaforge/%s.h\"' | %s -fsyntax-only -I'%s/include' -", headers[i],
               compilers[c], getenv("MLAF_SOURCE_DIR"));
      if (system(cmd)) fail_msg("mlaforge/%s.h does not stand alone: %s", headers[i], cmd);
    }
  }
}

/* Compiles a program's text, whatever warns. */
static void compiles(const char *compiler, const char *text) {
  char path[] = "/tmp/mlaf-abi-XXXXXX", cmd[800];
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
  close(fd);
  snprintf(cmd, sizeof cmd, "%s -pedantic -fsyntax-only -I'%s/include' %s", compiler, getenv("MLAF_SOURCE_DIR"), path);
  const int failed = system(cmd);
  unlink(path);
  if (failed) fail_msg("%s: not compiled:\n%s", cmd, text);
}

/* mla_decode's initialisers have each member's value in its place, by names in C and by their order in C++. */
TEST(initialisers) {
  static const char text[] =
      "#include \"mlaforge/mla_decode.h\"\n"
      "#ifdef __cplusplus\n"
      "constexpr mlaf_mla_decode_problem p = MLAF_MLA_DECODE_PROBLEM_INIT;\n"
      "static_assert(p.struct_size == sizeof p && p.heads == 16 && p.rank == 512 && p.rope == 64 && p.q_len == 1 &&\n"
      "              p.causal == 0 && p.dtype == MLAF_BF16 && p.page_size == 64 && p.batch == 1 &&\n"
      "              p.ctx == 1024 && p.rotate == 0, \"problem\");\n"
      "constexpr mlaf_mla_decode_args a = MLAF_MLA_DECODE_ARGS_INIT;\n"
      "static_assert(a.struct_size == sizeof a && a.scale == 0 && !a.values, \"arguments\");\n"
      "constexpr mlaf_mla_decode_tables t = MLAF_MLA_DECODE_TABLES_INIT;\n"
      "static_assert(t.struct_size == sizeof t && !t.kv_last_page_lens, \"tables\");\n"
      "#endif\n"
      "int main(void) {\n"
      "  mlaf_mla_decode_problem q = MLAF_MLA_DECODE_PROBLEM_INIT;\n"
      "  mlaf_mla_decode_args b = MLAF_MLA_DECODE_ARGS_INIT;\n"
      "  mlaf_mla_decode_tables u = MLAF_MLA_DECODE_TABLES_INIT;\n"
      "  mlaf_plan *plan = NULL;\n"
      "  return mlaf_mla_decode_check(&q, NULL, 0) || mlaf_mla_decode_plan_get(NULL, &q, NULL, &plan) ||\n"
      "         mlaf_mla_decode_execute(plan, &b, NULL) || mlaf_mla_decode_check_tables(&q, &u, NULL, 0);\n"
      "}\n";
  for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) compiles(compilers[i], text);
  const mlaf_mla_decode_problem p = MLAF_MLA_DECODE_PROBLEM_INIT;
  mlaf_mla_decode_problem parsed;
  assert_int_equal(mlaf_mla_decode_parse("mla_decode:h16", &parsed, NULL, 0), MLAF_OK);
  assert_memory_equal(&p, &parsed, sizeof p);
}

/* Programs written for the names until 0.1.0, with the headers that had them. */
TEST(old_names) {
  static const char text[] =
      "#include \"mlaforge/problem.h\"\n"
      "struct mlaf_problem p = MLAF_PROBLEM_INIT;\n"
      "#include \"mlaforge/tune.h\"\n"
      "#include \"mlaforge/plan.h\"\n"
      "int main(void) {\n"
      "  mlaf_problem q = MLAF_PROBLEM_INIT;\n"
      "  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;\n"
      "  mlaf_host_tables t = MLAF_HOST_TABLES_INIT;\n"
      "  char text[MLAF_PROBLEM_TEXT_MAX];\n"
      "  mlaf_plan *plan = NULL;\n"
      "  mlaf_status (*execute)(const mlaf_plan *, const mlaf_execute_args *, void *) = mlaf_execute;\n"
      "  return mlaf_problem_parse(\"\", &q, NULL, 0) || mlaf_problem_check(&q, NULL, 0) ||\n"
      "         mlaf_problem_print(&p, text, sizeof text) || mlaf_plan_create(NULL, &q, NULL, &plan) ||\n"
      "         mlaf_plan_get(NULL, &q, NULL, &plan) || mlaf_warm_up(NULL, &q, NULL, NULL) ||\n"
      "         mlaf_tune(NULL, &q, NULL, NULL) ||\n"
      "         mlaf_execute_workspace_size(plan, &a) || execute(plan, &a, NULL) || mlaf_check_tables(&q, &t, NULL, 0);\n"
      "}\n";
  for (size_t i = 0; i < sizeof compilers / sizeof *compilers; i++) compiles(compilers[i], text);
}

TESTS(NULL, NULL)
