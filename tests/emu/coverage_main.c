/* emu-coverage: which instructions the emulator implements for each target, which its tests contain, and which were seen in
 * kernels of gfx942.
 *   emu-coverage --update TABLE CACHE [--seen FILE] [--wild FILE]   write the table; what no file is given for is kept
 *   emu-coverage --check TABLE CACHE                                are implemented and tested up to date?
 *   emu-coverage --mnemonics CODE_OBJECT...                         what code objects contain: for --seen and --wild
 * CACHE is a code cache that only tests/emu ran with: tools/emu-coverage.sh does that and then calls this program.
 * TABLE (tests/emu/instructions.txt) names the ISA of each target: what LLVM's disassembler prints and its assembler accepts has
 * a state other than a dot there, at first "-". tests/emu/isa_left_out.txt says of every one that is not implemented why.
 *
 * An instruction of gfx950 or gfx90a that is the very operation of gfx942 may be tested there: then the table says "gfx942". */
#include <glob.h>

#include "base/base.h"
#include "compile/compile.h"
#include "emu/emu.h"
#include "emu/place.h"

enum { MAX_ROWS = 4096, NAME = 48, IMPLEMENTED = 1, TESTED = 2, SEEN = 4, WILD = 8, ELSEWHERE = 16 /* tested, on gfx942 */,
       THERE = 32, LINE = 256, COLUMNS = 130 };

/* An instruction, with flags for each target; SEEN and WILD are those of the first, gfx942. */
typedef struct row { char name[NAME]; unsigned flags[EMU_ISAS]; } row;
typedef struct table { row row[MAX_ROWS]; size_t n; } table;

static int by_name(const void *a, const void *b) { return strcmp(((const row *)a)->name, ((const row *)b)->name); }

