/* Build-time tool: tuning/models.tsv -> a C table. Malformed lines stop the build with their line number.
 *   embed-models IN.tsv OUT.c */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  COL_NAME, COL_HEADS, COL_RANK, COL_ROPE, COL_NOPE, COL_V, COL_HIDDEN, COL_Q_LORA, COL_EPS, COL_BASE, COL_STYLE, COL_FACTOR,
  COL_BETA_FAST, COL_BETA_SLOW, COL_ORIGINAL, COL_MSCALE, COL_MSCALE_ALL, COL_Q_BETA, COL_Q_ORIGINAL,
  COL_INDEX_HEADS, COL_INDEX_TOPK, COL_INDEX_STYLE,
  COL_UNVERIFIED, COL_SOURCE, COLUMNS
};
enum { TEXT, WHOLE, REAL, STYLE };
/* Columns in the file's order; `field` is the member of mlaf_model. */
static const struct {
  const char *name, *field;
  int kind;
} columns[COLUMNS] = {
    {"name", "name", TEXT},
    {"heads", "heads", WHOLE},
    {"kv_lora_rank", "rank", WHOLE},
    {"rope", "rope", WHOLE},
    {"qk_nope", "qk_nope", WHOLE},
    {"v_head", "v_head", WHOLE},
    {"hidden", "hidden", WHOLE},
    {"q_lora_rank", "q_lora_rank", WHOLE},
    {"eps", "eps", REAL},
    {"rope_base", "rotation.base", REAL},
    {"rope_style", "rotation.style", STYLE},
    {"factor", "rotation.factor", REAL},
    {"beta_fast", "rotation.beta_fast", REAL},
    {"beta_slow", "rotation.beta_slow", REAL},
    {"original", "rotation.original", WHOLE},
    {"mscale", "rotation.mscale", REAL},
    {"mscale_all_dim", "rotation.mscale_all_dim", REAL},
    {"q_scale_beta", "q_scale_beta", REAL},
    {"q_scale_original", "q_scale_original", WHOLE},
    {"index_heads", "index_heads", WHOLE},
    {"index_topk", "index_topk", WHOLE},
    {"index_style", "index_style", STYLE},
    {"unverified", "unverified", TEXT},
    {"source", "source", TEXT},
};
static const struct {
  const char *word, *value;
} styles[] = {{"pairs", "MLAF_ROPE_PAIRS"}, {"halves", "MLAF_ROPE_HALVES"}, {"unrotated", "MLAF_ROPE_UNROTATED"}};

static int fail(const char *path, int line, const char *what, const char *value) {
  fprintf(stderr, "%s:%d: %s: '%s'\n", path, line, what, value);
  return 1;
}

/* Split in place; the number of columns, COLUMNS + 1 when there are too many. */
static int split(char *line, char *cols[COLUMNS]) {
  int n = 0;
  for (char *s = line; s; n++) {
    char *tab = strchr(s, '\t');
    if (n == COLUMNS) return COLUMNS + 1;
    if (tab) *tab = 0;
    cols[n] = s;
    s = tab ? tab + 1 : NULL;
  }
  return n;
}

static int whole_ok(const char *s) {
  if (!*s || strlen(s) > 6) return 0;
  for (; *s; s++)
    if (!isdigit((unsigned char)*s)) return 0;
  return 1;
}

/* Tells whether a text is a number in C and in this file: 40, 0.707, 1e-6. */
static int real_ok(const char *s) {
  char *end;
  if (!isdigit((unsigned char)*s) || strspn(s, "0123456789.e-") != strlen(s) || s[strlen(s) - 1] == '.') return 0;
  strtod(s, &end);
  return !*end;
}

/* NULL: none of them. */
static const char *style_of(const char *s) {
  for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
    if (!strcmp(s, styles[i].word)) return styles[i].value;
  return NULL;
}

/* Every name in the list of fields not confirmed is a column. */
static int unverified_ok(const char *s) {
  if (!strcmp(s, "-") || !strcmp(s, "all")) return 1;
  while (*s) {
    size_t n = strcspn(s, ",");
    int c = COL_HEADS;
    while (c < COL_UNVERIFIED && (strlen(columns[c].name) != n || strncmp(columns[c].name, s, n))) c++;
    if (c == COL_UNVERIFIED) return 0;
    s += n + (s[n] == ',');
  }
  return 1;
}

