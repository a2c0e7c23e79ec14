/* Tuning text: identity of export and import, errors with their line, what an import may overwrite. */
#include "db/db_fixture.h"

static char *export_text(mlaf_db *db, const char *device) {
  mlaf_text t = MLAF_TEXT_INIT(1 << 20);
  mlaf_err err = {0};
  if (mlaf_db_export(db, device, &t, &err) != MLAF_OK) fail_msg("export: %s", err.text);
  return mlaf_text_take(&t);
}

static void import_ok(mlaf_db *db, const char *text, size_t expect) {
  mlaf_err err = {0};
  size_t n = 0;
  if (mlaf_db_import(db, text, &n, &err) != MLAF_OK) fail_msg("import: %s", err.text);
  assert_int_equal(n, expect);
}

/* Three devices, awkward characters, a missing combine kernel, both sources. */
static void populate(mlaf_db *db) {
  static const char *const devices[] = {"gfx942:sramecc+:xnack-|cu304|xcc8|SPX|NPS1", "emu:gfx942|cu304", "a b\\c, \xc3\xa9"};
  for (int i = 0; i < 9; i++) {
    mlaf_device_info dev = make_device(devices[i % 3]);
    if (i % 3 == 2) snprintf(dev.driver, sizeof dev.driver, "a\tb\\c\n");
    mlaf_point p = make_point(1 << (i % 8), 1 + i, 1000 * (i + 1));
    p.v[MLA_DECODE_Q_LEN] = 1 + i % 3;
    p.v[MLA_DECODE_CAUSAL] = i % 3 > 0;
    mlaf_sample s = make_sample(i % 2 ? "mfma_reg:waves=4/s4" : "-", 1234.5678 * (i + 1), "v1");
    if (i % 2) s.kernels[1] = (mlaf_kernel_ref){0};
    if (i % 4 == 1) s.source = MLAF_SRC_MODELLED;
    s.error = 0.00198765;
    add_sample(db, &dev, &p, &s);
    if (i % 3 == 0) {
      s = make_sample("second", 2000.0 * (i + 1), "v1");
      add_sample(db, &dev, &p, &s);
    }
  }
}

TEST_OF(export_of_import_is_identity, db_dir *d) {
  mlaf_db *db = open_db(d->path);
  populate(db);
  char *text = export_text(db, NULL);
  import_ok(db, text, 9); /* into itself: nothing changes */
  char *again = export_text(db, NULL);
  assert_string_equal(text, again);
  free(again);
  mlaf_db_close(db);
  char other[128];
  snprintf(other, sizeof other, "%s/other.db", d->dir);
  db = open_db(other);
  import_ok(db, text, 9);
  again = export_text(db, NULL);
  assert_string_equal(text, again);
  import_ok(db, text, 9);
  free(again);
  again = export_text(db, NULL);
  assert_string_equal(text, again);
  free(again);
  assert_int_equal(count(db).choices, 9);
  mlaf_db_close(db);
  free(text);
}

TEST(lines_are_sorted_and_free_of_time) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  populate(db);
  char *text = export_text(db, NULL), *previous = NULL, *save = NULL;
  int lines = 0;
  for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    if (++lines > 3) assert_true(strcmp(previous, line) < 0);
    int tabs = 0;
    for (char *p = line; *p; p++) tabs += *p == '\t';
    /* 14 columns of a choice, 9 of each of its kernels; the names of one kernel's and "..." stand for all */
    assert_int_equal(tabs, lines == 1 ? 0 : lines == 2 ? 23 : strstr(line, "\tcombine\t") ? 31 : 22);
    previous = line;
  }
  assert_int_equal(lines, 11);
  free(text);
  text = export_text(db, "emu:gfx942|cu304");
  assert_null(strstr(text, "sramecc"));
  assert_has(text, "emu:gfx942|cu304");
  free(text);
  mlaf_db_close(db);
}

/* A good text of three lines, with one column of one line replaced. */
static char *with_column(const char *text, int line, int column, const char *value) {
  mlaf_text out = MLAF_TEXT_INIT(1 << 20);
  int l = 1, c = 1;
  bool replaced = false;
  for (const char *p = text; *p; p++) {
    bool here = l == line && c == column;
    if (here && !replaced) {
      mlaf_text_str(&out, value);
      replaced = true;
    }
    if (*p == '\n') l++, c = 1;
    else if (*p == '\t') c++;
    if (!here || *p == '\n' || *p == '\t') mlaf_text_add(&out, p, 1);
  }
  assert_true(replaced);
  return mlaf_text_take(&out);
}