static row *find(table *t, const char *name, bool add) {
  for (size_t i = 0; i < t->n; i++)
    if (strcmp(t->row[i].name, name) == 0) return &t->row[i];
  if (!add || t->n == MAX_ROWS || strlen(name) >= NAME) return NULL;
  row *r = &t->row[t->n++];
  *r = (row){.flags = {0}};
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

/* Marks every instruction whose name is a word of the file. False: it cannot be read. */
static bool mark_words(table *t, const char *path, int isa, unsigned flag) {
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
    row *r = n > 2 ? find(t, word, false) : NULL;
    if (r) r->flags[isa] |= flag;
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

/* Disassembly that test runs left in a fresh code cache: what they executed, however their sources spell it. */
static bool mark_cached(table *t, const char *cache, int isa) {
  char pattern[1024];
  glob_t g;
  snprintf(pattern, sizeof pattern, "%s/v1/%s/*/*.s", cache, emu_isas[isa].info.target);
  if (glob(pattern, 0, NULL, &g) != 0) return fprintf(stderr, "emu-coverage: no disassembly under %s\n", pattern), false;
  bool ok = true;
  for (size_t i = 0; i < g.gl_pathc; i++) ok = mark_words(t, g.gl_pathv[i], isa, TESTED) && ok;
  globfree(&g);
  return ok;
}

/* Fills what the emulator implements and its tests contain. An instruction that only shows its named fault is not tested. */
static bool mark(table *t, const char *cache) {
  for (int isa = 0; isa < EMU_ISAS; isa++)
    if (!mark_cached(t, cache, isa)) return false;
  for (row *r = t->row; r < t->row + t->n; r++) {
    const emu_op *first = operation(&emu_isas[0], r->name);
    const bool tested = r->flags[0] & TESTED;
    for (int isa = 0; isa < EMU_ISAS; isa++) {
      const emu_op *op = operation(&emu_isas[isa], r->name);
      if (op && isa && op == first && tested) r->flags[isa] |= ELSEWHERE;
      if (op) r->flags[isa] |= IMPLEMENTED;
      else r->flags[isa] &= ~(unsigned)TESTED;
    }
  }
  return true;
}

static const char *state(unsigned flags) {
  if (!(flags & THERE)) return ".";
  return !(flags & IMPLEMENTED) ? "-" : flags & TESTED ? "yes" : flags & ELSEWHERE ? "gfx942" : "untested";
}

/* "yes gfx942 . wild": an instruction's state for each target, and whether gfx942's was seen. */
static void print_states(const row *r, char out[NAME]) {
  static const char *const seen[] = {"", " ours", " wild", " ours wild"};
  int n = 0;
  for (int isa = 0; isa < EMU_ISAS; isa++) n += snprintf(out + n, NAME - (size_t)n, "%s%s", isa ? " " : "", state(r->flags[isa]));
  snprintf(out + n, NAME - (size_t)n, "%s", seen[r->flags[0] / SEEN & 3]);
}

static row parse_states(char *text) {
  row r = {.flags = {0}};
  char *word = NULL;
  for (int isa = 0; isa < EMU_ISAS && (word = strsep(&text, " ")); isa++)
    r.flags[isa] = (*word != '.' ? THERE : 0) | (strchr("yg", *word) ? IMPLEMENTED : 0) |
                   (*word == 'y'   ? TESTED
                    : *word == 'g' ? ELSEWHERE
                                   : 0);
  if (text) r.flags[0] |= (strstr(text, "ours") ? SEEN : 0) | (strstr(text, "wild") ? WILD : 0);
  return r;
}

/* Instructions of a table: a line with states, then indented lines with the names of those that have them. */
static bool read_table(table *t, const char *path) {
  FILE *f = fopen(path, "r");
  char line[LINE];
  row group = {.flags = {0}};
  if (!f) return fprintf(stderr, "emu-coverage: cannot read %s\n", path), false;
  while (fgets(line, sizeof line, f)) {
    char *rest = line, *word;
    line[strcspn(line, "\n")] = 0;
    if (*line == '#') continue;
    if (*line != ' ') group = parse_states(line);
    else
      while ((word = strsep(&rest, " "))) {
        row *r = *word ? find(t, word, true) : NULL;
        if (r) memcpy(r->flags, group.flags, sizeof r->flags);
      }
  }
  fclose(f);
  return true;
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

/* Rows whose implementation and reason disagree: an instruction that some target lacks needs a reason. */
static int check_reasons(const table *t) {
  int wrong = 0;
  for (const row *r = t->row; r < t->row + t->n; r++) {
    bool missing = false;
    for (int isa = 0; isa < EMU_ISAS; isa++) missing |= (r->flags[isa] & (THERE | IMPLEMENTED)) == THERE;
    if (missing == (why_not(r->name) != NULL)) continue;
    wrong++;
    printf("%s: %s tests/emu/isa_left_out.txt\n", r->name, missing ? "needs a reason in" : "is implemented, take it off");
  }
  return wrong;
}

static size_t count(const table *t, int isa, const char *prefix, unsigned flags) {
  size_t n = 0;
  for (const row *r = t->row; r < t->row + t->n; r++)
    n += strncmp(r->name, prefix, strlen(prefix)) == 0 && (r->flags[isa] & (flags | THERE)) == (flags | THERE);
  return n;
}

static void print_counts(const table *t) {
  static const char *const groups[] = {"s_", "v_mfma", "v_smfmac", "v_", "ds_", "global_", "flat_", "scratch_", "buffer_", ""};
  for (int isa = 0; isa < EMU_ISAS; isa++) {
    printf("%s, implemented/there:", emu_isas[isa].info.target);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
      printf(" %s %zu/%zu", *groups[g] ? groups[g] : "all", count(t, isa, groups[g], IMPLEMENTED), count(t, isa, groups[g], 0));
    printf("\n");
  }
  printf("gfx942, seen in our kernels %zu, in the wild %zu, of which %zu are implemented\n", count(t, 0, "", SEEN),
         count(t, 0, "", WILD), count(t, 0, "", WILD | IMPLEMENTED));
}

/* A group: the states of its first row, then the names of all rows that have them. Each row is written once. */
static void write_group(FILE *f, const table *t, const row *first) {
  char states[NAME], other[NAME];
  size_t column = COLUMNS;
  print_states(first, states);
  for (const row *r = t->row; r < first; r++)
    if (print_states(r, other), !strcmp(states, other)) return;
  fputs(states, f);
  for (const row *r = first; r < t->row + t->n; r++) {
    print_states(r, other);
    if (strcmp(states, other)) continue;
    const bool fits = column + 1 + strlen(r->name) <= COLUMNS;
    column = (fits ? column : 1) + 1 + strlen(r->name);
    fprintf(f, "%s%s", fits ? " " : "\n  ", r->name);
  }
  fputs("\n", f);
}

static bool write_table(const table *t, const char *path) {
  FILE *f = fopen(path, "w");
  if (!f) return fprintf(stderr, "emu-coverage: cannot write %s\n", path), false;
  fprintf(f, "# Instructions in the emulator (tools/emu-coverage.sh BUILD_DIR --update), by their states for");
  for (int isa = 0; isa < EMU_ISAS; isa++) fprintf(f, " %s%s", emu_isas[isa].info.target, isa + 1 < EMU_ISAS ? "," : ".\n");
  fprintf(f, "# yes: implemented, and tests/emu executes it; gfx942: the same operation, tested there; -: left out, it faults by "
             "name\n# (isa_left_out.txt says why); a dot: the target has no such instruction. Behind them: gfx942's was seen in "
             "our compiled\n# kernels (ours), in the 1432 code objects under hsa/gfx942 of ROCm/aiter (wild).\n");
  for (const row *r = t->row; r < t->row + t->n; r++) write_group(f, t, r);
  return fclose(f) == 0;
}

/* Implemented means tested. */
static int check_all_tested(const table *t) {
  int wrong = 0;
  for (const row *r = t->row; r < t->row + t->n; r++)
    for (int isa = 0; isa < EMU_ISAS; isa++)
      if ((r->flags[isa] & (THERE | IMPLEMENTED)) == (THERE | IMPLEMENTED) && !(r->flags[isa] & (TESTED | ELSEWHERE)))
        wrong++, printf("%s: %s is implemented and no test in tests/emu executes it\n", emu_isas[isa].info.target, r->name);
  return wrong;
}

static int check(const table *now, const table *old, const char *path) {
  int wrong = check_reasons(now) + check_all_tested(now);
  for (size_t i = 0; i < now->n; i++)
    for (int isa = 0; isa < EMU_ISAS; isa++) {
      const unsigned changed = now->row[i].flags[isa] ^ old->row[i].flags[isa];
      if (!(now->row[i].flags[isa] & THERE) || !(changed & (IMPLEMENTED | TESTED))) continue;
      if (wrong++ < 10) printf("%s, %s: implemented or tested has changed\n", emu_isas[isa].info.target, now->row[i].name);
    }
  if (wrong)
    printf("%d findings: mend them, or run tools/emu-coverage.sh BUILD_DIR --update where %s is out of date\n", wrong, path);
  else print_counts(now);
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
  const char *root = getenv("MLAF_SOURCE_DIR"), *path = argc > 3 ? argv[2] : NULL;
  char names[1024];
  if (argc > 2 && strcmp(argv[1], "--mnemonics") == 0) return print_mnemonics(argv + 2);
  if (!path || (strcmp(argv[1], "--update") != 0 && strcmp(argv[1], "--check") != 0))
    return fprintf(
               stderr, "emu-coverage --update|--check TABLE CACHE [--seen FILE] [--wild FILE], or --mnemonics CODE_OBJECT...\n"),
           2;
  if (!read_table(&old, path)) return 1;
  qsort(old.row, old.n, sizeof *old.row, by_name);
  now = old;
  unsigned keep = THERE | SEEN | WILD;
  for (int i = 4; i + 1 < argc; i += 2) keep &= ~(unsigned)(strcmp(argv[i], "--seen") == 0 ? SEEN : WILD);
  for (size_t i = 0; i < now.n; i++)
    for (int isa = 0; isa < EMU_ISAS; isa++) now.row[i].flags[isa] &= keep;
  snprintf(names, sizeof names, "%s/tests/emu/isa_left_out.txt", root ? root : ".");
  if (!read_reasons(names) || !mark(&now, argv[3])) return 1;
  for (int i = 4; i + 1 < argc; i += 2)
    if (!mark_words(&now, argv[i + 1], 0, strcmp(argv[i], "--seen") == 0 ? SEEN : WILD)) return 1;
  if (strcmp(argv[1], "--check") == 0) return check(&now, &old, path);
  return write_table(&now, path) ? 0 : 1;
}
