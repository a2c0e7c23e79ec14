/* Exports of libmlaforge.so are those that tests/abi.txt lists; the headers stand alone, in C and in C++. */
#include <dlfcn.h>
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static void exported_symbols(void **state) {
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
static void loads_alone(void **state) {
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

static void headers_stand_alone(void **state) {
  static const char *const headers[] = {"context", "database", "layer", "mlaforge", "plan", "problem", "status", "tune"};
  static const char *const compilers[] = {"cc -std=c11 -Wall -Wextra -pedantic -Werror -x c",
                                          "c++ -std=c++11 -Wall -Wextra -Werror -x c++"};
  for (int c = 0; c < 2; c++) {
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
      char cmd[800];
      snprintf(cmd, sizeof cmd, "echo '#include \"mlaforge/%s.h\"' | %s -fsyntax-only -I'%s/include' -", headers[i],
               compilers[c], getenv("MLAF_SOURCE_DIR"));
      if (system(cmd)) fail_msg("mlaforge/%s.h does not stand alone: %s", headers[i], cmd);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(exported_symbols), cmocka_unit_test(loads_alone),
                                     cmocka_unit_test(headers_stand_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
