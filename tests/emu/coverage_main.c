/* emu-coverage: which instructions of a target the emulator implements, which its tests contain, and which were seen in kernels.
 *   emu-coverage --update TARGET TABLE CACHE [--seen FILE] [--wild FILE]   write the table; a column without a file is kept
 *   emu-coverage --check TARGET TABLE CACHE                                are implemented and tested up to date?
 *   emu-coverage --mnemonics CODE_OBJECT...                         what code objects contain: for --seen and --wild
 * CACHE is a code cache that only tests/emu ran with: tools/emu-coverage.sh does that and then calls this program.
 * tests/emu/isa_TARGET.txt names the ISA: what LLVM's disassembler prints for the target and its assembler accepts.
 * tests/emu/isa_left_out.txt says of every instruction that is not implemented why.
 *
 * An instruction of gfx950 or gfx90a that is the very operation of gfx942 may be tested there: then the table says "gfx942". */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "compile/compile.h"
#include "emu/emu.h"
#include "emu/place.h"

enum { MAX_ROWS = 4096, NAME = 48, IMPLEMENTED = 1, TESTED = 2, SEEN = 4, WILD = 8, ELSEWHERE = 16 /* tested, on gfx942 */ };
static const emu_isa *isa;

typedef struct row { char name[NAME]; unsigned flags; } row;
typedef struct table { row row[MAX_ROWS]; size_t n; } table;

static const struct { const char *title, *prefix; } groups[] = {
    {"Scalar", "s_"}, {"Matrix", "v_mfma"}, {"Sparse matrix", "v_smfmac"}, {"Vector", "v_"}, {"LDS", "ds_"},
    {"Global", "global_"}, {"Flat", "flat_"}, {"Scratch", "scratch_"}, {"Buffer", "buffer_"}};
enum { N_GROUPS = sizeof groups / sizeof *groups };

static int by_name(const void *a, const void *b) { return strcmp(((const row *)a)->name, ((const row *)b)->name); }

static row *find(table *t, const char *name, bool add) {
  for (size_t i = 0; i < t->n; i++)
    if (strcmp(t->row[i].name, name) == 0) return &t->row[i];
  if (!add || t->n == MAX_ROWS || strlen(name) >= NAME) return NULL;
  row *r = &t->row[t->n++];
  *r = (row){.flags = 0};
  memcpy(r->name, name, strlen(name) + 1);
  return r;
}