/* A C string literal. */
static void quote(FILE *out, const char *s) {
  fputc('"', out);
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') fputc('\\', out);
    fputc(*s, out);
  }
  fputc('"', out);
}

static int check(const char *path, int number, char *cols[COLUMNS], const char *previous) {
  for (const char *s = cols[COL_NAME]; *s; s++)
    if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && !strchr(".-", *s))
      return fail(path, number, "names are lower-case letters, digits, '.' and '-'", cols[COL_NAME]);
  for (int c = 0; c < COLUMNS; c++)
    if ((columns[c].kind == WHOLE && !whole_ok(cols[c])) || (columns[c].kind == REAL && !real_ok(cols[c])) ||
        (columns[c].kind == STYLE && !style_of(cols[c])))
      return fail(path, number, columns[c].name, cols[c]);
  if (strtol(cols[COL_ROPE], NULL, 10) % 2) return fail(path, number, "rope columns are even", cols[COL_ROPE]);
  if (strtod(cols[COL_FACTOR], NULL) > 1 && !strtol(cols[COL_ORIGINAL], NULL, 10))
    return fail(path, number, "a factor wants original", cols[COL_NAME]);
  if (strtod(cols[COL_Q_BETA], NULL) > 0 && !strtol(cols[COL_Q_ORIGINAL], NULL, 10))
    return fail(path, number, "q_scale_beta wants q_scale_original", cols[COL_NAME]);
  if (!unverified_ok(cols[COL_UNVERIFIED])) return fail(path, number, "unverified names no column", cols[COL_UNVERIFIED]);
  if (!*cols[COL_SOURCE]) return fail(path, number, "source is missing", cols[COL_NAME]);
  if (strcmp(previous, cols[COL_NAME]) >= 0) return fail(path, number, "not sorted by name, or twice", cols[COL_NAME]);
  return 0;
}

static int one_line(FILE *out, const char *path, int number, char *line, char *previous, size_t previous_size) {
  char *cols[COLUMNS];
  if (split(line, cols) != COLUMNS) return fail(path, number, "want 24 tab separated columns", line);
  if (check(path, number, cols, previous)) return 1;
  snprintf(previous, previous_size, "%s", cols[COL_NAME]);
  if (!strcmp(cols[COL_UNVERIFIED], "-")) cols[COL_UNVERIFIED] = "";
  fprintf(out, "    {.rotation.struct_size = sizeof(mlaf_rope), .rotation.columns = %ld", strtol(cols[COL_ROPE], NULL, 10));
  for (int c = 0; c < COLUMNS; c++) {
    fprintf(out, ", .%s = ", columns[c].field);
    if (columns[c].kind == TEXT) quote(out, cols[c]);
    else if (columns[c].kind == WHOLE) fprintf(out, "%ld", strtol(cols[c], NULL, 10));
    else fputs(columns[c].kind == STYLE ? style_of(cols[c]) : cols[c], out);
  }
  fputs("},\n", out);
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 3) return fail("embed-models", 0, "usage: embed-models IN.tsv OUT.c", "");
  FILE *in = fopen(argv[1], "r");
  if (!in) return fail(argv[1], 0, "cannot read", strerror(errno));
  FILE *out = fopen(argv[2], "w");
  if (!out) return fail(argv[2], 0, "cannot write", strerror(errno));
  fputs("/* Made from tuning/models.tsv by tools/embed-models. Do not edit. */\n"
        "#include \"plan/models.h\"\n\nconst mlaf_model mlaf_models[] = {\n",
        out);
  char line[1024], previous[64] = "";
  int number = 0, bad = 0;
  while (!bad && fgets(line, sizeof line, in)) {
    number++;
    size_t n = strlen(line);
    if (!n || line[n - 1] != '\n') bad = fail(argv[1], number, "line too long or not ended", "");
    else if (line[0] != '#') {
      line[n - 1] = 0;
      bad = one_line(out, argv[1], number, line, previous, sizeof previous);
    }
  }
  fputs("    {.name = NULL},\n};\n", out);
  if (fclose(out) && !bad) bad = fail(argv[2], 0, "cannot write", strerror(errno));
  fclose(in);
  if (bad) remove(argv[2]); /* never leave half a table that looks up to date */
  return bad;
}
