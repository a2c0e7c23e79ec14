/* compile-texts: kernels' sources to code objects, many at a time; for tools/same-code.lua and tools/rehash.lua.
 *
 * A line of stdin is one of them, fields apart by tabs: target, file with the source, file for the code object ("-": none, only
 * the cache key is wanted), options. A line of stdout answers each, in order: cache key and SHA-256 of what runs ("-" where none
 * was wanted), or "error" and the compiler's first line. What runs: the machine code, and what the runtime reads of it
 * (registers, shared memory, arguments, how it wants to be launched); not the names of a text's constants, which a code object
 * lists, too. Exit code 1 when a source did not compile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile.h"
#include "compile/elf.h"

enum { MAX_TEXTS = 16384, MAX_OPTIONS = 16 };

typedef struct text {
  char *line, *out;
  const char *options[MAX_OPTIONS + 1];
  mlaf_compile_job job;
} text;

static char *slurp(const char *path) {
  size_t size = 0;
  void *data = NULL;
  FILE *f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END) || (size = (size_t)ftell(f)) > (64u << 20) || fseek(f, 0, SEEK_SET) ||
      !(data = calloc(1, size + 1)) || fread(data, 1, size, f) != size) {
    fprintf(stderr, "compile-texts: cannot read %s\n", path);
    exit(2);
  }
  fclose(f);
  return data;
}

/* Splits the line in place. */
static void read_line(text *t, char *line) {
  char *field[3 + MAX_OPTIONS], *rest = line;
  size_t n = 0;
  line[strcspn(line, "\n")] = 0;
  while (n < sizeof field / sizeof *field && (field[n] = strsep(&rest, "\t"))) n++;
  if (n < 3 || rest) {
    fprintf(stderr, "compile-texts: a line is: target, source, output and up to %d options, apart by tabs\n", MAX_OPTIONS);
    exit(2);
  }
  t->line = line;
  t->out = field[2];
  for (size_t i = 3; i < n; i++) t->options[i - 3] = field[i];
  t->job = (mlaf_compile_job){.source = slurp(field[1]), .options = t->options, .target = field[0], .name = field[1]};
}

static void write_code(const text *t) {
  FILE *f = fopen(t->out, "wb");
  if (!f || fwrite(t->job.code, 1, t->job.code_size, f) != t->job.code_size || fclose(f)) {
    fprintf(stderr, "compile-texts: cannot write %s\n", t->out);
    exit(2);
  }
}

/* The texts whose code is wanted, in one batch. */
static void compile(mlaf_compiler *c, text *texts, size_t n) {
  mlaf_compile_job *jobs = calloc(n + 1, sizeof *jobs);
  size_t used = 0;
  mlaf_err err = {0};
  if (!jobs) exit(2);
  for (size_t i = 0; i < n; i++)
    if (strcmp(texts[i].out, "-") != 0) jobs[used++] = texts[i].job;
  if (used && mlaf_compile(c, jobs, used, NULL, NULL, &err)) {
    fprintf(stderr, "compile-texts: %s\n", err.text);
    exit(2);
  }
  for (size_t i = n; i-- > 0;)
    if (strcmp(texts[i].out, "-") != 0) texts[i].job = jobs[--used];
  free(jobs);
}

/* False when the code object is none that the runtime reads. */
static bool digest_of(const text *t, char out[MLAF_HASH_HEX]) {
  enum { MAX_PARTS = 8 };
  const void *parts[MAX_PARTS + 1];
  size_t lens[MAX_PARTS + 1], n = 0, kernels = 0;
  static mlaf_kernel_meta meta; /* static: no bytes between members differ */
  mlaf_elf elf;
  mlaf_elf_section s;
  mlaf_err err = {0};
  memset(&meta, 0, sizeof meta);
  if (mlaf_elf_open(t->job.code, t->job.code_size, &elf, &err)) return false;
  if (mlaf_code_meta(t->job.code, t->job.code_size, &meta, 1, &kernels, &err)) return false;
  for (uint32_t i = 0; i < elf.shnum; i++)
    if (mlaf_elf_section_at(&elf, i, &s) && !strncmp(s.name, ".text", 5) && s.data && n < MAX_PARTS)
      parts[n] = s.data, lens[n++] = s.size;
  if (!n || kernels != 1) return false;
  parts[n] = &meta, lens[n++] = sizeof meta;
  mlaf_sha256_parts(parts, lens, n, out);
  return true;
}

static bool answer(mlaf_compiler *c, text *t) {
  char digest[MLAF_HASH_HEX] = "-";
  mlaf_err err = {0};
  if (t->job.status) {
    const char *log = t->job.log ? t->job.log : "";
    printf("error\t%s: %.*s\n", mlaf_status_name(t->job.status), (int)strcspn(log, "\n"), log);
    return false;
  }
  if (mlaf_compile_key(c, &t->job, &err)) {
    printf("error\t%s\n", err.text);
    return false;
  }
  if (t->job.code) {
    write_code(t);
    if (!digest_of(t, digest)) {
      printf("error\tthe code object cannot be read\n");
      return false;
    }
  }
  printf("%s\t%s\n", t->job.key, digest);
  return true;
}

int main(int argc, char **argv) {
  text *texts = calloc(MAX_TEXTS, sizeof *texts);
  char *line = NULL;
  size_t n = 0, size = 0;
  bool good = true;
  mlaf_err err = {0};
  mlaf_compiler *c = NULL;
  const mlaf_compiler_opts opts = {.worker_path = argc > 1 ? argv[1] : NULL};
  if (!texts || mlaf_compiler_open(&opts, NULL, &c, &err)) {
    fprintf(stderr, "compile-texts: %s\n", err.text);
    return 2;
  }
  while (n < MAX_TEXTS && getline(&line, &size, stdin) > 0) {
    read_line(&texts[n++], line);
    line = NULL;
  }
  free(line);
  compile(c, texts, n);
  for (size_t i = 0; i < n; i++) {
    good = answer(c, &texts[i]) && good;
    free((char *)texts[i].job.source);
    mlaf_compile_job_clear(&texts[i].job);
    free(texts[i].line);
  }
  free(texts);
  mlaf_compiler_close(c);
  return good ? 0 : 1;
}