/* Without the encoding's suffix. */
static void strip(char *name) {
  static const char *const suffixes[] = {"_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa"};
  size_t n = strlen(name);
  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
    if (n > strlen(suffixes[i]) && strcmp(name + n - strlen(suffixes[i]), suffixes[i]) == 0) {
      name[n - strlen(suffixes[i])] = 0;
      return;
    }
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

/* Mark every instruction whose name is a word of the file. False: it cannot be read. */
static bool mark_words(table *t, const char *path, unsigned flag, bool add) {
  FILE *f = fopen(path, "r");
  char word[256];
  size_t n = 0;
  if (!f) return fprintf(stderr, "emu-coverage: cannot read %s\n", path), false;
  for (int c = fgetc(f);; c = fgetc(f)) {
    bool part = c != EOF && is_word((char)c);
    if (part && n + 1 < sizeof word) word[n++] = (char)c;
    if (part) continue;
    word[n] = 0;
    if (n > 2) strip(word);
    row *r = n > 2 ? find(t, word, add) : NULL;
    if (r) r->flags |= flag;
    n = 0;
    if (c == EOF) break;
  }
  fclose(f);
  return true;
}

/* The operation that the emulator runs for a mnemonic, NULL: none. */
static const emu_op *operation(const emu_isa *of, const char *name) {
  const emu_op *const tables[] = {
    emu_ops_salu, emu_ops_smem, emu_ops_valu(), emu_ops_convert, emu_ops_mfma, emu_ops_vmem, emu_ops_format, emu_ops_ds};
  for (const emu_alias *a = of->aliases; a && a->printed; a++)
    if (strcmp(a->printed, name) == 0) name = a->name;
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
    for (const emu_op *op = tables[i]; op->mnemonic; op++)
      if (strcmp(op->mnemonic, name) == 0) return op;
  return NULL;
}

static void mark_implemented(table *t) {
  for (size_t i = 0; i < t->n; i++)
    if (operation(isa, t->row[i].name)) t->row[i].flags |= IMPLEMENTED;
}

/* Disassembly that test runs left in a fresh code cache: what they executed, however their sources spell it. */
static bool mark_cached(table *t, const char *cache, const char *target, unsigned flag) {
  char pattern[1024];
  glob_t g;
  snprintf(pattern, sizeof pattern, "%s/v1/%s/*/*.s", cache, target);
  if (glob(pattern, 0, NULL, &g) != 0) return fprintf(stderr, "emu-coverage: no disassembly under %s\n", pattern), false;
  bool ok = true;
  for (size_t i = 0; i < g.gl_pathc; i++) ok = mark_words(t, g.gl_pathv[i], flag, false) && ok;
  globfree(&g);
  return ok;
}

static bool mark_tested(table *t, const char *cache) {
  static table there;
  there = *t;
  if (!mark_cached(t, cache, isa->info.target, TESTED)) return false;
  if (isa != &emu_isas[0] && !mark_cached(&there, cache, "gfx942", ELSEWHERE)) return false;
  for (size_t i = 0; i < t->n; i++) { /* an instruction that only shows its named fault is not tested */
    row *r = &t->row[i];
    if (!(r->flags & IMPLEMENTED)) r->flags &= ~(unsigned)TESTED;
    if (r->flags & IMPLEMENTED && there.row[i].flags & ELSEWHERE && operation(isa, r->name) == operation(&emu_isas[0], r->name))
      r->flags |= ELSEWHERE;
  }
  return true;
}

/* Rows of a table written before: "| `name` | yes | yes | ours, wild |". */
static void read_table(table *t, const char *path) {
  FILE *f = fopen(path, "r");
  char line[512];
  while (f && fgets(line, sizeof line, f)) {
    char name[NAME], implemented[8], tested[8], seen[32];
    if (sscanf(line, "| `%47[a-z0-9_]` | %7[a-z-] | %7[a-z0-9-] | %31[a-z, -] |", name, implemented, tested, seen) != 4) continue;
    row *r = find(t, name, true);
    if (!r) continue;
    r->flags = (*implemented == 'y' ? IMPLEMENTED : 0) |
               (*tested == 'y'   ? TESTED
                : *tested == 'g' ? ELSEWHERE
                                 : 0) |
               (strstr(seen, "ours") ? SEEN : 0) | (strstr(seen, "wild") ? WILD : 0);
  }
  if (f) fclose(f);
}

/* "name: reason" lines. Every instruction that is not implemented must have one, and no other. */
typedef struct reason { char name[NAME], why[160]; } reason;
static reason reasons[256];
static size_t n_reasons;

static bool read_reasons(const char *path) {
  FILE *f = fopen(path, "r");
  char line[512];
  if (!f) return fprintf(stderr, "emu-coverage: cannot read %s\n", path), false;
  while (fgets(line, sizeof line, f) && n_reasons < sizeof reasons / sizeof *reasons) {
    reason *r = &reasons[n_reasons];
    if (sscanf(line, "%47[a-z0-9_]: %159[^\n]", r->name, r->why) == 2) n_reasons++;
  }
  fclose(f);
  return true;
}

static const char *why_not(const char *name) {
  for (size_t i = 0; i < n_reasons; i++)
    if (strcmp(reasons[i].name, name) == 0) return reasons[i].why;
  return NULL;
}

/* Rows whose implementation and reason disagree. */
static int check_reasons(const table *t) {
  int wrong = 0;
  for (size_t i = 0; i < t->n; i++) {
    bool done = t->row[i].flags & IMPLEMENTED;
    if (done != (why_not(t->row[i].name) != NULL)) continue;
    wrong++;
    printf("%s: %s tests/emu/isa_left_out.txt\n", t->row[i].name, done ? "is implemented, take it off" : "needs a reason in");
  }
  return wrong;
}

static size_t group_of(const char *name) {
  size_t g = 0;
  while (g + 1 < N_GROUPS && strncmp(name, groups[g].prefix, strlen(groups[g].prefix)) != 0) g++;
  return g;
}

static size_t count(const table *t, size_t group, unsigned flags) {
  size_t n = 0;
  for (size_t i = 0; i < t->n; i++)
    n += (group == N_GROUPS || group_of(t->row[i].name) == group) && (t->row[i].flags & flags) == flags;
  return n;
}

static size_t tested(const table *t, size_t group) {
  return count(t, group, TESTED) + count(t, group, ELSEWHERE) - count(t, group, TESTED | ELSEWHERE);
}

static void write_counts(FILE *f, const table *t) {
  fprintf(f, "| | instructions | implemented | tested | in our kernels | in the wild | in the wild, implemented |\n"
             "|---|---|---|---|---|---|---|\n");
  for (size_t g = 0; g <= N_GROUPS; g++)
    fprintf(f, "| %s | %zu | %zu | %zu | %zu | %zu | %zu |\n", g < N_GROUPS ? groups[g].title : "all", count(t, g, 0),
            count(t, g, IMPLEMENTED), tested(t, g), count(t, g, SEEN), count(t, g, WILD), count(t, g, WILD | IMPLEMENTED));
}

static bool write_table(const table *t, const char *path) {
  static const char *const seen[] = {"-", "ours", "wild", "ours, wild"};
  FILE *f = fopen(path, "w");
  if (!f) return fprintf(stderr, "emu-coverage: cannot write %s\n", path), false;
  const char *name = isa->info.target;
  fprintf(f, "# Instructions of %s in the emulator\n\n"
             "Generated: `tools/emu-coverage.sh BUILD_DIR --update`. What is not implemented"
             " faults by name when it is executed,\nand not before. Tested: tests/emu executes it or checks its fault%s.%sSeen:"
             " in our compiled kernels (ours), or in\nothers' published gfx942 kernels (wild: tests/emu/wild_gfx942.txt)."
             " What LLVM's assembler rejects for %s is no row.\n\n", name,
          isa == &emu_isas[0] ? "" : "; gfx942: the same operation, tested there", isa == &emu_isas[0] ? " " : "\n", name);
  write_counts(f, t);
  fprintf(f, "\n## Left out\n\n| instruction | why |\n|---|---|\n");
  for (size_t i = 0; i < t->n; i++)
    if (!(t->row[i].flags & IMPLEMENTED)) {
      const char *why = why_not(t->row[i].name);
      fprintf(f, "| %s | %s |\n", t->row[i].name, why ? why : "?");
    }
  for (size_t g = 0; g < N_GROUPS; g++) {
    fprintf(f, "\n## %s\n\n| instruction | implemented | tested | seen |\n|---|---|---|---|\n", groups[g].title);
    for (size_t i = 0; i < t->n; i++)
      if (group_of(t->row[i].name) == g)
        fprintf(f, "| `%s` | %s | %s | %s |\n", t->row[i].name, t->row[i].flags & IMPLEMENTED ? "yes" : "-",
                t->row[i].flags & TESTED      ? "yes"
                : t->row[i].flags & ELSEWHERE ? "gfx942"
                                              : "-",
                seen[t->row[i].flags / SEEN & 3]);
  }
  return fclose(f) == 0;
}

/* Implemented means tested. */
static int check_all_tested(const table *t) {
  int wrong = 0;
  for (size_t i = 0; i < t->n; i++)
    if (t->row[i].flags & IMPLEMENTED && !(t->row[i].flags & (TESTED | ELSEWHERE)))
      wrong++, printf("%s: %s is implemented and no test in tests/emu executes it\n", isa->info.target, t->row[i].name);
  return wrong;
}

static int check(const table *now, const char *path) {
  static table old;
  int wrong = check_reasons(now) + check_all_tested(now);
  read_table(&old, path);
  for (size_t i = 0; i < now->n; i++) {
    const row *r = find(&old, now->row[i].name, false);
    const bool same = r && (r->flags & IMPLEMENTED) == (now->row[i].flags & IMPLEMENTED) &&
                      (r->flags & TESTED || !(now->row[i].flags & TESTED)) &&
                      (now->row[i].flags & TESTED || !(r->flags & TESTED));
    if (same) continue;
    if (wrong++ < 10) printf("%s: %s\n", now->row[i].name, r ? "implemented or tested has changed" : "not in the table");
  }
  if (wrong) printf("%d rows of %s are out of date: run tools/emu-coverage.sh BUILD_DIR --update\n", wrong, path);
  return wrong != 0;
}

/* First words of the disassembly. */
static int print_mnemonics(char **paths) {
  static table t;
  mlaf_compiler *c;
  mlaf_err err;
  if (mlaf_compiler_open(NULL, NULL, &c, &err)) return fprintf(stderr, "%s\n", err.text), 1;
  for (; *paths; paths++) {
    char *data = malloc(64 << 20), *text, name[NAME];
    FILE *f = fopen(*paths, "rb");
    size_t n = f && data ? fread(data, 1, 64 << 20, f) : 0;
    if (f) fclose(f);
    char *elf = memmem(data, n, "\177ELF", 4); /* entries of our code cache have a header */
    if (!elf) elf = data;
    if (mlaf_disassemble(c, "gfx942", elf, n - (size_t)(elf - data), &text, &err) == MLAF_OK) {
      for (char *s = text; s && *s; s = strchr(s, '\n') ? strchr(s, '\n') + 1 : NULL)
        if (sscanf(s, "%*x %*x %47[a-z0-9_]", name) == 1) strip(name), find(&t, name, true);
      free(text);
    } else {
      fprintf(stderr, "%s: %s\n", *paths, err.text);
    }
    free(data);
  }
  qsort(t.row, t.n, sizeof *t.row, by_name);
  for (size_t i = 0; i < t.n; i++) puts(t.row[i].name);
  mlaf_compiler_close(c);
  return 0;
}

int main(int argc, char **argv) {
  static table now, old;
  const char *root = getenv("MLAF_SOURCE_DIR"), *path = argc > 4 ? argv[3] : NULL;
  char names[1024];
  if (argc > 2 && strcmp(argv[1], "--mnemonics") == 0) return print_mnemonics(argv + 2);
  if (!path || (strcmp(argv[1], "--update") != 0 && strcmp(argv[1], "--check") != 0))
    return fprintf(
               stderr,
               "emu-coverage --update|--check TARGET TABLE CACHE [--seen FILE] [--wild FILE], or --mnemonics CODE_OBJECT...\n"),
           2;
  if (!root) root = ".";
  for (int i = 0; i < EMU_ISAS; i++)
    if (strcmp(emu_isas[i].info.target, argv[2]) == 0) isa = &emu_isas[i];
  if (!isa) return fprintf(stderr, "emu-coverage: the emulator has no target '%s'\n", argv[2]), 2;
  snprintf(names, sizeof names, "%s/tests/emu/isa_%s.txt", root, isa->info.target);
  if (!mark_words(&now, names, 0, true)) return 1;
  qsort(now.row, now.n, sizeof *now.row, by_name);
  snprintf(names, sizeof names, "%s/tests/emu/isa_left_out.txt", root);
  if (!read_reasons(names)) return 1;
  mark_implemented(&now);
  if (!mark_tested(&now, argv[4])) return 1;
  if (strcmp(argv[1], "--check") == 0) return check(&now, path);
  read_table(&old, path);
  unsigned keep = SEEN | WILD;
  for (int i = 5; i + 1 < argc; i += 2) {
    unsigned flag = strcmp(argv[i], "--seen") == 0 ? SEEN : WILD;
    keep &= ~flag;
    if (!mark_words(&now, argv[i + 1], flag, false)) return 1;
  }
  for (size_t i = 0; i < old.n; i++) {
    row *r = find(&now, old.row[i].name, false);
    if (r) r->flags |= old.row[i].flags & keep;
  }
  return write_table(&now, path) ? 0 : 1;
}
