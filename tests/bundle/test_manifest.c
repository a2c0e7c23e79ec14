/* Manifests made by hand: what a reader refuses although every hash agrees. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Open a bundle whose manifest has these lines, and the right hash behind them. */
static mlaf_status open_lines(const char *lines, mlaf_bundle **out, mlaf_err *err) {
  char hash[MLAF_HASH_HEX], *path = mlaf_format("%s/" MLAF_BUNDLE_MANIFEST, dir);
  char *text = mlaf_format("%s%s", MLAF_BUNDLE_HEADER, lines);
  mlaf_sha256_hex(text, strlen(text), hash);
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fprintf(f, "%s# sha256 %s\n", text, hash);
  assert_int_equal(fclose(f), 0);
  free(text);
  free(path);
  return mlaf_bundle_open(dir, out, err);
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
static void pieces_are_merged(void **state) {
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(pieces_are_merged)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