#define TEN "0123456789"
#define LONG TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
TEST_OF(errors_name_their_line, db_dir *d) {
  mlaf_db *db = open_db(d->path);
  for (int i = 0; i < 3; i++) {
    mlaf_device_info dev = make_device("d");
    mlaf_point p = make_point(16, 1 + i, 1024);
    mlaf_sample s = make_sample("a", 100, "v1");
    add_sample(db, &dev, &p, &s);
  }
  char *good = export_text(db, NULL);
  mlaf_db_close(db);
  unlink(d->path);
  db = open_db(d->path);
  static const struct {
    int line, column;
    const char *value, *expect;
  } cases[] = {
      {1, 1, "# something else", "line 1 is not"},
      {2, 3, "variety", "line 2 does not name"},
      {3, 1, "-", "line 3, column 'device': '-' must not be empty"},
      {4, 2, "mla_decode:h0,r512,p64,q1,bf16,page64,b1,s1", "line 4, column 'problem'"},
      {4, 2, "mla_decode:r512,h16,p64,q1,bf16,page64,b1,s1", "not in canonical form; write 'mla_decode:h16,r512"},
      {3, 1, "gfx942\xff|cu304", "line 3, column 'device': 'gfx942.|cu304' is not UTF-8"},
      {3, 1, "gfx942\xc0\xaf", "is not UTF-8"},
      {3, 1, "gfx942\xed\xa0\x80", "is not UTF-8"},
      {3, 1, "\x1b[31mgfx942", "line 3, column 'device': '.[31mgfx942' has a control character"},
      {3, 1, "a\\tb", "has a control character"},
      {3, 1, "a\x7f", "has a control character"},
      {3, 1, "a\xc2\x9b", "has a control character"},
      {3, 1, LONG "d", "line 3, column 'device'"},
      {3, 1, LONG "d", "is too long"},
      {3, 3, "mfma_reg:waves=4/s4; rm",
        "line 3, column 'variant': 'mfma_reg:waves=4/s4; rm' has a character that no such name has"},
      {3, 3, "r\xc3\xa9g", "column 'variant'"},
      {3, 3, "<script>", "column 'variant'"},
      {4, 10, "1\x1b[2J", "column 'toolchain': '1.[2J' has a control character"},
      {4, 16, "mla decode", "column 'decode.template'"},
      {4, 18, "sym\\nbol", "column 'decode.symbol'"},
      {5, 4, "65535", "line 5, column 'knob': '65535' is out of range"},
      {5, 4, "0", "line 5, column 'knob': '0' is out of range"},
      {5, 4, "4.5", "not a whole number"},
      {3, 5, "guessed", "line 3, column 'source': 'guessed' is not a source"},
      {3, 6, "-7", "line 3, column 'ns': '-7' is out of range"},
      {3, 6, "inf", "not a number"},
      {3, 6, "0x10", "not a number"},
      {3, 6, "1e13", "out of range"},
      {3, 8, "nan", "not a number"},
      {4, 10, "a\\qb", "line 4, column 'toolchain': 'a\\qb' has an unknown escape"},
      {4, 19, "abc", "line 4, column 'decode.template_hash': 'abc' is not a hash"},
      {4, 22, "2000", "line 4, column 'decode.threads'"},
      {4, 31, "0", "line 4, column 'combine.threads': '0' is out of range"},
      {4, 25, "-", "line 4, column 'combine.template': '-' must not be empty"},
      {4, 15, "merge", "line 4, column 'stage': 'merge' is no stage of this operation"},
      {4, 15, "combine", "line 4, column 'stage': 'combine' cannot come before the first stage"},
      {4, 24, "decode", "line 4, column 'stage': 'decode' is no further stage of this operation"},
      {4, 24, "merge", "line 4, column 'stage': 'merge' is no further stage of this operation"},
      {4, 2, "mla_decode:h16,r512,p64,q1,bf16,page64,b1,s1024", "line 4 repeats line 3"},
      {4, 14, "gamma", "line 4, column 'lengths': 'gamma' are no request lengths"},
      {4, 32, "16\tmore", "line 4: too few columns; 14 and 9 for each stage"},
      {5, 1, "<<<<<<< ours", "line 5 is a merge-conflict marker"},
      {5, 32, "16\r", "line 5 ends in a carriage return"},
  };
  mlaf_err err;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *bad = with_column(good, cases[i].line, cases[i].column, cases[i].value);
    size_t n = 77;
    if (mlaf_db_import(db, bad, &n, &err) != MLAF_E_ARG) fail_msg("case %zu was taken", i);
    assert_has(err.text, cases[i].expect);
    assert_int_equal(n, 77);
    free(bad);
  }
  assert_int_equal(mlaf_db_import(db, "", NULL, &err), MLAF_E_ARG);
  char *cut = mlaf_strdup(good);
  *strrchr(cut, '\t') = 0; /* the last line lost its last column */
  assert_int_equal(mlaf_db_import(db, cut, NULL, &err), MLAF_E_ARG);
  assert_has(err.text, "line 5: too few columns");
  free(cut);
  mlaf_db_counts c = count(db);
  assert_true(c.choices == 0 && c.devices == 0 && c.problems == 0); /* all or nothing */
  import_ok(db, good, 3);
  free(good);
  mlaf_db_close(db);
}

