/* Manifests made by hand: what a reader refuses although every hash agrees. */
#include "bundle/bundle.h"
#include "cmocka_all.h"
#include "ops/mla_decode/launch.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char dir[64];

static int setup(void **state) {
  snprintf(dir, sizeof dir, "/tmp/mlaf-manifest-XXXXXX");
  return mkdtemp(dir) ? 0 : -1;
}
static int teardown(void **state) {
  char *path = mlaf_format("%s/" MLAF_BUNDLE_MANIFEST, dir);
  const int gone = unlink(path) || rmdir(dir);
  free(path);
  return gone;
}

/* Open a bundle whose manifest has these lines behind its first one, and the right hash behind them. */
static mlaf_status open_text(const char *header, const char *lines, mlaf_bundle **out, mlaf_err *err) {
  char hash[MLAF_HASH_HEX], *path = mlaf_format("%s/" MLAF_BUNDLE_MANIFEST, dir);
  char *text = mlaf_format("%s%s", header, lines);
  mlaf_sha256_hex(text, strlen(text), hash);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "%s# sha256 %s\n", text, hash);
  assert_int_equal(fclose(f), 0);
  free(text);
  free(path);
  return mlaf_bundle_open(dir, out, err);
}

static mlaf_status open_lines(const char *lines, mlaf_bundle **out, mlaf_err *err) {
  return open_text(MLAF_BUNDLE_HEADER, lines, out, err);
}

static mlaf_status open_pair(uint32_t flags, uint32_t splits, const char *combine, mlaf_bundle **out, mlaf_err *err) {
  char *lines = mlaf_format("generator\tg\ntarget\tsm_90a\tnvrtc\n"
                            "kernel\tsm_90a\tcombine\t" HASH "\t9\t64\t4\t0\t0\t8\tt\tp\t-\t-\t-\tverified\n"
                            "kernel\tsm_90a\tdecode\t" HASH "\t9\t384\t64\t64\t132\t%u\tt\tp\t-\t-\t-\tverified\n"
                            "plan\tsm_90a\tmla_decode:h64,b8,s1024\tbaseline\tbaseline\tnone\thop:a=1/s%u\t%u\t0.0\t0\tdecode\t"
                            "%s\n",
                            flags, splits, splits, combine);
  mlaf_status st = open_lines(lines, out, err);
  free(lines);
  return st;
}

/* A decode kernel that leaves pieces has a combine kernel behind it, whatever the manifest says. */
TEST(pieces_are_merged) {
  enum { FITS = MLAF_KERNEL_FITS, TURNS = MLAF_KERNEL_TURNS, MEETS = MLAF_KERNEL_MEETS, OVERLAPS = MLAF_KERNEL_OVERLAPS };
  static const struct {
    uint32_t flags, splits;
    const char *combine;
    bool good;
  } cases[] = {{OVERLAPS, 1, "-", true},
               {OVERLAPS, 4, "combine", true},
               {OVERLAPS, 4, "-", false},
               {OVERLAPS | TURNS, 1, "-", true},
               {OVERLAPS | FITS | MEETS, 1, "-", true},
               {OVERLAPS | FITS | MEETS, 1, "combine", true},
               {OVERLAPS | FITS | MEETS, 2, "-", false},
               {OVERLAPS | FITS, 1, "combine", true},
               {OVERLAPS | FITS, 1, "-", false},
               {OVERLAPS | FITS | TURNS, 1, "-", false},
               {FITS, 1, "-", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mlaf_bundle *b = NULL;
    mlaf_err err = {MLAF_OK, ""};
    mlaf_status st = open_pair(cases[i].flags, cases[i].splits, cases[i].combine, &b, &err);
    if (st != (cases[i].good ? MLAF_OK : MLAF_E_IO)) fail_msg("case %zu: %s", i, err.text);
    if (!cases[i].good) assert_non_null(strstr(err.text, ":6: a plan whose first kernel leaves pieces, and no second one"));
    mlaf_bundle_close(b);
  }
}

/* A bundle from before operations had folders: two kernels a plan, families and templates by the names they had then. It needs no
 * generator to be served, so it is. */
TEST(one_of_before) {
  static const char lines[] =
      "generator\tg\ntarget\tsm_90a\tnvrtc\n"
      "kernel\tsm_90a\tmla_combine_01234567\t" HASH "\t9\t64\t4\t0\t0\t8\tmla_combine\trows=4\t-\t-\t-\tverified\n"
      "kernel\tsm_90a\tmla_decode_hopper_01234567\t" HASH "\t9\t384\t64\t64\t132\t1\tmla_decode_hopper\tcluster=1\t-\t-\t-\t"
      "verified\n"
      "plan\tsm_90a\tmla_decode:h64,r512,p64,q1,bf16,page64,b8,s1024\tbaseline\tbaseline\tnone\thop:cluster=1/s1\t1\t0.0\t0\t"
      "mla_decode_hopper_01234567\t-\n"
      "plan\tsm_90a\tmla_decode:h64,r512,p64,q1,bf16,page64,b8,s1024\tchoice\texact\tmeasured\thop:cluster=1/s2,rows=4\t2\t"
      "100.0\t0.0005\tmla_decode_hopper_01234567\tmla_combine_01234567\n";
  mlaf_bundle *b = NULL;
  mlaf_err err = {MLAF_OK, ""};
  mlaf_point p;
  mlaf_offer *list;
  mlaf_bundle_fitted f;
  size_t n;
  if (open_text(MLAF_BUNDLE_HEADER_3, lines, &b, &err)) fail_msg("%s", err.text);
  assert_int_equal(b->n_plans, 2);
  assert_int_equal(mlaf_point_parse(NULL, "mla_decode:h64,b8,s65536", &p, NULL, 0), MLAF_OK);
  assert_int_equal(mlaf_bundle_rank(b, "sm_90a", &p, &list, &n, &err), MLAF_OK);
  assert_int_equal(n, 2);
  assert_false(list[0].baseline);
  mlaf_bundle_fit(list, n, 0, &p, &f);
  assert_true(f.knob > 2);
  char name[64];
  snprintf(name, sizeof name, "hop:cluster=1/s%u,rows=4", f.knob);
  assert_string_equal(f.variant, name);
  assert_string_equal(f.kernels[0]->symbol, "mla_decode_hopper_01234567");
  assert_string_equal(f.kernels[1]->symbol, "mla_combine_01234567");
  assert_null(f.kernels[2]);
  free(list);
  mlaf_bundle_close(b);
}

TEST(others_are_named) {
  static const char *const headers[] = {"# mlaforge bundle 2\n", "# mlaforge bundle 5\n", "kernel\tsm_90a\n",
                                        "a line that is much longer than any manifest's first line has ever been\n"};
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    mlaf_bundle *b = NULL;
    mlaf_err err = {MLAF_OK, ""};
    char begins[64];
    assert_int_equal(open_text(headers[i], "generator\tg\n", &b, &err), MLAF_E_IO);
    snprintf(begins, sizeof begins, "it begins with '%.*s'", i < 3 ? (int)strcspn(headers[i], "\n") : 40, headers[i]);
    if (!strstr(err.text, begins) || !strstr(err.text, "make it again with the `mlaforge generate` command"))
      fail_msg("%s", err.text);
  }
}

TESTS(setup, teardown)
