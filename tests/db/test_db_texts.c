/* Tuning texts as a layer: what a plan reads of them, beside what a database says that has imported them whole; and misses, which
 * are a text, too, until somebody asks for them. */
#include <sys/file.h>
#include <fcntl.h>

#include "ops/mla_decode/problem.h"
#include "db/db_fixture.h"
#include "db/db_internal.h"

static void collect(void *user, mlaf_log_level level, const char *line) {
  char *out = user;
  strncat(out, line, 3900 - strlen(out));
}

typedef struct shipped {
  mlaf_db *db;
  char said[4000];
} shipped;

/* A layered database over the tuning texts of a directory, its own file empty. */
static void open_shipped(shipped *s, const db_dir *d, const char *dir) {
  mlaf_log log = {collect, s->said, MLAF_LOG_WARN};
  mlaf_err err;
  s->said[0] = 0;
  setenv("MLAF_TUNING_DIR", dir, 1);
  setenv("MLAF_SITE_DB", "/nowhere/tuning.db", 1);
  if (mlaf_db_open_layered(d->path, false, &log, &s->db, &err) != MLAF_OK) fail_msg("%s", err.text);
  mlaf_db_layer(s->db, MLAF_LAYER_SITE); /* its warning is not ours */
  s->said[0] = 0;
}

static void close_shipped(shipped *s) {
  mlaf_db_close(s->db);
  unsetenv("MLAF_TUNING_DIR");
  unsetenv("MLAF_SITE_DB");
}

/* --- the same as an import --- */

typedef struct asked {
  shipped *s;
  mlaf_db *imported;
  int n;
} asked;

static void same_answer(asked *a, const mlaf_device_info *dev, const mlaf_point *p) {
  mlaf_choice one, two;
  mlaf_rung first, second;
  mlaf_err err;
  memset(&one, 0, sizeof one);
  memset(&two, 0, sizeof two);
  const mlaf_status x = mlaf_db_peek(a->s->db, dev, TOOLCHAIN, p, &one, &first, &err);
  const mlaf_status y = mlaf_db_peek(a->imported, dev, TOOLCHAIN, p, &two, &second, &err);
  assert_int_equal(x, y);
  if (x) return;
  assert_int_equal(first, second);
  assert_int_equal(one.layer, MLAF_LAYER_SHIPPED);
  two.layer = one.layer;
  assert_memory_equal(&one.kernels[0], &two.kernels[0], sizeof one.kernels[0]);
  assert_memory_equal(&one.kernels[1], &two.kernels[1], sizeof one.kernels[1]);
  assert_string_equal(one.problem, two.problem);
  assert_string_equal(one.variant, two.variant);
  assert_string_equal(one.lengths, two.lengths);
  assert_string_equal(one.stale_why, two.stale_why);
  assert_true(one.ns == two.ns && one.margin == two.margin && one.error == two.error && one.distance == two.distance);
  assert_int_equal(one.knob, two.knob);
  assert_int_equal(one.source, two.source);
  a->n++;
}

/* False: the operation has no such field. */
static bool set_field(mlaf_point *p, const char *name, int32_t times, int32_t more) {
  for (int i = 0; i < p->op->n_fields; i++)
    if (!strcmp(p->op->fields[i].name, name)) return p->v[i] = p->v[i] * times + more, true;
  return false;
}

/* The problem of a row, one near it, one far off, one of another shape. */
static bool ask(void *user, const char *device, const mlaf_choice *c) {
  mlaf_device_info dev = make_device(device);
  mlaf_point p;
  const bool arch = strncmp(device, "arch:", 5) == 0;
  mlaf_db_target_of(device, dev.target, sizeof dev.target);
  if (arch) snprintf(dev.id, sizeof dev.id, "some other device");
  assert_int_equal(mlaf_point_parse(NULL, c->problem, &p, NULL, 0), MLAF_OK);
  same_answer(user, &dev, &p);
  assert_true(set_field(&p, "batch", 1, 1) || set_field(&p, "tokens", 1, 1));
  same_answer(user, &dev, &p);
  assert_true(set_field(&p, "ctx", 16, 0) || set_field(&p, "tokens", 16, 0));
  same_answer(user, &dev, &p);
  assert_true(set_field(&p, "page_size", 0, 7) || set_field(&p, "dtype", 0, 1) || set_field(&p, "heads", 1, 1));
  same_answer(user, &dev, &p);
  return true;
}

