/* Kernels of operations whose arguments are a table, on the emulator, by the list tests/ops/OP/kernels.tsv: shapes verify, under
 * every injection, and each mistake in a kernel is found. `test_table_kernels OP` runs one list, and each is a test of its own;
 * without OP it looks whether all lists are there, and long enough. A line of the list is
 *   shape     PROBLEM  VARIANT          "-": the baseline
 *   kernel    PROBLEM  VARIANT          whose mistakes stand below
 *   mistake   TEXT     REPLACEMENT      in the kernel's source; "-": nothing. Fourth "oob-page", "nan-q": found under that
 *             injection */
#include "op/table.h"
#include "verdict.h"

typedef struct list {
  char *text;
  char *cell[400][4]; /* of each line; "" where it has fewer */
  int n;
} list;

static void read_list(const mlaf_op *op, list *l) {
  char path[512];
  snprintf(path, sizeof path, "%s/tests/ops/%s/kernels.tsv", getenv("MLAF_SOURCE_DIR"), op->name);
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("%s is missing: the kernels of %s have no tests", path, op->name);
  *l = (list){.text = calloc(1, 1 << 16)};
  assert_true(fread(l->text, 1, (1 << 16) - 1, f) > 0 && feof(f));
  fclose(f);
  for (char *line = l->text, *end; *line; line = end) {
    end = line + strcspn(line, "\n");
    if (*end) *end++ = 0;
    if (*line == '#' || !*line) continue;
    assert_true(l->n < 400);
    for (int i = 0; i < 4; i++) {
      l->cell[l->n][i] = line;
      line += strcspn(line, "\t");
      if (*line) *line++ = 0;
    }
    l->n++;
  }
}

static const char *or_nothing(const char *cell) { return strcmp(cell, "-") ? cell : NULL; }

static void shape_verifies(bench *b, char *const *cell) {
  mlaf_point p;
  assert_int_equal(mlaf_point_parse(NULL, cell[1], &p, NULL, 0), MLAF_OK);
  for (int inject = MLAF_INJECT_NONE; inject <= MLAF_INJECT_OOB_PAGE; inject++) {
    mlaf_verify_result r;
    if (verdict_of(b, or_nothing(cell[2]), cell[1], NULL, NULL, (mlaf_inject)inject, &r))
      fail_msg("%s %s: %s", cell[1], cell[2], r.detail);
    assert_true(r.rows > 0 && (p.op->calls->bound(&p) > 0 ? r.error > 0 : r.error == 0));
  }
}

static void mistake_is_found(bench *b, char *const *kernel, char *const *cell) {
  const char *to = or_nothing(cell[2]);
  mlaf_verify_result r;
  const bool nan = !strcmp(cell[3], "nan-q"), oob = !strcmp(cell[3], "oob-page");
  const mlaf_inject inject = nan ? MLAF_INJECT_NAN_Q : oob ? MLAF_INJECT_OOB_PAGE : MLAF_INJECT_NONE;
  const mlaf_status st = verdict_of(b, or_nothing(kernel[2]), kernel[1], cell[1], to ? to : "", inject, &r);
  if (st != MLAF_E_INCORRECT && st != MLAF_E_FAULT) fail_msg("'%s' as '%s': %s", cell[1], cell[2], mlaf_status_text(st));
  assert_true(r.detail[0]);
}

/* The fewest lines of a list: one that is not read shows nothing. */
enum { SHAPES_LEAST = 3, MISTAKES_LEAST = 5 };

static void check_list(const mlaf_op *op) {
  list l;
  int shapes = 0, mistakes = 0;
  read_list(op, &l);
  for (int i = 0; i < l.n; i++) shapes += !strcmp(l.cell[i][0], "shape"), mistakes += !strcmp(l.cell[i][0], "mistake");
  if (shapes < SHAPES_LEAST || mistakes < MISTAKES_LEAST) fail_msg("%s has %d shapes, %d mistakes", op->name, shapes, mistakes);
  free(l.text);
}

static void lists_are_there(void **state) {
  int n = 0;
  for (int i = 0; mlaf_ops_all[i]; i++)
    if (mlaf_ops_all[i]->calls->table && !mlaf_ops_all[i]->calls->chain_case && !mlaf_ops_all[i]->joint)
      check_list(mlaf_ops_all[i]), n++;
  assert_true(n >= 3);
}

static const char *chosen;

static void shapes_verify_and_mistakes_are_found(void **state) {
  const mlaf_op *op = NULL;
  bench b;
  list l;
  char *const *kernel = NULL;
  for (int i = 0; mlaf_ops_all[i]; i++)
    if (!strcmp(mlaf_ops_all[i]->name, chosen)) op = mlaf_ops_all[i];
  if (!op || !op->calls->table) fail_msg("'%s' is no operation whose arguments are a table", chosen);
  open_bench(&b, "gfx942");
  read_list(op, &l);
  for (int i = 0; i < l.n; i++) {
    char *const *cell = l.cell[i];
    if (!strcmp(cell[0], "shape")) shape_verifies(&b, cell);
    else if (!strcmp(cell[0], "kernel")) kernel = cell;
    else if (!strcmp(cell[0], "mistake") && kernel) mistake_is_found(&b, kernel, cell);
    else fail_msg("%s/kernels.tsv: '%s'", op->name, cell[0]);
  }
  free(l.text);
  close_bench(&b);
}

int main(int argc, char **argv) {
  const struct CMUnitTest one[] = {cmocka_unit_test(shapes_verify_and_mistakes_are_found)},
                          all[] = {cmocka_unit_test(lists_are_there)};
  chosen = argc > 1 ? argv[1] : NULL;
  return chosen ? cmocka_run_group_tests(one, NULL, NULL) : cmocka_run_group_tests(all, NULL, NULL);
}