TEST_OF(imported_choices_serve_and_give_way, db_dir *d) {
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(16, 1, 1024);
  mlaf_db *db = open_db(d->path);
  mlaf_sample s = make_sample("theirs", 100, "v1");
  add_sample(db, &dev, &p, &s);
  char *text = export_text(db, NULL);
  mlaf_db_close(db);
  unlink(d->path);
  db = open_db(d->path);
  import_ok(db, text, 1);
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err;
  assert_int_equal(mlaf_db_choose(db, &dev, TOOLCHAIN, &p, &c, &rung, &err), MLAF_OK);
  assert_string_equal(c.variant, "theirs");
  assert_int_equal(c.source, MLAF_SRC_IMPORTED);
  assert_false(c.stale);
  s = make_sample("modelled-here", 10, "v1");
  s.source = MLAF_SRC_MODELLED;
  add_sample(db, &dev, &p, &s); /* a model does not overrule a measurement */
  assert_int_equal(mlaf_db_choose(db, &dev, TOOLCHAIN, &p, &c, &rung, &err), MLAF_OK);
  assert_string_equal(c.variant, "theirs");
  s = make_sample("measured-here", 150, "v1");
  add_sample(db, &dev, &p, &s); /* measured here: lowest median of the samples */
  assert_int_equal(mlaf_db_choose(db, &dev, TOOLCHAIN, &p, &c, &rung, &err), MLAF_OK);
  assert_string_equal(c.variant, "measured-here");
  assert_int_equal(c.source, MLAF_SRC_MEASURED);
  import_ok(db, text, 1); /* and an import does not take it away */
  assert_int_equal(mlaf_db_choose(db, &dev, TOOLCHAIN, &p, &c, &rung, &err), MLAF_OK);
  assert_string_equal(c.variant, "measured-here");
  free(text);
  mlaf_db_close(db);
}

TEST(arch_defaults_and_waived_fields) {
  mlaf_db *db = open_db(((db_dir *)*state)->path);
  mlaf_device_info dev = make_device("gfx942:sramecc+:xnack-|cu304|xcc8|SPX|NPS1");
  mlaf_point p = make_point(16, 1, 1024);
  mlaf_sample s = make_sample("shipped", 100, "v1");
  mlaf_device_info arch = make_device("arch:gfx942");
  add_sample(db, &arch, &p, &s);
  char *text = export_text(db, NULL), *a = with_column(text, 3, 5, "default"), *b = with_column(a, 3, 10, "*"),
       *c = with_column(b, 3, 11, "*"), *e = with_column(c, 3, 12, "*"), *f = with_column(e, 3, 13, "*");
  mlaf_db_close(db);
  unlink(((db_dir *)*state)->path);
  db = open_db(((db_dir *)*state)->path);
  import_ok(db, f, 1);
  char *again = export_text(db, NULL);
  assert_string_equal(f, again);
  mlaf_choice chosen;
  mlaf_rung rung;
  mlaf_err err;
  dev.clock_mhz = 1;
  assert_int_equal(mlaf_db_choose(db, &dev, "another compiler", &p, &chosen, &rung, &err), MLAF_OK);
  assert_int_equal(rung, MLAF_RUNG_DEFAULT);
  assert_int_equal(chosen.source, MLAF_SRC_DEFAULT);
  assert_false(chosen.stale);
  s = make_sample("own", 1000, "v1");
  p.v[MLA_DECODE_CTX] = 1 << 20;
  add_sample(db, &dev, &p, &s); /* the device's own far bucket goes before the shipped exact one */
  p.v[MLA_DECODE_CTX] = 1024;
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &chosen, &rung, &err), MLAF_OK);
  assert_int_equal(rung, MLAF_RUNG_NEAREST);
  assert_string_equal(chosen.variant, "own");
  char *const texts[] = {text, a, b, c, e, f, again};
  for (int i = 0; i < 7; i++) free(texts[i]);
  mlaf_db_close(db);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
