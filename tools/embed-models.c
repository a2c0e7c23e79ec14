/* Build-time tool: tuning/models.tsv -> a C table. Malformed lines stop the build with their line number.
 *   embed-models IN.tsv OUT.c */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COL_NAME, COL_HEADS, COL_RANK, COL_ROPE, COL_NOPE, COL_V, COL_UNVERIFIED, COL_SOURCE, COLUMNS };
static const char *const column_names[COLUMNS] = {"name",    "heads",  "kv_lora_rank", "rope",
                                                  "qk_nope", "v_head", "unverified",   "source"};

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

static int number_ok(const char *s) {
  if (!*s || strlen(s) > 4) return 0;
  for (; *s; s++)
    if (!isdigit((unsigned char)*s)) return 0;
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

static int one_line(FILE *out, const char *path, int number, char *line, char *previous, size_t previous_size) {
  char *cols[COLUMNS];
  int n = split(line, cols);
  if (n != COLUMNS) return fail(path, number, "want 8 tab separated columns", line);
  for (const char *s = cols[COL_NAME]; *s; s++)
    if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s) && !strchr(".-", *s))
      return fail(path, number, "names are lower-case letters, digits, '.' and '-'", cols[COL_NAME]);
  for (int c = COL_HEADS; c <= COL_V; c++)
    if (!number_ok(cols[c])) return fail(path, number, column_names[c], cols[c]);
  if (!*cols[COL_SOURCE]) return fail(path, number, "source is missing", cols[COL_NAME]);
  if (strcmp(previous, cols[COL_NAME]) >= 0) return fail(path, number, "not sorted by name, or twice", cols[COL_NAME]);
  snprintf(previous, previous_size, "%s", cols[COL_NAME]);
  fputs("    {", out);
  quote(out, cols[COL_NAME]);
  for (int c = COL_HEADS; c <= COL_ROPE; c++) fprintf(out, ", %ld", strtol(cols[c], NULL, 10));
  fputs(", ", out);
  quote(out, cols[COL_SOURCE]);
  for (int c = COL_NOPE; c <= COL_V; c++) fprintf(out, ", %ld", strtol(cols[c], NULL, 10));
  fputs(", ", out);
  quote(out, strcmp(cols[COL_UNVERIFIED], "-") ? cols[COL_UNVERIFIED] : "");
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
  fputs("    {0},\n};\n", out);
  if (fclose(out) && !bad) bad = fail(argv[2], 0, "cannot write", strerror(errno));
  fclose(in);
  if (bad) remove(argv[2]); /* never leave half a table that looks up to date */
  return bad;
}
