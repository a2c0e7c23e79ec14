/* More than one database: layers behind the user's, shards merged into one, what is cleaned away, where WAL is not used. */
#include <sqlite3.h>

#include "db/db_fixture.h"
#include "db/db_internal.h"

static char *export_text(mlaf_db *db) {
  mlaf_text text = MLAF_TEXT_INIT(1 << 20);
  mlaf_err err = {0};
  if (mlaf_db_export(db, NULL, &text, &err) != MLAF_OK) fail_msg("export: %s", err.text);
  return mlaf_text_take(&text);
}

static void path_in(const db_dir *d, const char *name, char out[160]) { snprintf(out, 160, "%s/%s", d->dir, name); }

static void add_at(const char *path, const char *device, int batch, const char *variant, double ns) {
  mlaf_db *db = open_db(path);
  mlaf_device_info dev = make_device(device);
  mlaf_point p = make_point(16, batch, 1024);
  mlaf_sample s = make_sample(variant, ns, "v1");
  add_sample(db, &dev, &p, &s);
  mlaf_db_close(db);
}

/* A tuning text made of one choice, its hashes kept or taken away. */
static void write_text(const char *path, const char *scratch, const char *device, int batch, const char *variant, double ns) {
  unlink(scratch);
  add_at(scratch, device, batch, variant, ns);
  mlaf_db *db = open_db(scratch);
  char *text = export_text(db);
  mlaf_db_close(db);
  assert_int_equal(mlaf_file_publish(path, text, strlen(text), NULL), MLAF_OK);
  free(text);
  unlink(scratch);
}

typedef struct steps {
  char text[4000];
  int taken;
} steps;

static void on_step(void *user, const mlaf_db_considered *x) {
  steps *s = user;
  size_t n = strlen(s->text);
  snprintf(s->text + n, sizeof s->text - n, "%s %s %s %s: %s\n", mlaf_rung_name(x->rung), mlaf_layer_name(x->layer), x->device,
           x->problem, x->verdict ? x->verdict : "taken");
  s->taken += !x->verdict;
}

static bool refuse_named(void *user, const mlaf_choice *c) { return strcmp(c->variant, user) != 0; }

TEST_OF(outer_layers_add_entry_by_entry, db_dir *d) {
  char site[160], shipped[160], scratch[160];
  path_in(d, "site.db", site);
  path_in(d, "shipped.tsv", shipped);
  path_in(d, "scratch.db", scratch);
  add_at(d->path, "d", 1, "mine", 500);
  add_at(site, "d", 1, "theirs-1", 100); /* faster, but measured by another: one's own goes first */
  add_at(site, "d", 4, "theirs-4", 400);
  write_text(shipped, scratch, "arch:gfx942", 64, "default-64", 900);
  setenv("MLAF_SITE_DB", site, 1);
  setenv("MLAF_TUNING_DIR", d->dir, 1);
  mlaf_db *db = NULL;
  mlaf_err err = {0};
  assert_int_equal(mlaf_db_open_layered(d->path, false, NULL, &db, &err), MLAF_OK);
  mlaf_device_info dev = make_device("d"), other = make_device("e");
  static const struct {
    int batch;
    bool elsewhere;
    const char *variant;
    mlaf_choice_layer layer;
    mlaf_rung rung;
  } cases[] = {{1, false, "mine", MLAF_LAYER_USER, MLAF_RUNG_EXACT},
               {4, false, "theirs-4", MLAF_LAYER_SITE, MLAF_RUNG_EXACT}, /* exact of the site before near of one's own */
               {5, false, "theirs-4", MLAF_LAYER_SITE, MLAF_RUNG_NEAREST},
               {64, false, "theirs-4", MLAF_LAYER_SITE, MLAF_RUNG_NEAREST}, /* a device's own before a default */
               {64, true, "default-64", MLAF_LAYER_SHIPPED, MLAF_RUNG_DEFAULT}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_point p = make_point(16, cases[i].batch, 1024);
    mlaf_choice c;
    mlaf_rung rung;
    if (mlaf_db_choose(db, cases[i].elsewhere ? &other : &dev, NULL, &p, &c, &rung, &err) != MLAF_OK) fail_msg("%s", err.text);
    assert_string_equal(c.variant, cases[i].variant);
    assert_int_equal(c.layer, cases[i].layer);
    assert_int_equal(rung, cases[i].rung);
    assert_int_equal(c.source, cases[i].layer == MLAF_LAYER_USER ? MLAF_SRC_MEASURED : MLAF_SRC_IMPORTED);
  }
  steps s = {"", 0};
  mlaf_point p = make_point(16, 4, 1024);
  mlaf_choice c;
  mlaf_rung rung;
  int64_t misses = count(db).misses;
  assert_int_equal(mlaf_db_why(db, &dev, NULL, &p, refuse_named, "theirs-4", on_step, &s, &c, &rung, &err), MLAF_OK);
  assert_has(s.text, "exact site d mla_decode:h16,r512,p64,q1,bf16,page64,b4,s1024: refused\nnearest user d");
  assert_int_equal(s.taken, 1);
  assert_int_equal(count(db).misses, misses); /* asking why is not asking for it */
  mlaf_db_close(db);
  /* without the user's own file the others serve all the same, and nothing can be written */
  assert_int_equal(mlaf_db_open_outer("it is gone", NULL, &db, &err), MLAF_OK);
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_OK);
  assert_string_equal(c.variant, "theirs-4");
  mlaf_sample sample = make_sample("x", 1, "v1");
  assert_int_equal(mlaf_db_add_sample(db, &dev, TOOLCHAIN, &p, &sample, &err), MLAF_E_DB);
  assert_has(err.text, "it is gone");
  mlaf_db_close(db);
  setenv("MLAF_SITE_DB", shipped, 1); /* a text serves as the site's, too */
  assert_int_equal(mlaf_db_open_layered(d->path, false, NULL, &db, &err), MLAF_OK);
  assert_non_null(mlaf_db_layer(db, MLAF_LAYER_SITE));
  mlaf_db_close(db);
  setenv("MLAF_SITE_DB", d->dir, 1); /* what cannot be read is one layer less */
  assert_int_equal(mlaf_db_open_layered(d->path, false, NULL, &db, &err), MLAF_OK);
  assert_null(mlaf_db_layer(db, MLAF_LAYER_SITE));
  mlaf_db_close(db);
  unsetenv("MLAF_SITE_DB");
  unsetenv("MLAF_TUNING_DIR");
}