TEST(every_shipped_choice_as_if_imported) {
  static const char *const files[] = {"gfx942.tsv", "nvidia-h200.tsv"};
  char dir[400], path[500];
  snprintf(dir, sizeof dir, "%s/tuning", getenv("MLAF_SOURCE_DIR"));
  shipped s;
  open_shipped(&s, *state, dir);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    asked a = {.s = &s};
    void *text;
    size_t size;
    mlaf_err err;
    snprintf(path, sizeof path, "%s/%s", dir, files[i]);
    if (mlaf_file_read(path, MLAF_DB_TEXT_MAX, &text, &size, &err) != MLAF_OK) fail_msg("%s", err.text);
    assert_int_equal(mlaf_db_open_text(path, text, NULL, &a.imported, &err), MLAF_OK);
    assert_int_equal(mlaf_db_each_choice(a.imported, ask, &a, &err), MLAF_OK);
    size_t rows = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) rows += *line != '#';
    assert_true(rows > 20); /* the first names the columns */
    assert_true((size_t)a.n >= 2 * (rows - 1)); /* its own problem's, and another's */
    mlaf_db_close(a.imported);
    free(text);
  }
  assert_string_equal(s.said, "");
  assert_null(s.db->outer[MLAF_LAYER_SHIPPED]->sql); /* of all this nothing went into SQLite */
  close_shipped(&s);
}

/* --- how little is read --- */

enum { BATCHES = 6, SHAPES = 40 };

/* BATCHES problems of each of SHAPES shapes, as `device`'s: a text of a database that has them all. */
static char *make_text(const db_dir *d, const char *device, const char *variant) {
  char scratch[160];
  mlaf_text text = MLAF_TEXT_INIT(1 << 22);
  mlaf_device_info dev = make_device(device);
  mlaf_err err;
  snprintf(scratch, sizeof scratch, "%s/scratch.db", d->dir);
  unlink(scratch);
  mlaf_db *db = open_db(scratch);
  assert_int_equal(mlaf_db_begin(db, &err), MLAF_OK);
  for (int i = 0; i < SHAPES * BATCHES; i++) {
    mlaf_point p = make_point(1 + i / BATCHES, 1 << i % BATCHES, 1024);
    mlaf_sample x = make_sample(variant, 1000 + i, "v1");
    int64_t at, problem;
    assert_int_equal(mlaf_db_put_device(db, dev.id, dev.target, &at, &err) || mlaf_db_put_problem(db, &p, &problem, &err), 0);
    mlaf_choice c = {.knob = x.knob, .kernels = {x.kernels[0], x.kernels[1]}, .source = MLAF_SRC_MEASURED, .ns = x.timing.ns,
                     .error = x.error, .lengths = "equal"};
    snprintf(c.variant, sizeof c.variant, "%s", variant);
    const mlaf_db_soft soft = {TOOLCHAIN, dev.driver, dev.clock_mhz, dev.mem_clock_mhz};
    assert_int_equal(mlaf_db_put_choice(db, at, problem, MLAF_DB_PROTOCOL, &soft, &c, true, &err), MLAF_OK);
  }
  assert_int_equal(mlaf_db_end(db, MLAF_OK, &err), MLAF_OK);
  assert_int_equal(mlaf_db_export(db, NULL, &text, &err), MLAF_OK);
  mlaf_db_close(db);
  unlink(scratch);
  return mlaf_text_take(&text);
}

static void publish(const db_dir *d, const char *name, const char *text) {
  char path[160];
  snprintf(path, sizeof path, "%s/%s", d->dir, name);
  assert_int_equal(mlaf_file_publish(path, text, strlen(text), NULL), MLAF_OK);
}