TEST_OF(shards_become_one, db_dir *d) {
  char shard[2][160], whole_path[160];
  path_in(d, "a.db", shard[0]);
  path_in(d, "b.db", shard[1]);
  path_in(d, "whole.db", whole_path);
  for (int i = 0; i < 12; i++) { /* the same work, once in one place, once in two */
    char name[16];
    snprintf(name, sizeof name, "v%d", i / 4);
    add_at(shard[i % 2], "d", 1 << (i % 4), name, 1000 - 300 * (i / 4));
    add_at(whole_path, "d", 1 << (i % 4), name, 1000 - 300 * (i / 4));
  }
  mlaf_db *into = open_db(d->path), *whole = open_db(whole_path), *from[2];
  mlaf_device_info dev = make_device("d");
  mlaf_point missed = make_point(16, 100, 1024);
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err;
  for (int i = 0; i < 2; i++) from[i] = open_db(shard[i]);
  mlaf_db_choose(from[0], &dev, NULL, &missed, &c, &rung, &err);
  for (int round = 0; round < 2; round++)
    for (int i = 0; i < 2; i++) {
      mlaf_db_merged m;
      if (mlaf_db_merge(into, from[i], &m, &err) != MLAF_OK) fail_msg("%s", err.text);
      assert_int_equal(m.samples, round ? 0 : 6);
      assert_int_equal(m.known, round ? 6 : 0);
      assert_int_equal(m.left_out, 0);
    }
  char *one = export_text(whole), *two = export_text(into);
  assert_string_equal(one, two);
  free(one);
  free(two);
  mlaf_db_counts n = count(into);
  assert_int_equal(n.samples, 12);
  assert_int_equal(n.choices, 4);
  assert_int_equal(n.misses, 1);
  assert_sound(into);
  for (int i = 0; i < 2; i++) mlaf_db_close(from[i]);
  mlaf_db_close(whole);
  mlaf_db_close(into);
}

TEST_OF(gc_keeps_what_counts, db_dir *d) {
  mlaf_db *db = open_db(d->path);
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(16, 1, 1024), missed = make_point(16, 2, 1024);
  mlaf_sample s = make_sample("old-template", 50, "v0");
  add_sample(db, &dev, &p, &s);
  for (int i = 0; i < 5; i++) {
    s = make_sample("a", 100 + i, "v1");
    add_sample(db, &dev, &p, &s);
  }
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err;
  mlaf_db_choose(db, &dev, NULL, &missed, &c, &rung, &err);
  s = make_sample("b", 90, "v1");
  add_sample(db, &dev, &missed, &s); /* tuned since */
  char *before = export_text(db);
  mlaf_db_garbage g;
  assert_int_equal(mlaf_db_gc(db, true, &g, &err), MLAF_OK);
  assert_int_equal(count(db).samples, 7); /* a dry run changes nothing */
  mlaf_db_garbage real;
  if (mlaf_db_gc(db, false, &real, &err) != MLAF_OK) fail_msg("%s", err.text);
  assert_int_equal(real.superseded, 4);
  assert_int_equal(real.outdated, 1);
  assert_int_equal(real.misses, 1);
  assert_int_equal(real.superseded, g.superseded);
  assert_int_equal(real.orphans, g.orphans);
  assert_int_equal(count(db).samples, 2);
  char *after = export_text(db);
  assert_string_equal(before, after);
  free(before);
  free(after);
  assert_sound(db);
  mlaf_db_close(db);
}

TEST_OF(request_lengths_are_kept_apart, db_dir *d) {
  mlaf_db *db = open_db(d->path);
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(16, 1, 1024);
  mlaf_sample s = make_sample("even", 100, "v1");
  add_sample(db, &dev, &p, &s);
  s = make_sample("ragged", 150, "v1");
  snprintf(s.lengths, sizeof s.lengths, "normal:1,0.5");
  add_sample(db, &dev, &p, &s); /* slower, but the question is another one now */
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err;
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_OK);
  assert_string_equal(c.variant, "ragged");
  assert_string_equal(c.lengths, "normal:1,0.5");
  char *text = export_text(db), copy[160];
  assert_has(text, "\tnormal:1,0.5\tdecode\t");
  path_in(d, "copy.db", copy);
  mlaf_db *again = open_db(copy);
  assert_int_equal(mlaf_db_import(again, text, NULL, &err), MLAF_OK);
  char *back = export_text(again);
  assert_string_equal(text, back); /* export then import is the identity */
  free(text);
  free(back);
  mlaf_db_close(again);
  mlaf_db_close(db);
}

/* --- file systems --- */
static const char *fake_fs(const char *dir, bool *local) { return mlaf_db_fs_name(0x6969, local); }

static void collect(void *user, mlaf_log_level level, const char *line) {
  char *out = user;
  strncat(out, line, 900 - strlen(out));
}

TEST_OF(no_wal_on_network_file_systems, db_dir *d) {
  bool local = false;
  assert_string_equal(mlaf_db_fs_name(0xEF53, &local), "ext");
  assert_true(local);
  static const unsigned long remote[] = {0x6969, 0xFF534D42, 0xFE534D42, 0x65735546, 0x0BD00BD0, 0x12345};
  for (size_t i = 0; i < sizeof remote / sizeof *remote; i++) {
    mlaf_db_fs_name(remote[i], &local);
    assert_false(local);
  }
  add_at(d->path, "d", 1, "a", 100); /* written with WAL, then found on NFS */
  const char *(*real)(const char *, bool *) = mlaf_db_fs_of;
  mlaf_db_fs_of = fake_fs;
  char said[1000] = "";
  mlaf_log log = {collect, said, MLAF_LOG_INFO};
  mlaf_db *db = NULL;
  mlaf_err err;
  assert_int_equal(mlaf_db_open(d->path, false, &log, &db, &err), MLAF_OK);
  mlaf_db_fs_of = real;
  assert_has(said, "lies on NFS");
  assert_null(strstr(strstr(said, "lies on NFS") + 1, "lies on NFS")); /* once */
  mlaf_device_info dev = make_device("d");
  mlaf_point p = make_point(16, 2, 1024);
  mlaf_sample s = make_sample("b", 90, "v1");
  add_sample(db, &dev, &p, &s);
  char wal[160];
  snprintf(wal, sizeof wal, "%s-wal", d->path);
  assert_int_equal(access(wal, F_OK), -1);
  assert_int_equal(count(db).samples, 2);
  mlaf_db_close(db);
}

/* An estimate of one shape is no estimate of a far one: there the model is asked. */
TEST_OF(defaults_do_not_reach_far, db_dir *d) {
  mlaf_db *db = open_db(d->path);
  mlaf_device_info arch = make_device("arch:gfx942"), dev = make_device("d");
  mlaf_err err;
  mlaf_point p = make_point(16, 8, 4096);
  mlaf_sample s = make_sample("named", 100, "v1");
  memset(s.kernels[0].template_hash, 0, sizeof s.kernels[0].template_hash);
  s.source = MLAF_SRC_MODELLED;
  add_sample(db, &arch, &p, &s);
  static const struct {
    int batch, ctx;
    mlaf_status status;
  } cases[] = {{8, 4096, MLAF_OK}, {16, 4096, MLAF_OK}, {8, 8192, MLAF_OK}, {16, 8192, MLAF_E_NOT_TUNED}, {1, 4096,
                                                            MLAF_E_NOT_TUNED}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_choice c;
    mlaf_rung rung;
    p = make_point(16, cases[i].batch, cases[i].ctx);
    assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), cases[i].status);
    if (cases[i].status == MLAF_OK) assert_int_equal(rung, MLAF_RUNG_DEFAULT);
  }
  mlaf_db_close(db);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