/* Replace the first `from` behind the text's line that holds `where`. */
static void edit(char *text, const char *where, const char *from, const char *to) {
  char *line = strstr(text, where), *at = line ? strstr(line, from) : NULL;
  assert_non_null(at);
  assert_int_equal(strlen(from), strlen(to));
  memcpy(at, to, strlen(to));
}

static mlaf_status choose(shipped *s, const char *device, int heads, int batch, mlaf_choice *c, mlaf_rung *rung) {
  mlaf_device_info dev = make_device(device);
  mlaf_point p = make_point(heads, batch, 1024);
  mlaf_err err;
  return mlaf_db_choose(s->db, &dev, NULL, &p, c, rung, &err);
}

static bool count_one(void *user, const char *device, const mlaf_choice *c) {
  ++*(int *)user;
  return true;
}

TEST_OF(a_plan_reads_the_rows_of_its_shape, db_dir *d) {
  char *a = make_text(d, "d|tab", "first"), *b = make_text(d, "e", "other");
  publish(d, "a.tsv", a);
  publish(d, "b.tsv", b);
  shipped s;
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err;
  int n = 0;
  open_shipped(&s, d, d->dir);
  assert_int_equal(choose(&s, "d|tab", 7, 8, &c, &rung), MLAF_OK);
  assert_int_equal(rung, MLAF_RUNG_EXACT);
  assert_string_equal(c.variant, "first");
  mlaf_db *layer = s.db->outer[MLAF_LAYER_SHIPPED];
  assert_int_equal(mlaf_db_texts_parsed(layer), BATCHES); /* the shape's */
  assert_int_equal(choose(&s, "d|tab", 7, 3, &c, &rung), MLAF_OK);
  assert_int_equal(rung, MLAF_RUNG_NEAREST);
  assert_int_equal(mlaf_db_texts_parsed(layer), BATCHES); /* they are known */
  assert_int_equal(choose(&s, "f", 7, 8, &c, &rung), MLAF_E_NOT_TUNED); /* nor any for another device */
  assert_int_equal(mlaf_db_texts_parsed(layer), BATCHES);
  const mlaf_device_info e = make_device("e");
  mlaf_db_get_ready(layer, &e);
  assert_int_equal(mlaf_db_texts_parsed(layer), BATCHES + SHAPES * BATCHES); /* all of that device */
  assert_int_equal(choose(&s, "e", 7, 8, &c, &rung), MLAF_OK);
  assert_int_equal(mlaf_db_texts_parsed(layer), BATCHES + SHAPES * BATCHES);
  assert_null(layer->sql);
  assert_int_equal(mlaf_db_each_choice(layer, count_one, &n, &err), MLAF_OK); /* listing them all is another matter */
  assert_int_equal(n, 2 * SHAPES * BATCHES);
  assert_string_equal(s.said, "");
  close_shipped(&s);
  free(a);
  free(b);
}

TEST_OF(later_files_and_damaged_rows, db_dir *d) {
  char *a = make_text(d, "d", "first"), *b = make_text(d, "d", "later");
  edit(b, "h7,r512,p64,q1,bf16,page64,b8,", "\tmeasured", "\tmeasaber"); /* passed over, with a word */
  edit(b, "h9,r512,p64,q1,bf16,page64,b8,", "\t2\thip", "\t1\thip");   /* another protocol; it replaces all the same */
  edit(b, "h30,r512,p64,q1,bf16,page64,b8,", "\tmeasured", "\tmeasaber"); /* nobody asks */
  publish(d, "a.tsv", a);
  publish(d, "b.tsv", b);
  publish(d, "c.tsv", "# mlaforge tuning text 2\ndevice\tproblem\n"); /* a head that is wrong: one file less */
  shipped s;
  mlaf_choice c;
  mlaf_rung rung;
  open_shipped(&s, d, d->dir);
  assert_int_equal(choose(&s, "d", 5, 8, &c, &rung), MLAF_OK);
  assert_string_equal(c.variant, "later");
  assert_has(s.said, "c.tsv: line 2 does not name");
  assert_null(strstr(s.said, "measaber"));
  assert_int_equal(choose(&s, "d", 7, 8, &c, &rung), MLAF_OK);
  assert_string_equal(c.variant, "first"); /* of the file before */
  assert_has(s.said, "b.tsv: line ");
  assert_has(s.said, "'measaber' is not a source");
  assert_int_equal(choose(&s, "d", 9, 8, &c, &rung), MLAF_OK);
  assert_int_equal(rung, MLAF_RUNG_NEAREST);
  close_shipped(&s);
  free(a);
  free(b);
}

/* --- misses --- */

typedef struct missed {
  int n;
  int64_t sum;
} missed;
static bool on_miss(void *user, const char *device, const char *problem, int64_t n) {
  ((missed *)user)->n++;
  ((missed *)user)->sum += n;
  return true;
}

static missed misses_of(mlaf_db *db) {
  missed m = {0};
  mlaf_err err;
  if (mlaf_db_each_miss(db, on_miss, &m, &err) != MLAF_OK) fail_msg("%s", err.text);
  return m;
}

TEST_OF(misses_wait_beside_the_database, db_dir *d) {
  char path[160];
  mlaf_device_info dev = make_device("d");
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err = {0};
  snprintf(path, sizeof path, "%s-misses", d->path);
  mlaf_db *db = open_db(d->path);
  const int before = sqlite3_total_changes(db->sql);
  for (int i = 0; i < 5; i++) {
    mlaf_point p = make_point(16, 1 + i % 3, 1024);
    assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
  }
  assert_int_equal(sqlite3_total_changes(db->sql), before); /* no statement wrote */
  assert_int_equal(access(path, F_OK), 0);
  mlaf_db *reader = NULL; /* for reading: another handle brings them in */
  assert_int_equal(mlaf_db_open(d->path, true, NULL, &reader, &err), MLAF_OK);
  missed m = misses_of(reader);
  assert_int_equal(m.n, 3);
  assert_int_equal(m.sum, 5);
  mlaf_db_close(reader);
  assert_int_equal(access(path, F_OK), -1);
  /* what a killed process left, a line of it cut short, is the next one's; while another is at it nobody waits */
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  static const char left[] = "d\tmla_decode:h16,r512,p64,q1,bf16,page64,b9,s1024\nnothing\nd\tmla_dec";
  assert_true(fd >= 0 && write(fd, left, strlen(left)) == (ssize_t)strlen(left));
  assert_int_equal(flock(fd, LOCK_EX), 0);
  mlaf_point p = make_point(16, 1, 1024);
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
  assert_int_equal(misses_of(db).n, 3);
  close(fd);
  assert_int_equal(misses_of(db).n, 4);
  assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
  mlaf_db_close(db);
  assert_int_equal(access(path, F_OK), -1); /* closing brings them in */
  db = open_db(d->path);
  m = misses_of(db);
  assert_int_equal(m.n, 4);
  assert_int_equal(m.sum, 7);
  mlaf_db_close(db);
}

/* A database nobody reads for long: the file ends somewhere, and planning goes on. */
TEST_OF(misses_have_an_end, db_dir *d) {
  char path[160];
  struct stat st;
  mlaf_device_info dev = make_device("d");
  mlaf_choice c;
  mlaf_rung rung;
  mlaf_err err;
  snprintf(path, sizeof path, "%s-misses", d->path);
  mlaf_db *db = open_db(d->path);
  for (int i = 0; i < 3000; i++) {
    mlaf_point p = make_point(16, 1 + i % 7, 1024);
    assert_int_equal(mlaf_db_choose(db, &dev, NULL, &p, &c, &rung, &err), MLAF_E_NOT_TUNED);
  }
  assert_int_equal(stat(path, &st), 0);
  assert_true(st.st_size > 60000 && st.st_size <= 65536);
  assert_int_equal(misses_of(db).n, 7);
  mlaf_db_close(db);
}

TESTS_EACH(db_dir_setup, db_dir_teardown)
